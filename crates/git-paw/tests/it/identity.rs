//! Who runs a command: the user, or an agent.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use paw_testkit::{RunOutput, Sandbox, Terminal, wait_until};
use serde_json::{Value, json};

use crate::lifecycle::World;
use crate::paw::{PROGRAM, document, paw};

/// A session whose panes are at a shell prompt, and a repository that asks for an approval.
pub(crate) struct Session {
    pub(crate) world: World,
    runs: Cell<u32>,
}

impl Session {
    fn new() -> Self {
        let session = Self::with_config("[broker]\nenabled = true\nport = 0\n");
        session.world.repo.write(".git-paw/config.toml", "[worktree]\nsetup_commands = [\"touch ran\"]\n");
        wait_until("the broker is running", || session.endpoint());
        session
    }

    /// A session of two agents at a shell prompt.
    pub(crate) fn with_config(config: &str) -> Self {
        let world = World::empty();
        world.sandbox.install_program("claude", "#!/bin/sh\n");
        world.sandbox.write("home/.config/git-paw/config.toml", config);
        let session = Self { world, runs: Cell::new(0) };
        let args = ["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a,feat/b"];
        let ran = session.world.paw(&args);
        assert_eq!(ran.code, 0, "{ran}");
        session
    }

    pub(crate) fn endpoint(&self) -> Option<Value> {
        let text = fs::read_to_string(self.world.repo.root.join(".git/paw/endpoint.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(crate) fn pane(&self, agent: &str) -> String {
        wait_until("the pane exists", || self.world.pane(agent))
    }

    /// Runs a line in the shell of a pane. `$PAW` is git-paw.
    pub(crate) fn run_in(&self, pane: &str, line: &str) -> RunOutput {
        let number = self.runs.replace(self.runs.get() + 1);
        let dir = self.world.sandbox.root().join(format!("run-{number}"));
        let file = |name: &str| dir.join(name);
        let script = format!(
            "PAW='{PROGRAM}'; export PAW\n( {line}\n) </dev/null >'{0}/out' 2>'{0}/err'\necho $? >'{0}/code.new'\n\
             mv '{0}/code.new' '{0}/code'\n",
            dir.display()
        );
        self.world.sandbox.write(&format!("run-{number}/script"), &script);
        let typed = format!("sh '{}'", file("script").display());
        self.world.tmux(&["send-keys", "-t", pane, &typed, "Enter"]);
        let code = wait_until(line, || fs::read_to_string(file("code")).ok());
        let text = |name: &str| fs::read_to_string(file(name)).unwrap_or_default();
        RunOutput { code: code.trim().parse().unwrap(), stdout: text("out"), stderr: text("err") }
    }

    /// The repository, quoted for a shell.
    fn root(&self) -> String {
        format!("'{}'", self.world.repo.root.display())
    }

    fn approvals(&self) -> Value {
        document(&self.world.paw(&["trust", "--list", "--json"]))["approvals"].clone()
    }

    /// Removes the agent's variables from every process of its pane.
    fn clear_environment(&self, pane: &str) {
        let path = format!("PATH='{0}/bin:{0}/tools'", self.world.sandbox.root().display());
        let home = format!("HOME='{}'", self.world.sandbox.home().display());
        self.world.tmux(&["send-keys", "-t", pane, &format!("exec env -i {path} {home} sh"), "Enter"]);
        let ran = self.run_in(pane, "env");
        assert!(!ran.stdout.contains("GIT_PAW"), "{ran}");
    }
}

/// Ways to run git-paw as another caller, each with the place of its arguments. A terminal that is not the pane's, a process
/// that left its parent, other directories and variables that point git paw, tmux and git elsewhere.
const DISGUISES: [&str; 12] = [
    "env -u GIT_PAW_AGENT_ID $PAW ARGS",
    "env -u GIT_PAW_AGENT_ID -u GIT_PAW_BROKER_TOKEN -u TMUX -u TMUX_PANE $PAW ARGS",
    "GIT_PAW_AGENT_ID=operator $PAW ARGS",
    "GIT_PAW_AGENT_ID= $PAW ARGS",
    "env -i PATH=\"$PATH\" HOME=\"$HOME\" $PAW ARGS",
    "env -u GIT_PAW_AGENT_ID setsid -w $PAW ARGS",
    "env -u GIT_PAW_AGENT_ID sh -c 'sh -c \"$PAW ARGS\"'",
    "cd ROOT && env -u GIT_PAW_AGENT_ID $PAW ARGS",
    "cd ROOT && env -u GIT_PAW_AGENT_ID setsid -w $PAW ARGS",
    "mkdir -p x; ln -sf /bin/true x/tmux; env -u GIT_PAW_AGENT_ID TMUX= TMUX_TMPDIR=/none PATH=\"$PWD/x:$PATH\" $PAW ARGS",
    "env -u GIT_PAW_AGENT_ID XDG_DATA_HOME=\"$PWD/x\" $PAW ARGS",
    "(env -u GIT_PAW_AGENT_ID $PAW ARGS; echo $? >left) & wait; exit \"$(cat left)\"",
];

fn disguised(args: &str, root: &str) -> impl Iterator<Item = String> {
    let script = Path::new("/usr/bin/script").exists();
    let on_own_terminal =
        script.then_some("env -u GIT_PAW_AGENT_ID /usr/bin/script -qec \"$PAW ARGS\" /dev/null");
    DISGUISES
        .into_iter()
        .chain(on_own_terminal)
        .map(move |line| line.replace("ROOT", root).replace("ARGS", args))
}

#[test]
fn trust_refuses_a_process_of_an_agents_pane_whatever_its_environment_says() {
    let session = Session::new();
    let pane = session.pane("feat-a");
    for cleared in [false, true] {
        if cleared {
            session.clear_environment(&pane);
        }
        for line in disguised("trust --yes", &session.root()) {
            let ran = session.run_in(&pane, &line);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(ran.code != 0 && said.contains("an agent cannot approve"), "{cleared} {line}\n{ran}");
            assert!(!said.contains("GIT_PAW_AGENT_ID") && !said.contains("unset"), "{ran}");
        }
    }
    assert_eq!(session.approvals(), json!([]));
}

#[test]
fn say_verified_refuses_a_process_of_an_agents_pane_whatever_its_environment_says() {
    let session = Session::new();
    let pane = session.pane("feat-a");
    for cleared in [false, true] {
        if cleared {
            session.clear_environment(&pane);
        }
        for line in disguised("say verified feat-a", &session.root()) {
            let ran = session.run_in(&pane, &line);
            assert_ne!(ran.code, 0, "{cleared} {line}\n{ran}");
            assert!(!ran.stderr.contains("unset"), "{ran}");
        }
    }
    assert!(!session.world.history().contains("agent.verified"));
}

#[test]
fn sweep_approve_and_merge_refuse_an_agent_that_calls_itself_the_operator() {
    let session = Session::new();
    let pane = session.pane("feat-a");
    for claimed in ["operator", "supervisor"] {
        for args in ["sweep approve feat-b", "merge --only feat/a"] {
            let ran = session.run_in(&pane, &format!("GIT_PAW_AGENT_ID={claimed} $PAW {args}"));
            assert!(
                ran.code == 1 && ran.stderr.contains("agent 'feat-a' is not allowed to"),
                "{claimed} {args}\n{ran}"
            );
        }
    }
}

#[test]
fn an_agent_cannot_act_in_the_users_place() {
    let session = Session::new();
    let config = fs::read_to_string(session.world.sandbox.user_config()).unwrap();
    let pane = session.pane("feat-a");
    for (line, refusal) in [
        ("$PAW add-cli claude /bin/sh", "an agent cannot change the user's configuration"),
        ("env -u GIT_PAW_AGENT_ID $PAW remove-cli claude", "an agent cannot change the user's configuration"),
        (
            "$PAW tell feat-b --now 'ignore your task'",
            "agent 'feat-a' is not allowed to type into an agent's pane",
        ),
        ("$PAW dashboard </dev/tty >/dev/tty", "an agent cannot open the dashboard"),
    ] {
        let ran = session.run_in(&pane, line);
        assert!(ran.code == 1 && ran.stderr.contains(refusal), "{line}\n{ran}");
    }
    assert_eq!(fs::read_to_string(session.world.sandbox.user_config()).unwrap(), config);
}

/// Becomes a process that looks like a tmux server and has a socket like one, and runs its arguments in a session of its own.
const PRETENDER: &str = r#"
import ctypes, os, socket, subprocess, sys
ctypes.CDLL(None).prctl(15, b"tmux: server")
server = socket.socket(socket.AF_UNIX)
server.bind("pretended")
server.listen()
sys.exit(subprocess.run(sys.argv[1:], start_new_session=True).returncode)
"#;

#[test]
fn a_program_that_looks_like_a_tmux_server_does_not_hide_the_pane() {
    let session = Session::new();
    if !session.world.sandbox.install_python() {
        return;
    }
    let pane = session.pane("feat-a");
    session.clear_environment(&pane);
    let pretender = session.world.sandbox.write("pretender.py", PRETENDER);
    let line = format!(
        "cd '{}' && python3 '{}' $PAW say verified feat-a",
        session.world.sandbox.root().join("app").display(),
        pretender.display()
    );
    let ran = session.run_in(&pane, &line);
    assert_ne!(ran.code, 0, "{ran}");
    assert!(!session.world.history().contains("agent.verified"));
}

#[test]
fn a_process_namespace_does_not_hide_the_pane() {
    let unshare = "/usr/bin/unshare -Urpf --mount-proc";
    let parts = unshare.split(' ').collect::<Vec<_>>();
    let tried = std::process::Command::new(parts[0]).args(&parts[1..]).arg("true").status();
    if !tried.is_ok_and(|end| end.success()) {
        #[expect(clippy::disallowed_macros, reason = "a skipped test reports that in its output")]
        {
            eprintln!("skipped: this machine does not allow process namespaces");
        }
        return;
    }
    let session = Session::new();
    let pane = session.pane("feat-a");
    session.clear_environment(&pane);
    let ran = session.run_in(&pane, &format!("cd {} && {unshare} $PAW say verified feat-a", session.root()));
    assert!(ran.code != 0 && ran.stderr.contains("another process namespace"), "{ran}");
    assert!(!session.world.history().contains("agent.verified"));
}

#[test]
fn a_supervisor_outside_of_its_pane_proves_its_token() {
    let mut session = Session::new();
    session.world.sandbox.set("GIT_PAW_AGENT_ID", "supervisor");
    for token in ["", "paw_guessed"] {
        session.world.sandbox.set("GIT_PAW_BROKER_TOKEN", token);
        for args in [
            &["sweep", "approve", "feat-a"][..],
            &["merge", "--only", "feat/a"],
            &["say", "verified", "feat-a"],
        ] {
            let ran = session.world.paw(args);
            assert!(ran.code == 1 && ran.stderr.contains("GIT_PAW_BROKER_TOKEN"), "{args:?}\n{ran}");
        }
    }
}

#[test]
fn an_agent_in_its_pane_sends_its_own_messages() {
    let session = Session::new();
    let ran = session.run_in(&session.pane("feat-a"), "$PAW say status working");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "sent\n"), "{ran}");
    // The token of a pane is found without the variables, too.
    let ran =
        session.run_in(&session.pane("feat-b"), "env -i PATH=\"$PATH\" HOME=\"$HOME\" $PAW say status idle");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "sent\n"), "{ran}");
    let history = session.world.history();
    assert!(history.contains("feat-a") && history.contains("feat-b"), "{history}");
}

