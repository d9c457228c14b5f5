//! Specs for agents on another machine.

use std::fs;

use paw_testkit::wait_until;
use serde_json::{Value, json};

use super::supervision::install_agent;
use super::{CLI, TwoMachines};

#[test]
fn a_spec_runs_on_another_machine_with_its_content_and_moves_with_its_agent() {
    let Some(world) = TwoMachines::new() else { return };
    let sandbox = &world.machine.sandbox;
    let agent = install_agent(&world);
    sandbox.install_program("claude", CLI);
    let config = "branch_prefix = \"feat\"\n[hosts.big]\nssh = \"big\"\nslots = 1\n[specs]\ntype = \"markdown\"\ndir = \"specs\"\n\
                  [supervisor]\ntest_command = \"true\"\n";
    sandbox.write("home/.config/git-paw/config.toml", config);
    let spec = |name: &str, text: &str| {
        let text = format!("---\npaw_status: pending\n---\n{text}\n");
        fs::create_dir_all(world.repo.root.join("specs")).unwrap();
        fs::write(world.repo.root.join(format!("specs/{name}.md")), text).unwrap();
    };
    // Not committed: the other machine gets the content all the same.
    spec("a", "Write the parser.");
    spec("b", "Write the printer, with care.");
    let unknown = world.paw(&["start", "--no-supervisor", "--cli", "claude", "--specs", "a,b@gpu"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("b@gpu"), "{unknown}");
    let start = ["start", "--no-supervisor", "--cli", "claude", "--specs", "a,b@big"];
    world.run(&start);
    let placed = world.agent("feat/b");
    assert_eq!((&placed["host"]["name"], &placed["spec"]), (&json!("big"), &json!("b")), "{placed}");
    assert_eq!(world.agent("feat/a")["host"], Value::Null);
    let briefing = |dir: std::path::PathBuf| fs::read_to_string(dir.join("AGENTS.md")).unwrap_or_default();
    let there = briefing(world.worktree());
    assert!(there.contains("### Spec\n\n`b` (markdown)\n\nWrite the printer, with care."), "{there}");
    wait_until("its first prompt names the spec", || {
        agent.prompts().first().filter(|prompt| prompt.contains("AGENTS.md")).cloned()
    });

    // Its briefing is written again after a rebuild of the session there.
    world.run(&["stop", "--force"]);
    fs::remove_file(world.worktree().join("AGENTS.md")).unwrap();
    world.run(&["start"]);
    assert!(briefing(world.worktree()).contains("Write the printer, with care."));
    world.wait_until_reachable(true);

    // It keeps its spec when it moves, in both directions.
    world.run(&["move", "feat-b", "--to", "local"]);
    assert!(briefing(world.here("feat-b")).contains("Write the printer, with care."));
    assert_eq!(world.agent("feat/b")["spec"], "b");
    world.run(&["move", "feat-b", "--to", "big"]);
    assert!(briefing(world.worktree()).contains("Write the printer, with care."));

    // Added later, and placed by free slots.
    world.run(&["remove", "feat-b", "--force"]);
    let added = world.run(&["add", "--from-spec", "b@auto"]);
    assert!(added.stdout.contains("added feat/b → claude on big"), "{added}");
    assert_eq!(world.agent("feat/b")["host"]["name"], "big");
    world.run(&["purge", "--force"]);
    let all =
        ["start", "--no-supervisor", "--cli", "claude", "--from-all-specs", "--on", "auto", "--dry-run"];
    let all = world.run(&all);
    let expected = ["feat/a runs on big", "feat/b runs on this machine"];
    assert!(expected.iter().all(|line| all.stderr.contains(line)), "{all}");
}
