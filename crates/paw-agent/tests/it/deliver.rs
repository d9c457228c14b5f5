//! Deliveries to a scripted CLI on a private tmux server.

use std::time::Duration;

use paw_agent::cli;
use paw_agent::deliver::{DeliveryError, DeliveryOptions, Obstacle, PaneSnapshot, deliver};
use paw_agent::screen::DialogKind;
use paw_agent::state::PaneProcess;
use paw_host::tmux::{PasteMode, Tmux, TmuxCommand};
use paw_testkit::{AgentLook, FakeAgent, Sandbox, wait_until};

/// One pane on a private server that ends with the test.
struct Pane {
    tmux: Tmux,
    id: String,
}

impl Pane {
    /// A pane that runs a program, or a shell.
    fn run(sandbox: &Sandbox, name: &str, program: &str) -> Self {
        let tmux = Tmux::on_socket(Some(format!("paw-deliver-{name}-{}", std::process::id())));
        let mut start =
            TmuxCommand::new("-f").args(["/dev/null", "new-session", "-d", "-x", "100", "-y", "30"]);
        for (name, value) in sandbox.variables() {
            let mut variable = name.to_owned();
            variable.push("=");
            variable.push(value);
            start = start.arg("-e").arg(variable);
        }
        let start = start.args(["-P", "-F", "#{pane_id}", program]);
        let id = tmux.run(&start).unwrap().trim().to_owned();
        Self { tmux, id }
    }

    fn deliver(&self, cli: &str, text: &str, options: DeliveryOptions) -> Result<u32, DeliveryError> {
        deliver(&self.tmux, &self.id, cli::descriptor(cli), text, options).map(|delivered| delivered.pastes)
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux.run(&TmuxCommand::new("send-keys").args(["-t", &self.id]).args(keys.to_vec())).unwrap();
    }

    fn shows(&self, text: &str) {
        let shown = || self.tmux.capture_pane(&self.id).unwrap().contains(text).then_some(());
        wait_until(&format!("the pane shows {text:?}"), shown);
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let _ = self.tmux.run(&TmuxCommand::new("kill-server"));
    }
}

fn short() -> DeliveryOptions {
    DeliveryOptions {
        ready_timeout: Duration::from_millis(1200),
        echo_timeout: Duration::from_secs(5),
        submit_delay: Duration::from_millis(50),
        accept_timeout: Duration::from_secs(5),
        ignore_rate_limit: false,
    }
}

fn long() -> DeliveryOptions {
    DeliveryOptions { ready_timeout: Duration::from_secs(30), ..short() }
}

fn happened(agent: &FakeAgent, event: &str) {
    wait_until(event, || agent.events().iter().any(|seen| seen == event).then_some(()));
}

fn start(name: &str, look: AgentLook, steps: &str) -> (Sandbox, FakeAgent, Pane) {
    let sandbox = Sandbox::new();
    let cli = if look == AgentLook::Claude { "claude" } else { "my-agent" };
    let agent = sandbox.install_agent(cli, look, steps);
    let pane = Pane::run(&sandbox, name, agent.program.to_str().unwrap());
    (sandbox, agent, pane)
}

#[test]
fn deliver_pastes_a_multiline_prompt_once_and_submits_it_once() {
    let (_sandbox, agent, pane) = start("lines", AgentLook::Claude, "");
    let text = "# Fix it\n\n  - it's \"quoted\" $HOME; #{pane_id}\n\u{1b}[201~\rrm -rf /\n- last line\n";
    assert_eq!(pane.deliver("claude", text, long()).unwrap(), 1);
    let expected = "# Fix it\n\n  - it's \"quoted\" $HOME; #{pane_id}\n[201~\nrm -rf /\n- last line";
    assert_eq!(wait_until("the prompt", || agent.prompts().pop()), expected);
    assert_eq!(agent.events(), ["ready", "paste", "submitted 1"]);
}

