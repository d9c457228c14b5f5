//! A sample session.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use paw_broker::message::{self as say, Message};
use paw_broker::record::{AgentRecord, AgentRecords};
use paw_broker::{SessionId, StoredMessage};
use paw_core::{AgentId, BranchName};
use paw_screen::dashboard::{
    ChangedFile, DashboardHost, DashboardOptions, DashboardUpdate, ShownPrompt, Theme, WorkChanges,
};
use paw_view::{
    AgentState, AgentUsage, AgentView, BranchTip, BrokerView, ConflictKind, ConflictView, MessageKind,
    MessageView, Observation, OpenQuestion, SessionFacts, SessionMember, SessionView, StateSource, ViewEvent,
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
        AgentView {
            tip: Some(BranchTip::new("4fe2a91", true)),
            ..agent(
                now,
                "fix-checkout-rounding",
                "verified",
                &["src/cart.rs"],
                3_725,
                "all gates passed at 4fe2a91",
            )
        },
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

/// The work of an agent.
pub(crate) fn changes(agent: &str) -> DashboardUpdate {
    let file = |path: &str, kind, added, removed| ChangedFile {
        path: path.into(),
        old_path: None,
        kind,
        added: Some(added),
        removed: Some(removed),
    };
    let files = vec![
        file("src/auth.rs", 'M', 38, 4),
        file("src/token.rs", 'A', 120, 0),
        file("src/middleware/deeply/nested/session_cookies.rs", 'M', 2, 2),
        file("tests/old_auth.rs", 'D', 0, 64),
    ];
    let changes = WorkChanges { base: "4fe2a9100000".to_owned(), committed: false, files };
    DashboardUpdate::Changes { agent: id(agent), found: Ok(changes) }
}

/// A patch with this many added lines.
pub(crate) fn patch(agent: &str, path: &str, lines: usize) -> DashboardUpdate {
    let head = ["@@ -12,6 +12,44 @@ impl Auth {", " fn login(&self) {", "-    todo!()"].map(str::to_owned);
    let added = (1..=lines).map(|line| format!("+line {line} of {path}"));
    DashboardUpdate::Patch {
        agent: id(agent),
        path: path.to_owned(),
        lines: head.into_iter().chain(added).collect(),
    }
}

pub(crate) fn prompt() -> ShownPrompt {
    ShownPrompt {
        id: 1,
        cli: "claude".to_owned(),
        text: "cargo publish --registry internal --token \"$(cat ~/.secrets/token)\" && git push --tags"
            .to_owned(),
        allowed: false,
        reason: "`$(...)` could run anything".to_owned(),
        refusal: None,
    }
}

/// A session with this many agents in every state, conflicts about sources and generated files, and a question.
pub(crate) fn session_of(now: Timestamp, count: usize) -> SessionView {
    let names = ["auth", "api", "search", "cart", "mail", "docs", "i18n", "cache", "queue", "admin"];
    let mut view = session(now);
    let (reported, conflicts) = (std::mem::take(&mut view.agents), std::mem::take(&mut view.conflicts));
    for number in 0..count {
        let round = number / names.len();
        let suffix = if round == 0 { String::new() } else { format!("-{}", round + 1) };
        let name = format!("feat-{}{suffix}", names[number % names.len()]);
        let (state, message, waits_for) = match number % 6 {
            0 => (AgentState::WaitingApproval, "hash passwords with argon2", Some("cargo publish --dry-run")),
            2 => (AgentState::Idle, "inverted index with prefix queries", None),
            4 => (AgentState::WaitingInput, "which provider?", None),
            _ => (AgentState::Working, "writing the tests first", None),
        };
        let label = if number % 6 == 2 { "committed" } else { "working" };
        let age = i64::try_from(count - number).unwrap() * 37 - 32;
        let mut agent = agent(now, &name, label, &["src/lib.rs", "src/x.rs"][..number % 3], age, message);
        let (since, waits_for) = (ago(now, age), waits_for.map(str::to_owned));
        let (source, reason) = (StateSource::Hooks, "which of the two should I use?".to_owned());
        agent.observed = Some(Observation { state, since, at: now, source, reason, waits_for });
        let tokens = u64::try_from(age).unwrap() * 3_100;
        agent.usage =
            (number % 2 == 0).then_some(AgentUsage { context_tokens: Some(tokens), ..AgentUsage::default() });
        view.agents.push(agent);
    }
    view.agents.extend(reported.into_iter().filter(AgentView::is_supervisor));
    if count > 1 {
        let agents = [id("feat-auth"), id("feat-api")];
        view.conflicts.extend(
            conflicts.into_iter().map(|conflict| ConflictView { agents: agents.clone(), ..conflict }),
        );
        view.conflicts.extend((0..36).map(|number| ConflictView {
            key: number.to_string(),
            kind: ConflictKind::Clash,
            file: format!("app/__pycache__/module_{number}.cpython-311.pyc"),
            lines: String::new(),
            agents: agents.clone(),
            since: ago(now, 20),
            details: "both changed it".to_owned(),
        }));
    }
    view
}
