//! What the log keeps of a session that is replicated to other hosts.

use std::path::Path;
use std::sync::Arc;

use paw_broker::log::{
    self, LogEpoch, LogError, MessageDraft, MessageLog, Origin, PageLimit, ReplicatedMessage, StreamCursor,
    StreamId, StreamPosition, StreamProgress,
};
use paw_broker::message::{AnswerMessage, ArtifactMessage, Message, QuestionMessage};
use paw_broker::{Bus, SessionId};
use paw_core::HostName;
use paw_core::paths::PawDir;
use paw_host::clock;
use paw_host::files::Lock;
use paw_testkit::wait_until;
use proptest::prelude::*;

use crate::server::id;

fn open(dir: &Path) -> Arc<dyn MessageLog> {
    log::open(&dir.join("db")).unwrap()
}

fn session() -> SessionId {
    SessionId::new("s")
}

fn commit(agent: &str) -> Message {
    ArtifactMessage::new(id(agent), ArtifactMessage::COMMITTED).into()
}

fn origin() -> Origin {
    Origin { host: HostName::new("big").unwrap(), epoch: LogEpoch::random() }
}

fn progress(origin: &Origin, messages: impl IntoIterator<Item = (u64, Message)>) -> StreamProgress {
    let messages = messages.into_iter().map(|(seq, message)| ReplicatedMessage {
        origin: origin.clone(),
        seq,
        draft: MessageDraft::new(message, clock::now()),
    });
    let cursor = StreamCursor { incarnation: "one".into(), seq: 7, digest: "abc".into() };
    StreamProgress {
        messages: messages.collect(),
        position: StreamPosition { cursor: Some(cursor), own_seq: 3, sent: 2 },
        ..StreamProgress::default()
    }
}

