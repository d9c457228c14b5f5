//! Test runs on a tree: the files that would be committed, in the checkout.

use std::path::PathBuf;

use paw_host::process::{end_marked, processes_in, terminate};

use crate::engine::{RunEvent, StepOutcome};
use crate::evidence::{FileChange, Objection, SourceKind};
use crate::runners::{TestReport, TestRun};
use crate::work::snapshot::{ChangeSnapshot, is_own_file};
use crate::work::{ActiveRun, TddPhase, Tester, WorkError};

/// A test run with the baseline of a targeted one, and the objection if the tests changed the code.
pub(in crate::work) type TestedTree = ((TestRun, Option<TestReport>), Option<Objection>);

impl ActiveRun {
    /// Whether a commit of this run is proven.
    pub(in crate::work) fn has_proof(&self) -> bool {
        self.run.steps.iter().any(|step| matches!(step.outcome, StepOutcome::Committed { .. }))
    }

    /// The worktree and the tree that a commit of its changes would have. Both describe the same moment.
    pub(in crate::work) fn take_tree(&self) -> Result<(ChangeSnapshot, String), WorkError> {
        let mut before = ChangeSnapshot::take(&self.context)?;
        let mut left = 5;
        loop {
            let changes = self.notes.before.changes_until(&before);
            let paths = changes.into_iter().map(|change| change.path).filter(|path| !is_own_file(path));
            let paths: Vec<PathBuf> = paths.collect();
            let index = self.checkout.index();
            let tree = self.context.git.write_worktree_tree(&index, before.commit(), &paths);
            let after = ChangeSnapshot::take(&self.context)?;
            left -= 1;
            if before == after || left == 0 {
                return Ok((before, tree?));
            }
            before = after;
        }
    }

    /// Runs tests in the checkout of a tree, and ends what they leave running.
    pub(in crate::work) fn test_tree(
        &mut self,
        tree: &str,
        run: impl FnOnce(&Tester) -> Result<TestRun, WorkError>,
    ) -> Result<TestRun, WorkError> {
        self.check_out(tree)?;
        let ran = run(&self.tester)?;
        self.end_tests()?;
        Ok(ran)
    }

    /// Ends what the tests left running.
    fn end_tests(&mut self) -> Result<(), WorkError> {
        end_marked(&self.notes.tests_mark());
        terminate(&processes_in(self.checkout.dir()));
        self.require_same_dependencies()
    }

    pub(in crate::work) fn check_out(&mut self, tree: &str) -> Result<(), WorkError> {
        self.require_same_dependencies()?;
        let head = self.run.head.as_ref().unwrap_or(&self.notes.base);
        self.checkout.check_out(tree, head)
    }

    /// Pauses the run if installed programs and libraries were changed.
    fn require_same_dependencies(&mut self) -> Result<(), WorkError> {
        let Some(dir) = self.checkout.find_changed_dependency() else { return Ok(()) };
        let what = format!("{} changed in the checkout for tests", dir.display());
        self.apply(RunEvent::ProtectedChanged { what: what.clone() })?;
        Err(WorkError::Paused(what))
    }

    /// Runs the tests of the subtask on a tree, then the whole suite unless they refute the attempt already. Repeats
    /// them if they change the code, or if the default branch moves.
    pub(in crate::work) fn run_tests(
        &mut self,
        phase: TddPhase,
        changes: &[FileChange],
        tree: &str,
    ) -> Result<TestedTree, WorkError> {
        let mut left = 3;
        loop {
            self.check_out(tree)?;
            let tests = if let Some(targeted) = self.find_refutation(phase, changes)? {
                self.end_tests()?;
                (targeted.tests, Some(targeted.baseline))
            } else {
                self.check_pause()?;
                (self.test_tree(tree, Tester::run)?, None)
            };
            self.check_pause()?;
            let rules = &self.context.rules;
            let disturbed = self.checkout.changed()?.into_iter().find(|path| {
                !matches!(rules.kind(path), SourceKind::LockFile | SourceKind::OwnFile | SourceKind::TaskFile)
            });
            let moved = self.check_guard()?.is_some();
            left -= 1;
            if left == 0 || (disturbed.is_none() && !moved) || (disturbed.is_some() && left == 1) {
                return Ok((tests, disturbed.map(|file| Objection::ChangedWhileTested { file })));
            }
        }
    }
}
