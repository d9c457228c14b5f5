//! Commands on a session after its start: status, attach, pause, stop, purge, add, remove.

use std::fs;
use std::path::{Path, PathBuf};

use paw_broker::log::{self, PageLimit};
use paw_core::paths::PawDir;
use paw_testkit::{RunOutput, Sandbox, Terminal, TestRepo, git, wait_until};
use serde_json::{Value, json};

use crate::paw::{PROGRAM, document, paw};

mod add;
mod attach;
mod bad_input;
mod diff;
mod pause;
mod purge;
mod remove;
mod status;
mod stop;

/// A repository with a session of two agents, `feat/a` and `feat/b`.
pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) repo: TestRepo,
}

/// A CLI that prints a greeting and waits.
const CLI: &str = "#!/bin/sh\necho hello from $PWD\nexec sleep 1000\n";

impl World {
    /// A repository without a session.
    pub(crate) fn empty() -> Self {
        Self::empty_in(Sandbox::new())
    }

    pub(crate) fn empty_in(sandbox: Sandbox) -> Self {
        sandbox.install_program("claude", CLI);
        // Panes run login shells, which may reset PATH.
        let root = sandbox.root();
        let path = format!("PATH='{0}/bin:{0}/tools'\n", root.display());
        sandbox.write("home/.profile", &path);
        let repo = sandbox.repo("app");
        Self { sandbox, repo }
    }

    pub(crate) fn new() -> Self {
        Self::empty().started()
    }

    /// A session with a broker, and with a dashboard in its own pane.
    pub(crate) fn with_broker() -> Self {
        let world = Self::empty();
        world.sandbox.write("home/.config/git-paw/config.toml", "[broker]\nenabled = true\n");
        world.started()
    }

    pub(crate) fn started(self) -> Self {
        let args = ["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a,feat/b"];
        let ran = self.paw(&args);
        assert_eq!(ran.code, 0, "{ran}");
        for agent in ["feat-a", "feat-b"] {
            self.wait_for_program(agent, "sleep");
        }
        self
    }

    /// Waits until an agent's pane runs a program.
    pub(crate) fn wait_for_program(&self, agent: &str, program: &str) {
        wait_until(&format!("{agent} has {program} in front"), || {
            let pane = self.pane(agent)?;
            let front = self.tmux(&["display-message", "-p", "-t", &pane, "#{pane_current_command}"]);
            (front == program).then_some(())
        });
    }

    /// Waits until the pane with this mark shows a text.
    pub(crate) fn wait_for_pane(&self, mark: &str, text: &str) {
        wait_until(&format!("the pane of {mark} shows {text:?}"), || {
            let shown = self.tmux(&["capture-pane", "-p", "-J", "-t", &self.pane(mark)?]);
            shown.contains(text).then_some(())
        });
    }

    pub(crate) fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    /// Runs the command on a terminal.
    pub(crate) fn typed(&self, args: &[&str]) -> Terminal {
        Terminal::run(&self.sandbox, &self.repo.root, PROGRAM, args)
    }

    pub(crate) fn status(&self) -> Value {
        document(&self.paw(&["status", "--json"]))
    }

