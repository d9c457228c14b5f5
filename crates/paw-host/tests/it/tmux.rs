//! Batches, exact targets and panes, on a private tmux server.

use paw_core::SessionName;
use paw_host::tmux::{Batch, Tmux, TmuxCommand, TmuxError, session_target};
use paw_testkit::wait_until;

/// A private server that is killed when the test ends.
struct Server {
    tmux: Tmux,
}

impl Server {
    fn new(name: &str) -> Self {
        Self { tmux: Tmux::on_socket(Some(format!("paw-test-{name}-{}", std::process::id()))) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.tmux.run(&TmuxCommand::new("kill-server"));
    }
}

fn session(name: &str) -> SessionName {
    SessionName::new(name).unwrap()
}

fn new_session(name: &str) -> TmuxCommand {
    TmuxCommand::new("new-session").args(["-d", "-s", name, "-x", "200", "-y", "50"])
}

#[test]
fn a_batch_builds_a_session_in_one_process() {
    let server = Server::new("batch");
    let name = session("paw-app");
    let mut batch: Batch = [
        new_session("paw-app").args(["-c", "/", "-e", "GREETING=it's \"$HOME\";\nbye", "sh"]),
        TmuxCommand::new("set-option").args(["-g", "default-size", "200x50"]),
    ]
    .into_iter()
    .collect();
    batch.push(TmuxCommand::new("split-window").args([
        "-t",
        &session_target(&name),
        "-l",
        "40%",
        "-c",
        "/tmp",
        "sh",
    ]));
    batch.push(TmuxCommand::new("select-pane").args(["-t", &session_target(&name), "-T", "feat/x → it's"]));
    server.tmux.run_batch(&batch).unwrap();

    let panes = server.tmux.panes(&name).unwrap();
    assert_eq!(panes.len(), 2);
    assert_eq!(panes[1].title, "feat/x → it's");
    assert_eq!((panes[0].width, panes[0].height + panes[1].height), (200, 49));
    let send =
        TmuxCommand::new("send-keys").args(["-t", &panes[0].id, "printf '[%s]' \"$GREETING\"", "Enter"]);
    server.tmux.run(&send).unwrap();
    wait_until("the pane shows its environment", || {
        server.tmux.capture_pane(&panes[0].id).unwrap().contains("[it's \"$HOME\";\nbye]").then_some(())
    });
}

#[test]
fn a_target_never_matches_a_longer_session_name() {
    let server = Server::new("exact");
    server.tmux.run(&new_session("paw-application")).unwrap();
    let short = session("paw-app");
    assert!(!server.tmux.has_session(&short).unwrap());
    server.tmux.kill_session(&short).unwrap();
    assert!(matches!(server.tmux.panes(&short), Err(TmuxError::NoSession(_))));
    assert!(server.tmux.has_session(&session("paw-application")).unwrap());
}

#[test]
fn session_lifecycle_create_check_kill() {
    let server = Server::new("life");
    let name = session("paw-life");
    assert!(!server.tmux.has_session(&name).unwrap(), "no server runs yet");
    server.tmux.run_batch(&[new_session("paw-life")].into_iter().collect()).unwrap();
    assert!(server.tmux.has_session(&name).unwrap());
    server.tmux.kill_session(&name).unwrap();
    assert!(!server.tmux.has_session(&name).unwrap());
    server.tmux.kill_session(&name).unwrap();
}

#[test]
fn a_failed_batch_reports_the_command() {
    let server = Server::new("fail");
    let batch: Batch = [new_session("paw-fail"), TmuxCommand::new("split-window").args(["-t", "=missing:"])]
        .into_iter()
        .collect();
    let error = server.tmux.run_batch(&batch).unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
}

#[test]
fn attaching_to_a_nonexistent_session_fails() {
    let server = Server::new("attach");
    assert!(matches!(server.tmux.attach(&session("paw-none")), Err(TmuxError::NoSession(_))));
}

#[test]
fn tmux_is_present_on_path_and_new_enough() {
    Tmux::default().require_minimum().unwrap();
}
