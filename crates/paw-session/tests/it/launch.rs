//! Successful starts, and rollbacks of failed ones.

use std::fs;

use paw_broker::SessionId;
use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_core::config::SupervisorConfig;
use paw_core::paths::PawDir;
use paw_core::{AgentId, SessionMode, SessionStatus};

use crate::world::{World, branch};

fn names(panes: &[(String, std::path::PathBuf)]) -> Vec<&str> {
    panes.iter().map(|(mark, _)| mark.as_str()).collect()
}

#[test]
fn start_creates_a_worktree_and_a_pane_for_each_branch() {
    let world = World::new("bare");
    let receipt = world.start(&["feat/a", "feat/b"], false);
    assert_eq!(receipt.session_name.as_str(), "paw-app");
    assert_eq!(world.receipts.load(&receipt.session_name).unwrap().unwrap(), receipt);
    assert_eq!(
        (receipt.status, receipt.mode, receipt.broker_port),
        (SessionStatus::Active, SessionMode::Bare, None)
    );
    assert!(receipt.worktrees.iter().all(|agent| agent.branch_created && agent.worktree_path.is_dir()));
    assert_eq!(names(&world.panes(&receipt.session_name)), ["feat-a", "feat-b"]);
    for (id, dir) in [("feat-a", "app-feat-a"), ("feat-b", "app-feat-b")] {
        world.wait_for(&receipt.session_name, id, &format!("{dir} with"));
    }
}

#[test]
fn a_supervised_session_has_the_supervisor_in_pane_0_the_dashboard_in_pane_1_and_a_broker() {
    let world = World::new("supervised");
    let receipt = world.start(&["feat/a", "feat/b"], true);
    assert_eq!(names(&world.panes(&receipt.session_name)), ["supervisor", "dashboard", "feat-a", "feat-b"]);
    assert!(receipt.broker_port.is_some_and(|port| port != 0), "the port that was really reserved");
    assert_eq!(receipt.dashboard_pane, Some(1));
    world.wait_for(&receipt.session_name, "dashboard", "dashboard in");
    world.wait_for(&receipt.session_name, "supervisor", "/app with");
    let dir = PawDir::of(&world.repo().common_dir);
    let log = log::open(&dir.log()).unwrap();
    assert_eq!(log.current_session().unwrap(), Some(SessionId::new(&receipt.session_id())));
    let admin = fs::read_dir(world.repo().common_dir.join("worktrees")).unwrap();
    assert_eq!(admin.count(), 2);
    assert!(world.repo.git(["config", "--get-regexp", "includeif"]).contains("hooks.gitconfig"));
}

#[test]
fn start_appends_a_suffix_if_the_session_name_is_taken() {
    let world = World::new("suffix");
    world.tmux.run(&paw_host::tmux::TmuxCommand::new("new-session").args(["-d", "-s", "paw-app"])).unwrap();
    fs::create_dir_all(world.receipts.dir().path()).unwrap();
    fs::write(world.receipts.dir().path().join("paw-app-2.json"), "damaged").unwrap();
    let receipt = world.start(&["feat/a"], false);
    assert_eq!(receipt.session_name.as_str(), "paw-app-3", "free in tmux and among receipts");
}

#[test]
fn start_reuses_an_existing_worktree_and_does_not_own_its_branch() {
    let world = World::new("earlier");
    world.repo.git(["worktree", "add", "--quiet", "-b", "feat/a", "../app-feat-a"]);
    let receipt = world.start(&["feat/a", "feat/b"], false);
    assert_eq!(receipt.worktrees.iter().map(|agent| agent.branch_created).collect::<Vec<_>>(), [false, true]);
}

/// Asserts that the start left nothing behind and changed nothing else.
fn assert_untouched(world: &World, before: &[String], config: &str) {
    assert_eq!(world.beside_the_repository(), before);
    assert!(world.receipts.all().unwrap().receipts.is_empty());
    assert!(world.running().names().iter().all(|name| name.as_str() != "paw-app"));
    assert_eq!(fs::read_to_string(world.repo().common_dir.join("config")).unwrap(), config);
    let exclude = fs::read_to_string(world.repo().common_dir.join("info/exclude")).unwrap_or_default();
    assert!(!exclude.contains("git-paw"), "{exclude}");
}

