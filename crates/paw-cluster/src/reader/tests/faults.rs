//! A simulation of whole sessions: whatever happens, in the end every log has every message once and in order.

use paw_broker::log::LogEpoch;
use paw_broker::message::ArtifactMessage;
use paw_host::signing::SecretKey;
use proptest::prelude::*;

use super::{agent, host, key};
use crate::batch::{Batch, BatchHeader, BatchRow, SignedBatch};
use crate::outbox::{LogEpochs, Outbox};
use crate::reader::*;
use jiff::Timestamp;

const HOSTS: [&str; 3] = ["hub", "big", "gpu"];

#[derive(Debug, Clone)]
enum Action {
    Publish(usize),
    Send(usize, Fate),
    /// Reads so many entries; a kill loses what was not stored.
    Read(usize, usize, bool),
    Kill(usize),
    /// Keeps a copy of a log, which a power cut restores.
    Sync(usize),
    PowerCut(usize),
    /// A batch that is on its way arrives.
    Arrive,
    DeleteStream,
    BackUpStream,
    RestoreStream,
}

/// What happens to a batch.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Stored,
    /// Stored, but the answer is lost.
    Unanswered,
    Lost,
    /// On its way for a while; the sender stops waiting.
    Late,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let host = || 0..HOSTS.len();
    let fate = prop_oneof![
        4 => Just(Fate::Stored), 2 => Just(Fate::Unanswered), 1 => Just(Fate::Lost), 2 => Just(Fate::Late)
    ];
    let action = prop_oneof![
        8 => host().prop_map(Action::Publish),
        8 => (host(), fate).prop_map(|(host, fate)| Action::Send(host, fate)),
        10 => (host(), 1..8_usize, prop::bool::weighted(0.85)).prop_map(|(host, n, kept)| Action::Read(host, n, kept)),
        1 => host().prop_map(Action::Kill),
        1 => host().prop_map(Action::Sync),
        1 => host().prop_map(Action::PowerCut),
        2 => Just(Action::Arrive),
        1 => Just(Action::DeleteStream),
        1 => Just(Action::BackUpStream),
        1 => Just(Action::RestoreStream),
    ];
    prop::collection::vec(action, 1..120)
}

#[derive(Debug, Clone, Default)]
struct Stream {
    incarnation: u64,
    entries: Vec<(usize, SignedBatch)>,
}

impl Stream {
    fn last_of(&self, host: usize) -> u64 {
        self.entries.iter().rposition(|(sender, _)| *sender == host).map_or(0, |index| index as u64 + 1)
    }

    /// Stores a batch if the host's last entry is the expected one.
    fn store(&mut self, host: usize, expected: u64, batch: SignedBatch) -> Option<u64> {
        (self.last_of(host) == expected).then(|| {
            self.entries.push((host, batch));
            self.entries.len() as u64
        })
    }
}

/// A message in a log, and the host it came from if it is not a local one.
type LogRow = (String, Option<HostName>);

#[derive(Clone)]
struct Log {
    rows: Vec<LogRow>,
    epochs: Vec<(u64, LogEpoch)>,
    origins: HashMap<Origin, u64>,
    position: StreamPosition,
}

impl Log {
    fn join(&mut self) -> ReplicaState {
        let head = self.rows.len() as u64;
        let first = if self.epochs.is_empty() { 1 } else { head + 1 };
        self.epochs.retain(|(seq, _)| *seq < first);
        self.epochs.push((first, LogEpoch::random()));
        ReplicaState {
            epochs: self.epochs.clone(),
            origins: self.origins.clone().into_iter().collect(),
            position: self.position.clone(),
            roster: None,
        }
    }
}

struct Host {
    log: Log,
    synced: Log,
    reader: StreamReader,
    outbox: Outbox,
    /// Connected to the stream, and about to read this entry.
    next: Option<u64>,
}

