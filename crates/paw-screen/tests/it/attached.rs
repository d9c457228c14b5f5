//! Views on a real broker, from inside and from outside.

use std::sync::Arc;
use std::time::Duration;

use paw_broker::broker::{Broker, Settings};
use paw_broker::client::{Client, Who};
use paw_broker::message::{Message, Question};
use paw_broker::{Bus, SessionId};
use paw_core::config::BrokerConfig;
use paw_screen::dashboard::{Agent, Answer, Conflict, ConflictKind, Feed, Kind, Mood, Role};
use paw_screen::news::Member;
use paw_screen::source::remote::{self, Remote};
use paw_screen::source::{answer_on_bus, follow_bus};
use paw_testkit::Sandbox;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::sample::id;

fn message(name: &str, agent: &str, payload: &Value) -> Message {
    Message::from_json(json!({"type": name, "agent_id": agent, "payload": payload})).unwrap()
}

fn member() -> Member {
    Member { id: id("feat-b"), branch: "feat/b".to_owned(), cli: "codex".to_owned() }
}

fn in_flight(you: &str, other: &str, level: &str, lines: [u64; 2]) -> Message {
    let file = json!({"path": "src/x.rs", "your_lines": [lines], "their_lines": [[40, 50]]});
    let facts = json!({"kind": "in-flight", "level": level, "you": you, "other": other, "files": [file]});
    message("agent.feedback", you, &json!({"from": "supervisor", "errors": ["words"], "conflict": facts}))
}

struct Fixture {
    sandbox: Sandbox,
    broker: Option<Broker>,
}

impl Fixture {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.repo("repo");
        Self { sandbox, broker: None }
    }

    fn start(&mut self) -> Arc<Bus> {
        let root = self.sandbox.root().join("repo");
        let config = BrokerConfig { port: 0, ..BrokerConfig::default() };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let settings = Settings::new(root.join(".git"), root, SessionId::new("s"), config);
        let broker = Broker::start_on(settings, listener).unwrap();
        let bus = Arc::clone(broker.bus());
        self.broker = Some(broker);
        bus
    }

    fn stop(&mut self) {
        self.broker.take().unwrap().shutdown();
    }

    fn remote(&self) -> Remote {
        let token = self.broker.as_ref().unwrap().keyring().operator().unwrap();
        Remote { common_dir: self.sandbox.root().join("repo/.git"), token: Some(token) }
    }
}

