//! Whether the lines of a subtask are run by the tests, where the project has its coverage measured.

use std::collections::BTreeMap;
use std::path::PathBuf;

use paw_core::paths::TaskmasterDir;
use paw_host::{clock, files};
use serde_json::json;

use super::commands::{load_coverage, run_line};
use super::finish::FinalCommands;
use super::options::Relaxation;
use super::snapshot::WorktreeSnapshot;
use super::{ActiveRun, WorkError};
use crate::coverage::Coverage;
use crate::coverage::added_lines::added_lines;
use crate::coverage::changed_lines::{ChangedLines, LineRanges, changed_lines};
use crate::evidence::{FileChange, Objection, SourceKind};
use crate::runners::SourceLocation;

/// How coverage is measured, as far as it was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoverageCommand {
    command: String,
    report: Option<PathBuf>,
    /// Without a measurement nothing counts as done.
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

/// What was measured of one subtask.
#[derive(Debug, Clone, Default)]
pub(super) struct SubtaskCoverage {
    pub(super) coverage: Option<Coverage>,
    pub(super) objection: Option<Objection>,
    /// Why there is no answer.
    pub(super) unknown: Option<String>,
}

impl ActiveRun {
    /// Has the lines of every subtask measured from here on, where the project says how.
    pub fn set_coverage_command(&mut self, commands: &FinalCommands) {
        self.measuring = CoverageCommand::of(commands);
    }

    pub(super) fn is_coverage_required(&self) -> bool {
        self.measuring.as_ref().is_some_and(|measuring| measuring.required)
    }

    /// Measures what a subtask has written. Nothing where nobody asks for it.
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
            Ok(None) => return unknown(format!("'{}' left no report", measuring.command)),
            Err(WorkError::Coverage(error)) => return unknown(error.to_string()),
            Err(error) => return Err(error),
        };
        if coverage.files.is_empty() {
            return unknown("the report says nothing about single lines".to_owned());
        }
        let lines = changed_lines(&coverage, &written);
        if let (None, [first, ..]) = (lines.ratio, lines.unknown.as_slice()) {
            return unknown(format!("the report says nothing about {}", first.display()));
        }
        let objection = objection(&lines, wanted);
        Ok(SubtaskCoverage { coverage: Some(coverage), objection, unknown: None })
    }

    /// Files that came with the measurement are no part of a commit. They are put aside, in case somebody has written them.
    fn move_stray_files(&mut self) -> Result<(), WorkError> {
        let Some(before) = self.last_snapshot() else { return Ok(()) };
        let aside = self.context.project.files().put_aside();
        let mut swept = Vec::new();
        for change in before.changes_until(&WorktreeSnapshot::take(&self.context)?) {
            let to = aside.join(&change.path);
            if change.before.is_none() && to.parent().is_some_and(|dir| files::create_dir(dir).is_ok()) {
                // One that cannot be moved is told about at the end, with everything that is not committed.
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

    /// The lines of code that differ from how the subtask began, by file as the project sees it.
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

/// What is to be said about lines that no test runs. A file that the report does not know says nothing.
fn objection(lines: &ChangedLines, wanted: f64) -> Option<Objection> {
    let ratio = lines.ratio.filter(|ratio| ratio.percent() < wanted)?;
    Some(Objection::Uncovered {
        covered: ratio.covered,
        total: ratio.total,
        wanted: format!("{wanted}"),
        places: grouped(&lines.missed),
    })
}

/// `file:3-5,9`, file by file.
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
    fn lines_that_no_test_runs_are_named_together_and_only_below_the_threshold() {
        let at = |file: &str, line| SourceLocation::new(file, Some(line));
        let missed = vec![at("a.py", 3), at("a.py", 4), at("a.py", 9), at("b.py", 1)];
        let lines = ChangedLines { ratio: CoverageRatio::of(4, 8), missed, unknown: Vec::new() };
        let said = objection(&lines, 80.0).unwrap().to_string();
        assert_eq!(
            said,
            "the tests run 4 of 8 changed lines, and 80 % are wanted; not run: a.py:3-4,9, b.py:1"
        );
        assert_eq!(objection(&lines, 50.0), None);
        assert_eq!(objection(&ChangedLines::default(), 80.0), None);
    }
}
