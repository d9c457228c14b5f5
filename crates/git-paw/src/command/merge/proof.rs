//! What a commit is tested with: the project's tests, in a worktree that was made ready like any other.

use std::time::Duration;

use paw_core::PawError;
use paw_host::git::Repo;
use paw_supervisor::gates::record::Records;
use paw_supervisor::gates::{self, Gate, GateStep, Stop};
use paw_supervisor::merge::{TestResult, TestedCommit};
use paw_worktree::Preparation;

use crate::approval::{self, Checks, Consent};
use crate::context::Context;

/// The tests, approved.
#[derive(Debug)]
pub(in crate::command) struct Tests<'a> {
    repo: &'a Repo,
    context: &'a Context,
    /// The test command, or nothing.
    steps: Vec<GateStep>,
    limit: Duration,
    preparation: Preparation,
}

impl<'a> Tests<'a> {
    pub(in crate::command) fn gather(
        repo: &'a Repo,
        trust: bool,
        limit: Duration,
        context: &'a Context,
    ) -> Result<Self, PawError> {
        let consent = if trust { Consent::Given } else { Consent::Ask };
        let Checks { steps, preparation, .. } = approval::checks(repo, Some(Gate::Test), consent, context)?;
        Ok(Self { repo, context, steps, limit, preparation })
    }

    pub(super) fn prove(&self, checkout: &TestedCommit<'_>, stop: &Stop) -> Result<TestResult, PawError> {
        // Even what needs no test is not merged after somebody has asked to end.
        if stop.is_raised() {
            return Err(PawError::UserCancelled);
        }
        let output = self.context.output;
        let mut on_line = |line: &str| output.progress(line);
        let TestedCommit { dir, commit, branch } = *checkout;
        if !self.steps.is_empty() {
            let made = gates::prepare(&self.preparation, self.repo, dir, branch, &mut on_line);
            if stop.is_raised() {
                return Err(PawError::UserCancelled);
            }
            made?;
        }
        let records = Records::of(&self.repo.common_dir);
        let findings = gates::check((dir, commit), &self.steps, self.limit, &records, stop, &mut on_line)?;
        if stop.is_raised() {
            return Err(PawError::UserCancelled);
        }
        Ok(TestResult::of_tests(&findings))
    }
}

#[cfg(test)]
mod tests {
    use paw_core::BranchName;
    use paw_testkit::Sandbox;

    use super::*;
    use crate::output::Output;

    #[test]
    fn what_has_no_tests_is_not_merged_either_once_somebody_has_asked_to_end() {
        let sandbox = Sandbox::new();
        let here = sandbox.repo("app");
        let repo = Repo::discover(&here.root).unwrap();
        let context = Context::new(Output::new(false)).unwrap();
        let tests = Tests {
            repo: &repo,
            context: &context,
            steps: Vec::new(),
            limit: Duration::from_mins(1),
            preparation: Preparation::default(),
        };
        let (commit, branch) = (here.git(["rev-parse", "HEAD"]), BranchName::new("main").unwrap());
        let checkout = TestedCommit { dir: &here.root, commit: commit.trim(), branch: &branch };
        let stop = Stop::default();
        assert!(tests.prove(&checkout, &stop).is_ok());
        stop.raise();
        assert!(matches!(tests.prove(&checkout, &stop), Err(PawError::UserCancelled)));
    }
}
