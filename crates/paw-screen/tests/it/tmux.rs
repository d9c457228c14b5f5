//! The event loop on a real terminal.

use std::path::PathBuf;

use paw_testkit::{Sandbox, wait_until};

/// The example with a sample session; cargo builds it with the tests.
fn demo() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let demo = test.parent().unwrap().parent().unwrap().join("examples/demo");
    assert!(demo.exists(), "{} is missing: cargo test -p paw-screen builds it", demo.display());
    demo
}

struct Pane {
    sandbox: Sandbox,
    name: String,
}

impl Pane {
    fn open(size: (&str, &str), word: &str) -> Self {
        let sandbox = Sandbox::new();
        let name = format!("paw-{}", size.0);
        // The shell shows what is left on the screen after the view closes.
        let command = format!("{} {word}; echo \"left $?\"; exec sh", demo().display());
        let ran = sandbox.tmux([
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            &name,
            "-x",
            size.0,
            "-y",
            size.1,
            &command,
        ]);
        assert_eq!(ran.code, 0, "{ran}");
        Self { sandbox, name }
    }

    fn screen(&self) -> String {
        self.sandbox.tmux(["capture-pane", "-p", "-t", &format!("={}:", self.name)]).stdout
    }

    fn press(&self, keys: &[&str]) {
        let target = format!("={}:", self.name);
        let ran = self.sandbox.tmux([&["send-keys", "-t", &target], keys].concat());
        assert_eq!(ran.code, 0, "{ran}");
    }

    fn wait_for(&self, text: &str) -> String {
        wait_until(&format!("{text:?} is on the screen"), || {
            let screen = self.screen();
            screen.contains(text).then_some(screen)
        })
    }

    fn shell_pid(&self) -> String {
        let target = format!("={}:", self.name);
        self.sandbox.tmux(["display-message", "-p", "-t", &target, "#{pane_pid}"]).stdout.trim().to_owned()
    }
}

#[test]
fn dashboard_works_in_a_small_pane() {
    let pane = Pane::open(("60", "12"), "");
    let screen = pane.wait_for("conflicts 2");
    assert!(screen.contains("git paw  paw-shop") && screen.contains("▲ feat-api"), "{screen}");
    assert!(screen.contains("needs you 1") && screen.contains("conflicts 2"), "{screen}");
    assert!(screen.lines().count() <= 12, "{screen}");
    pane.press(&["?"]);
    pane.wait_for("select the next agent that needs you");
    pane.press(&["Escape"]);
    pane.wait_for("agents 5");
    pane.press(&["q"]);
    let hidden = pane.wait_for("view hidden, broker still running");
    assert!(!hidden.contains("feat-api"), "{hidden}");
    pane.press(&["x"]);
    pane.wait_for("▲ feat-api");
    pane.press(&["r"]);
    pane.wait_for("feat-auth asks");
    pane.press(&["-l", "with 401"]);
    pane.press(&["Enter"]);
    let screen = pane.wait_for("answered feat-auth");
    assert!(!screen.contains("needs you 1"), "{screen}");
}

#[test]
fn dashboard_has_two_columns_in_a_large_pane_and_follows_a_resize() {
    let pane = Pane::open(("200", "50"), "");
    // The footer is drawn last.
    pane.wait_for("5 agents:");
    pane.wait_for("messages 10");
    // The pane of the selected agent is read when the dashboard is shown.
    let screen = pane.wait_for("pane of feat-auth");
    let line = screen.lines().find(|line| line.contains("agents 5")).unwrap();
    assert!(line.contains("│─ pane of feat-auth"), "{screen}");
    assert!(screen.contains("fix-checkout-rounding") && screen.contains("1h02m"), "{screen}");
    pane.sandbox.tmux(["resize-window", "-t", &format!("={}:", pane.name), "-x", "80", "-y", "24"]);
    let screen = wait_until("the columns are one", || {
        let screen = pane.screen();
        (!screen.contains('│') && screen.contains("messages 10")).then_some(screen)
    });
    assert!(screen.contains("▲ feat-api"), "{screen}");
}

#[test]
fn closing_the_dashboard_restores_the_terminal() {
    let pane = Pane::open(("80", "24"), "attached");
    pane.wait_for("messages 10");
    pane.press(&["q"]);
    let screen = pane.wait_for("left 0");
    assert!(!screen.contains("feat-api"), "{screen}");
    pane.press(&["-l", "echo typed"]);
    pane.wait_for("echo typed");
}

#[test]
fn a_signal_restores_the_terminal() {
    for signal in ["TERM", "HUP"] {
        let pane = Pane::open(("80", "24"), "");
        pane.wait_for("messages 10");
        let shell = pane.shell_pid();
        let found = pane.sandbox.run(&pane.sandbox.root(), "ps", ["-o", "pid=", "--ppid", &shell]).stdout;
        let view = found.split_whitespace().next().unwrap().to_owned();
        pane.sandbox.run(&pane.sandbox.root(), "sh", ["-c", &format!("kill -{signal} {view}")]);
        let screen = pane.wait_for("left 0");
        assert!(!screen.contains("feat-api"), "{screen}");
    }
}

#[test]
fn a_panic_restores_the_terminal_before_its_message() {
    let pane = Pane::open(("80", "24"), "panic");
    pane.wait_for("called `Option::unwrap()` on a `None` value");
}
