//! Compares calculated layouts with windows of a real tmux server.

use std::path::Path;

use paw_core::config::LayoutMode;
use paw_core::{AgentId, AgentReceipt, BranchName, Receipt, SessionMode, SessionName, SupervisorReceipt};
use paw_host::tmux::{Tmux, TmuxCommand, session_target};
use paw_session::layout::{Layout, TopRow};
use paw_session::panes::{ConversationMode, PaneBuilder, SessionWindow};
use paw_testkit::wait_until;

use crate::world::use_plain_shells;

/// A private server that ends with the test.
struct Server(Tmux);

impl Server {
    fn new(name: &str) -> Self {
        let tmux = Tmux::on_socket(Some(format!("paw-geometry-{name}-{}", std::process::id())));
        use_plain_shells(&tmux);
        Self(tmux)
    }

    fn ask(&self, args: &[&str]) -> String {
        let (name, rest) = args.split_first().unwrap();
        self.0.run(&TmuxCommand::new(name).args(rest.iter().copied())).unwrap()
    }

    /// Uses other base indices, and a server that outlives its sessions.
    fn with_base_indices(self, windows: u32, panes: u32) -> Self {
        self.ask(&["set-option", "-g", "base-index", &windows.to_string()]);
        self.ask(&["set-option", "-g", "pane-base-index", &panes.to_string()]);
        self
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.run(&TmuxCommand::new("kill-server"));
    }
}

fn receipt(top: TopRow, agents: usize) -> Receipt {
    let name = SessionName::new("paw-app").unwrap();
    let mut receipt = Receipt::new(name, "/".into(), "app", "2025-01-15T10:30:00Z".parse().unwrap());
    receipt.worktrees = (1..=agents)
        .map(|number| {
            let branch = BranchName::new(format!("feat/{number}")).unwrap();
            let mut agent = AgentReceipt::new(branch, "/tmp".into(), format!("cli{number}"));
            agent.command = Some(format!("echo I-am-{number}"));
            agent
        })
        .collect();
    if top != TopRow::Nothing {
        receipt.broker_port = Some(9119);
    }
    if top == TopRow::SupervisorAndDashboard {
        receipt.mode = SessionMode::Supervisor;
        let (cli, command) = ("claude".to_owned(), "true".to_owned());
        receipt.supervisor = Some(SupervisorReceipt { cli, command, ..SupervisorReceipt::default() });
    }
    receipt
}

fn build(server: &Server, receipt: &Receipt) {
    build_with(Path::new("/bin/true"), server, receipt);
}

fn build_with(program: &Path, server: &Server, receipt: &Receipt) {
    let token = |agent: &AgentId| Some(format!("t-{agent}"));
    let builder = PaneBuilder { program, token: &token, conversation: ConversationMode::New, fresh: &[] };
    let window = SessionWindow::of(receipt, builder).unwrap();
    server.0.run_batch(&window.batch()).unwrap();
}

const GEOMETRY: &str = "#{window_index}.#{pane_index} #{pane_left},#{pane_top} #{pane_width}x#{pane_height}";

/// The expected [`GEOMETRY`]. The first line of each row is its border.
fn expected(layout: &Layout) -> Vec<String> {
    let mut lines = Vec::new();
    let mut top = 1;
    for row in &layout.rows {
        let mut left = 0;
        for (column, width) in row.widths.iter().enumerate() {
            lines.push(format!("0.{} {left},{top} {width}x{}", row.first + column, row.height()));
            left += width + 1;
        }
        top += row.lines;
    }
    lines
}

fn every_window_has_its_exact_geometry(server: &Server, top: TopRow) {
    for agents in 1..=25 {
        let receipt = receipt(top, agents);
        build(server, &receipt);
        let target = session_target(&receipt.session_name);
        let shown = server.ask(&["list-panes", "-t", &target, "-F", GEOMETRY]);
        let layout = Layout::new(LayoutMode::Grid, top, agents).unwrap();
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected(&layout), "{agents} agents");
        let size = server.ask(&["display-message", "-p", "-t", &target, "#{window_width}x#{window_height}"]);
        assert_eq!(size.trim(), "200x50");
        server.0.kill_session(&receipt.session_name).unwrap();
    }
}

#[test]
fn one_to_25_supervised_agents_have_the_planned_geometry() {
    let server = Server::new("supervised");
    every_window_has_its_exact_geometry(&server, TopRow::SupervisorAndDashboard);
}

#[test]
fn one_to_25_agents_below_a_dashboard_have_the_planned_geometry() {
    let server = Server::new("dashboard").with_base_indices(1, 1);
    every_window_has_its_exact_geometry(&server, TopRow::Dashboard);
}

