//! What the broker keeps in memory, so that a poll with nothing new asks nobody: the newest number per audience, the
//! last messages, and the records. Bounded, whatever the log's length. No I/O.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use paw_core::AgentId;

use crate::log::{LogEntry, NewestSeq, PageLimit, SessionId, StoredMessage};
use crate::message::Message;
use crate::record::{AgentRecords, MessageRef};
use crate::route::Audience;

/// Bounds of the last messages that are kept.
const MOST_MESSAGES: usize = 2048;
const MOST_BYTES: usize = 4 << 20;
/// Audiences whose newest number is kept. The log is asked about any other.
const MOST_AUDIENCES: usize = 2048;

/// A message as it was written, and in full once somebody wanted it so.
#[derive(Debug)]
pub struct CachedMessage {
    pub entry: LogEntry,
    stored: OnceLock<Option<Arc<StoredMessage>>>,
}

impl CachedMessage {
    pub fn new(entry: LogEntry) -> Self {
        Self { entry, stored: OnceLock::new() }
    }

    /// The message in full, read once for everybody. Nothing if a newer version wrote it.
    pub fn stored(&self, session: &SessionId) -> Option<Arc<StoredMessage>> {
        self.stored.get_or_init(|| self.entry.stored(session).map(Arc::new)).clone()
    }
}

/// What memory can say about a question.
#[derive(Debug)]
pub enum CacheLookup {
    /// All there is.
    Hit(Vec<Arc<CachedMessage>>),
    /// It reaches further back than memory does.
    Miss,
}

/// What is known of one session.
#[derive(Debug)]
pub struct SessionCache {
    head: u64,
    newest: HashMap<AgentId, u64>,
    /// Whether `newest` holds every audience there is.
    newest_is_all: bool,
    broadcasts: Broadcasts,
    supervisor: u64,
    last: VecDeque<Arc<CachedMessage>>,
    bytes: usize,
    /// Everything after this number is in `last`.
    last_from: u64,
    records: AgentRecords,
}

/// The newest broadcast, and the newest one by somebody else than its sender: nobody gets their own.
#[derive(Debug, Default)]
struct Broadcasts {
    newest: u64,
    /// Nobody when it is not known.
    sender: Option<AgentId>,
    other: u64,
}

impl Broadcasts {
    fn add(&mut self, sender: &AgentId, seq: u64) {
        if self.sender.as_ref() != Some(sender) {
            self.other = self.newest;
            self.sender = Some(sender.clone());
        }
        self.newest = self.newest.max(seq);
    }

    fn newest_for(&self, agent: &AgentId) -> u64 {
        if self.sender.as_ref() == Some(agent) { self.other } else { self.newest }
    }
}

impl SessionCache {
    /// What a start knows before any message is read again. `head` is the number up to which `newest` and `records`
    /// speak.
    pub fn new(head: u64, newest: &[NewestSeq], records: AgentRecords) -> Self {
        let mut memory = Self {
            head,
            newest: HashMap::new(),
            newest_is_all: true,
            broadcasts: Broadcasts::default(),
            supervisor: 0,
            last: VecDeque::new(),
            bytes: 0,
            last_from: head,
            records,
        };
        for NewestSeq { audience, seq } in newest {
            match audience {
                Audience::None => {}
                Audience::Supervisor => memory.supervisor = *seq,
                Audience::Others => memory.broadcasts.newest = *seq,
                Audience::Only(agent) => memory.note(agent, *seq),
            }
        }
        memory
    }

    /// The newest number this memory knows of.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Numbers up to `head` were given, the missing ones to other sessions.
    pub fn advance(&mut self, head: u64) {
        self.head = self.head.max(head);
    }

    pub fn records(&self) -> &AgentRecords {
        &self.records
    }

    /// Takes in the next message of the session, which was written down already.
    ///
    /// `message` is the same in full; without it the records stay as they are.
    pub fn add(&mut self, entry: LogEntry, message: Option<&Message>) {
        let LogEntry { seq, ref sender, ref audience, ref body, .. } = entry;
        self.head = self.head.max(seq);
        match audience {
            Audience::None => {}
            Audience::Others => self.broadcasts.add(sender, seq),
            Audience::Supervisor => self.supervisor = self.supervisor.max(seq),
            Audience::Only(agent) => self.note(&agent.clone(), seq),
        }
        if let Some(message) = message {
            self.records.hear(&MessageRef { seq, at: entry.at, sender, message });
        }
        self.bytes += body.len();
        self.last.push_back(Arc::new(CachedMessage::new(entry)));
        while self.last.len() > MOST_MESSAGES || (self.bytes > MOST_BYTES && self.last.len() > 1) {
            if let Some(oldest) = self.last.pop_front() {
                self.bytes -= oldest.entry.body.len();
                self.last_from = oldest.entry.seq;
            }
        }
    }

    fn note(&mut self, agent: &AgentId, seq: u64) {
        if let Some(newest) = self.newest.get_mut(agent) {
            *newest = seq.max(*newest);
        } else if self.newest.len() < MOST_AUDIENCES {
            self.newest.insert(agent.clone(), seq);
        } else {
            self.newest_is_all = false;
        }
    }

    /// Whether the inbox of `agent` holds nothing after `since`, as far as memory can tell.
    pub fn is_empty_after(&self, agent: &AgentId, since: u64) -> bool {
        let own = match (agent.as_str(), self.newest.get(agent)) {
            (AgentId::SUPERVISOR, _) => self.supervisor,
            (_, Some(seq)) => *seq,
            (_, None) if self.newest_is_all => 0,
            (_, None) => self.head,
        };
        own.max(self.broadcasts.newest_for(agent)) <= since
    }

