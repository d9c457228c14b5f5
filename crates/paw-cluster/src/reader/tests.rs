//! Several hosts and a stream that fails in every way: kills, power cuts, lost and late batches, deleted and restored streams.

#[allow(clippy::cast_possible_truncation, clippy::needless_range_loop, reason = "hosts are small numbers")]
mod faults;

use jiff::Timestamp;
use paw_broker::log::LogEpoch;
use paw_broker::message::{ArtifactMessage, QuestionMessage};
use paw_host::signing::SecretKey;

use super::*;
use crate::batch::{BatchHeader, SignedBatch};

fn host(text: &str) -> HostName {
    HostName::new(text).unwrap()
}

fn agent(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

fn key() -> SecretKey {
    let dir = tempfile::tempdir().unwrap();
    SecretKey::open(&dir.path().join("key")).unwrap()
}

fn row(seq: u64, message: impl Into<Message>) -> BatchRow<'static> {
    BatchRow { seq, at: Timestamp::UNIX_EPOCH, body: message.into().to_text().into() }
}

fn text(seq: u64, sender: &str) -> BatchRow<'static> {
    row(seq, ArtifactMessage::new(agent(sender), seq.to_string()))
}

/// A stream with entries of `big`, read by `hub`.
struct World {
    stream: StreamId,
    hub: SecretKey,
    big: SecretKey,
    epoch: LogEpoch,
    nonce: u64,
    entries: Vec<(String, SignedBatch)>,
}

impl World {
    fn new() -> Self {
        let (stream, epoch) = (StreamId::random(), LogEpoch::random());
        Self { stream, hub: key(), big: key(), epoch, nonce: 0, entries: Vec::new() }
    }

    fn roster(&self) -> Roster {
        let mut roster = Roster::new(host("hub"), self.hub.public());
        roster.add_host(host("big"), self.big.public());
        roster.grant(&host("big"), agent("b"));
        roster
    }