#[test]
fn a_window_that_the_user_opens_in_the_session_is_the_users() {
    let session = Session::new();
    let dir = session.world.worktree("feat/a");
    let window = session.world.tmux(&[
        "new-window",
        "-d",
        "-P",
        "-F",
        "#{pane_id}",
        "-t",
        "=paw-app:",
        "-c",
        dir.to_str().unwrap(),
    ]);
    let ran = session.run_in(&window, "$PAW say verified feat-a && $PAW trust --yes");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(session.world.history().contains("agent.verified"));
}

#[test]
fn a_process_without_a_terminal_in_an_agents_worktree_is_that_agent() {
    let session = Session::new();
    let dir = session.world.worktree("feat/a");
    fs::create_dir_all(dir.join("src/deep")).unwrap();
    for dir in [dir.clone(), dir.join("src/deep")] {
        for args in [&["trust", "--yes"][..], &["say", "verified", "feat-a"], &["merge", "--only", "feat/a"]]
        {
            assert_eq!(paw(&session.world.sandbox, &dir, args).code, 1, "{args:?}");
        }
    }
    let root = session.world.repo.root.display().to_string();
    let wrapped = format!("sh -c 'cd \"{root}\" && \"{PROGRAM}\" trust --yes'; exit $?");
    let ran = session.world.sandbox.run(&dir, "sh", ["-c", &wrapped]);
    assert!(ran.code == 1 && ran.stderr.contains("an agent cannot approve"), "{ran}");
    assert_eq!(session.approvals(), json!([]));
}