    /// The inbox of `agent` after `since`.
    pub fn inbox(&self, agent: &AgentId, since: u64, limit: PageLimit) -> CacheLookup {
        if self.is_empty_after(agent, since) {
            return CacheLookup::Hit(Vec::new());
        }
        self.recall(since, limit, |entry| entry.audience.reaches(agent, &entry.sender))
    }

    /// Everything after `since`.
    pub fn history(&self, since: u64, limit: PageLimit) -> CacheLookup {
        self.recall(since, limit, |_| true)
    }

    fn recall(&self, since: u64, limit: PageLimit, wanted: impl Fn(&LogEntry) -> bool) -> CacheLookup {
        if since < self.last_from {
            return CacheLookup::Miss;
        }
        let start = self.last.partition_point(|kept| kept.entry.seq <= since);
        let (mut page, mut size) = (Vec::new(), 0);
        for kept in self.last.range(start..).filter(|kept| wanted(&kept.entry)) {
            if !limit.admits(page.len(), size, kept.entry.body.len()) {
                break;
            }
            size += kept.entry.body.len();
            page.push(Arc::clone(kept));
        }
        CacheLookup::Hit(page)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn id(text: &str) -> AgentId {
        AgentId::new(text).unwrap()
    }

    fn entry(seq: u64, sender: &str, audience: Audience, bytes: usize) -> LogEntry {
        let body = "x".repeat(bytes).into();
        LogEntry { seq, at: Timestamp::UNIX_EPOCH, sender: id(sender), audience, body }
    }

    fn numbers(recall: CacheLookup) -> Option<Vec<u64>> {
        match recall {
            CacheLookup::Hit(page) => Some(page.iter().map(|kept| kept.entry.seq).collect()),
            CacheLookup::Miss => None,
        }
    }

    #[test]
    fn what_is_too_old_is_left_to_the_log() {
        let newest = [NewestSeq { audience: Audience::Others, seq: 90 }];
        let mut memory = SessionCache::new(100, &newest, AgentRecords::default());
        memory.add(entry(101, "a", Audience::Only(id("b")), 1), None);
        assert_eq!(numbers(memory.inbox(&id("b"), 100, PageLimit::DEFAULT)), Some(vec![101]));
        assert_eq!(numbers(memory.inbox(&id("b"), 99, PageLimit::DEFAULT)), None);
        assert_eq!(numbers(memory.inbox(&id("c"), 89, PageLimit::DEFAULT)), None);
        assert_eq!(numbers(memory.inbox(&id("c"), 90, PageLimit::DEFAULT)), Some(vec![]));
    }

    #[test]
    fn memory_is_bounded_in_messages_and_in_bytes() {
        let mut memory = SessionCache::new(0, &[], AgentRecords::default());
        for seq in 1..=3 * MOST_MESSAGES as u64 {
            memory.add(entry(seq, "a", Audience::Only(id(&format!("b{seq}"))), 10), None);
        }
        assert_eq!((memory.last.len(), memory.newest.len()), (MOST_MESSAGES, MOST_AUDIENCES));
        assert!(!memory.is_empty_after(&id("never-heard-of"), 0), "it cannot know any more");
        for seq in 10_000..10_100 {
            memory.add(entry(seq, "a", Audience::Others, MOST_BYTES / 10), None);
        }
        assert!(memory.bytes <= MOST_BYTES && memory.last.len() <= 10);
    }

    #[test]
    fn a_page_ends_by_count_or_by_size_and_holds_one_message_at_least() {
        let mut memory = SessionCache::new(0, &[], AgentRecords::default());
        for seq in 1..=5 {
            memory.add(entry(seq, "a", Audience::Others, 100), None);
        }
        let page =
            |messages, bytes| numbers(memory.inbox(&id("b"), 0, PageLimit { messages, bytes })).unwrap();
        assert_eq!(page(2, 10_000), [1, 2]);
        assert_eq!(page(10, 350), [1, 2, 3]);
        assert_eq!(page(0, 0), [1]);
    }

    proptest! {
        #[test]
        fn memory_never_calls_an_inbox_empty_that_is_not(
            sent in proptest::collection::vec((0..4_usize, 0..5_usize), 0..60), known in 0..60_usize, since in 0..60_u64,
        ) {
            let agents = ["a", "b", "c", "supervisor"].map(id);
            let audience = |to: usize| match to {
                3 => Audience::Supervisor,
                4 => Audience::Others,
                to => Audience::Only(agents[to].clone()),
            };
            let all: Vec<_> = (1..).zip(&sent).map(|(seq, (from, to))| (seq, *from, audience(*to))).collect();
            let known = known.min(all.len());
            let mut newest: Vec<NewestSeq> = Vec::new();
            for (seq, _, audience) in &all[..known] {
                newest.retain(|newest| newest.audience != *audience);
                newest.push(NewestSeq { audience: audience.clone(), seq: *seq });
            }
            let mut memory = SessionCache::new(known as u64, &newest, AgentRecords::default());
            for (seq, from, audience) in &all[known..] {
                memory.add(entry(*seq, agents[*from].as_str(), audience.clone(), 1), None);
            }
            for agent in &agents {
                let expected: Vec<u64> = all
                    .iter()
                    .filter(|(seq, from, audience)| *seq > since && audience.reaches(agent, &agents[*from]))
                    .map(|(seq, ..)| *seq)
                    .collect();
                if let Some(found) = numbers(memory.inbox(agent, since, PageLimit::DEFAULT)) {
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
