//! Pausing a run, and cleaning up hanging tests.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use paw_testkit::wait_until;

use super::world::{World, is_gone};
use crate::paw::PROGRAM;

const UNASKED: [&str; 5] = ["42", "--executor", "scripted", "--no-confirm", "--no-push"];

/// A suite that writes its pid and hangs, unless the file `calm` exists.
const HANGS: &str = "import os, time\nhome = os.environ['HOME']\nif not os.path.exists(home + '/calm'):\n    open(home + '/suite.new', 'w').write(str(os.getpid()))\n    os.rename(home + '/suite.new', home + '/suite')\n    time.sleep(1000)\n";

fn begin(world: &World) -> Child {
    let mut command = world.sandbox.command(PROGRAM);
    command.current_dir(&world.repo.root).arg("autopilot").args(UNASKED);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn pid(world: &World, name: &str) -> String {
    wait_until(&format!("{name} is there"), || fs::read_to_string(world.sandbox.home().join(name)).ok())
}

/// The suite hangs once the first subtask has tests.
fn hanging() -> Option<World> {
    let world = World::find()?;
    world.executor(&format!(
        "case $PAW_PHASE in RED) red; [ $n = 1 ] && cat >> tests/test_part1.py << 'END'\n{HANGS}END\n ;; GREEN) green ;; esac\n"
    ));
    // In a sandbox the suite would see another process id than we do.
    world.configure("[sandbox]\nruns = \"off\"\n");
    Some(world)
}

fn goes_on(world: &World) {
    fs::write(world.sandbox.home().join("calm"), "").unwrap();
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert_eq!(world.subjects().len(), 3);
}

#[test]
fn ctrl_c_pauses_a_run_while_the_executor_works() {
    let Some(world) = World::find() else { return };
    world.executor("if [ ! -e \"$HOME/calm\" ]; then echo $$ > \"$HOME/pid.new\"; mv \"$HOME/pid.new\" \"$HOME/pid\"; exec sleep 1000; fi\ncase $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n");
    let run = begin(&world);
    let executor = pid(&world, "pid");
    Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    let output = run.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("Paused: Pause requested"), "{printed}");
    assert_eq!(world.log().last().map(String::as_str), Some("pause asked"));
    assert!(is_gone(&executor));
    goes_on(&world);
}

#[test]
fn ctrl_c_during_a_commit_hook_is_a_pause() {
    let Some(world) = World::find() else { return };
    let hook = world.repo.root.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\n[ -e \"$HOME/calm\" ] && exit 0\necho $$ > \"$HOME/pid.new\"\nmv \"$HOME/pid.new\" \"$HOME/pid\"\nexec sleep 1000\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let run = begin(&world);
    let hook = pid(&world, "pid");
    for (signal, process) in [("-INT", run.id().to_string()), ("-INT", hook.trim().to_owned())] {
        Command::new("kill").args([signal, &process]).status().unwrap();
    }
    let printed = String::from_utf8_lossy(&run.wait_with_output().unwrap().stdout).into_owned();
    assert!(printed.contains("Paused: Pause requested"), "{printed}");
    assert!(world.subjects().is_empty());
    goes_on(&world);
}

#[test]
fn ctrl_c_during_hanging_tests_pauses_without_counting_an_attempt() {
    let Some(world) = hanging() else { return };
    let run = begin(&world);
    let suite = pid(&world, "suite");
    Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    let output = run.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("Paused: Pause requested"), "{printed}");
    assert!(is_gone(&suite));
    assert!(!world.log().contains(&"red error".to_owned()), "{:?}", world.log());
    goes_on(&world);
}

#[test]
fn resume_kills_hanging_tests_of_a_killed_run() {
    let Some(world) = hanging() else { return };
    let mut run = begin(&world);
    let suite = pid(&world, "suite");
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(!is_gone(&suite), "the suite ended by itself");
    goes_on(&world);
    assert!(is_gone(&suite), "process {suite} is still there");
}

#[test]
fn new_run_kills_hanging_tests_of_a_killed_run() {
    let Some(world) = hanging() else { return };
    let mut run = begin(&world);
    let suite = pid(&world, "suite");
    run.kill().unwrap();
    run.wait().unwrap();
    fs::write(world.sandbox.home().join("calm"), "").unwrap();
    let ran = world.autopilot(&[&UNASKED[..], &["--force"]].concat());
    assert!(ran.stdout.contains("→ Subtask 42.1"), "{ran}");
    assert!(is_gone(&suite), "process {suite} is still there");
}

#[test]
fn ignored_state_json_is_updated() {
    let Some(world) = World::find() else { return };
    world.repo.git(["rm", "--quiet", ".taskmaster/state.json"]);
    world.repo.commit_file(".gitignore", ".taskmaster/state.json\n__pycache__/\n", "ignore");
    let ran = world.autopilot(&[&UNASKED[..], &["--tag", "analytics"]].concat());
    assert_eq!(ran.code, 0, "{ran}");
    let state = fs::read_to_string(world.repo.root.join(".taskmaster/state.json")).unwrap();
    assert!(state.contains("\"currentTag\": \"analytics\""), "{state}");
    assert_eq!(world.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn budget_ends_tests_that_hang() {
    let Some(world) = hanging() else { return };
    let ran = world.autopilot(&[&UNASKED[..], &["--budget", "4s"]].concat());
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("The budget is used up: it took"), "{ran}");
}
