//! The session's dashboard: its keys pressed in a real tmux.

use std::fs;

use paw_testkit::{TestRepo, wait_until};
use serde_json::json;

use super::World;
use crate::paw::document;

struct Dashboard {
    world: World,
    pane: String,
}

impl Dashboard {
    fn open(config: &str) -> Self {
        let world = World::supervised(config);
        world.tmux(&["resize-window", "-t", "=paw-app:", "-x", "220", "-y", "80"]);
        let format = "#{@paw_agent} #{pane_id}";
        let listing = world.tmux(&["list-panes", "-s", "-t", "=paw-app:", "-F", format]);
        let pane = listing.lines().find_map(|line| line.strip_prefix("dashboard ")).unwrap().to_owned();
        let dashboard = Self { world, pane };
        dashboard.wait_for("feat-x");
        dashboard
    }

    fn screen(&self) -> String {
        self.world.tmux(&["capture-pane", "-p", "-t", &self.pane])
    }

    fn press(&self, keys: &[&str]) {
        self.world.tmux(&[&["send-keys", "-t", &self.pane], keys].concat());
    }

    fn wait_for(&self, text: &str) -> String {
        let start = std::time::Instant::now();
        wait_until(&format!("the dashboard shows {text:?}"), || {
            let screen = self.screen();
            assert!(start.elapsed().as_secs() < 170 || screen.contains(text), "no {text:?} in\n{screen}");
            Some(screen).filter(|screen| screen.contains(text))
        })
    }

    fn wait_until_gone(&self, text: &str) {
        wait_until(&format!("the dashboard no longer shows {text:?}"), || {
            (!self.screen().contains(text)).then_some(())
        });
    }

    /// Lets the agent ask, and opens the prompt in the dashboard.
    fn ask(&self, command: &str) {
        self.world.submit(&format!("[[bash:{command} ; say:finished]]"));
        self.wait_for("needs approval");
        self.press(&["a"]);
        let shown = self.wait_for("feat-x (claude) wants");
        assert!(shown.contains(command) && shown.contains("not allowed automatically: "), "{shown}");
    }
}

#[test]
fn approve_and_deny_in_the_dashboard_act_on_the_prompt_and_close_it_everywhere() {
    let dashboard = Dashboard::open("");
    let world = &dashboard.world;
    dashboard.ask("make deploy");
    let status = world.paw(&["status"]).stdout;
    assert!(status.contains("needs approval") && !status.contains("running  "), "{status}");
    let inbox = world.paw(&["inbox"]).stdout;
    assert!(inbox.contains("feat-x wants: make deploy"), "{inbox}");
    dashboard.press(&["a"]);
    wait_until("the agent continues", || world.has_event("allowed make deploy").then_some(()));
    dashboard.wait_until_gone("needs approval");
    wait_until("status agrees", || (!world.paw(&["status"]).stdout.contains("needs approval")).then_some(()));
    assert!(!world.paw(&["inbox"]).stdout.contains("make deploy"));
    assert!(!world.paw(&["sweep", "inbox"]).stdout.contains("make deploy"));

    dashboard.ask("make undeploy");
    dashboard.press(&["d"]);
    wait_until("the agent was refused", || world.has_event("denied make undeploy").then_some(()));
    dashboard.wait_until_gone("needs approval");

    // The prompt is answered in the pane while the dashboard shows it.
    dashboard.ask("make again");
    world.tmux(&["send-keys", "-t", &world.pane(), "-l", "1"]);
    wait_until("the agent continues", || world.has_event("allowed make again").then_some(()));
    dashboard.wait_until_gone("feat-x (claude) wants");
    let before = world.agent.events();
    dashboard.press(&["a"]);
    dashboard.wait_for("feat-x is not waiting for an approval");
    dashboard.press(&["a"]);
    assert_eq!(world.agent.events(), before, "nothing was pressed");
}

#[test]
fn the_dashboard_goes_to_agents_shows_their_work_and_runs_commands() {
    let dashboard = Dashboard::open("");
    let world = &dashboard.world;
    let prompt = || document(&world.paw(&["status", "--json"]))["worktrees"][0]["prompt"].clone();
    wait_until("the agent got its first prompt", || (prompt() == json!("delivered")).then_some(()));
    dashboard.wait_for("idle");
    fs::write(world.worktree().join("plan.txt"), "first\nsecond\n").unwrap();
    dashboard.press(&["c"]);
    dashboard.wait_for("changes of feat-x");
    let shown = dashboard.wait_for("+second");
    assert!(shown.contains("plan.txt") && shown.contains("partly uncommitted"), "{shown}");
    dashboard.press(&["Escape"]);
    dashboard.wait_for("agents 1");

    let before = world.agent.prompts().len();
    dashboard.press(&["t"]);
    dashboard.wait_for("tell feat-x");
    dashboard.press(&["-l", "use md5"]);
    dashboard.press(&["C-w"]);
    dashboard.press(&["-l", "bcrypt"]);
    dashboard.press(&["Enter"]);
    dashboard.wait_for("typed into the pane of feat-x");
    wait_until("the agent was told", || (world.agent.prompts().len() > before).then_some(()));
    assert!(world.agent.prompts().last().unwrap().contains("use bcrypt"), "{:?}", world.agent.prompts());

    dashboard.press(&["p"]);
    dashboard.wait_for("pane of feat-x");
    dashboard.wait_for("use bcrypt");
    dashboard.press(&["p"]);

    dashboard.press(&["Enter"]);
    let zoomed = "#{?#{&&:#{window_zoomed_flag},#{pane_active}},#{@paw_agent},}";
    wait_until("the agent's pane is zoomed", || {
        let shown = world.tmux(&["list-panes", "-s", "-t", "=paw-app:", "-F", zoomed]);
        (shown.trim() == "feat-x").then_some(())
    });
    world.tmux(&["resize-pane", "-Z", "-t", &world.pane()]);

    let ran = world.paw(&["add", "feat/y", "--cli", "boss"]);
    assert_eq!(ran.code, 0, "{ran}");
    let order = dashboard.wait_for(" feat-y ");
    // An agent that needs the user comes first.
    let row = |name: &str| order.lines().position(|line| line.contains(name)).unwrap();
    dashboard.press(&[if row(" feat-y ") > row(" feat-x ") { "j" } else { "k" }]);
    dashboard.press(&["X"]);
    dashboard.wait_for("remove feat/y?");
    dashboard.press(&["y"]);
    let shown = dashboard.wait_for("removed the agent of feat/y; kept the branch");
    dashboard.wait_for("agents 1");
    assert!(!shown.contains("warning:") && !dashboard.screen().contains("warning:"), "{shown}");
    let left = document(&world.paw(&["status", "--json"]));
    assert_eq!(left["worktrees"].as_array().map(Vec::len), Some(1));
}

#[test]
fn agent_added_while_the_dashboard_runs_is_shown_as_proven() {
    let dashboard = Dashboard::open("test_command = \"true\"\n");
    let world = &dashboard.world;
    let ran = world.paw(&["add", "feat/y", "--cli", "claude"]);
    assert_eq!(ran.code, 0, "{ran}");
    let tree = TestRepo { root: world.sandbox.root().join("app-feat-y") };
    tree.commit_file("work.txt", "work\n", "work");
    let ran = world.paw(&["verify", "feat/y"]);
    assert_eq!(ran.code, 0, "{ran}");
    wait_until("the dashboard shows the proof", || {
        let screen = dashboard.screen();
        let line = screen.lines().find(|line| line.contains("feat/y") || line.contains("feat-y"))?;
        (line.contains("verified") && !line.contains("by hand")).then_some(())
    });
}
