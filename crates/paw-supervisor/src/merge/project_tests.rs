//! Merges a session's branches with the project's own tests, run in a worktree that is prepared like any other.

use std::time::Duration;

use paw_broker::client::{BrokerClient, ClientError};
use paw_broker::{Message, SessionId};
use paw_core::{BranchName, PawError};
use paw_host::clock;
use paw_host::git::Repo;
use paw_session::lifecycle::Session;

use super::{
    CommitTestResult, MergeCallbacks, MergeError, MergeReport, MergeStep, PlannedMerge, TestedCommit,
    Verifications, choose_members, members_of,
};
use crate::gates::record::GateRecords;
use crate::gates::{self, Gate, GateChecks, StopRequest};

/// Plans a merge of these branches or agents, or of all in the session.
pub fn open(only: &[String], repo: &Repo, session: Option<&Session>) -> Result<PlannedMerge, PawError> {
    let git = repo.git();
    let base = git.find_default_branch()?.ok_or(MergeError::NoBase(None))?;
    let local = git.local_branches()?;
    let members = session.map(|session| members_of(&session.receipt));
    let members = choose_members(members, only, &base, |branch| local.contains(branch))?;
    let id = session.map(|session| SessionId::new(&session.receipt.session_id()));
    let verifications = Verifications::load(&repo.common_dir, id.as_ref())?;
    Ok(PlannedMerge::open(repo, &base, &members, verifications, clock::now())?)
}

/// The project's tests, approved.
#[derive(Debug)]
pub struct ProjectTests<'a> {
    repo: &'a Repo,
    /// The test command, if there is one.
    checks: GateChecks,
    limit: Duration,
}

impl<'a> ProjectTests<'a> {
    pub fn new(repo: &'a Repo, checks: GateChecks, limit: Duration) -> Self {
        Self { repo, checks: checks.only(Gate::Test), limit }
    }

    fn prove(
        &self,
        checkout: &TestedCommit<'_>,
        stop: &StopRequest,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<CommitTestResult, PawError> {
        // After a stop request nothing is merged, even without tests.
        if stop.is_raised() {
            return Err(PawError::UserCancelled);
        }
        let TestedCommit { dir, commit, branch } = *checkout;
        let steps = &self.checks.steps;
        if !steps.is_empty() {
            let made = gates::prepare(&self.checks.preparation, self.repo, dir, branch, on_line);
            if stop.is_raised() {
                return Err(PawError::UserCancelled);
            }
            made?;
        }
        let records = GateRecords::of(&self.repo.common_dir);
        let findings = gates::run_gates((dir, commit), steps, self.limit, &records, stop, on_line)?;
        if stop.is_raised() {
            return Err(PawError::UserCancelled);
        }
        Ok(CommitTestResult::of_tests(&findings))
    }
}

impl PlannedMerge {
    /// Merges the branches whose tests pass and publishes the results. After `stop` is raised no test result counts,
    /// because the tests were killed.
    pub fn run_with_tests(
        self,
        rebase: bool,
        tests: &ProjectTests<'_>,
        client: &BrokerClient,
        stop: &StopRequest,
        on_line: &dyn Fn(&str),
    ) -> Result<MergeReport, PawError> {
        let mut on_step = |step: MergeStep, branch: Option<&BranchName>| {
            if let (MergeStep::Testing, Some(branch)) = (step, branch) {
                on_line(&format!("testing {branch} …"));
            }
        };
        let mut callbacks = MergeCallbacks {
            prove: &mut |checkout| tests.prove(checkout, stop, &mut |line| on_line(line)),
            send: &mut |message| send(client, message),
            on_step: &mut on_step,
            sender: client.agent(),
            now: &clock::now,
        };
        Ok(self.run(rebase, &mut callbacks)?)
    }
}

/// Without a session the message is dropped.
fn send(client: &BrokerClient, message: &Message) -> Result<(), PawError> {
    match client.publish(message, clock::now()) {
        Ok(_) | Err(ClientError::NoSession) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use paw_core::config::PawConfig;
    use paw_testkit::Sandbox;

    use super::*;
    use paw_worktree::Preparation;

    #[test]
    fn a_merge_without_tests_obeys_a_stop_request() {
        let sandbox = Sandbox::new();
        let here = sandbox.repo("app");
        let repo = Repo::discover(&here.root).unwrap();
        let checks = GateChecks {
            steps: Vec::new(),
            preparation: Preparation::default(),
            config: PawConfig::default(),
        };
        let tests = ProjectTests::new(&repo, checks, Duration::from_mins(1));
        let (commit, branch) = (here.git(["rev-parse", "HEAD"]), BranchName::new("main").unwrap());
        let checkout = TestedCommit { dir: &here.root, commit: commit.trim(), branch: &branch };
        let stop = StopRequest::default();
        assert!(tests.prove(&checkout, &stop, &mut |_| {}).is_ok());
        stop.raise();
        assert!(matches!(tests.prove(&checkout, &stop, &mut |_| {}), Err(PawError::UserCancelled)));
    }
}
