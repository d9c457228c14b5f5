//! Coverage of the lines a subtask changed, if the project measures coverage.

use std::collections::BTreeMap;
use std::path::PathBuf;

use paw_core::paths::TaskmasterDir;
use paw_host::{clock, files};
use serde_json::json;

use super::commands::{load_coverage, run_line};
use super::finish::FinalCommands;
use super::options::Relaxation;
use super::snapshot::ChangeSnapshot;
use super::{ActiveRun, WorkError};
use crate::coverage::Coverage;
use crate::coverage::added_lines::added_lines;
use crate::coverage::changed_lines::{ChangedLines, LineRanges, changed_lines};
use crate::evidence::{FileChange, Objection, SourceKind};
use crate::runners::SourceLocation;

/// The approved coverage command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoverageCommand {
    command: String,
    report: Option<PathBuf>,
    /// Fail if coverage cannot be measured.
    required: bool,
}

impl CoverageCommand {
    pub fn of(commands: &FinalCommands) -> Option<Self> {
        Some(Self {
            command: commands.coverage.clone()?,
            report: commands.coverage_report.clone(),
            required: commands.coverage_required,
        })
    }
}

/// The coverage of one subtask.
#[derive(Debug, Clone, Default)]
pub(super) struct SubtaskCoverage {
    pub(super) coverage: Option<Coverage>,
    pub(super) objection: Option<Objection>,
    /// Why coverage is unknown.
    pub(super) unknown: Option<String>,
}

impl ActiveRun {
    /// Measures the changed lines of each subtask from now on, if the project configures a command.
    pub fn set_coverage_command(&mut self, commands: &FinalCommands) {
        self.measuring = CoverageCommand::of(commands);
    }

    pub(super) fn is_coverage_required(&self) -> bool {
        self.measuring.as_ref().is_some_and(|measuring| measuring.required)
    }

    /// Measures the changed lines of a subtask. Empty if the project does not require it.
    pub(super) fn measure_coverage(&mut self, changes: &[FileChange]) -> Result<SubtaskCoverage, WorkError> {
        let Some(measuring) = self.measuring.clone() else { return Ok(SubtaskCoverage::default()) };
        let Some(wanted) = self.context.settings.thresholds.lines else {
            return Ok(SubtaskCoverage::default());
        };
        let written = self.written_lines(changes);
        if written.is_empty() || self.notes.options.relaxes(Relaxation::Coverage) {
            return Ok(SubtaskCoverage::default());
        }
        let unknown = |why: String| Ok(SubtaskCoverage { unknown: Some(why), ..SubtaskCoverage::default() });
        let (root, since) = (self.context.project.root.clone(), clock::now());
        let ran = run_line(&measuring.command, &root, &self.notes.tests_mark(), self.tester().limit())?;
        let loaded = load_coverage(measuring.report.as_deref(), &root, since);
        self.move_stray_files()?;
        if let Err(why) = ran {
            return unknown(why);
        }
        let coverage = match loaded {
            Ok(Some(coverage)) => coverage,
            Ok(None) => return unknown(format!("'{}' wrote no report", measuring.command)),
            Err(WorkError::Coverage(error)) => return unknown(error.to_string()),
            Err(error) => return Err(error),
        };
        if coverage.files.is_empty() {
            return unknown("the report has no line data".to_owned());
        }
        let lines = changed_lines(&coverage, &written);
        if let (None, [first, ..]) = (lines.ratio, lines.unknown.as_slice()) {
            return unknown(format!("the report does not list {}", first.display()));
        }
        let objection = objection(&lines, wanted);
        Ok(SubtaskCoverage { coverage: Some(coverage), objection, unknown: None })
    }

    /// Moves files that the coverage command created out of the worktree, so that they are not committed. Moved, not
    /// deleted: the user may have written them.
    fn move_stray_files(&mut self) -> Result<(), WorkError> {
        let Some(before) = self.last_snapshot() else { return Ok(()) };
        let aside = self.context.project.files().put_aside();
        let mut swept = Vec::new();
        for change in before.changes_until(&ChangeSnapshot::take(&self.context)?) {
            let to = aside.join(&change.path);
            if change.before.is_none() && to.parent().is_some_and(|dir| files::create_dir(dir).is_ok()) {
                // A file that cannot be moved is listed at the end with the uncommitted files.
                if std::fs::rename(self.context.top.join(&change.path), to).is_ok() {
                    swept.push(change.path.display().to_string());
                }
            }
        }
        if swept.is_empty() {
            return Ok(());
        }
        self.log(
            "coverage",
            json!({"status": "put-aside", "files": swept, "to": TaskmasterDir::relative().put_aside()}),
        )
    }

    /// Changed lines of production code, by path relative to the project.
    fn written_lines(&self, changes: &[FileChange]) -> LineRanges {
        let code =
            changes.iter().filter(|change| self.context.rules.kind(&change.path) == SourceKind::Production);
        let lines = code.filter_map(|change| {
            let ranges = added_lines(change.before.as_deref(), change.after.as_deref()?);
            let path = self.context.top.join(&change.path);
            let path = path.strip_prefix(&self.context.project.root).ok()?.to_path_buf();
            (!ranges.is_empty()).then_some((path, ranges))
        });
        lines.collect()
    }
}

/// The objection to uncovered lines. Files that the report does not list are ignored.
fn objection(lines: &ChangedLines, wanted: f64) -> Option<Objection> {
    let ratio = lines.ratio.filter(|ratio| ratio.percent() < wanted)?;
    Some(Objection::Uncovered {
        covered: ratio.covered,
        total: ratio.total,
        wanted: format!("{wanted}"),
        places: grouped(&lines.missed),
    })
}

/// Formats lines as `file:3-5,9`.
fn grouped(missed: &[SourceLocation]) -> Vec<String> {
    let mut files: BTreeMap<&PathBuf, Vec<(u32, u32)>> = BTreeMap::new();
    for place in missed {
        let Some(line) = place.line else { continue };
        let ranges = files.entry(&place.file).or_default();
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => ranges.push((line, line)),
        }
    }
    let shown = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let file = |(file, ranges): (&PathBuf, Vec<(u32, u32)>)| {
        format!("{}:{}", file.display(), ranges.iter().map(shown).collect::<Vec<_>>().join(","))
    };
    files.into_iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::CoverageRatio;

    #[test]
    fn uncovered_lines_are_grouped_and_only_reported_below_the_threshold() {
        let at = |file: &str, line| SourceLocation::new(file, Some(line));
        let missed = vec![at("a.py", 3), at("a.py", 4), at("a.py", 9), at("b.py", 1)];
        let lines = ChangedLines { ratio: CoverageRatio::of(4, 8), missed, unknown: Vec::new() };
        let message = objection(&lines, 80.0).unwrap().to_string();
        assert_eq!(
            message,
            "the tests cover 4 of 8 changed lines, 80 % required; not covered: a.py:3-4,9, b.py:1"
        );
        assert_eq!(objection(&lines, 50.0), None);
        assert_eq!(objection(&ChangedLines::default(), 80.0), None);
    }
}