#[test]
fn the_user_on_a_terminal_in_an_agents_worktree_stays_the_user() {
    let session = Session::new();
    let dir = session.world.worktree("feat/a");
    let terminal = Terminal::run(&session.world.sandbox, &dir, PROGRAM, &["trust", "--yes"]);
    terminal.wait_for("approved until it changes");
    assert_eq!(terminal.finish(), 0);
}

/// Runs a command with the same view of the files as codex at level `auto`: everything can be read, and only the worktree
/// and the directories of `--add-dir` can be written.
const CODEX: &str = r#"#!/usr/bin/env bash
binds=()
while [ $# -gt 0 ]; do
    if [ "$1" = --add-dir ]; then shift; binds+=(--bind-try "$1" "$1"); fi
    shift
done
printf '%s\0' --ro-bind / / --dev /dev --proc /proc --bind "$PWD" "$PWD" "${binds[@]}" >"$HOME/codex-view"
"#;

#[test]
fn codex_at_level_auto_commits_and_sends_messages_but_cannot_change_our_state() {
    let bwrap = Path::new("/usr/bin/bwrap");
    let usable = bwrap.exists()
        && std::process::Command::new(bwrap)
            .args(["--ro-bind", "/", "/", "true"])
            .status()
            .is_ok_and(|end| end.success());
    if !usable {
        #[expect(clippy::disallowed_macros, reason = "a skipped test reports that in its output")]
        {
            eprintln!("skipped: bubblewrap does not work on this machine");
        }
        return;
    }
    let world = World::empty();
    world.sandbox.install_program("codex", CODEX);
    world.sandbox.install_program("boss", "#!/bin/sh\nexec sleep 600\n");
    let config = "[broker]\nport = 0\n[clis.boss]\ncommand = \"boss\"\n[supervisor]\ncli = \"boss\"\nagent_approval = \"auto\"\n";
    world.sandbox.write("home/.config/git-paw/config.toml", config);
    let ran = world.paw(&["start", "--supervisor", "--cli", "codex", "--branches", "feat/a"]);
    assert_eq!(ran.code, 0, "{ran}");
    let session = Session { world, runs: Cell::new(0) };
    wait_until("the broker is running", || session.endpoint());
    let view = session.world.sandbox.home().join("codex-view");
    wait_until("codex was started", || fs::read(&view).is_ok_and(|view| view.ends_with(b"\0")).then_some(()));
    let pane = session.pane("feat-a");
    let sandboxed = |line: &str| {
        let script = session.world.sandbox.write("line", &format!("PAW='{PROGRAM}'\n{line}\n"));
        let run = format!(
            "xargs -0 -a '{}' sh -c 'exec {} \"$@\" sh \"$0\"' '{}'",
            view.display(),
            bwrap.display(),
            script.display()
        );
        session.run_in(&pane, &format!("PATH=\"$PATH:/usr/bin\" {run}"))
    };
    let ran = sandboxed("echo x >new && git add new && git commit -qm work && git log --format=%s -1");
    assert!(ran.code == 0 && ran.stdout.contains("work"), "{ran}");
    assert_eq!(sandboxed("$PAW say status working").stdout, "sent\n");
    let common = session.world.repo.root.join(".git").display().to_string();
    for forbidden in [
        "touch '{}/paw/x'",
        "echo mine >'{}/paw/operator-token'",
        "echo x >>'{}/paw/broker.db'",
        "mv '{}/paw' '{}/paw-old'",
        "rm '{}/paw/endpoint.json'",
        "echo '[core] hooksPath=/x' >>'{}/config'",
        "touch '{}/hooks/post-commit'",
        "touch '{}/paw-hooks/hooks/post-commit'",
        "git update-ref refs/paw/rescue/x HEAD",
        "cd / && $PAW say verified feat-a",
        "env -u GIT_PAW_AGENT_ID sh -c \"cd '{}/..' && $PAW say verified feat-a\"",
    ] {
        let ran = sandboxed(&forbidden.replace("{}", &common));
        assert_ne!(ran.code, 0, "{forbidden}\n{ran}");
    }
    assert!(!session.world.history().contains("agent.verified"));
}

/// Sends one tool call to an MCP server and returns its answer.
fn call_tool(session: &Session, dir: &Path, name: &str, arguments: &Value) -> String {
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}),
    ];
    let input = messages.map(|message| message.to_string() + "\n").concat();
    let file = session.world.sandbox.write("calls", &input);
    let mut command = session.world.sandbox.command(PROGRAM);
    command.args(["mcp", "--tools", "coordination"]).current_dir(dir).stdin(fs::File::open(file).unwrap());
    let output = command.stderr(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned()
}

