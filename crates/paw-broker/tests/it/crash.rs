//! A broker that is killed under load keeps every acknowledged message.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use paw_broker::endpoint::Endpoint;
use paw_broker::identity::{Keyring, Token};
use paw_broker::log::{self, PageLimit};
use paw_broker::{Broker, SessionId};
use paw_core::paths::PawDir;
use paw_testkit::wait_until;
use serde_json::{Value, json};

use crate::server::{Http, SESSION, id, settings};

const KILLS: usize = 50;
const PUBLISHERS: usize = 4;
/// The directory of the child's broker. Set only for the child.
const DIR: &str = "PAW_BROKER_CRASH_DIR";

/// Not a test: the child process runs this until it is killed.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let _broker = Broker::start(settings(Path::new(&dir))).unwrap();
    loop {
        std::thread::park_timeout(Duration::from_mins(1));
    }
}

fn spawn(dir: &Path) -> Child {
    run(dir, &mut Command::new(std::env::current_exe().unwrap()))
}

/// A child whose files are limited to `blocks` of half a KiB. Above that it gets an error instead of a signal.
fn spawn_confined(dir: &Path, blocks: u32) -> Child {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    run(dir, Command::new("sh").arg("-c").arg(script).arg(std::env::current_exe().unwrap()))
}

fn run(dir: &Path, command: &mut Command) -> Child {
    command
        .args(["--exact", "crash::child", "--nocapture"])
        .env(DIR, dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn address_of(paw_dir: &PawDir, child: &Child) -> std::net::SocketAddr {
    let endpoint = wait_until("the broker listens", || {
        Endpoint::load(paw_dir).unwrap().filter(|endpoint| endpoint.pid == child.id())
    });
    endpoint.address().unwrap()
}

/// Publishes until the connection breaks, and records what was acknowledged.
fn publish(
    address: std::net::SocketAddr,
    token: Token,
    name: &str,
    acknowledged: &Mutex<HashMap<u64, String>>,
    count: &AtomicUsize,
) {
    // The broker may be dead already.
    let Ok(http) = Http::try_connect(address) else { return };
    let mut http = http.speaking(token);
    for number in 0..100_000 {
        let text = format!("{name}-{number}");
        let body =
            json!({"type": "agent.artifact", "agent_id": "a", "payload": {"status": text}}).to_string();
        match http.try_post("/publish", "application/json", body.as_bytes()) {
            Ok(answer) if answer.status == 202 => {
                let before = acknowledged.lock().unwrap().insert(answer.seq(), text);
                assert_eq!(before, None, "a sequence number was used twice");
                count.fetch_add(1, Ordering::Relaxed);
            }
            _ => return,
        }
    }
}

fn stored(paw_dir: &PawDir, session: &SessionId) -> HashMap<u64, String> {
    let log = log::open(&paw_dir.log()).unwrap();
    let (mut stored, mut since) = (HashMap::new(), 0);
    loop {
        let page = log.history(session, since, PageLimit::DEFAULT).unwrap();
        let Some(last) = page.last() else { return stored };
        since = last.seq;
        for entry in &page {
            let body: Value = serde_json::from_str(&entry.body).unwrap();
            stored.insert(entry.seq, body["payload"]["status"].as_str().unwrap().to_owned());
        }
    }
}

fn token(paw_dir: &PawDir, session: &SessionId) -> Token {
    let log = log::open(&paw_dir.log()).unwrap();
    Keyring::new(&log, paw_dir.path()).mint(session, &id("a")).unwrap()
}

#[test]
fn a_full_disk_acknowledges_only_stored_messages() {
    let dir = tempfile::tempdir().unwrap();
    let paw_dir = PawDir::of(&dir.path().join(".git"));
    let session = SessionId::new(SESSION);
    let token = token(&paw_dir, &session);
    let mut child = spawn_confined(dir.path(), 2000);
    let mut http = Http::connect(address_of(&paw_dir, &child)).speaking(token);
    let (mut acknowledged, mut refused) = (HashMap::new(), 0);
    for number in 0..200 {
        let text = format!("{number} {}", "x".repeat(20_000));
        let body = json!({"type": "agent.artifact", "agent_id": "a", "payload": {"status": text}});
        let answer = http.publish(&body);
        if answer.status == 202 {
            acknowledged.insert(answer.seq(), text);
        } else {
            assert!((500..600).contains(&answer.status) && !answer.error().is_empty(), "{answer:?}");
            refused += 1;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!acknowledged.is_empty() && refused > 0, "{} {refused}", acknowledged.len());
    assert_eq!(stored(&paw_dir, &session), acknowledged);
}

#[test]
fn a_broker_killed_fifty_times_under_load_loses_no_acknowledged_message() {
    let dir = tempfile::tempdir().unwrap();
    let paw_dir = PawDir::of(&dir.path().join(".git"));
    let session = SessionId::new(SESSION);
    let token = token(&paw_dir, &session);
    let acknowledged = Mutex::new(HashMap::new());
    for round in 0..KILLS {
        let mut child = spawn(dir.path());
        let address = address_of(&paw_dir, &child);
        let count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for publisher in 0..PUBLISHERS {
                let (token, acknowledged, count) = (token.clone(), &acknowledged, &count);
                scope.spawn(move || {
                    publish(address, token, &format!("{round}-{publisher}"), acknowledged, count);
                });
            }
            // Each round kills the broker at a different time.
            let enough = 1 + round * 7 % 60;
            wait_until("enough messages were acknowledged", || {
                (count.load(Ordering::Relaxed) >= enough).then_some(())
            });
            child.kill().unwrap();
            child.wait().unwrap();
        });
    }
    let stored = stored(&paw_dir, &session);
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() > KILLS);
    for (seq, text) in acknowledged {
        assert_eq!(stored.get(&seq), Some(&text), "message {seq} was acknowledged");
    }
}