#[test]
fn start_removes_all_worktrees_if_one_cannot_be_created() {
    let world = World::new("worktree");
    world.repo.git(["branch", "keep"]);
    let plan = world.plan(&["feat/a", "feat/b", "keep"], true).unwrap();
    let config = fs::read_to_string(world.repo().common_dir.join("config")).unwrap();
    fs::write(world.root().join("app-feat-b"), "in the way").unwrap();
    let error = world.launch(&plan).unwrap_err().to_string();
    assert!(error.starts_with("feat/b: ") && error.contains("app-feat-b"), "{error}");
    assert_untouched(&world, &["app".into(), "app-feat-b".into()], &config);
    assert_eq!(world.repo.git(["branch", "--format=%(refname:short)"]), "keep\nmain");
    assert_eq!(world.repo.git(["worktree", "list"]).lines().count(), 1);
}

#[test]
fn start_rolls_back_if_tmux_fails() {
    let world = World::new("tmux-dies");
    world.repo.git(["worktree", "add", "--quiet", "-b", "feat/old", "../app-feat-old"]);
    fs::write(world.root().join("app-feat-old/mine.txt"), "work").unwrap();
    let mut plan = world.plan(&["feat/a", "feat/old"], true).unwrap();
    let config = fs::read_to_string(world.repo().common_dir.join("config")).unwrap();
    // The name was free when the session was planned.
    world
        .tmux
        .run(&paw_host::tmux::TmuxCommand::new("new-session").args(["-d", "-s", "paw-theirs"]))
        .unwrap();
    plan.session = paw_core::SessionName::new("paw-theirs").unwrap();
    let error = world.launch(&plan).unwrap_err().to_string();
    assert!(error.contains("paw-theirs"), "{error}");
    assert_untouched(&world, &["app".into(), "app-feat-old".into()], &config);
    assert_eq!(fs::read_to_string(world.root().join("app-feat-old/mine.txt")).unwrap(), "work");
    assert_eq!(world.repo.git(["branch", "--format=%(refname:short)"]), "feat/old\nmain");
    let dir = PawDir::of(&world.repo().common_dir);
    let log = log::open(&dir.log()).unwrap();
    let session = log.current_session().unwrap().unwrap();
    let keys = Keyring::new(&log, dir.path()).load(&session).unwrap();
    assert!(!format!("{keys:?}").contains("feat-a"), "its tokens are worth nothing");
    let theirs = paw_core::SessionName::new("paw-theirs").unwrap();
    assert!(world.tmux.has_session(&theirs).unwrap(), "a foreign session must keep running");
}

#[test]
fn start_records_another_port_if_the_configured_one_is_in_use() {
    let mut world = World::new("port");
    let theirs = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    world.config.broker.port = theirs.local_addr().unwrap().port();
    let receipt = world.start(&["feat/a"], true);
    assert!(receipt.broker_port.is_some_and(|port| port != world.config.broker.port));
    let url = receipt.broker_url().unwrap();
    world.tmux.run(&send(&world, &receipt, "feat-a")).unwrap();
    world.wait_for(&receipt.session_name, "feat-a", &format!("<{url}>"));
}

/// Ends the agent of a pane and asks its shell for the broker's address.
fn send(world: &World, receipt: &paw_core::Receipt, mark: &str) -> paw_host::tmux::TmuxCommand {
    world.wait_for(&receipt.session_name, mark, "agent in");
    let marks = world.tmux.panes_with(&receipt.session_name, "@paw_agent").unwrap();
    let (id, _) = marks.into_iter().find(|(_, found)| found == mark).unwrap();
    paw_host::tmux::TmuxCommand::new("send-keys").args([
        "-t",
        &id,
        "C-c",
        "echo \"<$GIT_PAW_BROKER_URL>\"",
        "Enter",
    ])
}