    fn batch(&mut self, from: &str, after: Option<u64>, rows: Vec<BatchRow<'static>>) -> Batch<'static> {
        self.nonce += 1;
        let nonce = self.nonce.to_string();
        let mut header = BatchHeader::new(self.stream.clone(), host(from), self.epoch.clone(), nonce);
        header.after = after.map(|seq| MessageId { epoch: self.epoch.clone(), seq });
        Batch { header, rows }
    }

    fn store(&mut self, from: &str, batch: &Batch) {
        let signed = batch.sign(if from == "hub" { &self.hub } else { &self.big });
        self.entries.push((from.to_owned(), signed));
    }

    fn send(&mut self, after: Option<u64>, rows: Vec<BatchRow<'static>>) {
        let batch = self.batch("big", after, rows);
        self.store("big", &batch);
    }

    fn reader(&self, roster: Roster) -> StreamReader {
        let state = ReplicaState {
            epochs: vec![(1, LogEpoch::random())],
            origins: Vec::new(),
            position: StreamPosition::default(),
            roster: None,
        };
        StreamReader::new(self.stream.clone(), host("hub"), state, roster)
    }

    /// Reads everything, as often as the reader asks for it.
    fn read(&self, reader: &mut StreamReader, incarnation: &str) -> usize {
        for round in 1..10 {
            let start = reader.start(incarnation, self.entries.len() as u64);
            let entries = (1..).zip(&self.entries).skip_while(|(seq, _)| *seq < start);
            let read = |(seq, (host, signed)): (u64, &(String, SignedBatch))| {
                let signature = Some(signed.signature.as_str());
                reader.read(&StreamEntry { seq, host, signature, payload: &signed.payload })
            };
            if entries.map(read).collect::<Result<Vec<_>, _>>().is_ok() {
                return round;
            }
        }
        panic!("the reader asks again and again");
    }
}

fn taken(reader: &mut StreamReader) -> Vec<u64> {
    let progress = reader.take_progress();
    progress.map(|progress| progress.messages.iter().map(|message| message.seq).collect()).unwrap_or_default()
}

fn reasons(reader: &mut StreamReader) -> Vec<String> {
    reader.take_skipped().into_iter().map(|skipped| skipped.reason.to_string()).collect()
}

#[test]
fn repeated_messages_are_stored_once_and_in_order() {
    let mut world = World::new();
    world.send(None, vec![text(1, "b"), text(3, "b")]);
    world.send(None, vec![text(1, "b"), text(3, "b"), text(4, "b")]);
    world.send(Some(3), vec![text(4, "b"), text(7, "b")]);
    let mut reader = world.reader(world.roster());
    assert_eq!(world.read(&mut reader, "one"), 1);
    assert_eq!(taken(&mut reader), [1, 3, 4, 7]);
    world.read(&mut reader, "one");
    assert_eq!(taken(&mut reader), [0; 0]);
    assert_eq!(reader.take_skipped(), []);
}

#[test]
fn entries_without_a_valid_signature_or_of_strangers_are_skipped_and_reported() {
    let mut world = World::new();
    world
        .entries
        .push(("big".into(), SignedBatch { payload: b"{\"stream\":1}".to_vec(), signature: String::new() }));
    let forged = world.batch("big", None, vec![text(1, "b")]);
    world.entries.push(("big".into(), forged.sign(&world.hub)));
    let mut unsigned = forged.sign(&world.big);
    unsigned.signature.clear();
    world.entries.push(("big".into(), unsigned));
    world.entries.push(("hub".into(), forged.sign(&world.big)));
    let stranger = world.batch("other", None, vec![text(1, "b")]);
    world.store("other", &stranger);
    let mut elsewhere = world.batch("big", None, vec![text(1, "b")]);
    elsewhere.header.stream = StreamId::random();
    world.store("big", &elsewhere);
    world.send(None, vec![text(2, "b")]);
    let mut reader = world.reader(world.roster());
    world.read(&mut reader, "one");
    assert_eq!(taken(&mut reader), [2]);
    let found = reasons(&mut reader);
    assert!(found[0].starts_with("the entry is not a batch"), "{found:?}");
    assert_eq!(
        found[1..],
        [
            "the signature does not belong to the batch",
            "the signature does not belong to the batch",
            "the batch names the host 'big'",
            "the host is not part of the session",
            "the batch belongs to another stream",
        ]
    );
}

#[test]
fn a_host_that_sends_messages_of_anothers_agent_is_reported_and_its_other_messages_arrive() {
    let mut world = World::new();
    let unknown = BatchRow { body: r#"{"type":"agent.future"}"#.into(), ..text(3, "b") };
    let rows = vec![text(1, "b"), row(2, QuestionMessage::new(agent("a"), "?")), unknown, text(4, "b")];
    world.send(None, rows);
    world.send(Some(4), vec![text(5, "b")]);
    let mut reader = world.reader(world.roster());
    world.read(&mut reader, "one");
    assert_eq!(taken(&mut reader), [1, 4, 5]);
    assert_eq!(
        reasons(&mut reader),
        ["the host does not run the agent 'a'", "message 3 is of a type that this version does not know"]
    );
}

#[test]
fn messages_of_a_host_that_joins_later_are_read_when_the_hub_announces_it() {
    let mut world = World::new();
    let early = Roster::new(host("hub"), world.hub.public());
    world.send(None, vec![text(1, "b")]);
    world.send(Some(1), vec![text(2, "b")]);
    let mut reader = world.reader(early.clone());
    world.read(&mut reader, "one");
    assert_eq!(taken(&mut reader), [0; 0]);
    let mut forged = world.batch("big", None, Vec::new());
    forged.header.roster = Some(Roster { version: 9, ..world.roster() });
    world.store("big", &forged);
    world.read(&mut reader, "one");
    assert_eq!(reader.roster(), &early, "only the hub changes the roster");
    let mut news = world.batch("hub", None, Vec::new());
    news.header.roster = Some(world.roster());
    world.store("hub", &news);
    assert_eq!(world.read(&mut reader, "one"), 2);
    let progress = reader.take_progress().unwrap();
    assert_eq!(progress.messages.iter().map(|message| message.seq).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(serde_json::from_str::<Roster>(&progress.roster.unwrap()).unwrap(), world.roster());
}

#[test]
fn a_batch_that_is_stored_too_early_waits_for_the_messages_before_it() {
    let mut world = World::new();
    world.send(None, vec![text(1, "b")]);
    world.send(Some(2), vec![text(3, "b")]);
    let mut reader = world.reader(world.roster());
    assert_eq!(
        world.read(&mut reader, "one"),
        2,
        "the beginning of the stream may have the missing messages"
    );
    assert_eq!(taken(&mut reader), [1]);
    assert_eq!(reasons(&mut reader), ["messages before it are missing"]);
    world.send(Some(1), vec![text(2, "b"), text(3, "b")]);
    world.read(&mut reader, "one");
    assert_eq!(taken(&mut reader), [2, 3]);
}

#[test]
fn a_stream_that_was_deleted_or_restored_is_read_from_its_beginning() {
    let mut world = World::new();
    for seq in 1..=4 {
        world.send((seq > 1).then(|| seq - 1), vec![text(seq, "b")]);
    }
    let mut reader = world.reader(world.roster());
    world.read(&mut reader, "one");
    assert_eq!(taken(&mut reader), [1, 2, 3, 4]);
    world.entries.truncate(2);
    assert_eq!(reader.start("one", 2), 1, "it ends before the cursor");
    world.read(&mut reader, "one");
    for seq in 3..=6 {
        world.send(Some(seq - 1), vec![text(seq, "b")]);
    }
    world.read(&mut reader, "one");
    assert_eq!(taken(&mut reader), [5, 6]);
    world.entries.truncate(5);
    for seq in 6..=7 {
        world.send(Some(seq - 1), vec![text(seq, "b")]);
    }
    assert_eq!(reader.start("one", 7), 6);
    assert_eq!(world.read(&mut reader, "one"), 2, "another entry is at the cursor");
    assert_eq!(taken(&mut reader), [7]);
    assert_eq!(reader.start("two", 7), 1, "it was created again");
}