/// Waits for a feed that is meant.
async fn wait_for<T>(
    feeds: &mut mpsc::Receiver<Feed>,
    what: &str,
    mut meant: impl FnMut(Feed) -> Option<T>,
) -> T {
    let waiting = async {
        loop {
            let feed = feeds.recv().await.unwrap_or_else(|| panic!("the stream ended before {what}"));
            if let Some(found) = meant(feed) {
                return found;
            }
        }
    };
    timeout(Duration::from_secs(30), waiting).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

async fn wait_for_agent(feeds: &mut mpsc::Receiver<Feed>, meant: impl Fn(&Agent) -> bool) -> Agent {
    wait_for(feeds, "an agent", |feed| match feed {
        Feed::Agent(agent) if meant(&agent) => Some(agent),
        _ => None,
    })
    .await
}

#[test]
fn a_view_inside_sees_members_messages_conflicts_and_answers() {
    let mut fixture = Fixture::new();
    let bus = fixture.start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let say = |message: Message| bus.publish_blocking(message, paw_host::clock::now()).unwrap();
    say(message(
        "agent.status",
        "feat-a",
        &json!({"status": "working", "message": "on it", "modified_files": ["x", "y"], "cli": "claude"}),
    ));
    let (feed, mut feeds) = mpsc::channel(8);
    let (answers, answered) = mpsc::channel(8);
    runtime.spawn(follow_bus(Arc::clone(&bus), vec![member()], feed.clone()));
    runtime.spawn(answer_on_bus(Arc::clone(&bus), answered, feed));
    let silent = runtime.block_on(wait_for_agent(&mut feeds, |agent| agent.id.as_str() == "feat-b"));
    assert_eq!((silent.mood, silent.branch.as_str(), silent.last_seen), (Mood::Idle, "feat/b", None));
    let busy = runtime.block_on(wait_for_agent(&mut feeds, |agent| agent.last_message.as_str() == "on it"));
    assert_eq!((busy.mood, busy.files.len(), busy.cli.as_str()), (Mood::Working, 2, "claude"));

    say(in_flight("feat-b", "feat-a", "overlap", [1, 9]));
    say(in_flight("feat-a", "feat-b", "conflict", [40, 50]));
    let find = |feed: Feed| match feed {
        Feed::Conflict(conflict) if conflict.kind == ConflictKind::Clash => Some(conflict),
        _ => None,
    };
    let Conflict { agents, lines, key, .. } = runtime.block_on(wait_for(&mut feeds, "a conflict", find));
    assert_eq!(
        (agents.map(|agent| agent.to_string()), lines.as_str()),
        (["feat-a".into(), "feat-b".into()], "40-50")
    );
    say(in_flight("feat-a", "feat-b", "cleared", [1, 2]));
    let cleared = |feed: Feed| match feed {
        Feed::ConflictCleared(key) => Some(key),
        _ => None,
    };
    assert_eq!(runtime.block_on(wait_for(&mut feeds, "the end of it", cleared)), key);

    let seq = say(Question::new(id("feat-a"), "why\nso?").into());
    let asked = |feed: Feed| match feed {
        Feed::Message(message) if message.kind == Kind::Question => Some(message),
        _ => None,
    };
    let asked = runtime.block_on(wait_for(&mut feeds, "the question", asked));
    assert_eq!((asked.seq, asked.text.as_str()), (seq, "why so?"));
    let Role::Question { asker, question } = asked.role else { panic!() };
    let answer = Answer { question: seq, asker, quoted: question, text: "because".to_owned() };
    runtime.block_on(answers.send(answer.clone())).unwrap();
    let answered = |feed: Feed| match feed {
        Feed::Message(message) if message.kind == Kind::Answer => Some(message.role),
        _ => None,
    };
    let role = runtime.block_on(wait_for(&mut feeds, "the answer", answered));
    assert_eq!(role, Role::Answer { asker: id("feat-a"), quoted: Some("why\nso?".to_owned()) });
    runtime.block_on(answers.send(Answer { text: "<your answer>".to_owned(), ..answer })).unwrap();
    let failed = |feed: Feed| matches!(feed, Feed::AnswerFailed { .. }).then_some(());
    runtime.block_on(wait_for(&mut feeds, "the refusal", failed));
    drop(bus);
    fixture.stop();
}

#[test]
fn a_view_outside_sees_the_same_answers_and_finds_the_broker_again() {
    let mut fixture = Fixture::new();
    let bus = fixture.start();
    let say = |bus: &Bus, message: Message| bus.publish_blocking(message, paw_host::clock::now()).unwrap();
    say(&bus, message("agent.status", "feat-a", &json!({"status": "working", "modified_files": ["x"]})));
    let seq = say(&bus, Question::new(id("feat-a"), "why?").into());
    let remote = fixture.remote();
    let client = Client::new(&remote.common_dir, BrokerConfig::default(), Who::default(), None).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (feed, mut feeds) = mpsc::channel(8);
    let (answers, answered) = mpsc::channel(8);
    remote::follow(remote, vec![member()], feed.clone()).unwrap();
    runtime.spawn(remote::answer(client, answered, feed));
    let header = |feed: Feed| match feed {
        Feed::Header(header) => Some(header),
        _ => None,
    };
    let header = runtime.block_on(wait_for(&mut feeds, "the header", header));
    assert!(
        header.repository.as_str().ends_with("/repo") && header.address.as_str().starts_with("127.0.0.1:")
    );
    assert!(!header.open_to_all);
    let asked = |feed: Feed| match feed {
        Feed::Message(message) if message.kind == Kind::Question => Some(message.seq),
        _ => None,
    };
    assert_eq!(runtime.block_on(wait_for(&mut feeds, "the question", asked)), seq);
    let answer =
        Answer { question: seq, asker: id("feat-a"), quoted: "why?".to_owned(), text: "because".to_owned() };
    runtime.block_on(answers.send(answer)).unwrap();
    let answered = |feed: Feed| match feed {
        Feed::Message(message) if message.kind == Kind::Answer => Some(message.text),
        _ => None,
    };
    assert_eq!(runtime.block_on(wait_for(&mut feeds, "the answer", answered)).as_str(), "because");
    drop(bus);
    fixture.stop();
    let lost = |feed: Feed| matches!(feed, Feed::Lost(_)).then_some(());
    runtime.block_on(wait_for(&mut feeds, "that it is gone", lost));
    let bus = fixture.start();
    let found = |feed: Feed| matches!(feed, Feed::Found).then_some(());
    runtime.block_on(wait_for(&mut feeds, "that it is back", found));
    say(&bus, message("agent.status", "feat-z", &json!({"status": "working", "message": "hello again"})));
    runtime.block_on(wait_for_agent(&mut feeds, |agent| agent.last_message.as_str() == "hello again"));
    drop(bus);
    fixture.stop();
}
