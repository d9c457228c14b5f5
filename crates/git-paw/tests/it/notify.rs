//! Notifications, the status line and window names, in sessions whose agents have windows of their own.

use std::time::Duration;
use std::{fs, thread};

use paw_host::files::Lock;
use paw_testkit::{AgentLook, RunOutput, Sandbox, Terminal, TestRepo, wait_until};

use crate::paw::{PROGRAM, paw};

struct World {
    sandbox: Sandbox,
    repo: TestRepo,
}

impl World {
    /// A session with windows for `feat/x` and `feat/y`. Notifications are written to files.
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.install_agent("claude", AgentLook::Claude, "");
        configure(&sandbox, "");
        let root = sandbox.root();
        let world = Self { repo: sandbox.repo("app"), sandbox };
        // What a repository says must not run.
        world.repo.write(
            ".git-paw/config.toml",
            &format!("[notify]\ncommand = \"touch {}/owned\"\n", root.display()),
        );
        let ran = world.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/x,feat/y"]);
        assert_eq!(ran.code, 0, "{ran}");
        for agent in ["feat-x", "feat-y"] {
            world.wait_for_idle(agent);
        }
        world
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    fn pane(&self, agent: &str) -> String {
        let format = "#{@paw_agent} #{pane_id}";
        let panes = self.sandbox.tmux(["list-panes", "-s", "-t", "=paw-app:", "-F", format]).stdout;
        panes.lines().find_map(|line| line.strip_prefix(&format!("{agent} "))).unwrap().to_owned()
    }

    fn of_pane(&self, agent: &str, format: &str) -> String {
        let shown = self.sandbox.tmux(["display-message", "-p", "-t", &self.pane(agent), format]);
        shown.stdout.trim_end().to_owned()
    }

    fn wait_for_idle(&self, agent: &str) {
        wait_until(&format!("{agent} is idle"), || {
            self.of_pane(agent, "#{@paw_activity}").starts_with("idle").then_some(())
        });
    }

    fn submit(&self, agent: &str, text: &str) {
        self.sandbox.tmux(["send-keys", "-t", &self.pane(agent), "-l", text]);
        self.sandbox.tmux(["send-keys", "-t", &self.pane(agent), "Enter"]);
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.sandbox.root().join(name)).unwrap_or_default()
    }

    fn wait_for_event(&self, event: &str) {
        wait_until(event, || self.file("events").lines().any(|line| line == event).then_some(()));
    }
}

/// Notifications are written to files. `more` is the rest of the user's configuration.
fn configure(sandbox: &Sandbox, more: &str) {
    sandbox.write("home/.tmux.conf", "set -g default-command sh\nset -g status-right mine\n");
    let root = sandbox.root();
    let record =
        format!("#!/bin/sh\nprintf '%s|' \"$@\" >>'{0}/desktop'\necho >>'{0}/desktop'\n", root.display());
    sandbox.install_program("notify-send", &record);
    let config = format!(
        "{more}[notify]\ndesktop = true\ncommand = 'echo \"$PAW_EVENT $PAW_AGENT $PAW_TEXT\" >>\"{}/events\"'\n\
         [layout]\nmode = \"windows\"\n",
        root.display()
    );
    sandbox.write("home/.config/git-paw/config.toml", &config);
}

