//! What a commit is tested with: the project's tests, in a worktree that was made ready like any other.

use std::time::Duration;

use paw_core::PawError;
use paw_host::git::Repo;
use paw_supervisor::gates::record::Records;
use paw_supervisor::gates::{self, Gate, Ready, Step, Stop};
use paw_supervisor::merge::{Checkout, Proof};

use crate::approval::{self, Checks, Consent};
use crate::context::Context;

/// The tests, approved.
#[derive(Debug)]
pub(in crate::command) struct Tests<'a> {
    repo: &'a Repo,
    context: &'a Context,
    /// The test command, or nothing.
    steps: Vec<Step>,
    limit: Duration,
    ready: Ready,
}

impl<'a> Tests<'a> {
    pub(in crate::command) fn gather(
        repo: &'a Repo,
        trust: bool,
        limit: Duration,
        context: &'a Context,
    ) -> Result<Self, PawError> {
        let consent = Consent::of_flag(trust);
        let Checks { steps, ready, .. } = approval::checks(repo, Some(Gate::Test), consent, context)?;
        Ok(Self { repo, context, steps, limit, ready })
    }

    pub(super) fn prove(&self, checkout: &Checkout<'_>, stop: &Stop) -> Result<Proof, PawError> {
        // Even what needs no test is not merged after somebody has asked to end.
        if stop.is_raised() {
            return Err(PawError::UserCancelled);
        }
        let output = self.context.output;
        let mut on_line = |line: &str| output.progress(line);
        let Checkout { dir, commit, branch } = *checkout;
        if !self.steps.is_empty() {
            let made = self.ready.make(self.repo, dir, branch, &mut on_line);
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
        Ok(Proof::of_tests(&findings))
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
            ready: Ready::default(),
        };
        let (commit, branch) = (here.git(["rev-parse", "HEAD"]), BranchName::new("main").unwrap());
        let checkout = Checkout { dir: &here.root, commit: commit.trim(), branch: &branch };
        let stop = Stop::default();
        assert!(tests.prove(&checkout, &stop).is_ok());
        stop.raise();
        assert!(matches!(tests.prove(&checkout, &stop), Err(PawError::UserCancelled)));
    }
}
