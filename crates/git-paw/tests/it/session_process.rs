//! The session's process: it outlives tmux and the dashboard, and comes back when it is killed.

use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use paw_core::paths::PawDir;
use paw_host::files::Lock;
use paw_testkit::{RunOutput, wait_until};
use serde_json::json;

use crate::lifecycle::World;
use crate::paw::{PROGRAM, document};

impl World {
    /// The id of the session's process, once it answers.
    fn process(&self) -> u32 {
        wait_until("the session's process is running", || self.find_process())
    }

    fn find_process(&self) -> Option<u32> {
        let broker = &self.status()["broker"];
        let pid = broker["pid"].as_u64().filter(|_| broker["running"] == json!(true))?;
        u32::try_from(pid).ok()
    }

    fn kill(&self, pid: u32) {
        self.sandbox.run(&self.sandbox.root(), "kill", ["-9", &pid.to_string()]);
        // Its threads end one after the other; the last one releases the lock.
        let lock = fs::File::open(self.repo.root.join(".git/paw/broker.lock")).unwrap();
        wait_until("the process is gone", || lock.try_lock().ok());
    }

    fn close_dashboard(&self) {
        let pane = self.pane("dashboard").unwrap();
        self.tmux(&["kill-pane", "-t", &pane]);
        wait_until("the dashboard's pane is gone", || self.pane("dashboard").is_none().then_some(()));
    }

    fn say(&self, text: &str) {
        let ran = self.paw(&["say", "feedback", "operator", text]);
        assert_eq!(ran.code, 0, "{ran}");
    }
}

#[test]
fn session_process_survives_the_death_of_tmux_and_ends_with_stop() {
    let world = World::with_broker();
    let pid = world.process();
    world.kill_tmux();
    world.say("tmux is gone");
    // A command may just have tried to start another one.
    wait_until("it is the only one", || (world.sandbox.session_processes() == [pid]).then_some(()));
    assert_eq!(world.paw(&["stop", "--force"]).code, 0);
    assert_eq!(world.sandbox.session_processes(), [0; 0]);
    assert!(world.paw(&["inbox"]).stdout.contains("tmux is gone"));
}

#[test]
fn start_after_the_death_of_tmux_replaces_the_session_process() {
    let world = World::with_broker();
    let pid = world.process();
    world.kill_tmux();
    let ran = world.paw(&["start"]);
    assert!(ran.code == 0 && ran.stdout.contains("was rebuilt"), "{ran}");
    assert_ne!(world.process(), pid);
    assert_eq!(world.sandbox.session_processes().len(), 1);
}

#[test]
fn closing_the_dashboard_pane_ends_nothing_and_start_brings_it_back() {
    let world = World::with_broker();
    let pid = world.process();
    world.close_dashboard();
    world.say("still here");
    assert_eq!(world.process(), pid);
    let ran = world.paw(&["start"]);
    assert!(ran.code == 0 && ran.stdout.contains("is running"), "{ran}");
    assert!(world.pane("dashboard").is_some());
    assert_eq!(world.process(), pid);
}

#[test]
fn dashboard_restarts_a_killed_session_process() {
    let world = World::with_broker();
    let pid = world.process();
    // The dashboard is connected once it shows the agents.
    world.wait_for_pane("dashboard", "feat/a");
    world.kill(pid);
    let next = wait_until("the process is back", || world.find_process().filter(|next| *next != pid));
    // A child that it is about to start looks like itself for a moment.
    wait_until("there is one process", || (world.sandbox.session_processes() == [next]).then_some(()));
    // The dashboard has started this one, so it knows how it ended.
    world.kill(next);
    wait_until("the log says how the process ended", || {
        let log = fs::read_to_string(world.repo.root.join(".git/paw/session.log")).unwrap();
        log.contains(&format!("process {next} was killed by signal 9")).then_some(())
    });
}