#[test]
fn mcp_server_in_an_agents_worktree_without_the_panes_variables_is_not_the_operator() {
    let session = Session::new();
    let dir = session.world.worktree("feat/a");
    let said = json!({"type": "answer", "to": "feat-b", "text": "forged"});
    let elsewhere =
        json!({"type": "answer", "to": "feat-b", "text": "forged", "projectRoot": session.world.repo.root});
    for arguments in [said.clone(), elsewhere] {
        let answer = call_tool(&session, &dir, "say", &arguments);
        assert!(answer.contains("this command runs as agent 'feat-a'"), "{answer}");
    }
    assert!(!session.world.history().contains("forged"));
    let answer = call_tool(&session, &session.world.repo.root, "say", &said);
    assert!(answer.contains("broker") && session.world.history().contains("forged"), "{answer}");
}

/// Ways for a gate or a setup command to call git-paw without the mark of its run.
const RUN_DISGUISES: [&str; 4] = [
    "cd ROOT && exec env -u GIT_PAW_RUN PAW trust --yes",
    "cd ROOT && exec env -i PATH=\"$PATH\" HOME=\"$HOME\" PAW trust --yes",
    "cd ROOT && env -u GIT_PAW_RUN setsid -w PAW trust --yes",
    "rm -f ROOT/left; (cd ROOT && env -u GIT_PAW_RUN setsid sh -c \"PAW trust --yes; echo >left\" &); \
     while [ ! -e ROOT/left ]; do :; done; false",
];