    /// The entry of `sweep status` for the agent with this index.
    fn swept(&self, place: usize) -> Value {
        document(&self.paw(&["sweep", "status", "--json"]))[place].clone()
    }

    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        self.sandbox.tmux(args).stdout.trim_end().to_owned()
    }

    /// Kills the tmux server and waits until it has exited.
    pub(crate) fn kill_tmux(&self) {
        self.sandbox.tmux(["kill-server"]);
        let gone = || (self.sandbox.tmux(["list-sessions"]).code != 0).then_some(());
        wait_until("the tmux server is gone", gone);
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.sandbox.tmux(["has-session", "-t", "=paw-app:"]).code == 0
    }

    /// Each pane's mark and id, in tmux's order.
    pub(crate) fn panes(&self) -> Vec<(String, String)> {
        let listing = self.tmux(&["list-panes", "-s", "-t", "=paw-app:", "-F", "#{@paw_agent}\t#{pane_id}"]);
        let row = |line: &str| line.split_once('\t').map(|(mark, id)| (mark.to_owned(), id.to_owned()));
        listing.lines().filter_map(row).collect()
    }

    pub(crate) fn pane(&self, mark: &str) -> Option<String> {
        self.panes().into_iter().find(|(found, _)| found == mark).map(|(_, id)| id)
    }

    pub(crate) fn worktree(&self, branch: &str) -> PathBuf {
        self.sandbox.root().join(format!("app-{}", branch.replace('/', "-")))
    }

    pub(crate) fn receipt_path(&self) -> PathBuf {
        self.sandbox.home().join(".local/share/git-paw/sessions/paw-app.json")
    }

    pub(crate) fn receipt(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.receipt_path()).unwrap()).unwrap()
    }

    pub(crate) fn has_branch(&self, branch: &str) -> bool {
        !self.repo.git(["branch", "--list", branch]).is_empty()
    }

    /// The number of messages in the repository's log.
    pub(crate) fn messages(&self) -> usize {
        let dir = PawDir::of(&self.repo.root.join(".git"));
        let log = log::open(&dir.log()).unwrap();
        let session = log.current_session().unwrap();
        session.map_or(0, |session| log.history(&session, 0, PageLimit::DEFAULT).unwrap().len())
    }

    /// All messages in the repository's log, as text.
    pub(crate) fn history(&self) -> String {
        let dir = PawDir::of(&self.repo.root.join(".git"));
        let log = log::open(&dir.log()).unwrap();
        let session = log.current_session().unwrap().unwrap();
        format!("{:?}", log.history(&session, 0, PageLimit::DEFAULT).unwrap())
    }

    /// Commits in an agent's worktree.
    pub(crate) fn commit_in(&self, branch: &str, file: &str) -> String {
        let dir = self.worktree(branch);
        fs::write(dir.join(file), "work\n").unwrap();
        git(&dir, ["add", "--", file]);
        git(&dir, ["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "work"]);
        git(&dir, ["rev-parse", "HEAD"])
    }

    /// Starts a process in a directory that ignores SIGHUP.
    pub(crate) fn inhabit(&self, dir: &Path) -> std::process::Child {
        let mut command = self.sandbox.command("sh");
        command.current_dir(dir).args(["-c", "trap '' HUP; sleep 1000"]).spawn().unwrap()
    }
}

/// The region that an older version wrote to the repository's AGENTS.md.
pub(crate) const REGION: &str =
    "<!-- git-paw:start — managed by git-paw, do not edit manually -->\nold\n<!-- git-paw:end -->\n";

#[test]
fn session_commands_report_that_there_is_no_session() {
    let world = World::empty();
    for (args, said) in [
        (&["stop"][..], "No active session for this repo.\n"),
        (&["stop", "--force"], "No active session for this repo.\n"),
        (&["pause"], "No active session for this repo.\n"),
        (&["purge"], "No session to purge for this repo.\n"),
        (&["purge", "--stale"], "No stale sessions.\n"),
        (&["status"], "No session for this repo.\n"),
    ] {
        let ran = world.paw(args);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, said, ""), "{args:?}");
    }
    assert_eq!(world.status(), json!({"session": null}));
    for args in [&["attach"][..], &["remove", "feat/a"]] {
        let ran = world.paw(args);
        assert!(ran.code == 1 && ran.stderr.contains("git paw start"), "{ran}");
    }
}

#[test]
fn session_commands_fail_outside_of_a_repository() {
    let world = World::empty();
    for verb in ["stop", "pause", "purge", "status", "attach"] {
        let ran = paw(&world.sandbox, &world.sandbox.root(), &[verb]);
        assert!(ran.code == 1 && ran.stderr.starts_with("error: Not a git repository"), "{ran}");
    }
}

#[test]
fn attach_shows_the_session_in_the_terminal() {
    let world = World::new();
    let mut terminal = world.typed(&["attach"]);
    terminal.wait_for("hello");
    assert_eq!(world.tmux(&["list-clients", "-t", "=paw-app:", "-F", "#{session_name}"]), "paw-app");
    terminal.send("\x02d");
    assert_eq!(terminal.finish(), 0);
    let ran = world.paw(&["attach"]);
    assert!(ran.code == 1 && ran.stderr.contains("tmux attach -t paw-app"), "{ran}");
}

#[test]
fn attach_to_a_stopped_session_says_how_to_resume_it() {
    let world = World::new();
    world.paw(&["stop"]);
    let terminal = world.typed(&["attach"]);
    terminal.wait_for("stopped");
    terminal.wait_for("start");
    assert_eq!(terminal.finish(), 1);
}