#[test]
fn messages_of_another_host_and_the_position_behind_them_survive_a_restart_together() {
    let dir = tempfile::tempdir().unwrap();
    let (log, session, stream, origin) = (open(dir.path()), session(), StreamId::random(), origin());
    log.append(&session, &[MessageDraft::new(commit("a"), clock::now())]).unwrap();
    assert_eq!(log.join_stream(&session, &stream).unwrap().position, StreamPosition::default());
    let read = progress(&origin, [(4, commit("b")), (9, commit("b"))]);
    log.append_replicated(&session, &stream, &read).unwrap();
    let skipped = StreamProgress { origins: vec![(origin.clone(), 11)], roster: Some("r".into()), ..read };
    log.append_replicated(&session, &stream, &StreamProgress { messages: Vec::new(), ..skipped.clone() })
        .unwrap();
    drop(log);
    let log = open(dir.path());
    let state = log.join_stream(&session, &stream).unwrap();
    assert_eq!(state.position, skipped.position);
    assert_eq!(state.origins, [(origin, 11)]);
    assert_eq!(state.roster.as_deref(), Some("r"));
    let page = log.history(&session, 0, PageLimit::DEFAULT).unwrap();
    let rows: Vec<_> =
        page.iter().map(|entry| (entry.seq, entry.sender.as_str(), entry.is_replicated)).collect();
    assert_eq!(rows, [(1, "a", false), (2, "b", true), (3, "b", true)]);
    let inbox = log.inbox(&session, &id("a"), 0, PageLimit::DEFAULT).unwrap();
    assert_eq!(inbox.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn the_log_starts_a_new_epoch_whenever_it_joins_its_stream() {
    let dir = tempfile::tempdir().unwrap();
    let (log, session, stream) = (open(dir.path()), session(), StreamId::random());
    let append = |count| {
        let drafts: Vec<_> = (0..count).map(|_| MessageDraft::new(commit("a"), clock::now())).collect();
        log.append(&session, &drafts).unwrap();
    };
    let join = || log.join_stream(&session, &stream).unwrap().epochs;
    append(3);
    let first = join();
    assert_eq!(first.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [1], "older messages are in the first");
    append(2);
    let second = join();
    assert_eq!(second.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [1, 6]);
    assert_eq!(second[0], first[0]);
    let third = join();
    assert_eq!(third.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [1, 6]);
    assert_ne!(third[1], second[1], "an epoch without messages is replaced");
    let other = log.join_stream(&session, &StreamId::random()).unwrap_err().to_string();
    assert!(other.contains(stream.as_str()), "{other}");
}

#[test]
fn a_purged_session_does_not_come_back_from_its_stream() {
    let dir = tempfile::tempdir().unwrap();
    let (log, session, stream, origin) = (open(dir.path()), session(), StreamId::random(), origin());
    log.join_stream(&session, &stream).unwrap();
    let read = progress(&origin, [(1, commit("b"))]);
    log.append_replicated(&session, &stream, &read).unwrap();
    log.purge(&session).unwrap();
    assert!(matches!(log.append_replicated(&session, &stream, &read), Err(LogError::Purged)));
    assert!(matches!(log.join_stream(&session, &stream), Err(LogError::Purged)));
    log.join_stream(&session, &StreamId::random()).unwrap();
    assert!(matches!(log.append_replicated(&session, &stream, &read), Err(LogError::Purged)));
    assert!(log.history(&session, 0, PageLimit::DEFAULT).unwrap().is_empty());
}

#[test]
fn a_machine_that_is_invited_again_reads_the_stream_from_its_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let (log, session, stream, origin) = (open(dir.path()), session(), StreamId::random(), origin());
    let before = log.join_stream(&session, &stream).unwrap().epochs;
    log.append_replicated(&session, &stream, &progress(&origin, [(1, commit("b"))])).unwrap();
    log.purge(&session).unwrap();
    log.readmit_stream(&stream).unwrap();
    let state = log.join_stream(&SessionId::new("t"), &stream).unwrap();
    assert_eq!((state.position, state.origins), (StreamPosition::default(), Vec::new()));
    assert!(!state.epochs.iter().any(|(_, epoch)| *epoch == before[0].1), "its own messages are unknown now");
}

#[test]
fn a_repaired_log_gets_the_messages_of_a_replicated_session_from_its_stream_and_not_from_the_trail() {
    let dir = tempfile::tempdir().unwrap();
    let (paw, trail) = (PawDir::at(dir.path().join("paw")), dir.path().join("broker.log"));
    std::fs::create_dir(paw.path()).unwrap();
    std::fs::write(paw.log(), "damaged").unwrap();
    let line = |seq: u64, session: &str| {
        let message = commit("a").to_json();
        serde_json::json!({"seq": seq, "at": clock::now().to_string(), "session": session, "sender": "a", "message": message})
    };
    std::fs::write(&trail, format!("{}\n{}\n", line(1, "t"), line(2, "s"))).unwrap();
    let lock = Lock::wait(&paw.broker_lock()).unwrap();
    let repaired = log::repair::repair(&paw, &trail, Some(&session()), &lock, clock::now()).unwrap();
    assert_eq!(repaired.messages, 1);
    let log = log::open(&paw.log()).unwrap();
    assert!(log.history(&session(), 0, PageLimit::DEFAULT).unwrap().is_empty());
    assert_eq!(log.history(&SessionId::new("t"), 0, PageLimit::DEFAULT).unwrap().len(), 1);
    assert!(log.head().unwrap() > 2, "its numbers are not used again");
}

#[test]
fn automatic_replies_and_question_tracking_do_not_run_again_on_replicated_messages() {
    let dir = tempfile::tempdir().unwrap();
    let (log, session, stream, origin) = (open(dir.path()), session(), StreamId::random(), origin());
    log.join_stream(&session, &stream).unwrap();
    let bus = Bus::open(Arc::clone(&log), session.clone(), true).unwrap();
    let question = |agent: &str| Message::from(QuestionMessage::new(id(agent), "which port?"));
    let own = bus.publish_blocking(question("a"), clock::now()).unwrap();
    let answer = AnswerMessage::new(id("a"), id("operator"), "9119").into();
    let read = progress(&origin, [(1, commit("b")), (2, question("b")), (3, answer)]);
    log.append_replicated(&session, &stream, &read).unwrap();
    bus.refresh();
    wait_until("the bus has read the replicated messages", || (bus.head() == own + 3).then_some(()));
    let repeated = bus.publish_blocking(question("b"), clock::now()).unwrap();
    assert_eq!(repeated, own + 4, "no reply was added, and the other host tracks its question");
    let again = bus.publish_blocking(question("a"), clock::now()).unwrap();
    assert_eq!(again, own + 5, "the question was answered from the other host");
    bus.close();
}

/// Three hosts with the same messages, each in an order of its own.
struct MovingAgent {
    logs: Vec<(HostName, Arc<dyn MessageLog>, LogEpoch)>,
    stream: StreamId,
    /// How much of each host's messages each host has.
    arrived: [[u64; 3]; 3],
    shown: Vec<String>,
    _dir: tempfile::TempDir,
}

impl MovingAgent {
    fn new() -> Self {
        let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
        let open = |name: &&str| {
            let log = log::open(&dir.path().join(name)).unwrap();
            let epoch = log.join_stream(&session(), &stream).unwrap().epochs.pop().unwrap().1;
            (HostName::new(*name).unwrap(), log, epoch)
        };
        let logs = ["hub", "big", "gpu"].iter().map(open).collect();
        Self { logs, stream, arrived: [[0; 3]; 3], shown: Vec::new(), _dir: dir }
    }

    /// The next message of a host, in its own log.
    fn publish(&mut self, host: usize) {
        let number = self.arrived[host][host] + 1;
        let message = ArtifactMessage::new(id(&format!("of-{host}")), format!("{host}:{number}")).into();
        self.logs[host].1.append(&session(), &[MessageDraft::new(message, clock::now())]).unwrap();
        self.arrived[host][host] = number;
    }

    /// The next message of a host arrives in the log of another one.
    fn replicate(&mut self, from: usize, to: usize) {
        if from == to || self.arrived[to][from] >= self.arrived[from][from] {
            return;
        }
        let (host, log, epoch) = &self.logs[from];
        let own: Vec<_> = log.history(&session(), 0, PageLimit::DEFAULT).unwrap();
        let own: Vec<_> = own.into_iter().filter(|entry| !entry.is_replicated).collect();
        let next = &own[usize::try_from(self.arrived[to][from]).unwrap()];
        let message = next.parse(&session()).unwrap().message;
        let origin = Origin { host: host.clone(), epoch: epoch.clone() };
        let read = progress(&origin, [(next.seq, message)]);
        self.logs[to].1.append_replicated(&session(), &self.stream, &read).unwrap();
        self.arrived[to][from] += 1;
    }

    /// The agent reads some of its messages.
    fn read(&mut self, host: usize, messages: usize) {
        let log = &self.logs[host].1;
        let page =
            log.inbox(&session(), &id("mover"), 0, PageLimit { messages: 100, bytes: 1 << 20 }).unwrap();
        let known = self.shown.len();
        let text = |entry: &log::LogEntry| match entry.parse(&session()).unwrap().message {
            Message::Artifact(artifact) => artifact.status,
            other => panic!("{other}"),
        };
        // Reading does not remove messages on the same host, so it passes on what it knows.
        let new: Vec<_> = page
            .iter()
            .map(|entry| (entry.seq, text(entry)))
            .filter(|(_, text)| !self.shown.contains(text))
            .take(messages)
            .collect();
        if let Some((seq, _)) = new.last() {
            log.note_read(&session(), &id("mover"), *seq).unwrap();
        }
        self.shown.extend(new.into_iter().map(|(_, text)| text));
        assert!(self.shown.len() <= known + messages);
    }

    fn move_to(&mut self, from: usize, to: usize) {
        let (own, log, _) = &self.logs[from];
        let marks = log.load_read_marks(&session(), &id("mover"), own).unwrap();
        log.delete_token(&session(), &id("mover")).unwrap();
        let (own, log, _) = &self.logs[to];
        log.save_read_marks(&id("mover"), own, &marks).unwrap();
        let page = log.inbox(&session(), &id("mover"), 0, PageLimit::DEFAULT).unwrap();
        for entry in page {
            let Message::Artifact(artifact) = entry.parse(&session()).unwrap().message else { panic!() };
            assert!(!self.shown.contains(&artifact.status), "{} is shown twice", artifact.status);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_moved_agent_reads_every_message_once(
        steps in proptest::collection::vec((0..4_u8, 0..3_usize, 0..3_usize), 1..60)
    ) {
        let (mut world, mut at) = (MovingAgent::new(), 0);
        for (step, first, second) in steps {
            match step {
                0 => world.publish(first),
                1 => world.replicate(first, second),
                2 => world.read(at, second + 1),
                _ if first != at => {
                    world.move_to(at, first);
                    at = first;
                }
                _ => {}
            }
        }
        for from in 0..3 {
            for _ in 0..60 {
                world.replicate(from, at);
            }
        }
        world.read(at, 1000);
        let published: u64 = (0..3).map(|host| world.arrived[host][host]).sum();
        prop_assert_eq!(world.shown.len() as u64, published);
    }
}