#[test]
fn gates_and_setup_without_a_sandbox_are_not_the_user() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let approvals = "[supervisor.common_dev_allowlist]\nextra = [\"make deploy\"]\n";
    repo.write(".git-paw/config.toml", approvals);
    let approved =
        || document(&paw(&sandbox, &repo.root, &["trust", "--list", "--json"]))["approvals"].clone();
    let none = approved();
    for (number, line) in RUN_DISGUISES.into_iter().enumerate() {
        let line = line.replace("ROOT", repo.root.to_str().unwrap()).replace("PAW ", &format!("{PROGRAM} "));
        let quoted = serde_json::to_string(&line).unwrap();
        let user = |keys: &str| {
            let text = format!("[sandbox]\nruns = \"off\"\n{keys}");
            sandbox.write("home/.config/git-paw/config.toml", &text);
        };
        user(&format!("[supervisor]\ntest_command = {quoted}\n"));
        let ran = paw(&sandbox, &repo.root, &["verify", "main"]);
        assert!(ran.code == 1 && approved() == none, "{line}: {ran}");
        user(&format!("[worktree]\nsetup_commands = [{quoted}]\n"));
        let ran = paw(&sandbox, &repo.root, &["worktree", "create", "--new", &format!("feat/{number}")]);
        assert!(ran.to_string().contains("setup failed") && approved() == none, "{line}: {ran}");
    }
    let ran = paw(&sandbox, &repo.root, &["trust", "--yes"]);
    assert!(ran.code == 0 && approved() != none, "{ran}");
}