#[test]
fn deliver_types_nothing_into_a_shell() {
    let sandbox = Sandbox::new();
    let pane = Pane::run(&sandbox, "shell", "sh");
    let file = sandbox.root().join("typed");
    let text = format!("touch {}\n\ntouch {}", file.display(), file.display());
    let error = pane.deliver("claude", &text, short()).unwrap_err();
    assert!(
        matches!(&error, DeliveryError::NotReady { obstacle: Obstacle::Shell(shell), .. } if shell == "sh")
    );
    assert!(
        error.to_string().starts_with("cannot deliver the prompt: the pane shows a shell (sh)"),
        "{error}"
    );
    pane.keys(&["echo the-end-$((1+1))", "Enter"]);
    pane.shows("the-end-2");
    assert!(!file.exists());
}

#[test]
fn deliver_waits_for_a_cli_that_starts_late() {
    let sandbox = Sandbox::new();
    let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
    let pane = Pane::run(&sandbox, "late", "sh");
    std::thread::scope(|scope| {
        let delivering = scope.spawn(|| pane.deliver("claude", "hello there", long()));
        pane.keys(&[agent.program.to_str().unwrap(), "Enter"]);
        assert_eq!(delivering.join().unwrap().unwrap(), 1);
    });
    assert_eq!(wait_until("the prompt", || agent.prompts().pop()), "hello there");
}

#[test]
fn deliver_types_nothing_into_a_startup_dialog() {
    let (_sandbox, agent, pane) = start("dialog", AgentLook::Claude, "trust");
    happened(&agent, "dialog");
    let error = pane.deliver("claude", "1\nhello", short()).unwrap_err();
    let DeliveryError::NotReady { obstacle, seen } = error else { panic!("{error}") };
    assert_eq!(obstacle, Obstacle::Dialog(DialogKind::Trust));
    assert!(seen.contains("Accessing workspace:"), "{seen}");
    assert_eq!(agent.events(), ["dialog"]);
    pane.keys(&["1"]);
    assert_eq!(pane.deliver("claude", "hello", long()).unwrap(), 1);
    assert_eq!(wait_until("the prompt", || agent.prompts().pop()), "hello");
}

#[test]
fn deliver_types_nothing_into_the_shell_of_a_dead_cli() {
    let sandbox = Sandbox::new();
    let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
    let pane = Pane::run(&sandbox, "dying", "sh");
    pane.keys(&[agent.program.to_str().unwrap(), "Enter"]);
    happened(&agent, "ready");
    pane.keys(&["[[die]]", "Enter"]);
    happened(&agent, "submitted 1");
    let file = sandbox.root().join("typed");
    let error = pane.deliver("claude", &format!("touch {}", file.display()), short()).unwrap_err();
    assert!(matches!(error, DeliveryError::NotReady { obstacle: Obstacle::Shell(_), .. }), "{error}");
    assert!(!file.exists());
}

#[test]
fn deliver_waits_for_a_working_agent() {
    let (_sandbox, agent, pane) = start("busy", AgentLook::Claude, "");
    pane.deliver("claude", "go [[wait ; say:done]]", long()).unwrap();
    happened(&agent, "submitted 1");
    let error = pane.deliver("claude", "and now this", short()).unwrap_err();
    assert!(error.to_string().contains("it is working"), "{error}");
    agent.go();
    pane.deliver("claude", "and now this", long()).unwrap();
    let second = || agent.prompts().get(1).cloned();
    assert_eq!(wait_until("the second prompt", second), "and now this");
}

#[test]
fn deliver_never_answers_an_approval_prompt() {
    let (_sandbox, agent, pane) = start("approval", AgentLook::Claude, "");
    pane.deliver("claude", "go [[bash:cargo test]]", long()).unwrap();
    happened(&agent, "asked cargo test");
    let error = pane.deliver("claude", "1", short()).unwrap_err();
    assert!(error.to_string().contains("waiting_approval"), "{error}");
    assert_eq!(agent.events().last().unwrap(), "asked cargo test");
}

