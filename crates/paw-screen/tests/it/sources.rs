//! Dashboards that follow a real broker.

use std::sync::Arc;
use std::time::Duration;

use paw_broker::broker::{Broker, BrokerSettings};
use paw_broker::client::{BrokerClient, ClientIdentity};
use paw_broker::message::{Message, QuestionMessage};
use paw_broker::{Bus, SessionId};
use paw_core::config::BrokerConfig;
use paw_screen::dashboard::{DashboardUpdate, OperatorAnswer};
use paw_screen::source::{self, LostConnection, RemoteBroker};
use paw_testkit::Sandbox;
use paw_view::{AgentView, ConflictKind, SessionView, StatusCategory};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::sample::id;

fn message(name: &str, agent: &str, payload: &Value) -> Message {
    Message::from_json(json!({"type": name, "agent_id": agent, "payload": payload})).unwrap()
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
        let settings = BrokerSettings::new(root.join(".git"), root, SessionId::new("s"), config);
        let broker = Broker::start_on(settings, listener).unwrap();
        let bus = Arc::clone(broker.bus());
        self.broker = Some(broker);
        bus
    }

    fn stop(&mut self) {
        self.broker.take().unwrap().shutdown();
    }

    fn remote(&self) -> RemoteBroker {
        let token = self.broker.as_ref().unwrap().keyring().operator().unwrap();
        RemoteBroker { common_dir: self.sandbox.root().join("repo/.git"), token: Some(token), since: None }
    }
}

fn client(remote: &RemoteBroker) -> BrokerClient {
    let (config, who) = (BrokerConfig::default(), ClientIdentity::default());
    BrokerClient::new(&remote.common_dir, config, who, None).unwrap()
}

/// A view, and the updates that keep it current.
struct Follower {
    view: SessionView,
    updates: mpsc::Receiver<DashboardUpdate>,
}

impl Follower {
    fn new(updates: mpsc::Receiver<DashboardUpdate>) -> Self {
        Self { view: SessionView::new(100), updates }
    }

    /// Applies updates until `wanted` finds something in the view or in the last update.
    async fn until<T>(
        &mut self,
        what: &str,
        wanted: impl Fn(&SessionView, &DashboardUpdate) -> Option<T>,
    ) -> T {
        let waiting = async {
            loop {
                let update = self.updates.recv().await;
                let update = update.unwrap_or_else(|| panic!("the stream ended before {what}"));
                if let DashboardUpdate::View(event) = &update {
                    self.view.apply(event.clone());
                }
                if let Some(found) = wanted(&self.view, &update) {
                    return found;
                }
            }
        };
        timeout(Duration::from_secs(30), waiting)
            .await
            .unwrap_or_else(|_| panic!("waited in vain for {what}"))
    }

    async fn until_agent(&mut self, wanted: impl Fn(&AgentView) -> bool) -> AgentView {
        self.until("an agent", |view, _| view.listed().find(|agent| wanted(agent)).cloned()).await
    }
}