#[test]
fn next_command_restarts_a_killed_session_process_and_no_message_is_lost() {
    let world = World::with_broker();
    world.close_dashboard();
    for round in 0..5 {
        let pid = world.process();
        world.say(&format!("before {round}"));
        world.kill(pid);
        let ran = world.paw(&["say", "feedback", "operator", &format!("after {round}")]);
        assert!(ran.code == 0 && ran.stderr.contains("had died: restarted it"), "{ran}");
        assert_ne!(world.process(), pid);
    }
    let inbox = world.paw(&["inbox"]).stdout;
    for round in 0..5 {
        for when in ["before", "after"] {
            assert_eq!(inbox.matches(&format!("{when} {round}")).count(), 1, "{inbox}");
        }
    }
}

/// Runs a command while another one holds the session's lock, and releases the lock when `is_time`.
fn run_while_locked(world: &World, args: &[&str], is_time: impl Fn(&mut dyn Read)) -> RunOutput {
    let lock = Lock::wait(&PawDir::of(&world.repo.root.join(".git")).session_lock()).unwrap();
    let mut command = world.sandbox.command(PROGRAM);
    command.args(args).current_dir(&world.repo.root).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    is_time(&mut stderr);
    drop(lock);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    RunOutput {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: rest,
    }
}

#[test]
fn a_command_waits_for_another_one_that_changes_the_session_and_says_so() {
    let world = World::with_broker();
    let note = "waiting for another git paw command that changes this session\n";
    let said = |stderr: &mut dyn Read| {
        let mut seen = vec![0; note.len()];
        stderr.read_exact(&mut seen).unwrap();
        assert_eq!(String::from_utf8_lossy(&seen), note);
    };
    let ran = run_while_locked(&world, &["pause"], said);
    assert!(ran.code == 0 && ran.stdout.contains("paused"), "{ran}");
    let ran = run_while_locked(&world, &["start"], said);
    assert!(ran.code == 0 && ran.stdout.contains("was resumed"), "{ran}");
}

#[test]
fn inbox_waits_while_another_command_starts_the_killed_session_process() {
    let world = World::with_broker();
    world.close_dashboard();
    let pid = world.process();
    world.say("before");
    world.kill(pid);
    let ran = run_while_locked(&world, &["inbox"], |_| std::thread::sleep(Duration::from_millis(300)));
    assert!(ran.code == 0 && ran.stdout.contains("before"), "{ran}");
    assert!(ran.stderr.contains("had died: restarted it"), "{ran}");
    assert_ne!(world.process(), pid);
}

#[test]
fn start_restarts_a_killed_session_process() {
    let world = World::with_broker();
    world.close_dashboard();
    let pid = world.process();
    world.kill(pid);
    let ran = world.paw(&["start"]);
    assert!(ran.code == 0 && ran.stdout.contains("is running"), "{ran}");
    assert!(ran.stderr.contains(&format!("the session's process (pid {pid}) had died")), "{ran}");
    assert_ne!(world.process(), pid);
}

