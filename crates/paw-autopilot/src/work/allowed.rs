//! What `--force` and the configuration let pass, for the report and the pull request.

use super::options::Relaxation;
use super::{ActiveRun, ProjectContext, RunOptions};
use crate::coverage::gate::{ThresholdResult, missed};
use crate::tasks::settings::CoverageThresholds;

/// What the options allow before the run has begun.
pub(super) fn of_options(
    context: &ProjectContext,
    options: &RunOptions,
    foreign_changes: &[String],
) -> Vec<String> {
    let mut allowed = Vec::new();
    if !foreign_changes.is_empty() {
        let by = if options.relaxes(Relaxation::Dirty) || context.settings.require_clean_tree {
            "--force=dirty"
        } else {
            "requireCleanWorkingTree"
        };
        allowed.push(format!("{by}: started with uncommitted changes: {}", foreign_changes.join(", ")));
    }
    if options.relaxes(Relaxation::Coverage) {
        allowed.push("--force=coverage: the coverage of changed lines was not checked".into());
    }
    allowed
}

impl ActiveRun {
    /// What was allowed, with the result of the coverage gate.
    pub(super) fn allowances(
        &self,
        judged: Option<&[ThresholdResult]>,
        unmeasured: Option<&str>,
    ) -> Vec<String> {
        let mut allowed = self.notes.relaxed.clone();
        let judged = judged.filter(|_| self.notes.options.relaxes(Relaxation::Coverage));
        allowed.extend(judged.and_then(missed).map(|missed| format!("--force=coverage: {missed}")));
        allowed.extend(unmeasured.map(|why| format!("no coverage gate: {why}")));
        let (own, usual) = (self.context.settings.thresholds, CoverageThresholds::default());
        if own.is_below(&usual) {
            let own = if own.to_string().is_empty() { "none".into() } else { own.to_string() };
            allowed.push(format!("test.coverageThresholds: {own} instead of {usual}"));
        }
        allowed
    }
}
