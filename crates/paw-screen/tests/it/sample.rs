//! A sample session.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use paw_broker::message::{self as say, Message};
use paw_broker::record::{AgentRecord, AgentRecords};
use paw_broker::{SessionId, StoredMessage};
use paw_core::{AgentId, BranchName};
use paw_screen::dashboard::{DashboardHost, DashboardOptions, DashboardUpdate, Theme};
use paw_view::{
    AgentView, BrokerView, ConflictKind, ConflictView, MessageKind, MessageView, OpenQuestion, SessionFacts,
    SessionMember, SessionView, ViewEvent,
};

pub(crate) fn options() -> DashboardOptions {
    DashboardOptions {
        host: DashboardHost::Session,
        theme: Theme::FULL,
        show_messages: true,
        message_lines: 20,
        zone: TimeZone::UTC,
    }
}

pub(crate) fn empty() -> SessionView {
    SessionView::new(500)
}

pub(crate) fn id(id: &str) -> AgentId {
    AgentId::new(id).unwrap()
}

/// This many seconds before `now`.
pub(crate) fn ago(now: Timestamp, seconds: i64) -> Timestamp {
    now - jiff::SignedDuration::from_secs(seconds)
}

pub(crate) fn facts() -> SessionFacts {
    let broker = BrokerView {
        url: Some("http://127.0.0.1:9119".to_owned()),
        open_to_all: Some(false),
        ..BrokerView::default()
    };
    SessionFacts {
        session: "paw-shop".to_owned(),
        repository: "/home/ada/code/shop".into(),
        broker: Some(broker),
        ..SessionFacts::default()
    }
}

pub(crate) fn agent(
    now: Timestamp,
    name: &str,
    state: &str,
    files: &[&str],
    age: i64,
    message: &str,
) -> AgentView {
    let branch = BranchName::new(name.replacen('-', "/", 1)).unwrap();
    let cli = if name.ends_with('i') { "codex" } else { "claude" };
    let record = AgentRecord {
        agent_id: id(name),
        cli: Some(cli.to_owned()),
        status: state.to_owned(),
        phase: None,
        last_seen: ago(now, age),
        modified_files: files.iter().map(|file| (*file).to_owned()).collect(),
        last_seq: 0,
        state: [].into(),
    };
    AgentView {
        member: Some(SessionMember::new(branch, cli)),
        reported: Some(record),
        last_message: message.to_owned(),
        ..AgentView::new(id(name))
    }
}

/// The broker's records of these agents.
pub(crate) fn records(agents: &[AgentView]) -> DashboardUpdate {
    let records: AgentRecords = agents.iter().filter_map(|agent| agent.reported.clone()).collect();
    DashboardUpdate::View(ViewEvent::Records { records, seq: 0 })
}

pub(crate) fn message(
    now: Timestamp,
    seq: u64,
    age: i64,
    kind: MessageKind,
    (from, to): (&str, &str),
    text: &str,
) -> MessageView {
    MessageView {
        seq,
        at: ago(now, age),
        kind,
        from: id(from),
        to: AgentId::new(to).ok(),
        text: text.to_owned(),
        fields: vec![("text".to_owned(), text.to_owned())],
    }
}

/// A message as a broker sends it.
pub(crate) fn stored(seq: u64, at: Timestamp, message: impl Into<Message>) -> DashboardUpdate {
    let message = message.into();
    let sender = paw_broker::route::sender(&message).clone();
    let stored = StoredMessage { seq, session: SessionId::new("s"), at, sender, message };
    DashboardUpdate::View(ViewEvent::Message(Arc::new(stored)))
}

pub(crate) fn status(seq: u64, at: Timestamp, from: &str, text: &str) -> DashboardUpdate {
    stored(seq, at, say::StatusMessage::new(id(from), text))
}

pub(crate) fn question(seq: u64, at: Timestamp, from: &str, text: &str) -> DashboardUpdate {
    stored(seq, at, say::QuestionMessage::new(id(from), text))
}

