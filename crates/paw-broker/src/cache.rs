//! The session in memory, so that a poll without news does not read the log: the newest sequence number for each
//! audience, the last messages, and the records. Bounded, whatever the length of the log. No I/O.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use paw_core::AgentId;

use crate::log::{LogEntry, NewestSeq, PageLimit, SessionId, StoredMessage};
use crate::record::{AgentRecords, MessageRef};
use crate::route::Audience;

/// Bounds of the cached messages. A reader that pauses for 50 ms finds everything in the cache at the highest publish rate.
const MAX_MESSAGES: usize = 4096;
const MAX_BYTES: usize = 4 << 20;
/// Audiences whose newest sequence number is cached. The others are looked up in the log.
const MAX_AUDIENCES: usize = 2048;

/// A row of the log, with its message. A row that was read from the log is parsed on first use.
#[derive(Debug)]
pub struct CachedMessage {
    pub entry: LogEntry,
    stored: OnceLock<Option<Arc<StoredMessage>>>,
}

impl CachedMessage {
    pub fn new(entry: LogEntry) -> Self {
        Self { entry, stored: OnceLock::new() }
    }

    /// A row whose message is known, so that its readers do not parse it again.
    fn parsed(entry: LogEntry, stored: Option<StoredMessage>) -> Self {
        Self { entry, stored: OnceLock::from(stored.map(Arc::new)) }
    }

    /// The parsed message. `None` if a newer version wrote a type that this version does not know.
    pub fn parse(&self, session: &SessionId) -> Option<Arc<StoredMessage>> {
        self.stored.get_or_init(|| self.entry.parse(session).map(Arc::new)).clone()
    }
}

/// The result of a lookup.
#[derive(Debug)]
pub enum CacheLookup {
    /// The cache holds the whole answer.
    Hit(Vec<Arc<CachedMessage>>),
    /// The answer starts before the oldest cached message.
    Miss,
}

/// The cache of one session.
#[derive(Debug)]
pub struct SessionCache {
    head: u64,
    newest: HashMap<AgentId, u64>,
    /// Whether `newest` holds every audience.
    newest_is_complete: bool,
    broadcasts: Broadcasts,
    supervisor: u64,
    last: VecDeque<Arc<CachedMessage>>,
    bytes: usize,
    /// Everything after this number is in `last`.
    last_from: u64,
    records: AgentRecords,
}

