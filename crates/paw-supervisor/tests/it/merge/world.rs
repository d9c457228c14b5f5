//! A session whose agents have commits, and helpers to merge them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paw_broker::log::{self, MessageDraft, MessageLog, PageLimit};
use paw_broker::{Message, SessionId};
use paw_core::paths::PawDir;
use paw_core::{AgentId, BranchName, PawError};
use paw_host::clock;
use paw_host::git::Repo;
use paw_supervisor::gates::{GateCheckouts, StopRequest};
use paw_supervisor::merge::{
    CommitTestResult, MergeCallbacks, MergeError, MergeLock, MergeMember, MergeOutcome, MergeReport,
    MergeStep, PlannedMerge, TestedCommit, Verifications,
};
use paw_testkit::{Sandbox, TestRepo, git, wait_until};
use serde_json::{Value, json};

pub(crate) struct World {
    sandbox: Option<Sandbox>,
    root: PathBuf,
    pub repo: TestRepo,
    agents: Vec<String>,
    rebase: bool,
}

pub(crate) fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

pub(crate) fn id(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

/// Passes unless a file `broken` exists. The checkout has to contain the commit and nothing else.
pub(crate) fn prove(checkout: &TestedCommit<'_>) -> CommitTestResult {
    assert_eq!(git(checkout.files.dir(), ["rev-parse", "HEAD"]), checkout.commit);
    assert_eq!(git(checkout.files.dir(), ["status", "--porcelain"]), "");
    if checkout.files.dir().join("broken").exists() {
        CommitTestResult::Failed { errors: vec!["broken is there".to_owned()] }
    } else {
        CommitTestResult::Passed
    }
}

impl World {
    /// Agents `a`, `b`, … on branches `feat/a`, `feat/b`, …, each in a worktree next to the repository.
    pub(crate) fn new(agents: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.commit_file("shared.txt", "one\n", "shared");
        let world =
            Self { root: sandbox.root(), sandbox: Some(sandbox), repo, agents: Vec::new(), rebase: false };
        agents.iter().fold(world, |world, agent| world.with_agent(agent, "main"))
    }

    /// A world that another process created, merged with rebase.
    pub(crate) fn at(root: PathBuf, agents: &[&str]) -> Self {
        let repo = TestRepo { root: root.join("app") };
        let agents = agents.iter().map(|agent| (*agent).to_owned()).collect();
        Self { sandbox: None, root, repo, agents, rebase: true }
    }

    /// Merges with rebase.
    pub(crate) fn rebasing(self) -> Self {
        Self { rebase: true, ..self }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        self.sandbox.as_ref().unwrap()
    }

    /// Adds an agent whose branch starts at another branch.
    pub(crate) fn with_agent(mut self, agent: &str, start: &str) -> Self {
        let dir = self.worktree(agent);
        let name = format!("feat/{agent}");
        self.repo.git(["worktree", "add", "--quiet", "-b", &name, dir.to_str().unwrap(), start]);
        self.agents.push(agent.to_owned());
        self
    }

    pub(crate) fn worktree(&self, agent: &str) -> PathBuf {
        self.root.join(format!("app-feat-{agent}"))
    }

    /// The directory of the checkouts in which commits are tested.
    pub(crate) fn checkouts(&self) -> PathBuf {
        self.root.join("checkouts")
    }

    /// Main's checkout, in which commits are tested.
    pub(crate) fn test_checkout(&self) -> PathBuf {
        let entries = fs::read_dir(self.checkouts()).unwrap().map(|entry| entry.unwrap().path());
        let is_dir = |path: &PathBuf| path.is_dir() && path.extension().is_none();
        entries.into_iter().find(is_dir).unwrap()
    }

    /// An agent commits a file. Returns the commit.
    pub(crate) fn commit(&self, agent: &str, path: &str, text: &str) -> String {
        let dir = self.worktree(agent);
        fs::write(dir.join(path), text).unwrap();
        git(&dir, ["add", "--all"]);
        git(&dir, ["commit", "--quiet", "--message", &format!("{agent}: {path}")]);
        git(&dir, ["rev-parse", "HEAD"])
    }

    pub(crate) fn tip(&self, name: &str) -> String {
        self.repo.git(["rev-parse", "--verify", &format!("refs/heads/{name}")])
    }

    pub(crate) fn main(&self) -> String {
        self.tip("main")
    }

    pub(crate) fn repo(&self) -> Repo {
        Repo::discover(&self.repo.root).unwrap()
    }

    /// All messages of the session, as JSON.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let page = self.log().history(&session(), 0, PageLimit::DEFAULT).unwrap();
        page.iter().map(|entry| serde_json::from_str(&entry.body).unwrap()).collect()
    }

    /// The messages of one type to or from an agent.
    pub(crate) fn messages_of(&self, name: &str, agent: &str) -> Vec<Value> {
        let is_it = |message: &Value| message["type"] == name && message["agent_id"] == agent;
        self.messages().into_iter().filter(is_it).collect()
    }

    pub(crate) fn say(&self, message: Value) {
        self.store(Message::from_json(message).unwrap());
    }

    pub(crate) fn blocked(&self, agent: &str, on: &str) {
        self.say(json!({"type": "agent.blocked", "agent_id": agent, "payload": {"needs": "it", "from": on}}));
    }

    pub(crate) fn verify(&self, agent: &str) {
        let commit = self.tip(&format!("feat/{agent}"));
        self.say(json!({"type": "agent.verified", "agent_id": agent,
            "payload": {"verified_by": "supervisor", "commit": commit}}));
    }

    fn log(&self) -> Arc<dyn MessageLog> {
        log::open(&PawDir::of(&self.repo().common_dir).log()).unwrap()
    }

    fn store(&self, message: Message) {
        self.log().append(&session(), &[MessageDraft::new(message, clock::now())]).unwrap();
    }

    fn members(&self) -> Vec<MergeMember> {
        let member =
            |agent: &String| MergeMember { agent: id(agent), branch: branch(&format!("feat/{agent}")) };
        self.agents.iter().map(member).collect()
    }

    pub(crate) fn open(&self) -> Result<PlannedMerge, MergeError> {
        self.open_for(&self.members())
    }

    /// Child processes of other tests may hold the lock for a moment.
    pub(crate) fn lock(&self) -> MergeLock {
        wait_until("no other merge is running", || match MergeLock::take(&self.repo()) {
            Err(MergeError::Busy) => None,
            answer => Some(answer.unwrap()),
        })
    }

    pub(crate) fn open_for(&self, members: &[MergeMember]) -> Result<PlannedMerge, MergeError> {
        let repo = self.repo();
        let verifications = Verifications::load(&repo.common_dir, Some(&session()))?;
        PlannedMerge::open(&repo, &branch("main"), members, verifications, clock::now())
    }

    pub(crate) fn merge(&self) -> MergeReport {
        self.merge_by(prove)
    }

    /// Merges with another test.
    pub(crate) fn merge_by(
        &self,
        mut prove: impl FnMut(&TestedCommit<'_>) -> CommitTestResult,
    ) -> MergeReport {
        self.merge_with(&mut |checkout| Ok(prove(checkout)), &mut |_, _| {}).unwrap()
    }

    pub(crate) fn merge_with(
        &self,
        prove: &mut dyn FnMut(&TestedCommit<'_>) -> Result<CommitTestResult, PawError>,
        on_step: &mut dyn FnMut(MergeStep, Option<&BranchName>),
    ) -> Result<MergeReport, MergeError> {
        let mut send = |message: &Message| {
            self.store(message.clone());
            Ok(())
        };
        let me = id("supervisor");
        let checkouts = GateCheckouts::new(&self.repo(), &self.checkouts(), &StopRequest::default());
        let mut callbacks = MergeCallbacks {
            prove,
            send: &mut send,
            on_line: &mut |_| {},
            on_step,
            checkouts: &checkouts,
            remote: None,
            sender: &me,
            now: &clock::now,
        };
        let lock = self.lock();
        self.open()?.run(lock, self.rebase, &mut callbacks)
    }

    /// Asserts that the merge left no files behind.
    pub(crate) fn assert_tidy(&self) {
        let checkouts =
            fs::read_dir(self.checkouts()).into_iter().flatten().map(|entry| entry.unwrap().path());
        let is_saved = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "saved");
        assert_eq!(checkouts.filter(is_saved).count(), 0, "a copy of the checkout is still there");
        assert!(!self.repo.root.join(".git/paw/merge.json").exists(), "the journal is still there");
    }

    /// The commit that a rescue saved.
    pub(crate) fn is_kept(&self, reference: &str, commit: &str) -> bool {
        self.repo.git(["rev-list", reference]).lines().any(|line| line == commit)
    }
}

pub(crate) fn session() -> SessionId {
    SessionId::new("s")
}

/// The outcome of one branch.
pub(crate) fn outcome<'a>(report: &'a MergeReport, name: &str) -> &'a MergeOutcome {
    let entry = report.entries.iter().find(|entry| entry.branch.as_str() == name);
    entry.unwrap_or_else(|| panic!("no {name} in {report:?}")).outcome().unwrap()
}

pub(crate) fn outcomes(report: &MergeReport) -> Vec<(&str, &str)> {
    report.entries.iter().map(|entry| (entry.branch.as_str(), entry.outcome().unwrap().word())).collect()
}

pub(crate) fn write(dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), text).unwrap();
}

pub(crate) fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap_or_default()
}
