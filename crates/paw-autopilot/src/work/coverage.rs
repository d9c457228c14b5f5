//! The coverage gate: how coverage is measured, and the lines a subtask changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paw_host::clock;

use super::commands::{load_reports, run_line};
use super::finish::FinalCommands;
use super::options::Relaxation;
use super::{ActiveRun, ProjectContext, WorkError};
use crate::coverage::added_lines::added_lines;
use crate::coverage::changed_lines::{ChangedLines, LineRanges, changed_lines};
use crate::coverage::{Coverage, CoverageError, PathBase, parse};
use crate::evidence::{FileChange, Objection, SourceKind};
use crate::runners::{CoverageRun, CoverageTools, SourceLocation, TestRunner};

/// What measures coverage.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CoverageSource {
    /// A command that the user configured or approved, and its report.
    Command { line: String, report: Option<PathBuf> },
    /// The project's test runner.
    Runner(CoverageRun),
}

/// The coverage gate of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoverageGate {
    /// What measures coverage, or why it is not measured.
    source: Result<CoverageSource, String>,
    thresholds: String,
    /// Fail if coverage cannot be measured.
    pub required: bool,
}

impl CoverageGate {
    /// A configured command measures coverage, else the test runner, if it can and a threshold is set.
    /// `root`: where the tests run.
    pub fn of(
        context: &ProjectContext,
        root: &Path,
        runner: &dyn TestRunner,
        commands: &FinalCommands,
    ) -> Self {
        let thresholds = context.settings.thresholds.to_string();
        let tools = CoverageTools { root, search_path: &context.search_path };
        let source = match &commands.coverage {
            Some(line) => {
                Ok(CoverageSource::Command { line: line.clone(), report: commands.coverage_report.clone() })
            }
            None if thresholds.is_empty() => {
                Err("all test.coverageThresholds in .taskmaster/config.json are off".to_owned())
            }
            None => runner.coverage(&tools).map(CoverageSource::Runner),
        };
        Self { source, thresholds, required: commands.coverage_required }
    }

    /// `80 % of lines, measured by coverage.py`, or why there is no gate.
    pub fn words(&self) -> Result<String, &str> {
        let tool = match self.source.as_ref().map_err(String::as_str)? {
            CoverageSource::Command { line, .. } => format!("'{line}'"),
            CoverageSource::Runner(run) => run.tool.to_owned(),
        };
        let thresholds = if self.thresholds.is_empty() { "no thresholds" } else { &self.thresholds };
        Ok(format!("{thresholds}, measured by {tool}"))
    }
}

/// The result of a measurement.
pub(super) enum CoverageResult {
    Measured(Coverage),
    /// Why coverage is unknown.
    Unknown(String),
    /// The configured command failed.
    Failed(String),
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
    /// Measures the changed lines of each subtask from now on, if there is a gate.
    pub fn set_coverage_command(&mut self, commands: &FinalCommands) {
        self.gate =
            Some(CoverageGate::of(&self.context, self.checkout.root(), self.tester.adapter(), commands));
    }

    pub fn coverage_gate(&self) -> Option<&CoverageGate> {
        self.gate.as_ref()
    }

    pub(super) fn is_coverage_required(&self) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.required)
    }

    /// Measures the coverage of the whole suite.
    pub(super) fn measure(&self) -> Result<CoverageResult, WorkError> {
        let (root, since, mark) = (self.checkout.root(), clock::now(), self.notes.tests_mark());
        let (tool, texts) = match self.gate.as_ref().map(|gate| &gate.source) {
            None => return Ok(CoverageResult::Unknown("no coverage gate".into())),
            Some(Err(why)) => return Ok(CoverageResult::Unknown(why.clone())),
            Some(Ok(CoverageSource::Command { line, report })) => {
                if let Err(why) =
                    run_line(line, root, Some(self.tester.sandbox()), &mark, self.tester.limit())?
                {
                    return Ok(CoverageResult::Failed(why));
                }
                (line.as_str(), load_reports(report.as_deref(), root, since))
            }
            Some(Ok(CoverageSource::Runner(run))) => match self.tester.measure(run)? {
                Ok(texts) => (run.tool, texts),
                Err(why) => return Ok(CoverageResult::Unknown(why)),
            },
        };
        if texts.is_empty() {
            return Ok(CoverageResult::Unknown(format!("'{tool}' wrote no report")));
        }
        Ok(match parse_reports(&texts, &self.context, root) {
            Ok(coverage) => CoverageResult::Measured(coverage),
            Err(error) => CoverageResult::Unknown(error.to_string()),
        })
    }

    /// Measures the changed lines of a subtask. Empty without a gate.
    pub(super) fn measure_coverage(&mut self, changes: &[FileChange]) -> Result<SubtaskCoverage, WorkError> {
        let Some(gate) = &self.gate else { return Ok(SubtaskCoverage::default()) };
        let Some(wanted) = self.context.settings.thresholds.lines else {
            return Ok(SubtaskCoverage::default());
        };
        let written = self.written_lines(changes);
        let relaxed = self.notes.options.relaxes(Relaxation::Coverage);
        if written.is_empty() || relaxed || (gate.source.is_err() && !gate.required) {
            return Ok(SubtaskCoverage::default());
        }
        let unknown = |why: String| Ok(SubtaskCoverage { unknown: Some(why), ..SubtaskCoverage::default() });
        if let Some(tree) = self.tested_tree.clone() {
            self.check_out(&tree)?;
        }
        let coverage = match self.measure()? {
            CoverageResult::Measured(coverage) => coverage,
            CoverageResult::Unknown(why) | CoverageResult::Failed(why) => return unknown(why),
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

/// Reads the reports of one measurement.
fn parse_reports(texts: &[String], context: &ProjectContext, root: &Path) -> Result<Coverage, CoverageError> {
    let module = std::fs::read_to_string(root.join("go.mod")).ok();
    let module =
        module.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("module ")));
    let base = PathBase {
        root,
        go_module: module.map(str::trim),
        is_file: &|path| root.join(path).is_file(),
        is_test: &|path| context.rules.kind(path) == SourceKind::Test,
    };
    texts.iter().try_fold(Coverage::default(), |all, text| Ok(all.or(parse(text, base)?)))
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
