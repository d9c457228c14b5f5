//! A log that cannot be written for a while, as on a full disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use paw_broker::SessionId;
use paw_broker::identity::TokenHash;
use paw_broker::log::{
    self, Appended, LogEntry, LogError, MessageDraft, MessageLog, NewestSeq, PageLimit, ReadMark,
    ReplicaState, StreamId, StreamProgress,
};
use paw_core::{AgentId, HostName};
use paw_testkit::wait_until;

use crate::nats_server::NatsServer;
use crate::node::{Node, log_path, roster};

#[derive(Debug)]
struct FullLog {
    log: Arc<dyn MessageLog>,
    /// How many further commits and joins fail.
    failures: AtomicUsize,
}

impl FullLog {
    fn check(&self) -> Result<(), LogError> {
        let lower = |left: usize| left.checked_sub(1);
        match self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lower) {
            Ok(_) => Err(LogError::Full),
            Err(_) => Ok(()),
        }
    }
}

impl MessageLog for FullLog {
    fn join_stream(&self, session: &SessionId, stream: &StreamId) -> Result<ReplicaState, LogError> {
        self.check()?;
        self.log.join_stream(session, stream)
    }
    fn append_replicated(
        &self,
        session: &SessionId,
        stream: &StreamId,
        progress: &StreamProgress,
    ) -> Result<u64, LogError> {
        self.check()?;
        self.log.append_replicated(session, stream, progress)
    }

    fn begin(&self, session: &SessionId, now: Timestamp) -> Result<(), LogError> {
        self.log.begin(session, now)
    }
    fn current_session(&self) -> Result<Option<SessionId>, LogError> {
        self.log.current_session()
    }
    fn append(&self, session: &SessionId, drafts: &[MessageDraft]) -> Result<Appended, LogError> {
        self.log.append(session, drafts)
    }
    fn inbox(
        &self,
        session: &SessionId,
        agent: &AgentId,
        since: u64,
        limit: PageLimit,
    ) -> Result<Vec<LogEntry>, LogError> {
        self.log.inbox(session, agent, since, limit)
    }
    fn note_read(&self, session: &SessionId, agent: &AgentId, seq: u64) -> Result<(), LogError> {
        self.log.note_read(session, agent, seq)
    }
    fn load_read_marks(
        &self,
        session: &SessionId,
        agent: &AgentId,
        own: &HostName,
    ) -> Result<Vec<ReadMark>, LogError> {
        self.log.load_read_marks(session, agent, own)
    }
    fn save_read_marks(&self, agent: &AgentId, own: &HostName, marks: &[ReadMark]) -> Result<(), LogError> {
        self.log.save_read_marks(agent, own, marks)
    }
    fn load_moved_agents(&self) -> Result<Vec<AgentId>, LogError> {
        self.log.load_moved_agents()
    }
    fn history(&self, session: &SessionId, since: u64, limit: PageLimit) -> Result<Vec<LogEntry>, LogError> {
        self.log.history(session, since, limit)
    }
    fn head(&self) -> Result<u64, LogError> {
        self.log.head()
    }
    fn newest(&self, session: &SessionId) -> Result<Vec<NewestSeq>, LogError> {
        self.log.newest(session)
    }
    fn load_snapshot(&self, session: &SessionId) -> Result<Option<(u64, String)>, LogError> {
        self.log.load_snapshot(session)
    }
    fn save_snapshot(&self, session: &SessionId, seq: u64, body: &str) -> Result<(), LogError> {
        self.log.save_snapshot(session, seq, body)
    }
    fn save_token(
        &self,
        session: Option<&SessionId>,
        agent: &AgentId,
        hash: TokenHash,
    ) -> Result<(), LogError> {
        self.log.save_token(session, agent, hash)
    }
    fn delete_token(&self, session: &SessionId, agent: &AgentId) -> Result<(), LogError> {
        self.log.delete_token(session, agent)
    }
    fn load_tokens(&self, session: &SessionId) -> Result<Vec<(AgentId, TokenHash)>, LogError> {
        self.log.load_tokens(session)
    }
    fn restore(&self, messages: &[(SessionId, LogEntry)], head: u64) -> Result<(), LogError> {
        self.log.restore(messages, head)
    }
    fn readmit_stream(&self, stream: &StreamId) -> Result<(), LogError> {
        self.log.readmit_stream(stream)
    }

    fn purge(&self, session: &SessionId) -> Result<(), LogError> {
        self.log.purge(session)
    }
}

#[test]
fn messages_that_a_full_disk_refused_are_read_again_and_own_ones_are_not_taken_back() {
    let Some(server) = NatsServer::start() else { return };
    let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
    let (path, url) = (dir.path(), server.url());
    let full =
        Arc::new(FullLog { log: log::open(&log_path(path, "hub")).unwrap(), failures: AtomicUsize::new(0) });
    let hub = Node::start_with(Arc::clone(&full) as _, path, "hub", &url, &stream, roster(path));
    let big = Node::start(path, "big", &url, &stream, roster(path));
    hub.publish(1..=3);
    big.publish(1..=3);
    let wait = |node: &Node, of: &str, expected: &[u64]| {
        wait_until("messages arrive", || (node.messages(of).len() >= expected.len()).then_some(()));
        assert_eq!(node.messages(of), expected, "{of}");
    };
    wait(&hub, "big", &[1, 2, 3]);
    full.failures.store(4, Ordering::SeqCst);
    big.publish(4..=6);
    wait_until("the log fails", || (full.failures.load(Ordering::SeqCst) == 0).then_some(()));
    hub.publish(4..=6);
    wait(&hub, "big", &[1, 2, 3, 4, 5, 6]);
    wait(&big, "hub", &[1, 2, 3, 4, 5, 6]);
    wait(&hub, "hub", &[1, 2, 3, 4, 5, 6]);
}
