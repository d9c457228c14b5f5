//! Merges a session's branches with all of the project's gates.

use std::path::PathBuf;
use std::time::Duration;

use paw_broker::client::{BrokerClient, ClientError};
use paw_broker::{Message, SessionId};
use paw_core::{BranchName, PawError};
use paw_host::clock;
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_session::lifecycle::Session;

use super::{
    CommitTestResult, MergeCallbacks, MergeError, MergeLock, MergeReport, MergeStep, PlannedMerge,
    RemoteWorktrees, TestedCommit, Verifications, choose_members, members_of,
};
use crate::gates::record::GateRecords;
use crate::gates::{self, GateCheckouts, GateChecks, GateProof, GateRunner, StopRequest};
use crate::proof::{self, BuildOutput, ProofStore};

/// Plans a merge of these branches or agents, or of all in the session, as [`PlannedMerge::open`] does.
pub fn open(only: &[String], repo: &Repo, session: Option<&Session>) -> Result<PlannedMerge, PawError> {
    let git = repo.git();
    let base = git.find_default_branch()?.ok_or(MergeError::NoBase(None))?;
    let local = git.local_branches()?;
    let members = session.map(|session| members_of(&session.receipt));
    let members = choose_members(members, only, &base, |branch| local.contains(branch))?;
    let id = session.map(|session| SessionId::new(&session.receipt.session_id()));
    let proofs = ProofStore::open(repo, &Dirs::from_env()?).verified_commits()?;
    let verifications = Verifications::load(&repo.common_dir, id.as_ref())?.with_proofs(proofs);
    Ok(PlannedMerge::open(repo, &base, &members, verifications, clock::now())?)
}

/// The project's gates, approved.
#[derive(Debug)]
pub struct ProjectTests<'a> {
    repo: &'a Repo,
    checks: GateChecks,
    limit: Duration,
    keep_in: PathBuf,
    proofs: ProofStore,
    remote: Option<&'a dyn RemoteWorktrees>,
}

impl<'a> ProjectTests<'a> {
    /// `limit` applies to each gate.
    pub fn new(repo: &'a Repo, checks: GateChecks, limit: Duration, dirs: &Dirs) -> Self {
        let (keep_in, proofs) = (gates::checkouts_dir(dirs, repo), ProofStore::open(repo, dirs));
        Self { repo, checks, limit, keep_in, proofs, remote: None }
    }

    /// With branches on other machines.
    #[must_use]
    pub fn with_remote(self, remote: Option<&'a dyn RemoteWorktrees>) -> Self {
        Self { remote, ..self }
    }

    fn prove(
        &self,
        target: &TestedCommit<'_>,
        stop: &StopRequest,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<CommitTestResult, PawError> {
        // After a stop request nothing is merged, even without gates.
        if stop.is_raised() {
            return Err(PawError::UserCancelled);
        }
        let steps = &self.checks.steps;
        if steps.is_empty() {
            return Ok(CommitTestResult::of_gates(&[], &[]));
        }
        let sandbox = self.checks.config.sandbox.runs;
        let conditions = proof::conditions(steps, &self.checks.preparation, sandbox)?;
        let known =
            self.proofs.find_reusable(target.commit, &conditions, &[BuildOutput::Main], clock::now())?;
        if let Some(known) = known {
            on_line(&format!("already proven at {}: no gate has to run", known.record.at));
            let audit = self.proofs.audit(target.commit)?;
            self.proofs.with_audit(known, (target.commit, target.branch.as_str()), audit)?;
            return Ok(CommitTestResult::Passed);
        }
        let runner = GateRunner {
            repo: self.repo,
            preparation: &self.checks.preparation,
            records: &GateRecords::of(&self.repo.common_dir),
            limit: self.limit,
            variables: &[],
            sandbox,
            stop,
        };
        let run = runner.run(target, steps, on_line)?;
        let tampered = run.changes.tampered.clone();
        let findings = run.into_findings();
        let result = CommitTestResult::of_gates(&findings, &tampered);
        let proof = if result == CommitTestResult::Passed { GateProof::Verified } else { GateProof::Failed };
        let subject = (target.commit, target.branch.as_str());
        self.proofs.record(subject, &conditions, (proof, &findings), BuildOutput::Main, clock::now())?;
        Ok(result)
    }
}

impl PlannedMerge {
    /// Merges the branches whose gates pass and publishes the results. After `stop` is raised no result counts, because the
    /// gates were killed.
    pub fn run_with_tests(
        self,
        lock: MergeLock,
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
        let checkouts = GateCheckouts::new(tests.repo, &tests.keep_in, stop);
        let mut callbacks = MergeCallbacks {
            prove: &mut |target| tests.prove(target, stop, &mut |line| on_line(line)),
            on_line: &mut |line| on_line(line),
            checkouts: &checkouts,
            remote: tests.remote,
            send: &mut |message| send(client, message),
            on_step: &mut on_step,
            sender: client.agent(),
            now: &clock::now,
        };
        Ok(self.run(lock, rebase, &mut callbacks)?)
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
    use paw_host::git::CleanCheckout;
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
        let dirs = Dirs::from_env().unwrap();
        let tests = ProjectTests::new(&repo, checks, Duration::from_mins(1), &dirs);
        let (commit, branch) = (here.git(["rev-parse", "HEAD"]), BranchName::new("main").unwrap());
        let files = CleanCheckout::new(&repo, &here.root, &sandbox.root().join("state"));
        let checkout = TestedCommit { files: &files, commit: commit.trim(), branch: &branch };
        let stop = StopRequest::default();
        assert!(tests.prove(&checkout, &stop, &mut |_| {}).is_ok());
        stop.raise();
        assert!(matches!(tests.prove(&checkout, &stop, &mut |_| {}), Err(PawError::UserCancelled)));
    }
}
