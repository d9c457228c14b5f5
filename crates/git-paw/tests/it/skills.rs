//! Runs every command that the briefings contain.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paw_broker::identity::Keyring;
use paw_broker::log::{self, MessageDraft, MessageLog, SessionId};
use paw_broker::message::{AnswerMessage, Message, QuestionMessage};
use paw_core::paths::PawDir;
use paw_core::{AgentId, AgentReceipt, BranchName, Receipt, SessionName};
use paw_session::Receipts;
use paw_session::briefing::{self, BriefedAgent, BriefingInput, BriefingRole, Team};
use paw_session::skills;
use paw_testkit::{Sandbox, TestRepo};

use crate::paw::PROGRAM;
use crate::verify::Broker;

/// A session with messages and one agent's worktree.
struct Session {
    sandbox: Sandbox,
    repo: TestRepo,
    worktree: PathBuf,
    log: Arc<dyn MessageLog>,
    id: SessionId,
}

impl Session {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        let worktree = sandbox.root().join("parser");
        repo.git(["worktree", "add", "--quiet", "-b", "feat/parser", worktree.to_str().unwrap()]);
        // git finds `git paw` as git-paw on PATH.
        symlink(PROGRAM, sandbox.root().join("bin/git-paw")).unwrap();
        let log = log::open(&PawDir::of(&repo.root.join(".git")).log()).unwrap();
        let session = Self { sandbox, repo, worktree, log, id: SessionId::new("paw-app@20260131T120000Z") };
        session.write_receipt();
        session.talk();
        session
    }

    fn write_receipt(&self) {
        let now = "2026-01-31T12:00:00Z".parse().unwrap();
        let name = SessionName::new("paw-app").unwrap();
        let mut receipt = Receipt::new(name, self.repo.root.clone(), "app", now);
        receipt.broker_port = Some(9119);
        let branch = BranchName::new("feat/parser").unwrap();
        receipt.worktrees.push(AgentReceipt::new(branch, self.worktree.clone(), "claude"));
        let receipts = Receipts::at(self.sandbox.home().join(".local/share/git-paw/sessions"));
        receipts.save(&receipt, &receipts.lock().unwrap()).unwrap();
    }

    /// Adds more messages than the sequence numbers in the briefings.
    fn talk(&self) {
        let (agent, supervisor) = (AgentId::new("feat-parser").unwrap(), AgentId::supervisor());
        let now = "2026-01-31T12:00:00Z".parse().unwrap();
        let to_agent: Message = AnswerMessage::new(agent.clone(), supervisor, "yes").into();
        let to_supervisor: Message = QuestionMessage::new(agent, "may I?").into();
        let drafts: Vec<MessageDraft> = (0..50)
            .flat_map(|_| [&to_agent, &to_supervisor])
            .map(|said| MessageDraft::new(said.clone(), now))
            .collect();
        self.log.append(&self.id, &drafts).unwrap();
    }

    fn type_in(&mut self, dir: &Path, agent: &AgentId, line: &str) {
        let paw_dir = PawDir::of(&self.repo.root.join(".git"));
        let token = Keyring::new(&self.log, paw_dir.path()).mint(&self.id, agent).unwrap();
        self.sandbox.set("GIT_PAW_AGENT_ID", agent.as_str());
        self.sandbox.set("GIT_PAW_BROKER_TOKEN", token.reveal());
        let ran = self.sandbox.run(dir, "sh", ["-c", line]);
        assert_eq!(ran.code, 0, "{line}\n{ran}");
    }
}

fn team() -> Team {
    let branch = BranchName::new("feat/parser").unwrap();
    Team {
        project: "app".to_owned(),
        members: vec![BriefedAgent {
            agent: AgentId::slug(&branch),
            branch,
            cli: "claude".to_owned(),
            spec: None,
            task: None,
        }],
        supervised: true,
        broker_url: Some("http://127.0.0.1:9119".to_owned()),
        ..Team::default()
    }
}

fn briefing(role: BriefingRole<'_>, team: &Team, skill: &str) -> String {
    let nowhere = Path::new("/nowhere");
    let skill = skills::load(skill, nowhere, nowhere).unwrap().skill;
    let briefing = briefing::render(&BriefingInput { team, role, skill: &skill });
    assert!(briefing.warnings.is_empty(), "{:?}", briefing.warnings);
    briefing.text
}

/// The commands in code blocks and between backticks.
fn commands(text: &str) -> Vec<String> {
    let is_command = |code: &&str| code.starts_with("git paw ");
    let mut found = Vec::new();
    for line in text.lines() {
        let block = line.trim();
        if is_command(&block) {
            found.push(block.to_owned());
        } else {
            found.extend(line.split('`').skip(1).step_by(2).filter(is_command).map(str::to_owned));
        }
    }
    assert_eq!(found.len(), text.matches("git paw ").count(), "a command that is not shown as one");
    found
}

#[test]
fn every_command_in_the_agent_briefing_works() {
    let team = team();
    let text = briefing(BriefingRole::Agent(&team.members[0]), &team, skills::COORDINATION);
    let commands = commands(&text);
    for kind in ["status", "intent", "artifact", "blocked", "question", "answer", "feedback", "learning"] {
        let said = format!("git paw say {kind} ");
        assert!(commands.iter().any(|line| line.starts_with(&said)), "{kind} is not explained");
    }
    let mut session = Session::new();
    let dir = session.worktree.clone();
    for line in commands {
        session.type_in(&dir, &team.members[0].agent, &line);
    }
}

#[test]
fn every_command_in_the_supervisor_briefing_works() {
    let team = team();
    let text = briefing(BriefingRole::Supervisor { cli: "claude" }, &team, skills::SUPERVISOR);
    let commands = commands(&text);
    for told in [
        "say status ",
        "say answer ",
        "say feedback ",
        "say verified ",
        "tell ",
        "audit ",
        "verify ",
        "merge --rebase",
    ] {
        assert!(
            commands.iter().any(|line| line.starts_with(&format!("git paw {told}"))),
            "{told} is not explained"
        );
    }
    let mut session = Session::new();
    session.sandbox.write(
        "home/.config/git-paw/config.toml",
        "[supervisor]\ntest_command = \"test -f work\"\n[governance]\ndod = \"dod.md\"\nadr = \"adr\"\n",
    );
    session.repo.write("dod.md", "- [ ] tests\n- [ ] docs\n");
    session.repo.write("adr/0001.md", "# Use files\n");
    TestRepo { root: session.worktree.clone() }.commit_file("work", "done", "work");
    let dir = session.repo.root.clone();
    // It runs the gates that the supervisor asks for.
    let _broker = Broker::serve(&session.sandbox, &session.repo);
    // In this session no agent has a pane or waits for an approval.
    let in_panes = ["git paw sweep approve ", "git paw sweep restart ", "git paw tell feat-parser --now "];
    let needs_a_pane = |line: &String| in_panes.iter().any(|start| line.starts_with(start));
    let commit = session.repo.git(["rev-parse", "feat/parser"]);
    for line in commands.iter().filter(|line| !needs_a_pane(line)) {
        session.type_in(&dir, &AgentId::supervisor(), &line.replace("1a2b3c4", &commit));
        if line.contains("--fail 'adr-1=") {
            let fixed = format!("git paw audit feat/parser --commit {commit} --pass adr-1");
            session.type_in(&dir, &AgentId::supervisor(), &fixed);
        }
    }
    let tip = |branch: &str| session.repo.git(["rev-parse", branch]);
    assert_eq!(tip("main"), tip("feat/parser"), "the verified commit is merged");
}