#[test]
fn agents_command_has_tmux_restart_the_session_process() {
    let mut world = World::with_broker();
    world.close_dashboard();
    let pid = world.process();
    world.kill(pid);
    world.sandbox.set("GIT_PAW_AGENT_ID", "feat-a");
    world.sandbox.set("LD_LIBRARY_PATH", "/of-the-pane");
    // Without a token it is refused, but the process starts.
    assert_eq!(world.paw(&["say", "status", "working"]).code, 1);
    let next = wait_until("the process is back", || world.find_process());
    let environment = fs::read(format!("/proc/{next}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(
        !environment.contains("GIT_PAW_AGENT_ID") && !environment.contains("of-the-pane"),
        "{environment}"
    );
}

#[test]
fn no_command_starts_the_process_of_a_paused_session() {
    let world = World::with_broker();
    world.process();
    world.wait_for_pane("dashboard", "feat/a");
    assert_eq!(world.paw(&["pause"]).code, 0);
    world.wait_for_pane("dashboard", "The session is paused.");
    world.say("while paused");
    assert_eq!(world.sandbox.session_processes(), [0; 0]);
    assert_eq!(world.paw(&["start"]).code, 0);
    world.process();
    assert!(world.paw(&["inbox"]).stdout.contains("while paused"));
}

#[test]
fn status_and_doctor_report_a_dead_session_process() {
    let world = World::with_broker();
    world.close_dashboard();
    let pid = world.process();
    let running = world.paw(&["status"]).stdout;
    assert!(running.contains(&format!("running (pid {pid} since ")), "{running}");
    let find = |report: &serde_json::Value| {
        let checks = report["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "session process").unwrap()
    };
    assert_eq!(find(&document(&world.paw(&["doctor", "--json"])))["status"], "ok");
    world.kill(pid);
    let dead = world.paw(&["status"]).stdout;
    assert!(dead.contains(&format!("not running: the session's process (pid {pid}) died")), "{dead}");
    assert!(dead.contains("restart it with 'git paw start'"), "{dead}");
    let check = find(&document(&world.paw(&["doctor", "--json"])));
    assert_eq!(check["status"], "warn");
    assert!(check["remedy"].as_str().unwrap().contains("git paw start"), "{check}");
    assert_eq!(world.sandbox.session_processes(), [0; 0], "a report changes nothing");
}

#[test]
fn start_replaces_a_session_process_of_another_version() {
    let world = World::with_broker();
    world.close_dashboard();
    let pid = world.process();
    let endpoint = world.repo.root.join(".git/paw/endpoint.json");
    let text = fs::read_to_string(&endpoint).unwrap();
    fs::write(&endpoint, text.replace(env!("CARGO_PKG_VERSION"), "0.0.1")).unwrap();
    assert!(world.paw(&["status"]).stdout.contains("it is git-paw 0.0.1"));
    let ran = world.paw(&["start"]);
    assert!(ran.stderr.contains("replaced the session's process of git-paw 0.0.1"), "{ran}");
    assert_ne!(world.process(), pid);
}

#[test]
fn failed_start_of_the_session_process_is_reported_and_leaves_nothing() {
    let world = World::empty();
    world.sandbox.write("home/.config/git-paw/config.toml", "[broker]\nenabled = true\n");
    fs::create_dir_all(world.repo.root.join(".git/paw/endpoint.json/in-the-way")).unwrap();
    let ran = world.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a"]);
    assert!(ran.code == 1 && ran.stderr.contains("endpoint.json"), "{ran}");
    assert!(!world.is_alive() && !world.worktree("feat/a").exists());
    assert_eq!(world.sandbox.session_processes(), [0; 0]);
}

#[test]
fn session_process_logs_its_start_and_its_end() {
    let world = World::with_broker();
    let pid = world.process();
    assert_eq!(world.paw(&["stop", "--force"]).code, 0);
    let log = fs::read_to_string(world.repo.root.join(".git/paw/session.log")).unwrap();
    assert!(log.contains(&format!("started as process {pid}")), "{log}");
    assert!(log.contains(&format!("ending process {pid}")), "{log}");
}

#[test]
fn renamed_tmux_session_is_still_the_session() {
    let world = World::with_broker();
    world.process();
    assert_eq!(world.sandbox.tmux(["rename-session", "-t", "=paw-app:", "mine"]).code, 0);
    let panes = || world.tmux(&["list-panes", "-a", "-F", "#{session_name} #{pane_id} #{@paw_agent}"]);
    let before = panes();
    assert_eq!(world.status()["status"], json!("active"));
    let ran = world.paw(&["start"]);
    assert!(ran.stdout.contains("is running") && ran.stdout.contains("attach -t mine"), "{ran}");
    assert_eq!(panes(), before, "no second set of agents");
    let ran = world.paw(&["add", "feat/c", "--cli", "claude"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(panes().contains(" feat-c"), "{}", panes());
    assert_eq!(world.paw(&["pause"]).code, 0);
    assert_eq!(world.paw(&["start"]).code, 0);
    world.process();
    assert_eq!(world.paw(&["stop", "--force"]).code, 0);
    assert_eq!(panes(), "");
}

#[test]
fn new_session_does_not_take_a_renamed_session_for_its_own() {
    let world = World::new();
    assert_eq!(world.sandbox.tmux(["rename-session", "-t", "=paw-app:", "mine"]).code, 0);
    assert_eq!(world.sandbox.tmux(["new-session", "-d", "-s", "paw-app"]).code, 0);
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "paw-app", "the foreign one stays");
}
