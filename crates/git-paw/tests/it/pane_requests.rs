//! `git paw verify` and `git paw merge` in an agent's pane: the session's process runs the gates and signs.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use paw_testkit::wait_until;

use crate::identity::Session;
use crate::paw::document;

const CONFIG: &str =
    "[broker]\nenabled = true\nport = 0\n[supervisor]\ntest_command = \"echo looking; test -e a\"\n";
const COMMIT: &str = "touch a && git add a && git -c user.name=a -c user.email=a@example.com commit -qm a";

/// A session with a broker and a gate.
fn session() -> Session {
    let session = Session::with_config(CONFIG);
    wait_until("the broker is running", || session.endpoint());
    session
}

#[test]
fn verify_in_a_pane_is_run_and_signed_by_the_sessions_process() {
    let session = session();
    let pane = session.pane("feat-a");
    // Directories and gates of its own do not help an agent.
    let own = "mkdir -p own/git-paw; printf '[supervisor]\\ntest_command = \"true\"\\n' >own/git-paw/config.toml; \
        XDG_DATA_HOME=\"$PWD/own\" XDG_CONFIG_HOME=\"$PWD/own\"";
    let ran = session.run_in(&pane, &format!("{own} $PAW verify feat/a"));
    assert!(ran.code == 1 && ran.stdout.contains("unproven feat/a at "), "{ran}");
    assert!(!ran.stderr.contains("\nlooking\n"), "progress is for terminals: {ran}");
    let ran = session.run_in(&pane, &format!("{COMMIT} && {own} $PAW verify feat/a --json"));
    let report = document(&ran);
    assert_eq!((ran.code, &report["verdict"], &report["published"]), (0, &"verified".into(), &true.into()));
    let ran = session.world.paw(&["proof", "check", "feat/a"]);
    assert_eq!(ran.code, 0, "signed with the key of the user: {ran}");
    let history = session.world.history();
    assert!(history.contains("requested by feat-a"), "{history}");
    // Errors and unique prefixes.
    let ran = session.run_in(&pane, "$PAW verify feat/none");
    assert!(ran.code == 1 && ran.stderr.contains("feat/none"), "{ran}");
    let ran = session.run_in(&pane, "$PAW verify feat/a --trust");
    assert!(ran.code == 1 && ran.stderr.contains("an agent cannot approve"), "{ran}");
    let ran = session.run_in(&pane, "$PAW verify feat-a; $PAW verify a");
    assert!(ran.code == 0 && ran.stdout.matches("verified feat/a at ").count() == 2, "{ran}");
    let log = fs::read_to_string(session.world.repo.root.join(".git/paw/session.log")).unwrap();
    assert!(log.contains("feat-a requests") && !log.contains("panicked"), "{log}");
}

#[test]
fn an_agent_cannot_have_the_sessions_process_merge() {
    let session = session();
    let pane = session.pane("feat-a");
    let main = session.world.repo.git(["rev-parse", "main"]);
    assert_eq!(session.run_in(&pane, COMMIT).code, 0);
    let ran = session.run_in(&pane, "$PAW merge --only feat/a");
    assert!(ran.code == 1 && ran.stderr.contains("agent 'feat-a' is not allowed to merge"), "{ran}");
    let token = session.run_in(&pane, "echo $GIT_PAW_BROKER_TOKEN").stdout;
    let url = session.endpoint().unwrap()["url"].as_str().unwrap().trim_start_matches("http://").to_owned();
    let body =
        r#"{"what":{"merge":{"only":["feat/a"],"rebase":false}},"timeout":60,"json":false,"progress":false}"#;
    for (body, answer) in [
        (body.to_owned(), "agent 'feat-a' is not allowed to do this"),
        (body.replace("\"json\"", "\"trust\":true,\"json\""), "unknown field `trust`"),
        (r#"{"command":"sh"}"#.to_owned(), "not a request that can be run"),
    ] {
        let mut stream = TcpStream::connect(&url).unwrap();
        let head = format!(
            "POST /run HTTP/1.0\r\nHost: {url}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            token.trim(),
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.contains(answer) && said.contains("{\"exit\":1}"), "{body}\n{said}");
    }
    assert_eq!(session.world.repo.git(["rev-parse", "main"]), main);
}

#[test]
fn a_pane_without_a_session_process_gets_a_clear_error() {
    let session = Session::with_config("[supervisor]\ntest_command = \"true\"\n");
    let pane = session.pane("feat-a");
    let ran = session.run_in(&pane, "$PAW verify feat/a");
    assert!(ran.code == 1 && ran.stderr.contains("cannot reach the session's process"), "{ran}");
    assert!(!session.world.sandbox.home().join(".local/share/git-paw/proof.key").exists());
    assert_eq!(session.world.paw(&["verify", "feat/a"]).code, 0, "the user can run it");
    let status = document(&session.world.paw(&["status", "--json"]));
    assert_eq!(status["worktrees"][0]["verification"], "proven", "{status}");
    let ran = session.run_in(&pane, COMMIT);
    assert_eq!(ran.code, 0, "{ran}");
    let status = document(&session.world.paw(&["status", "--json"]));
    assert_eq!(status["worktrees"][0]["verification"], serde_json::Value::Null, "it moved: {status}");
    assert!(fs::read_dir(session.world.repo.root.join(".git/paw/proofs")).unwrap().count() > 0);
}
