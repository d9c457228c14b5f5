//! Tasks that change the same files: reported while they run and in the summary.

use std::fs;
use std::process::Stdio;

use paw_testkit::wait_until;

use super::world::{World, task};
use crate::paw::{PROGRAM, document, paw};

/// Both write the same line of one file, and different other files; they wait for the file `go` before they end.
const COLLIDE: &str = "work\n[ $PAW_PHASE = GREEN ] && echo \"by = $n\" > app/shared.py\nif [ $PAW_PHASE = GREEN ]; then until [ -e \"$HOME/go\" ]; do sleep 0.05; done; fi\n:\n";

#[test]
fn conflicting_tasks_are_reported_while_running_and_in_the_summary() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[])]) else { return };
    world.executor(COLLIDE);
    let mut command = world.sandbox.command(PROGRAM);
    command.current_dir(&world.repo.root);
    command.args(["autopilot", "1", "2", "--parallel", "2", "--no-confirm", "--no-push"]);
    let logged = world.at("said");
    command.stdout(Stdio::piped()).stderr(fs::File::create(&logged).unwrap());
    let child = command.spawn().unwrap();
    let warning = "[1] app/shared.py: task 2 changes it too, and line 1 and line 1 do not merge";
    wait_until("the conflict is reported", || {
        fs::read_to_string(&logged).unwrap().contains(warning).then_some(())
    });
    fs::write(world.at("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let summary = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{summary}");
    let line = "Changed by more than one task:\n  app/shared.py: task 1 and task 2 change it, and line 1 and line 1 do not merge\n";
    assert!(summary.contains(line), "{summary}");
    let logged = fs::read_to_string(&logged).unwrap();
    assert!(!summary.contains(".taskmaster/tasks") && !logged.contains("tasks.json"), "{summary}\n{logged}");
    assert!(
        !world
            .repo
            .root
            .join(".git/paw/autopilot-radar")
            .read_dir()
            .is_ok_and(|mut left| { left.any(|entry| entry.unwrap().file_type().unwrap().is_dir()) })
    );
}

#[test]
fn summary_separates_mergeable_from_conflicting_tasks() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[]), task(3, &[1])]) else { return };
    let lines: Vec<String> = (0..20).map(|number| format!("line{number} = 0")).collect();
    world.repo.commit_file("app/shared.py", &format!("{}\n", lines.join("\n")), "shared");
    fs::write(world.at("go"), "").unwrap();
    world.executor("work\n[ $PAW_PHASE = GREEN ] && [ $n != 3 ] && sed -i \"s/line$((n * 9)) = 0/line$((n * 9)) = 1/\" app/shared.py\n:\n");
    let ran = world.run(&["1", "2", "3", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let found = document(&ran)["collisions"].clone();
    let found = found.as_array().unwrap();
    // The third task inherits the first one's changes, which is not a conflict; with the second it shares the
    // inherited conflict.
    let pairs: Vec<String> = found
        .iter()
        .map(|one| format!("{} {} {} {}", one["task"], one["other"], one["path"], one["merges"]))
        .collect();
    assert_eq!(
        pairs,
        ["\"1\" \"task 2\" \"app/shared.py\" true", "\"2\" \"task 3\" \"app/shared.py\" true"],
        "{ran}"
    );
}

#[test]
fn session_gets_task_intents_and_reports_conflicts() {
    let mut first = task(1, &[]);
    first["subtasks"][0]["details"] = "In app/shared.py".into();
    let Some(world) = World::find(&[first, task(2, &[])]) else { return };
    world.executor(COLLIDE);
    world.sandbox.install_program("claude", "#!/bin/sh\nexec sleep 1000\n");
    let config = world.sandbox.user_config();
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}\n[broker]\nenabled = true\n")).unwrap();
    let start = ["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a"];
    let started = paw(&world.sandbox, &world.repo.root, &start);
    assert_eq!(started.code, 0, "{started}");
    fs::write(world.repo.root.with_file_name("app-feat-a").join("app/shared.py"), "mine = 1\n").unwrap();
    let mut command = world.sandbox.command(PROGRAM);
    command.current_dir(&world.repo.root);
    command.args(["autopilot", "1", "2", "--parallel", "2", "--no-confirm", "--no-push", "--json"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let audit = || fs::read_to_string(world.repo.root.join(".git-paw/broker.log")).unwrap_or_default();
    let logged = |all: &[&str]| audit().lines().any(|line| all.iter().all(|words| line.contains(words)));
    wait_until("the session has informed the task", || {
        logged(&["agent.feedback", "\"agent_id\":\"master-task-1-part-1\"", "feat-a"]).then_some(())
    });
    fs::write(world.at("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(logged(&["agent.intent", "master-task-1-part-1", "app/shared.py"]), "{}", audit());
    assert!(logged(&["agent.status", "master-task-2-part-2", "autopilot: done"]), "{}", audit());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = document["collisions"].as_array().unwrap();
    assert!(
        found.iter().any(|one| one["other"] == "agent feat-a" && one["path"] == "app/shared.py"),
        "{document}\n{}",
        audit()
    );
}
