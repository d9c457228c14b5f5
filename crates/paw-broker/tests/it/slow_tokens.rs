//! A disk so slow that reading tokens takes as long as the test wants, under a server with two threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use paw_broker::Bus;
use paw_broker::http::{ServerAddress, ServerContext, ServerLimits, TokenCache, WaitingRequests, serve};
use paw_broker::identity::{Keyring, Token, TokenHash};
use paw_broker::log::{
    self, Appended, LogEntry, LogError, MessageDraft, MessageLog, NewestSeq, PageLimit, ReadMark,
    ReplicaState, SessionId, StreamId, StreamProgress,
};
use paw_core::config::BrokerAuth;
use paw_core::{AgentId, HostName};
use paw_host::clock::Stopwatch;
use paw_testkit::wait_until;
use serde_json::json;
use tempfile::TempDir;

use crate::server::{Http, SESSION, id};

/// Longer than any wait of this test.
const STUCK: Duration = Duration::from_secs(10);

/// Returns the tokens of `log` once; later loads wait for a message on `released`.
#[derive(Debug)]
struct SlowTokens {
    log: Arc<dyn MessageLog>,
    reads: AtomicUsize,
    timed_out: AtomicUsize,
    released: Mutex<Receiver<()>>,
}

impl MessageLog for SlowTokens {
    fn load_tokens(&self, session: &SessionId) -> Result<Vec<(AgentId, TokenHash)>, LogError> {
        if self.reads.fetch_add(1, Ordering::SeqCst) > 0
            && self.released.lock().unwrap().recv_timeout(STUCK) == Err(RecvTimeoutError::Timeout)
        {
            self.timed_out.fetch_add(1, Ordering::SeqCst);
        }
        self.log.load_tokens(session)
    }

    // A keyring calls nothing else.
    fn begin(&self, _: &SessionId, _: Timestamp) -> Result<(), LogError> {
        Err(LogError::Closed)
    }
    fn current_session(&self) -> Result<Option<SessionId>, LogError> {
        Err(LogError::Closed)
    }
    fn append(&self, _: &SessionId, _: &[MessageDraft]) -> Result<Appended, LogError> {
        Err(LogError::Closed)
    }
    fn inbox(&self, _: &SessionId, _: &AgentId, _: u64, _: PageLimit) -> Result<Vec<LogEntry>, LogError> {
        Err(LogError::Closed)
    }
    fn note_read(&self, _: &SessionId, _: &AgentId, _: u64) -> Result<(), LogError> {
        Err(LogError::Closed)
    }
    fn load_read_marks(&self, _: &SessionId, _: &AgentId, _: &HostName) -> Result<Vec<ReadMark>, LogError> {
        Err(LogError::Closed)
    }
    fn save_read_marks(&self, _: &AgentId, _: &HostName, _: &[ReadMark]) -> Result<(), LogError> {
        Err(LogError::Closed)
    }
    fn load_moved_agents(&self) -> Result<Vec<AgentId>, LogError> {
        Ok(Vec::new())
    }
    fn history(&self, _: &SessionId, _: u64, _: PageLimit) -> Result<Vec<LogEntry>, LogError> {
        Err(LogError::Closed)
    }
    fn head(&self) -> Result<u64, LogError> {
        Err(LogError::Closed)
    }
    fn newest(&self, _: &SessionId) -> Result<Vec<NewestSeq>, LogError> {
        Err(LogError::Closed)
    }
    fn load_snapshot(&self, _: &SessionId) -> Result<Option<(u64, String)>, LogError> {
        Err(LogError::Closed)
    }
    fn save_snapshot(&self, _: &SessionId, _: u64, _: &str) -> Result<(), LogError> {
        Err(LogError::Closed)
    }
    fn save_token(&self, _: Option<&SessionId>, _: &AgentId, _: TokenHash) -> Result<(), LogError> {
        Err(LogError::Closed)
    }
    fn delete_token(&self, _: &SessionId, _: &AgentId) -> Result<(), LogError> {
        Err(LogError::Closed)
    }
    fn restore(&self, _: &[(SessionId, LogEntry)], _: u64) -> Result<(), LogError> {
        unreachable!("this test restores nothing")
    }

    fn join_stream(&self, _: &SessionId, _: &StreamId) -> Result<ReplicaState, LogError> {
        Err(LogError::Closed)
    }
    fn append_replicated(&self, _: &SessionId, _: &StreamId, _: &StreamProgress) -> Result<u64, LogError> {
        Err(LogError::Closed)
    }
    fn readmit_stream(&self, _: &StreamId) -> Result<(), LogError> {
        Err(LogError::Closed)
    }

    fn purge(&self, _: &SessionId) -> Result<(), LogError> {
        Err(LogError::Closed)
    }
}

struct Slow {
    runtime: tokio::runtime::Runtime,
    address: std::net::SocketAddr,
    tokens: Arc<SlowTokens>,
    agent: Token,
    release: Sender<()>,
    _ending: tokio::sync::watch::Sender<bool>,
    _dir: TempDir,
}

impl Slow {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let log = log::open(&dir.path().join("db")).unwrap();
        let session = SessionId::new(SESSION);
        let agent = Keyring::new(&log, dir.path()).mint(&session, &id("a")).unwrap();
        let (release, released) = channel();
        let tokens = Arc::new(SlowTokens {
            log: Arc::clone(&log),
            reads: AtomicUsize::new(0),
            timed_out: AtomicUsize::new(0),
            released: Mutex::new(released),
        });
        let keyring = Keyring::new(&(Arc::clone(&tokens) as Arc<dyn MessageLog>), dir.path());
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (ending, ended) = tokio::sync::watch::channel(false);
        let app = ServerContext {
            waiting: WaitingRequests::new(64),
            bus: Bus::open(log, session.clone(), false).unwrap(),
            tokens: TokenCache::load(keyring, session).unwrap(),
            auth: BrokerAuth::Token,
            address: ServerAddress(address),
            repository: dir.path().to_path_buf(),
            watches: tokio::sync::mpsc::channel(1).0,
            runs: tokio::sync::mpsc::channel(1).0,
            ending: ended.clone(),
            started: Stopwatch::start(),
            large_bodies: tokio::sync::Semaphore::new(1),
        };
        runtime.spawn(serve(listener, Arc::new(app), ServerLimits::default(), ended));
        Self { runtime, address, tokens, agent, release, _ending: ending, _dir: dir }
    }
}

#[test]
fn unknown_tokens_do_not_block_publishing_while_tokens_load_slowly() {
    let server = Slow::start();
    let mut strangers: Vec<Http> = (0..4)
        .map(|number| {
            let token = Token::from_text(&format!("paw_{number}"));
            let mut http = Http::connect(server.address).speaking(token);
            http.send(http.head("GET", "/messages/a", "").as_bytes()).unwrap();
            http
        })
        .collect();
    let reads = || server.tokens.reads.load(Ordering::SeqCst);
    wait_until("an unknown token causes a load", || (reads() > 1).then_some(()));
    let mut agent = Http::connect(server.address).speaking(server.agent.clone());
    let status = json!({"type": "agent.status", "agent_id": "a", "payload": {"status": "working"}});
    for _ in 0..20 {
        assert_eq!(agent.publish(&status).status, 202);
    }
    assert_eq!(reads(), 2, "one request loads, the others wait for it");
    assert_eq!(server.tokens.timed_out.load(Ordering::SeqCst), 0, "publishing waited for the tokens");
    drop(server.release);
    for stranger in &mut strangers {
        assert_eq!(stranger.answer().unwrap().status, 401);
    }
    server.runtime.shutdown_background();
}