#[test]
fn follow_reports_agents_messages_conflicts_and_answers() {
    let mut fixture = Fixture::new();
    let bus = fixture.start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let say = |message: Message| bus.publish_blocking(message, paw_host::clock::now()).unwrap();
    say(message(
        "agent.status",
        "feat-a",
        &json!({"status": "working", "message": "on it", "modified_files": ["x", "y"], "cli": "claude"}),
    ));
    let (update, updates) = mpsc::channel(8);
    let (answers, answered) = mpsc::channel(8);
    let remote = fixture.remote();
    let client = client(&remote);
    source::follow(remote, update.clone(), |_| (), LostConnection::Wait).unwrap();
    runtime.spawn(source::answer(client, answered, update));
    let mut follower = Follower::new(updates);
    let busy = runtime.block_on(follower.until_agent(|agent| agent.last_message == "on it"));
    assert_eq!((busy.status().0, busy.files().len(), busy.cli()), (StatusCategory::Working, 2, "claude"));

    say(in_flight("feat-b", "feat-a", "overlap", [1, 9]));
    say(in_flight("feat-a", "feat-b", "conflict", [40, 50]));
    let clash = runtime.block_on(follower.until("a conflict", |view, _| {
        view.conflicts.iter().find(|conflict| conflict.kind == ConflictKind::Clash).cloned()
    }));
    assert_eq!((clash.agents, clash.lines.as_str()), ([id("feat-a"), id("feat-b")], "40-50"));
    say(in_flight("feat-a", "feat-b", "cleared", [1, 2]));
    runtime.block_on(follower.until("the end of it", |view, _| view.conflicts.is_empty().then_some(())));

    let seq = say(QuestionMessage::new(id("feat-a"), "why\nso?").into());
    let asked = runtime.block_on(follower.until("the question", |view, _| view.questions.first().cloned()));
    assert_eq!((asked.seq, asked.text.as_str()), (seq, "why\nso?"));
    let answer =
        OperatorAnswer { question: seq, asker: asked.asker, quoted: asked.text, text: "because".to_owned() };
    runtime.block_on(answers.send(answer.clone())).unwrap();
    runtime.block_on(follower.until("the answer", |view, _| view.questions.is_empty().then_some(())));
    runtime.block_on(answers.send(OperatorAnswer { text: "<your answer>".to_owned(), ..answer })).unwrap();
    runtime.block_on(follower.until("the refusal", |_, update| {
        matches!(update, DashboardUpdate::AnswerFailed { .. }).then_some(())
    }));
    drop(bus);
    fixture.stop();
}

#[test]
fn follow_reconnects_to_a_restarted_broker() {
    let mut fixture = Fixture::new();
    let bus = fixture.start();
    let say = |bus: &Bus, message: Message| bus.publish_blocking(message, paw_host::clock::now()).unwrap();
    say(&bus, message("agent.status", "feat-a", &json!({"status": "working", "modified_files": ["x"]})));
    let seq = say(&bus, QuestionMessage::new(id("feat-a"), "why?").into());
    let remote = fixture.remote();
    let client = client(&remote);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (update, updates) = mpsc::channel(8);
    let (answers, answered) = mpsc::channel(8);
    source::follow(remote, update.clone(), |_| (), LostConnection::Wait).unwrap();
    runtime.spawn(source::answer(client, answered, update));
    let mut follower = Follower::new(updates);
    let asked = runtime.block_on(follower.until("the question", |view, _| view.questions.first().cloned()));
    assert_eq!(asked.seq, seq);
    let facts = &follower.view.session;
    let broker = facts.broker.clone().unwrap();
    assert!(facts.repository.ends_with("repo") && broker.url.unwrap().starts_with("http://127.0.0.1:"));
    assert_eq!(broker.open_to_all, Some(false));
    let answer = OperatorAnswer {
        question: seq,
        asker: id("feat-a"),
        quoted: "why?".to_owned(),
        text: "because".to_owned(),
    };
    runtime.block_on(answers.send(answer)).unwrap();
    runtime.block_on(follower.until("the answer", |view, _| view.questions.is_empty().then_some(())));
    assert_eq!(follower.view.messages.back().unwrap().text, "because");
    drop(bus);
    fixture.stop();
    runtime.block_on(follower.until("that it is gone", |_, update| {
        matches!(update, DashboardUpdate::Disconnected(_)).then_some(())
    }));
    let bus = fixture.start();
    runtime
        .block_on(follower.until("that it is back", |_, update| {
            matches!(update, DashboardUpdate::Connected).then_some(())
        }));
    say(&bus, message("agent.status", "feat-z", &json!({"status": "working", "message": "hello again"})));
    runtime.block_on(follower.until_agent(|agent| agent.last_message == "hello again"));
    drop(bus);
    fixture.stop();
}