struct Session {
    id: StreamId,
    keys: Vec<SecretKey>,
    roster: Roster,
    hosts: Vec<Host>,
    stream: Stream,
    backup: Stream,
    late: Vec<(usize, u64, SignedBatch)>,
    count: u64,
}

impl Session {
    fn new() -> Self {
        let keys: Vec<SecretKey> = HOSTS.iter().map(|_| key()).collect();
        let mut roster = Roster::new(host(HOSTS[0]), keys[0].public());
        for (name, key) in HOSTS.iter().zip(&keys) {
            roster.add_host(host(name), key.public());
            roster.grant(&host(name), agent(name));
        }
        let id = StreamId::random();
        let hosts = HOSTS.iter().map(|name| {
            let (rows, epochs) = (Vec::new(), Vec::new());
            let mut log = Log { rows, epochs, origins: HashMap::new(), position: StreamPosition::default() };
            let (reader, outbox) = open(&id, name, &mut log, &roster);
            Host { synced: log.clone(), log, reader, outbox, next: None }
        });
        let hosts = hosts.collect();
        let stream = Stream { incarnation: 1, ..Stream::default() };
        let backup = stream.clone();
        Self { id, keys, roster, hosts, stream, backup, late: Vec::new(), count: 0 }
    }

    fn act(&mut self, action: &Action) {
        match *action {
            Action::Publish(index) => {
                self.count += 1;
                self.hosts[index].log.rows.push((self.count.to_string(), None));
            }
            Action::Send(index, fate) => _ = self.send(index, fate),
            Action::Read(index, count, is_kept) => {
                self.read(index, count);
                if is_kept { self.commit(index) } else { self.restart(index) }
            }
            Action::Kill(index) => self.restart(index),
            Action::Sync(index) => self.hosts[index].synced = self.hosts[index].log.clone(),
            Action::PowerCut(index) => {
                self.hosts[index].log = self.hosts[index].synced.clone();
                self.restart(index);
            }
            Action::Arrive => {
                if let Some((index, expected, batch)) = self.late.pop() {
                    self.stream.store(index, expected, batch);
                }
            }
            Action::DeleteStream => {
                self.stream = Stream { incarnation: self.stream.incarnation + 1, ..Stream::default() };
                self.disconnect();
            }
            Action::BackUpStream => self.backup = self.stream.clone(),
            Action::RestoreStream => {
                self.stream = self.backup.clone();
                self.disconnect();
            }
        }
    }

    fn disconnect(&mut self) {
        for host in &mut self.hosts {
            host.next = None;
            host.outbox.reset();
        }
    }

    fn restart(&mut self, index: usize) {
        let host = &mut self.hosts[index];
        (host.reader, host.outbox) = open(&self.id, HOSTS[index], &mut host.log, &self.roster);
        host.next = None;
    }

    /// Returns whether anything was read.
    fn read(&mut self, index: usize, count: usize) -> bool {
        let Host { reader, outbox, next, .. } = &mut self.hosts[index];
        let mut has_read = false;
        for _ in 0..count {
            let last = self.stream.entries.len() as u64;
            let seq = *next.get_or_insert_with(|| reader.start(&self.stream.incarnation.to_string(), last));
            let Some((sender, batch)) = self.stream.entries.get((seq.max(1) - 1) as usize) else { break };
            let signature = Some(batch.signature.as_str());
            let entry =
                StreamEntry { seq: seq.max(1), host: HOSTS[*sender], signature, payload: &batch.payload };
            has_read = true;
            *next = reader.read(&entry).is_ok().then_some(entry.seq + 1);
            // As the replicator does before it reads again.
            if next.is_none() || reader.take_own_gap() {
                outbox.reset();
            }
        }
        has_read
    }

    fn commit(&mut self, index: usize) {
        let Host { log, reader, .. } = &mut self.hosts[index];
        let Some(progress) = reader.take_progress() else { return };
        for message in progress.messages {
            let Message::Artifact(artifact) = message.draft.message else { panic!("another message") };
            log.rows.push((artifact.status, Some(message.origin.host.clone())));
            log.origins.insert(message.origin, message.seq);
        }
        log.origins.extend(progress.origins);
        log.position = progress.position;
    }

