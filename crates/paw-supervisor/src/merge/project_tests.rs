//! A merge of a session's branches with the project's own tests as the proof, run in a worktree that was made ready like
//! any other.

use std::time::Duration;

use paw_broker::client::{BrokerClient, ClientError};
use paw_broker::{Message, SessionId};
use paw_core::{BranchName, PawError};
use paw_host::clock;
use paw_host::git::Repo;
use paw_session::lifecycle::Session;

use super::{
    Hands, Merge, MergeError, MergeReport, MergeStep, TestResult, TestedCommit, Testimony, choose, members_of,
};
use crate::gates::record::Records;
use crate::gates::{self, Checks, Gate, Stop};

/// A merge of these branches or agents, or of all in the session.
pub fn open(only: &[String], repo: &Repo, session: Option<&Session>) -> Result<Merge, PawError> {
    let git = repo.git();
    let base = git.find_default_branch()?.ok_or(MergeError::NoBase(None))?;
    let local = git.local_branches()?;
    let members = session.map(|session| members_of(&session.receipt));
    let members = choose(members, only, &base, |branch| local.contains(branch))?;
    let id = session.map(|session| SessionId::new(&session.receipt.session_id()));
    let testimony = Testimony::load(&repo.common_dir, id.as_ref())?;
    Ok(Merge::open(repo, &base, &members, testimony, clock::now())?)
}

/// The project's tests, approved.
#[derive(Debug)]
pub struct ProjectTests<'a> {
    repo: &'a Repo,
    /// The test command, or nothing.
    checks: Checks,
    limit: Duration,
}

impl<'a> ProjectTests<'a> {
    pub fn new(repo: &'a Repo, checks: Checks, limit: Duration) -> Self {
        Self { repo, checks: checks.only(Gate::Test), limit }
    }

    fn prove(
        &self,
        checkout: &TestedCommit<'_>,
        stop: &Stop,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<TestResult, PawError> {
        // Even what needs no test is not merged after a request to stop.
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
        let records = Records::of(&self.repo.common_dir);
        let findings = gates::check((dir, commit), steps, self.limit, &records, stop, on_line)?;
        if stop.is_raised() {
            return Err(PawError::UserCancelled);
        }
        Ok(TestResult::of_tests(&findings))
    }
}

impl Merge {
    /// Merges what the tests prove, and tells the session. Once `stop` is raised no proof counts any more: its tests were
    /// ended.
    pub fn run_with_tests(
        self,
        rebase: bool,
        tests: &ProjectTests<'_>,
        client: &BrokerClient,
        stop: &Stop,
        on_line: &dyn Fn(&str),
    ) -> Result<MergeReport, PawError> {
        let mut on_step = |step: MergeStep, branch: Option<&BranchName>| {
            if let (MergeStep::Testing, Some(branch)) = (step, branch) {
                on_line(&format!("testing {branch} …"));
            }
        };
        let mut hands = Hands {
            prove: &mut |checkout| tests.prove(checkout, stop, &mut |line| on_line(line)),
            tell: &mut |message| tell(client, message),
            on_step: &mut on_step,
            me: client.agent(),
            now: &clock::now,
        };
        Ok(self.run(rebase, &mut hands)?)
    }
}

/// Without a session there is no one to tell.
fn tell(client: &BrokerClient, message: &Message) -> Result<(), PawError> {
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
    fn a_merge_without_tests_stops_as_well_when_it_is_asked_to() {
        let sandbox = Sandbox::new();
        let here = sandbox.repo("app");
        let repo = Repo::discover(&here.root).unwrap();
        let checks =
            Checks { steps: Vec::new(), preparation: Preparation::default(), config: PawConfig::default() };
        let tests = ProjectTests::new(&repo, checks, Duration::from_mins(1));
        let (commit, branch) = (here.git(["rev-parse", "HEAD"]), BranchName::new("main").unwrap());
        let checkout = TestedCommit { dir: &here.root, commit: commit.trim(), branch: &branch };
        let stop = Stop::default();
        assert!(tests.prove(&checkout, &stop, &mut |_| {}).is_ok());
        stop.raise();
        assert!(matches!(tests.prove(&checkout, &stop, &mut |_| {}), Err(PawError::UserCancelled)));
    }
}