#[test]
fn start_accepts_branch_names_with_shell_syntax() {
    let world = World::new("hostile");
    let branches =
        ["a;touch${IFS}pwned", "$(touch${IFS}pwned)", "it's\"quoted\"", "ünï/ß", "x#(touch${IFS}pwned)"];
    let receipt = world.start(&branches, true);
    let ids: Vec<AgentId> = receipt.agent_ids();
    for (id, agent) in ids.iter().zip(&receipt.worktrees) {
        world.wait_for(&receipt.session_name, id.as_str(), "agent in");
        assert!(agent.worktree_path.join("README.md").exists());
        assert!(!agent.worktree_path.join("pwned").exists());
    }
    assert!(!world.repo.root.join("pwned").exists() && !world.root().join("pwned").exists());
    assert_eq!(receipt.worktrees[0].branch, branch(branches[0]));
}

#[test]
fn start_works_in_a_path_with_spaces_and_quotes() {
    let mut world = World::new("odd-path");
    world.repo = paw_testkit::TestRepo::init(world.root().join("it's my \"app\" $HOME"));
    let receipt = world.start(&["feat/a"], true);
    world.wait_for(&receipt.session_name, "feat-a", "-feat-a with");
    world.wait_for(&receipt.session_name, "dashboard", "dashboard in");
}

#[test]
fn start_runs_setup_in_new_worktrees_and_reports_failures() {
    use paw_worktree::{Preparation, setup};
    let mut world = World::new("setup");
    world.config.worktree.setup_commands = vec!["test \"$(git branch --show-current)\" != feat/b".into()];
    let layer = paw_core::config::Layer::default();
    let setup = setup::plan(&world.config, &layer, &world.repo.root);
    let preparation = Preparation { copy: Vec::new(), setup };
    let launched =
        world.launch_with(&world.plan(&["feat/a", "feat/b"], false).unwrap(), &preparation).unwrap();
    assert_eq!(launched.notes.len(), 1, "{:?}", launched.notes);
    assert!(launched.notes[0].starts_with("feat/b: setup failed"), "{:?}", launched.notes);
}

#[test]
fn start_installs_briefings_and_queues_boot_prompts() {
    let world = World::new("briefed");
    let plan = world.plan(&["feat/a"], true).unwrap();
    let receipt = world.launch(&plan).unwrap().receipt;
    let briefing = fs::read_to_string(receipt.worktrees[0].worktree_path.join("AGENTS.md")).unwrap();
    assert!(briefing.contains("feat/a") && briefing.contains("feat-a"), "{briefing}");
    let first = receipt.worktrees[0].pending_boot_prompt.as_deref().unwrap();
    assert!(first.contains("AGENTS.md"), "{first}");
    assert!(receipt.supervisor.unwrap().pending_boot_prompt.is_some());
    assert!(world.repo.root.join(".git-paw/AGENTS.local.md").exists());
}

#[test]
fn briefings_quote_what_earlier_sessions_learned_and_still_applies() {
    let mut world = World::new("learned");
    let mut supervisor = SupervisorConfig::default();
    supervisor.learnings.enabled = true;
    world.config.supervisor = Some(supervisor);
    let learned = "## Session Learnings — 1\n\n### Conflict events\n\n- in-flight-conflict: a and b in `gone.rs`\n\n\
        ### Tooling friction\n\n- the tests need a database (2 times)\n";
    world.repo.write(".git-paw/session-learnings.md", learned);
    let receipt = world.start(&["feat/a"], true);
    let worktree = &receipt.worktrees[0].worktree_path;
    for file in [worktree.join("AGENTS.md"), world.repo.root.join(".git-paw/AGENTS.local.md")] {
        let briefing = fs::read_to_string(file).unwrap();
        assert!(briefing.contains("Tooling friction: the tests need a database"), "{briefing}");
        assert!(!briefing.contains("gone.rs"), "{briefing}");
    }
}

#[test]
fn start_queues_no_boot_prompt_without_spec_and_broker() {
    let world = World::new("unbriefed");
    let receipt = world.start(&["feat/a"], false);
    assert_eq!(receipt.worktrees[0].pending_boot_prompt, None);
}