pub(crate) fn answer(seq: u64, at: Timestamp, to: &str, text: &str, quoted: Option<&str>) -> DashboardUpdate {
    let mut answer = say::AnswerMessage::new(id(to), id(AgentId::OPERATOR), text);
    answer.re = quoted.map(str::to_owned);
    stored(seq, at, answer)
}

pub(crate) fn session(now: Timestamp) -> SessionView {
    let agents = [
        agent(
            now,
            "feat-auth",
            "working",
            &["src/auth.rs", "src/token.rs", "tests/auth.rs"],
            4,
            "hash passwords with argon2",
        ),
        agent(now, "feat-api", "blocked", &["src/api.rs"], 190, "needs the User type from feat-auth"),
        agent(
            now,
            "feat-search",
            "committed",
            &["src/search.rs", "src/index.rs"],
            65,
            "inverted index with prefix queries",
        ),
        agent(
            now,
            "fix-checkout-rounding",
            "verified",
            &["src/cart.rs"],
            3_725,
            "all gates passed at 4fe2a91",
        ),
        agent(now, "docs-guide", "done", &[], 840, "quick start and troubleshooting"),
        AgentView { member: None, ..agent(now, "supervisor", "watching", &[], 12, "supervisor online") },
    ];
    let conflicts = [
        ConflictView {
            key: "auth-api".to_owned(),
            kind: ConflictKind::Clash,
            file: "src/middleware/session.rs".to_owned(),
            lines: "41-58".to_owned(),
            agents: [id("feat-auth"), id("feat-api")],
            since: ago(now, 95),
            details: "both changed the signature of open_session\ngit cannot merge lines 41-58".to_owned(),
        },
        ConflictView {
            key: "search-api".to_owned(),
            kind: ConflictKind::Additive,
            file: "src/lib.rs".to_owned(),
            lines: String::new(),
            agents: [id("feat-search"), id("feat-api")],
            since: ago(now, 30),
            details: "both add a module line".to_owned(),
        },
    ];
    let all = [
        (840, MessageKind::Artifact, ("docs-guide", ""), "done: quick start and troubleshooting"),
        (700, MessageKind::Intent, ("feat-auth", ""), "3 files for 15m: argon2 behind a trait"),
        (510, MessageKind::Status, ("feat-auth", ""), "working, 1 file"),
        (300, MessageKind::Artifact, ("feat-search", ""), "committed: src/search.rs, src/index.rs"),
        (190, MessageKind::Blocked, ("feat-api", "feat-auth"), "needs the User type"),
        (
            96,
            MessageKind::Feedback,
            ("supervisor", "feat-auth"),
            "[conflict-detector] in-flight conflict: src/middleware/session.rs lines 41-58 with feat-api",
        ),
        (
            95,
            MessageKind::Feedback,
            ("supervisor", "feat-api"),
            "[conflict-detector] in-flight conflict: src/middleware/session.rs lines 41-58 with feat-auth",
        ),
        (60, MessageKind::Verified, ("supervisor", "fix-checkout-rounding"), "all gates passed at 4fe2a91"),
        (
            33,
            MessageKind::Question,
            ("feat-auth", "supervisor"),
            "Should expired tokens be refused with 401, or refreshed silently when the refresh token is still good?",
        ),
        (4, MessageKind::Status, ("feat-auth", ""), "working, 3 files"),
    ];
    let messages: Vec<_> =
        (1..).zip(all).map(|(seq, (age, kind, who, text))| message(now, seq, age, kind, who, text)).collect();
    let asked = messages.iter().filter(|message| message.kind == MessageKind::Question);
    let questions = asked.map(|message| OpenQuestion {
        seq: message.seq,
        at: message.at,
        asker: message.from.clone(),
        text: message.text.clone(),
    });
    SessionView {
        session: facts(),
        agents: agents.into(),
        questions: questions.collect(),
        conflicts: conflicts.into(),
        last_seq: 10,
        messages: messages.into(),
        ..empty()
    }
}