#[test]
fn one_to_25_agents_alone_have_the_planned_geometry() {
    let server = Server::new("alone").with_base_indices(5, 2);
    every_window_has_its_exact_geometry(&server, TopRow::Nothing);
}

#[test]
fn panes_have_titles_and_marks_in_order() {
    let server = Server::new("five").with_base_indices(1, 1);
    let receipt = receipt(TopRow::Nothing, 5);
    build(&server, &receipt);
    let target = session_target(&receipt.session_name);
    let shown = server.ask(&["list-panes", "-t", &target, "-F", "#{pane_title} #{@paw_agent}"]);
    let expected: Vec<_> =
        (1..=5).map(|number| format!("feat/{number} → cli{number} feat-{number}")).collect();
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    assert_eq!(server.ask(&["show-options", "-v", "-t", &target, "mouse"]).trim(), "on");
}

#[test]
fn border_of_a_narrow_pane_begins_with_what_its_agent_needs() {
    let server = Server::new("borders");
    let receipt = receipt(TopRow::Nothing, 6);
    build(&server, &receipt);
    let target = session_target(&receipt.session_name);
    let border = |pane: u32, state: &str| {
        let pane = format!("{target}0.{pane}");
        server.ask(&["set-option", "-p", "-t", &pane, "@paw_state", state]);
        server.ask(&["display-message", "-p", "-t", &pane, "#{E:pane-border-format}"]).trim().to_owned()
    };
    let needs = "needs approval: make deploy";
    assert_eq!(border(0, needs), "needs approval · feat/1 → cli1");
    assert_eq!(border(0, "exited"), "exited · feat/1 → cli1");
    assert_eq!(border(0, "idle"), "feat/1 → cli1 · idle");
    // The last row has one pane.
    assert_eq!(border(5, needs), format!("feat/6 → cli6 · {needs}"));
}

#[test]
fn panes_have_their_own_identity_and_panes_opened_later_have_none() {
    let server = Server::new("identity");
    let receipt = receipt(TopRow::SupervisorAndDashboard, 3);
    build(&server, &receipt);
    let target = session_target(&receipt.session_name);
    server.ask(&["split-window", "-t", &format!("{target}0.4"), "sh"]);
    let panes = server.0.panes(&receipt.session_name).unwrap();
    let ids = ["supervisor", "", "feat-1", "feat-2", "feat-3", ""];
    for (pane, id) in panes.iter().zip(ids) {
        let ask = "echo \"<$GIT_PAW_AGENT_ID:$GIT_PAW_BROKER_TOKEN:$GIT_PAW_BROKER_URL>\"";
        server.ask(&["send-keys", "-t", &pane.id, ask, "Enter"]);
        let token = if id.is_empty() { String::new() } else { format!("t-{id}") };
        let answer = format!("<{id}:{token}:http://127.0.0.1:9119>");
        wait_until(&format!("pane {} prints {answer}", pane.index), || {
            let shown = server.0.capture_pane(&pane.id).unwrap().replace('\n', "");
            shown.contains(&answer).then_some(())
        });
    }
}

#[test]
fn names_with_tmux_and_shell_syntax_are_typed_literally() {
    let server = Server::new("hostile");
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("it's #(touch pwned) %H $(touch pwned)");
    std::fs::create_dir(&place).unwrap();
    let mut receipt = receipt(TopRow::Nothing, 1);
    receipt.log_dir = Some(place.join("logs"));
    std::fs::create_dir_all(place.join("logs/paw-app")).unwrap();
    let branch = "a#(touch${IFS}pwned)$(b)';\"c%H";
    receipt.worktrees[0].branch = BranchName::new(branch).unwrap();
    receipt.worktrees[0].worktree_path.clone_from(&place);
    // Prints 42, which the typed command does not contain.
    receipt.worktrees[0].command = Some("echo I-am-$((40 + 2))".into());
    let logger = dir.path().join("git-paw");
    std::fs::write(&logger, "#!/bin/sh\ncat >> \"$2\"\n").unwrap();
    std::fs::set_permissions(&logger, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    build_with(&logger, &server, &receipt);
    let pane = server.0.panes(&receipt.session_name).unwrap().remove(0);
    assert_eq!(pane.title, format!("{branch} → cli1"));
    wait_until("the line ran in its directory", || {
        let shown = server.0.capture_pane(&pane.id).unwrap();
        shown.contains("I-am-42").then_some(())
    });
    assert_eq!(server.0.panes(&receipt.session_name).unwrap()[0].current_path, place);
    wait_until("the log is written", || {
        let logs = std::fs::read_dir(place.join("logs/paw-app")).unwrap();
        logs.map(|log| std::fs::read(log.unwrap().path()).unwrap()).find(|log| !log.is_empty())
    });
    let made: Vec<_> = std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(made, ["logs"], "nothing was touched");
}