/// The newest broadcast, and the newest broadcast of any other sender: an agent does not get its own broadcasts.
#[derive(Debug, Default)]
struct Broadcasts {
    newest: u64,
    /// `None` if it is not known.
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
    /// The cache at a start, before any message is read. `newest` and `records` cover the messages up to `head`.
    pub fn new(head: u64, newest: &[NewestSeq], records: AgentRecords) -> Self {
        let mut cache = Self {
            head,
            newest: HashMap::new(),
            newest_is_complete: true,
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
                Audience::Supervisor => cache.supervisor = *seq,
                Audience::Others => cache.broadcasts.newest = *seq,
                Audience::Only(agent) => cache.note(agent, *seq),
            }
        }
        cache
    }

    /// The newest sequence number.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Moves the head. Sequence numbers that are not cached belong to other sessions.
    pub fn advance(&mut self, head: u64) {
        self.head = self.head.max(head);
    }

    pub fn records(&self) -> &AgentRecords {
        &self.records
    }

    /// Adds the next stored message of the session.
    ///
    /// `stored` is the same message, parsed; without it the records do not change.
    pub fn add(&mut self, entry: LogEntry, stored: Option<StoredMessage>) {
        let LogEntry { seq, ref sender, ref audience, ref body, .. } = entry;
        self.head = self.head.max(seq);
        match audience {
            Audience::None => {}
            Audience::Others => self.broadcasts.add(sender, seq),
            Audience::Supervisor => self.supervisor = self.supervisor.max(seq),
            Audience::Only(agent) => self.note(&agent.clone(), seq),
        }
        if let Some(stored) = &stored {
            self.records.apply_message(&MessageRef { seq, at: entry.at, sender, message: &stored.message });
        }
        self.bytes += body.len();
        self.last.push_back(Arc::new(CachedMessage::parsed(entry, stored)));
        while self.last.len() > MAX_MESSAGES || (self.bytes > MAX_BYTES && self.last.len() > 1) {
            if let Some(oldest) = self.last.pop_front() {
                self.bytes -= oldest.entry.body.len();
                self.last_from = oldest.entry.seq;
            }
        }
    }

    fn note(&mut self, agent: &AgentId, seq: u64) {
        if let Some(newest) = self.newest.get_mut(agent) {
            *newest = seq.max(*newest);
        } else if self.newest.len() < MAX_AUDIENCES {
            self.newest.insert(agent.clone(), seq);
        } else {
            self.newest_is_complete = false;
        }
    }

    /// Whether the inbox of `agent` has no messages after `since`. May return false for an empty inbox.
    pub fn is_empty_after(&self, agent: &AgentId, since: u64) -> bool {
        let own = match (agent.as_str(), self.newest.get(agent)) {
            (AgentId::SUPERVISOR, _) => self.supervisor,
            (_, Some(seq)) => *seq,
            (_, None) if self.newest_is_complete => 0,
            (_, None) => self.head,
        };
        own.max(self.broadcasts.newest_for(agent)) <= since
    }

    /// The inbox of `agent` after `since`.
    pub fn inbox(&self, agent: &AgentId, since: u64, limit: PageLimit) -> CacheLookup {
        if self.is_empty_after(agent, since) {
            return CacheLookup::Hit(Vec::new());
        }
        self.page(since, limit, |entry| entry.audience.reaches(agent, &entry.sender))
    }

    /// Everything after `since`.
    pub fn history(&self, since: u64, limit: PageLimit) -> CacheLookup {
        self.page(since, limit, |_| true)
    }

    fn page(&self, since: u64, limit: PageLimit, wanted: impl Fn(&LogEntry) -> bool) -> CacheLookup {
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
        let (at, sender) = (Timestamp::UNIX_EPOCH, id(sender));
        LogEntry { seq, at, sender, audience, body, is_replicated: false }
    }

    fn numbers(recall: CacheLookup) -> Option<Vec<u64>> {
        match recall {
            CacheLookup::Hit(page) => Some(page.iter().map(|kept| kept.entry.seq).collect()),
            CacheLookup::Miss => None,
        }
    }

    #[test]
    fn messages_older_than_the_cache_are_a_miss() {
        let newest = [NewestSeq { audience: Audience::Others, seq: 90 }];
        let mut cache = SessionCache::new(100, &newest, AgentRecords::default());
        cache.add(entry(101, "a", Audience::Only(id("b")), 1), None);
        assert_eq!(numbers(cache.inbox(&id("b"), 100, PageLimit::DEFAULT)), Some(vec![101]));
        assert_eq!(numbers(cache.inbox(&id("b"), 99, PageLimit::DEFAULT)), None);
        assert_eq!(numbers(cache.inbox(&id("c"), 89, PageLimit::DEFAULT)), None);
        assert_eq!(numbers(cache.inbox(&id("c"), 90, PageLimit::DEFAULT)), Some(vec![]));
    }

    #[test]
    fn cache_is_bounded_in_messages_and_in_bytes() {
        let mut cache = SessionCache::new(0, &[], AgentRecords::default());
        for seq in 1..=3 * MAX_MESSAGES as u64 {
            cache.add(entry(seq, "a", Audience::Only(id(&format!("b{seq}"))), 10), None);
        }
        assert_eq!((cache.last.len(), cache.newest.len()), (MAX_MESSAGES, MAX_AUDIENCES));
        assert!(!cache.is_empty_after(&id("never-heard-of"), 0), "the audience is no longer cached");
        for seq in 10_000..10_100 {
            cache.add(entry(seq, "a", Audience::Others, MAX_BYTES / 10), None);
        }
        assert!(cache.bytes <= MAX_BYTES && cache.last.len() <= 10);
    }

    #[test]
    fn page_is_limited_by_count_and_size_and_holds_at_least_one_message() {
        let mut cache = SessionCache::new(0, &[], AgentRecords::default());
        for seq in 1..=5 {
            cache.add(entry(seq, "a", Audience::Others, 100), None);
        }
        let page =
            |messages, bytes| numbers(cache.inbox(&id("b"), 0, PageLimit { messages, bytes })).unwrap();
        assert_eq!(page(2, 10_000), [1, 2]);
        assert_eq!(page(10, 350), [1, 2, 3]);
        assert_eq!(page(0, 0), [1]);
    }

    proptest! {
        #[test]
        fn cache_never_reports_a_full_inbox_as_empty(
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
            let mut cache = SessionCache::new(known as u64, &newest, AgentRecords::default());
            for (seq, from, audience) in &all[known..] {
                cache.add(entry(*seq, agents[*from].as_str(), audience.clone(), 1), None);
            }
            for agent in &agents {
                let expected: Vec<u64> = all
                    .iter()
                    .filter(|(seq, from, audience)| *seq > since && audience.reaches(agent, &agents[*from]))
                    .map(|(seq, ..)| *seq)
                    .collect();
                if let Some(found) = numbers(cache.inbox(agent, since, PageLimit::DEFAULT)) {
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