#[test]
fn deliver_pastes_a_huge_prompt_completely() {
    let (_sandbox, agent, pane) = start("huge", AgentLook::Claude, "");
    let text: Vec<String> = (0..400).map(|n| format!("line {n}: ünïcödé – {}", "x".repeat(40))).collect();
    let text = text.join("\n");
    assert_eq!(
        pane.deliver("claude", &text, DeliveryOptions { echo_timeout: Duration::from_secs(30), ..long() })
            .unwrap(),
        1
    );
    assert_eq!(wait_until("the prompt", || agent.prompts().pop()), text);
}

#[test]
fn deliver_refuses_an_input_with_other_text() {
    let (_sandbox, agent, pane) = start("typed", AgentLook::Claude, "");
    happened(&agent, "ready");
    pane.keys(&["draft"]);
    pane.shows("draft");
    let error = pane.deliver("claude", "hello", short()).unwrap_err();
    assert!(matches!(error, DeliveryError::NotReady { obstacle: Obstacle::Occupied, .. }), "{error}");
    assert!(agent.prompts().is_empty());
}

#[test]
fn deliver_only_submits_a_prompt_that_is_already_typed() {
    let (_sandbox, agent, pane) = start("unsent", AgentLook::Claude, "");
    happened(&agent, "ready");
    pane.keys(&["fix", "Space", "it"]);
    pane.shows("fix it");
    assert_eq!(pane.deliver("claude", "fix it", long()).unwrap(), 0);
    assert_eq!(wait_until("the prompt", || agent.prompts().pop()), "fix it");
}

#[test]
fn deliver_works_in_copy_mode() {
    let (_sandbox, agent, pane) = start("scroll", AgentLook::Claude, "");
    happened(&agent, "ready");
    pane.tmux.run(&TmuxCommand::new("copy-mode").args(["-t", &pane.id])).unwrap();
    assert_eq!(pane.deliver("claude", "hello", long()).unwrap(), 1);
    assert_eq!(wait_until("the prompt", || agent.prompts().pop()), "hello");
}

#[test]
fn deliver_works_with_an_unknown_cli() {
    let (_sandbox, agent, pane) = start("plain", AgentLook::Plain, "wait");
    assert!(pane.deliver("my-agent", "one\ntwo", short()).is_err());
    agent.go();
    assert_eq!(pane.deliver("my-agent", "one\ntwo", long()).unwrap(), 1);
    assert_eq!(wait_until("the prompt", || agent.prompts().pop()), "one\ntwo");
}

#[test]
fn paste_if_pastes_only_into_the_expected_program() {
    let (_sandbox, agent, pane) = start("moment", AgentLook::Claude, "");
    happened(&agent, "ready");
    let look = PaneSnapshot::capture(&pane.tmux, &pane.id).unwrap();
    assert_eq!((look.program.as_str(), look.process()), ("claude", PaneProcess::Running));
    let paste = |program: &str| {
        let condition = format!("#{{==:#{{pane_current_command}},{program}}}");
        pane.tmux.paste_if(&pane.id, &condition, b"secret", PasteMode::Bracketed).unwrap()
    };
    assert!(!paste("codex"));
    assert!(paste("claude"));
    happened(&agent, "paste");
    assert_eq!(agent.events(), ["ready", "paste"]);
    assert_eq!(pane.tmux.run(&TmuxCommand::new("list-buffers")).unwrap(), "");
    assert!(pane.tmux.paste_if("%1; kill-server", "1", b"x", PasteMode::Keys).is_err());
}

#[test]
fn deliver_fails_for_a_missing_pane_and_a_blank_prompt() {
    let (_sandbox, _agent, mut pane) = start("gone", AgentLook::Claude, "");
    assert!(matches!(pane.deliver("claude", " \u{1b}\n", short()), Err(DeliveryError::Empty)));
    let id = std::mem::replace(&mut pane.id, "%99".to_owned());
    assert!(matches!(pane.deliver("claude", "hello", short()), Err(DeliveryError::Tmux(_))));
    pane.id = id;
}