/// A session whose agent `feat-y` needs the user, who was told.
fn told() -> World {
    let world = World::new();
    let names = || world.sandbox.tmux(["list-windows", "-t", "=paw-app:", "-F", "#{window_name}"]).stdout;
    assert_eq!(names(), "feat-x\nfeat-y\n", "every agent has its own window");

    world.submit("feat-y", "[[bash:git push --force <b>]]");
    world.wait_for_event("approval feat-y git push --force <b>");
    wait_until("the desktop shows it", || {
        world
            .file("desktop")
            .contains("--|feat-y needs approval (app)|git push --force &lt;b&gt;|")
            .then_some(())
    });
    wait_until("its window rings", || (world.of_pane("feat-y", "#{window_bell_flag}") == "1").then_some(()));
    wait_until("its window says so", || (names() == "feat-x\n! feat-y\n").then_some(()));
    let status = world.of_pane("feat-x", "#{@paw_status}");
    assert_eq!(status, "1 needs you: feat-y");
    let own = world.sandbox.tmux(["show-options", "-gv", "status-right"]).stdout;
    assert_eq!(own, "mine\n", "other sessions of the user keep theirs");
    let line = world.of_pane("feat-x", "#{T:status-right}");
    assert_eq!(line, status, "in a narrow terminal, as without one, it replaces what the user has there");
    let shown = world.paw(&["status"]).stdout;
    assert!(shown.contains("approval") && shown.contains("idle"), "{shown}");
    world
}

/// A process that was killed holds its lock until it is gone, which takes a moment.
fn start_while_the_lock_is_held(world: &World) -> RunOutput {
    let file = world.repo.root.join(".git/paw/session-process.lock");
    let lock = loop {
        if let Some(lock) = Lock::try_take(&file).unwrap() {
            break lock;
        }
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(500));
            drop(lock);
        });
        world.paw(&["start"])
    })
}

#[test]
fn agents_that_need_the_user_call_them() {
    told();
}

#[test]
fn agents_that_need_the_user_call_once_and_not_for_the_pane_the_user_looks_at() {
    let world = told();
    // The process is killed and started again: the same need is not told again.
    let killed = world.sandbox.session_processes();
    world.sandbox.run(&world.sandbox.root(), "kill", ["-9", &killed[0].to_string()]);
    wait_until("the process is gone", || world.sandbox.session_processes().is_empty().then_some(()));
    let ran = start_while_the_lock_is_held(&world);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(world.sandbox.session_processes().len(), 1);

    // The user looks at one window and is told about the other one only.
    let terminal = Terminal::run(&world.sandbox, &world.repo.root, "tmux", &["attach", "-t", "=paw-app:0"]);
    wait_until("the user looks at feat-x", || {
        let clients = world.sandbox.tmux(["list-clients", "-F", "#{pane_id}"]).stdout;
        clients.contains(&world.pane("feat-x")).then_some(())
    });
    terminal.wait_for("1 needs you: feat-y mine");
    world.submit("feat-x", "[[bash:git push --force x]]");
    wait_until("feat-x waits", || {
        world.of_pane("feat-x", "#{@paw_state}").contains("git push --force x").then_some(())
    });
    world.sandbox.tmux(["send-keys", "-t", &world.pane("feat-y"), "3"]);
    world.wait_for_idle("feat-y");
    world.submit("feat-y", "[[bash:git push --force again]]");
    world.wait_for_event("approval feat-y git push --force again");
    let events = world.file("events");
    assert_eq!(events.lines().count(), 2, "{events}");
    assert!(!world.sandbox.root().join("owned").exists(), "a repository cannot set the command");
}

