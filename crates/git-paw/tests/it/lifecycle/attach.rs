//! `git paw attach AGENT` and `git paw next`

use paw_testkit::wait_until;

use super::World;

/// The marks of the zoomed, active pane.
fn zoomed(world: &World) -> String {
    let format = "#{?#{&&:#{window_zoomed_flag},#{pane_active}},#{@paw_agent},}";
    world.tmux(&["list-panes", "-t", "=paw-app:", "-F", format]).split_whitespace().collect()
}

/// Runs `git paw` in a window of the user's own inside the session.
fn type_in_window(world: &World, line: &str) {
    world.tmux(&["new-window", "-d", "-t", "=paw-app:", "-n", "mine"]);
    let line = format!("cd {} && {} {line}", world.repo.root.display(), crate::paw::PROGRAM);
    world.tmux(&["send-keys", "-t", "=paw-app:mine", &line, "Enter"]);
}

#[test]
fn attach_shows_the_pane_of_an_agent_zoomed() {
    let world = World::new();
    for (name, agent) in [("feat-b", "feat-b"), ("feat/a", "feat-a"), ("a", "feat-a")] {
        type_in_window(&world, &format!("attach {name}"));
        wait_until(&format!("{agent} is zoomed"), || (zoomed(&world) == agent).then_some(()));
        world.tmux(&["kill-window", "-t", "=paw-app:mine"]);
    }
    let ran = world.paw(&["attach", "feat"]);
    assert!(ran.code == 1 && ran.stderr.contains("'feat' matches several agents: feat/a, feat/b"), "{ran}");
}

#[test]
fn next_goes_to_the_agent_that_waits_for_the_user() {
    let world = World::new();
    assert_eq!(world.paw(&["next"]).stdout, "no agent waits for you\n");
    let pane = world.pane("feat-b").unwrap();
    world.wait_for_program("feat-b", "sleep");
    world.tmux(&["send-keys", "-t", &pane, "C-c"]);
    world.wait_for_program("feat-b", "sh");
    // A shell in a new session may still be starting its CLI.
    wait_until("next names the agent", || {
        world.paw(&["next"]).stdout.starts_with("feat-b: its CLI has exited").then_some(())
    });
    let listed: serde_json::Value = serde_json::from_str(&world.paw(&["next", "--json"]).stdout).unwrap();
    assert_eq!(listed["needs"][0]["agent_id"], "feat-b");
    type_in_window(&world, "next");
    wait_until("feat-b is zoomed", || (zoomed(&world) == "feat-b").then_some(()));
}
