//! What a run stores next to its state, so that another process can continue it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::Timestamp;
use paw_host::process::end_marked;
use serde::{Deserialize, Serialize};

use super::commit::PendingCommit;
use super::guard::RepositoryGuard;
use super::options::RunOptions;
use super::proof::Seed;
use super::snapshot::ChangeSnapshot;
use crate::artifacts::manifest::CoveragePercents;
use crate::evidence::Objection;
use crate::runners::{TestCase, TestReport};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunNotes {
    pub began: Timestamp,
    #[serde(rename = "wishes")]
    pub options: RunOptions,
    /// Marks the executor's processes, which are killed by it. Other processes carry it with a suffix.
    pub mark: String,
    /// The commit the branch started from.
    pub base: String,
    /// There were uncommitted changes when the run began.
    #[serde(default)]
    pub dirty: bool,
    /// The worktree when the current subtask began.
    #[serde(default)]
    pub before: ChangeSnapshot,
    /// The last test run proved the subtask; only the commit is missing.
    #[serde(default)]
    pub proven: bool,
    /// The test report of the proven subtask; the baseline of the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub green: Option<TestReport>,
    /// Refs, settings and hooks before the current turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<RepositoryGuard>,
    /// The ignored files in the checkout.
    #[serde(default)]
    pub seed: Seed,
    /// Tests that proved a subtask of this run. Each must pass at the end.
    #[serde(default)]
    pub proven_tests: BTreeSet<String>,
    /// Protected files that the user allowed, each with a digest of its content.
    #[serde(default)]
    pub allowed: BTreeMap<PathBuf, u64>,
    /// The content of the commit in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) committing: Option<PendingCommit>,
    /// The run has pushed the branch.
    #[serde(default)]
    pub pushed: bool,
    /// Why the last attempt was refused.
    #[serde(default)]
    pub objections: Vec<Objection>,
    /// Tests that fail now, for the next prompt.
    #[serde(default)]
    pub failing: Vec<TestCase>,
    /// The most relevant test result.
    #[serde(default)]
    pub last_result: Option<PathBuf>,
    /// The message of the first failing test.
    #[serde(default)]
    pub last_error: Option<String>,
    #[serde(default)]
    pub coverage: Option<CoveragePercents>,
    /// Missing coverage was already reported.
    #[serde(default, rename = "told_unmeasured")]
    pub reported_unmeasured: bool,
    /// What `--force` allowed, as text.
    #[serde(default)]
    pub relaxed: Vec<String>,
}

impl RunNotes {
    /// The mark of tests and project commands.
    pub fn tests_mark(&self) -> String {
        format!("{}-tests", self.mark)
    }

    /// The mark of the executor's pane.
    pub fn pane_mark(&self) -> String {
        format!("{}-pane", self.mark)
    }

    /// Marks of processes that can be interrupted and repeated.
    pub fn interruptible(&self) -> Vec<String> {
        vec![self.mark.clone(), self.tests_mark()]
    }

    /// Kills processes that a crashed run left behind and returns their number.
    pub fn kill_leftovers(&self) -> usize {
        let marks = [self.mark.clone(), self.tests_mark(), self.pane_mark()];
        marks.iter().map(|mark| end_marked(mark)).sum()
    }
}