/// One supervised session: an agent asks and is done, the supervisor waits, a prompt cannot be delivered, and gates fail.
#[test]
fn events_of_a_supervised_session_call_the_user_by_bell_desktop_and_command() {
    let sandbox = Sandbox::new();
    let supervisor = sandbox.install_agent("claude", AgentLook::Claude, "");
    // An agent that asks, and later is done, when the test says so.
    let worker = format!(
        "#!/bin/sh\nprintf '> '\nuntil [ -e {root}/ask ]; do sleep 0.1; done\n{PROGRAM} say question 'which one?'\n\
         until [ -e {root}/finish ]; do sleep 0.1; done\n{PROGRAM} say status done --message 'the parser works'\nexec sleep 600\n",
        root = sandbox.root().display()
    );
    sandbox.install_program("worker", &worker);
    sandbox.install_program("broken", "#!/bin/sh\nexit 3\n");
    configure(
        &sandbox,
        "[clis.worker]\ncommand = \"worker\"\n[clis.broken]\ncommand = \"broken\"\n\
         [supervisor]\ncli = \"claude\"\nblocked_on_supervisor_window_seconds = 0\ntest_command = \"test ! -e bad\"\n",
    );
    let world = World { repo: sandbox.repo("app"), sandbox };
    let ran = world.paw(&["start", "--supervisor", "--branches", "feat/x=worker,feat/dead=broken"]);
    assert_eq!(ran.code, 0, "{ran}");
    let told = |event: &str| {
        wait_until(event, || {
            world.file("events").lines().find(|line| line.starts_with(event)).map(str::to_owned)
        })
    };

    let rings = |agent: &str| {
        wait_until(&format!("the bell of {agent}"), || {
            (world.of_pane(agent, "#{window_bell_flag}") == "1").then_some(())
        });
    };
    world.sandbox.write("ask", "");
    told("question feat-x which one?");
    rings("feat-x");
    world.sandbox.write("finish", "");
    told("finished feat-x the parser works");
    let worktree = world.sandbox.root().join("app-feat-x");
    fs::write(worktree.join("bad"), "").unwrap();
    paw_testkit::git(&worktree, ["add", "bad"]);
    paw_testkit::git(&worktree, ["commit", "--quiet", "--message", "bad"]);
    let verified = world.paw(&["verify", "feat/x"]);
    assert_eq!(verified.code, 1, "{verified}");
    wait_until("the supervisor is briefed", || (!supervisor.prompts().is_empty()).then_some(()));
    world.wait_for_idle("supervisor");
    world.submit("supervisor", "[[bash:touch made-up]]");

    told("verify_failed feat-x ");
    let prompt = told("prompt feat-dead ");
    assert!(prompt.len() > "prompt feat-dead ".len(), "it says why: {prompt}");
    told("supervisor_waits supervisor touch made-up");
    rings("feat-dead");
    rings("supervisor");
    let titles = [
        "feat-x asks",
        "feat-x is done",
        "feat-x fails its gates",
        "feat-dead did not receive",
        "supervisor waits",
    ];
    for title in titles {
        wait_until(title, || world.file("desktop").contains(&format!("--|{title}")).then_some(()));
    }
    let events = world.file("events");
    let kinds: std::collections::BTreeSet<_> =
        events.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>()).collect();
    assert_eq!(events.lines().count(), kinds.len(), "each once: {events}");
}

#[test]
fn windows_layout_survives_add_a_closed_window_and_a_rebuild() {
    let world = World::new();
    let agents = || {
        let format = "#{window_index} #{@paw_agent} #{window_panes}";
        let listed = world.sandbox.tmux(["list-panes", "-s", "-t", "=paw-app:", "-F", format]).stdout;
        listed.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(agents(), ["0 feat-x 1", "1 feat-y 1"]);
    let ran = world.paw(&["add", "feat/z", "--cli", "claude"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(agents(), ["0 feat-x 1", "1 feat-y 1", "2 feat-z 1"]);
    world.sandbox.tmux(["kill-window", "-t", "=paw-app:1"]);
    let ran = world.paw(&["start"]);
    assert!(ran.code == 0 && ran.stderr.contains("restoring feat-y"), "{ran}");
    let mut now = agents();
    now.sort();
    assert_eq!(now, ["0 feat-x 1", "2 feat-z 1", "3 feat-y 1"]);
    assert_eq!(world.paw(&["stop", "--force"]).code, 0);
    let ran = world.paw(&["start"]);
    assert!(ran.code == 0 && ran.stdout.contains("was rebuilt"), "{ran}");
    assert_eq!(agents().len(), 3);
    assert!(agents().iter().all(|line| line.ends_with(" 1")), "{:?}", agents());
    assert_eq!(world.paw(&["stop", "--force"]).code, 0);
    let ran = world.paw(&["start", "--layout", "grid"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(agents().iter().all(|line| line.starts_with("0 ") && line.ends_with(" 3")), "{:?}", agents());
}