    /// Returns whether anything was sent.
    fn send(&mut self, index: usize, fate: Fate) -> bool {
        let Host { log, reader, outbox, next, .. } = &mut self.hosts[index];
        let last = self.stream.entries.len() as u64;
        next.get_or_insert_with(|| reader.start(&self.stream.incarnation.to_string(), last));
        if outbox.needs_end() {
            outbox.ends_at(last);
        }
        outbox.has_read(reader.position());
        if outbox.wants_more() {
            let read = outbox.read() as usize;
            let page = log.rows.iter().enumerate().skip(read).take(3);
            let rows: Vec<BatchRow<'static>> = page
                .filter(|(_, (_, from))| from.is_none())
                .map(|(at, (text, _))| {
                    let message = Message::from(ArtifactMessage::new(agent(HOSTS[index]), text));
                    let seq = at as u64 + 1;
                    BatchRow { seq, at: Timestamp::UNIX_EPOCH, body: message.to_text().into() }
                })
                .collect();
            outbox.add(rows, (read + 3).min(log.rows.len()) as u64);
        }
        let Some(next) = outbox.next(false) else { return false };
        self.count += 1;
        let name = host(HOSTS[index]);
        let mut header = BatchHeader::new(self.id.clone(), name, next.epoch, self.count.to_string());
        header.after = next.after;
        let batch = Batch { header, rows: next.rows }.sign(&self.keys[index]);
        match fate {
            Fate::Lost => outbox.reset(),
            Fate::Late => {
                self.late.push((index, next.expected, batch));
                outbox.reset();
            }
            Fate::Stored | Fate::Unanswered => match (self.stream.store(index, next.expected, batch), fate) {
                (Some(seq), Fate::Stored) => outbox.stored(seq),
                _ => outbox.reset(),
            },
        }
        true
    }

    /// No more faults: every log catches up.
    fn settle(&mut self) {
        self.late.clear();
        for _ in 0..1000 {
            let mut is_busy = false;
            for index in 0..HOSTS.len() {
                is_busy |= self.read(index, 1000);
                self.commit(index);
                is_busy |= self.send(index, Fate::Stored);
                let host = &self.hosts[index];
                is_busy |= host.outbox.read() < host.log.rows.len() as u64 || host.next.is_none();
            }
            if !is_busy {
                return;
            }
        }
        panic!("the logs never catch up");
    }

    /// The messages of one host in the log of another, in order.
    fn messages(&self, of: usize, at: usize) -> Vec<u64> {
        let name = (of != at).then(|| host(HOSTS[of]));
        let rows = self.hosts[at].log.rows.iter().filter(|(_, from)| *from == name);
        rows.map(|(text, _)| text.parse().unwrap()).collect()
    }
}

fn open(id: &StreamId, name: &str, log: &mut Log, roster: &Roster) -> (StreamReader, Outbox) {
    let state = log.join();
    let outbox = Outbox::new(LogEpochs::new(state.epochs.clone()));
    (StreamReader::new(id.clone(), host(name), state, roster.clone()), outbox)
}

proptest! {
    #[test]
    fn whatever_fails_no_message_is_lost_stored_twice_or_out_of_order(actions in actions()) {
        let mut session = Session::new();
        for action in &actions {
            session.act(action);
        }
        session.settle();
        for of in 0..HOSTS.len() {
            let published = session.messages(of, of);
            for at in (0..HOSTS.len()).filter(|at| *at != of) {
                let read = session.messages(of, at);
                let mut once = read.clone();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(once.len(), read.len(), "stored twice: {:?}", read);
                let kept: Vec<u64> = read.into_iter().filter(|id| published.contains(id)).collect();
                prop_assert_eq!(&kept, &published, "{} at {}", HOSTS[of], HOSTS[at]);
            }
        }
    }
}
