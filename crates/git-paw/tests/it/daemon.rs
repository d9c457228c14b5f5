//! `git paw daemon`

use std::path::Path;
use std::process::{Child, Stdio};

use paw_testkit::{Sandbox, wait_until};

use crate::paw::{PROGRAM, document, paw};

/// A daemon that ends with the test, whatever happens.
struct Daemon(Child);

impl Daemon {
    fn start(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.command(PROGRAM);
        command.args(["daemon", "run"]).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = Self(command.spawn().unwrap());
        wait_until("the daemon answers", || {
            (paw(sandbox, &sandbox.root(), &["daemon", "status"]).code == 0).then_some(())
        });
        daemon
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_runs_tells_how_it_is_and_stops() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["daemon", "status"]);
    assert!(ran.code == 1 && ran.stderr.contains("no daemon is running"), "{ran}");
    let mut daemon = Daemon::start(&sandbox);
    let status = document(&paw(&sandbox, &sandbox.root(), &["daemon", "status", "--json"]));
    assert_eq!(status["daemon"]["pid"], daemon.0.id());
    assert_eq!(status["daemon"]["version"], env!("CARGO_PKG_VERSION"));
    let ran = paw(&sandbox, &sandbox.root(), &["daemon", "stop"]);
    assert_eq!(ran.stdout, format!("stopped the daemon (pid {})\n", daemon.0.id()));
    let ended = wait_until("the daemon has ended", || daemon.0.try_wait().unwrap());
    assert!(ended.success());
    assert_eq!(paw(&sandbox, &sandbox.root(), &["daemon", "stop"]).stdout, "no daemon is running\n");
}

#[test]
fn a_second_daemon_says_who_holds_the_socket() {
    let sandbox = Sandbox::new();
    let daemon = Daemon::start(&sandbox);
    let ran = paw(&sandbox, &sandbox.root(), &["daemon", "run"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains(&format!("a daemon is already running (pid {})", daemon.0.id())), "{ran}");
}

/// The example of the guide, without generated code: a request without fields is empty.
const PYTHON: &str = r#"
import grpc, sys
channel = grpc.insecure_channel("unix:" + sys.argv[1], options=[("grpc.default_authority", "localhost")])
status = channel.unary_unary("/paw.v1.DaemonService/Status")(b"", timeout=20)
print("answered" if sys.argv[1].encode() in status else status)
"#;

#[test]
fn python_grpc_client_with_a_default_authority_is_answered() {
    let installed = std::env::var_os("PAW_RUNNERS").map(|place| Path::new(&place).join("venv/bin/python"));
    let python = installed.filter(|python| python.exists()).unwrap_or_else(|| "python3".into());
    let has_grpc = std::process::Command::new(&python).args(["-c", "import grpc"]).output();
    if !has_grpc.is_ok_and(|output| output.status.success()) {
        crate::guide::skip("this machine's python3 has no grpcio package (scripts/test installs it)");
        return;
    }
    let sandbox = Sandbox::new();
    let _daemon = Daemon::start(&sandbox);
    let status = paw(&sandbox, &sandbox.root(), &["daemon", "status", "--json"]).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let socket = status["daemon"]["socket"].as_str().unwrap();
    let socket = socket.replace("[SANDBOX]", sandbox.root().to_str().unwrap());
    let ran = sandbox.run(&sandbox.root(), python, ["-c", PYTHON, &socket]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "answered\n"), "{ran}");
}

#[test]
fn startup_reconciliation_marks_stale() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("project");
    repo.git(["branch", "feature/auth"]);
    let created = paw(&sandbox, &repo.root, &["worktree", "create", "feature/auth", "--json"]);
    let id = document(&created)["worktree"]["id"].as_str().unwrap().to_owned();
    std::fs::remove_dir_all(sandbox.root().join("project-auth")).unwrap();
    let _daemon = Daemon::start(&sandbox);
    let log = std::fs::read_to_string(sandbox.home().join(".local/share/git-paw/daemon.log")).unwrap();
    assert!(log.contains("WARN") && log.contains(&format!("Worktree {id} directory missing")), "{log}");
    let ran = paw(&sandbox, &repo.root, &["worktree", "list", "--json"]);
    assert_eq!(document(&ran)["worktrees"][0]["status"], "stale", "not deleted: {ran}");
}
