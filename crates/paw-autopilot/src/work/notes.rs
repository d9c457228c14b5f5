//! What is written down beside the state of a run, so that another process can go on with it.

use std::path::PathBuf;

use jiff::Timestamp;
use paw_host::process::end_marked;
use serde::{Deserialize, Serialize};

use super::commit::PendingCommit;
use super::options::RunOptions;
use super::snapshot::WorktreeSnapshot;
use crate::artifacts::manifest::CoveragePercents;
use crate::evidence::Objection;
use crate::runners::{TestCase, TestReport};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunNotes {
    pub began: Timestamp,
    #[serde(rename = "wishes")]
    pub options: RunOptions,
    /// Whatever an executor has started carries this, and is ended by it. What else a run starts carries it with an ending.
    pub mark: String,
    /// The commit that the branch was made from.
    pub base: String,
    /// How things were when the subtask at hand began.
    #[serde(default)]
    pub before: WorktreeSnapshot,
    /// The last tests were a proof; only the commit is missing.
    #[serde(default)]
    pub proven: bool,
    /// What the suite said when the subtask at hand was proven; the baseline of the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub green: Option<TestReport>,
    /// What the commit that is being made consists of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) committing: Option<PendingCommit>,
    /// The branch is on its remote, and we have put it there.
    #[serde(default)]
    pub pushed: bool,
    /// Why the last attempt was none.
    #[serde(default)]
    pub objections: Vec<Objection>,
    /// Tests that fail now, for whoever is asked next.
    #[serde(default)]
    pub failing: Vec<TestCase>,
    /// The result that says most about where the run stands.
    #[serde(default)]
    pub last_result: Option<PathBuf>,
    /// What the first failing test said.
    #[serde(default)]
    pub last_error: Option<String>,
    #[serde(default)]
    pub coverage: Option<CoveragePercents>,
    /// It was said that changed lines are not measured.
    #[serde(default, rename = "told_unmeasured")]
    pub reported_unmeasured: bool,
    /// What was let pass, in words.
    #[serde(default)]
    pub relaxed: Vec<String>,
}

impl RunNotes {
    /// What the tests carry, and the project's own commands.
    pub fn tests_mark(&self) -> String {
        format!("{}-tests", self.mark)
    }

    /// What a pane carries in which an executor works.
    pub fn pane_mark(&self) -> String {
        format!("{}-pane", self.mark)
    }

    /// What can be ended in the middle of its work and done again.
    pub fn interruptible(&self) -> Vec<String> {
        vec![self.mark.clone(), self.tests_mark()]
    }

    /// Ends whatever a process that died has left of this run. Says how much there was.
    pub fn kill_leftovers(&self) -> usize {
        let marks = [self.mark.clone(), self.tests_mark(), self.pane_mark()];
        marks.iter().map(|mark| end_marked(mark)).sum()
    }
}
