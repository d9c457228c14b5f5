//! What the agents of a new session are to do, and with which CLI.

use std::fs;

use paw_testkit::{AgentLook, wait_until};
use serde_json::Value;

use super::World;

fn column(world: &World, key: &str) -> Vec<Value> {
    let receipt = world.receipt("paw-app");
    receipt["worktrees"].as_array().unwrap().iter().map(|agent| agent[key].clone()).collect()
}

#[test]
fn start_gives_every_agent_the_prompt_and_the_cli_of_its_branch() {
    let world = World::new();
    let fake = world.sandbox.install_agent("claude", AgentLook::Claude, "");
    world.start(&[
        "--no-supervisor",
        "--cli",
        "agent",
        "--branches",
        "feat/a=claude,feat/b,odd=name=agent",
        "--prompt",
        "add pagination",
    ]);
    assert_eq!(column(&world, "branch"), ["feat/a", "feat/b", "odd=name"]);
    assert_eq!(column(&world, "cli"), ["claude", "agent", "agent"]);
    assert_eq!(column(&world, "task"), ["add pagination"; 3]);
    wait_until("the prompt was submitted", || (!fake.prompts().is_empty()).then_some(()));
    assert!(fake.prompts()[0].contains("then do your task: add pagination"), "{:?}", fake.prompts());
    let briefing = fs::read_to_string(world.sandbox.root().join("app-feat-a/AGENTS.md")).unwrap();
    assert!(briefing.contains("### Your task\n\nadd pagination\n"), "{briefing}");
    assert!(!briefing.contains("Wait for the user"), "{briefing}");
}

#[test]
fn start_reads_branches_clis_and_tasks_from_a_file() {
    let world = World::new();
    world.sandbox.install_program("other", "#!/bin/sh\nexec sleep 600\n");
    world.configure("[clis.other]\ncommand = \"other\"");
    world.repo.write("tasks/ui.md", "# Dark mode\n\nEvery page.\n");
    world.repo.write(
        "tasks/agents.toml",
        "[[agent]]\nbranch = 'feat/api'\ncli = 'other'\nprompt = 'paginate'\n\
         [[agent]]\nbranch = 'feat/ui'\nprompt_file = 'ui.md'\n[[agent]]\nbranch = 'feat/none'\n",
    );
    world.start(&["--cli", "agent", "--agents", "tasks/agents.toml", "--prompt", "for the rest"]);
    assert_eq!(column(&world, "cli"), ["other", "agent", "agent"]);
    assert_eq!(column(&world, "task"), ["paginate", "# Dark mode\n\nEvery page.", "for the rest"]);
}

#[test]
fn start_takes_the_task_from_a_file_stdin_or_an_editor() {
    let mut world = World::new();
    world.repo.write("task.md", "from a file\n");
    world.sandbox.install_program(
        "ed-it",
        "#!/bin/sh\n{ echo 'from the editor'; cat \"$1\"; } >\"$1.new\"\nmv \"$1.new\" \"$1\"\n",
    );
    world.sandbox.set("EDITOR", "ed-it");
    for (args, task) in [
        (&["--prompt-file", "task.md"][..], "from a file"),
        (&["--edit"][..], "from the editor"),
        (&["--edit", "--prompt", "and a flag"][..], "from the editor\nand a flag"),
    ] {
        world.start(&[&["--no-supervisor", "--branches", "feat/a"], args].concat());
        assert_eq!(column(&world, "task"), [task]);
        assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    }
    world.sandbox.set("EDITOR", "true");
    let ran = world.paw(&["start", "--no-supervisor", "--branches", "feat/a", "--edit"]);
    assert_eq!(ran.code, 2, "an empty text cancels: {ran}");
    world.sandbox.set("EDITOR", "false");
    let ran = world.paw(&["start", "--no-supervisor", "--branches", "feat/a", "--edit"]);
    assert!(ran.code == 1 && ran.stderr.contains("the editor 'false' exited with code 1"), "{ran}");
    assert_eq!(world.sessions(), [""; 0]);
}

#[test]
fn start_uses_a_program_on_path_that_is_not_registered() {
    let world = World::new();
    world.sandbox.install_program("homemade", "#!/bin/sh\nexec sleep 600\n");
    world.start(&["--no-supervisor", "--cli", "homemade", "--branches", "feat/a,feat/b=homemade"]);
    let ran = world.paw(&["add", "feat/c=homemade", "feat/d"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(column(&world, "cli"), ["homemade"; 4]);
    let ran = world.paw(&["add", "feat/e", "--cli", "missing-program"]);
    assert!(ran.code != 0 && ran.stderr.contains("missing-program"), "{ran}");
}

#[test]
fn start_and_add_refuse_a_branch_with_a_cli_that_does_not_exist() {
    let world = World::new();
    insta::assert_snapshot!(world.paw(&["start", "--no-supervisor", "--branches", "feat/a=cluade"]).stderr, @"
    error: 'cluade' in 'feat/a=cluade' is neither a known CLI nor a program on PATH
    hint: list the CLIs with 'git paw list-clis', or register one with 'git paw add-cli'
    hint: if '=' is part of the branch's name, write 'feat/a=cluade=CLI'
    ");
    world.assert_nothing_started();
    world.repo.git(["branch", "odd=name"]);
    world.start(&["--no-supervisor", "--branches", "odd=name"]);
    let ran = world.paw(&["add", "feat/b=nosuch"]);
    assert!(ran.code == 1 && ran.stderr.contains("neither a known CLI"), "{ran}");
    assert_eq!(column(&world, "branch"), ["odd=name"], "an existing branch needs no CLI behind it");
}

#[test]
fn start_reports_mistakes_before_it_misses_a_cli() {
    let world = World::new();
    world.sandbox.write("home/.config/git-paw/config.toml", "");
    for (args, problem) in [
        (&["--preset", "nope"][..], "preset 'nope' not found"),
        (&["--agents", "nope.toml"][..], "does not exist"),
        (&["--branches", "bad..name"][..], "bad..name"),
    ] {
        let ran = world.paw(&[&["start", "--no-supervisor"], args].concat());
        assert!(ran.code == 1 && ran.stderr.contains(problem), "{ran}");
    }
    let ran = world.paw(&["start", "--no-supervisor", "--branches", "feat/a"]);
    assert!(ran.stderr.contains("CLI"), "{ran}");
    world.assert_nothing_started();
}
