//! Hostile messages and random keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use paw_broker::message::{self as say, Message};
use paw_broker::watch;
use paw_core::BranchName;
use paw_screen::dashboard::{
    AgentAction, AgentJob, ChangedFile, DashboardEvent, DashboardUpdate, ShownPrompt, WorkChanges,
};
use paw_screen::text::Text;
use paw_view::{
    BrokerView, ConflictKind, ConflictView, MessageKind, MessageView, OpenQuestion, SessionFacts,
    SessionView, ViewEvent,
};
use proptest::prelude::*;

use crate::sample::{self, ago, id};
use crate::test_dashboard::{TestDashboard, now};

const TEXTS: [&str; 8] = [
    "\u{1b}[2J\u{1b}]0;owned\u{7}hello",
    "line one\nline two\r\nthree\tfour",
    "\u{202e}drowssap\u{2066}\u{200f}",
    "👩\u{200d}💻 🇩🇪 ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
    "日本語のとても長いメッセージで列がずれないことを確かめます",
    "مرحبا بالعالم שלום עולם",
    "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}",
    "\u{0}\u{7}\u{8}\u{b}\u{c}\u{7f}\u{9b}31m",
];

fn hostile_session(texts: &[&str]) -> SessionView {
    let text = |number: usize| texts[number % texts.len()].to_owned();
    let broker = BrokerView { url: Some(text(2)), open_to_all: Some(true), ..BrokerView::default() };
    let mut view = SessionView {
        session: SessionFacts {
            session: text(0),
            repository: text(1).into(),
            broker: Some(broker),
            ..SessionFacts::default()
        },
        ..sample::empty()
    };
    for (seq, text) in (1..).zip(texts) {
        let text = (*text).to_owned();
        let mut agent = sample::agent(now(), &format!("a-{seq}"), &text, &[&text], 1, &text);
        agent.reported.as_mut().unwrap().cli = Some(text.clone());
        agent.member = agent.member.map(|mut member| {
            member.branch = BranchName::new(text.clone()).unwrap_or(member.branch);
            member
        });
        view.agents.push(agent);
        view.conflicts.push(ConflictView {
            key: seq.to_string(),
            kind: ConflictKind::Shared,
            file: text.clone(),
            lines: text.clone(),
            agents: [id("a-1"), id("a-2")],
            since: ago(now(), 1),
            details: text.clone(),
        });
        view.questions.push(OpenQuestion { seq, at: now(), asker: id("a-1"), text: text.clone() });
        view.messages.push_back(MessageView {
            fields: vec![(text.clone(), text.clone())],
            ..sample::message(now(), seq, 0, MessageKind::Question, ("a-1", "a-2"), &text)
        });
    }
    view
}

/// Checks that no row is wider than the screen or contains control characters.
fn assert_sound(dashboard: &mut TestDashboard) {
    let columns = usize::from(dashboard.terminal.backend().buffer().area.width);
    let seen = dashboard.screen();
    for line in seen.lines() {
        assert!(paw_core::text::width(line) <= columns, "{line:?} in\n{seen}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert!(!line.contains(['\u{202e}', '\u{2066}', '\u{200d}', '\u{fe0f}']), "{line:?}");
    }
}

#[test]
fn hostile_texts_do_not_break_the_screen() {
    for (columns, rows) in [(60, 12), (100, 30), (200, 50)] {
        let mut dashboard = TestDashboard::with(sample::options(), hostile_session(&TEXTS), columns, rows);
        assert_sound(&mut dashboard);
        for panel in 0..4 {
            dashboard.keys("i");
            assert_sound(&mut dashboard);
            dashboard.key(KeyCode::Esc).key(KeyCode::Tab);
            assert!(panel < 4);
        }
    }
}

#[test]
fn wide_characters_do_not_shift_columns() {
    let agents = [("a-one", "日本語"), ("a-two", "plain")].map(|(name, text)| {
        let mut agent = sample::agent(now(), name, "working", &[], 5, "the same words");
        agent.member.as_mut().unwrap().branch = BranchName::new(text).unwrap();
        agent
    });
    let view = SessionView { agents: agents.into(), ..sample::empty() };
    let mut dashboard = TestDashboard::with(sample::options(), view, 100, 12);
    let column = |line: &str| paw_core::text::width(line.split("the same").next().unwrap());
    assert_eq!(column(&dashboard.line("a-one")), column(&dashboard.line("a-two")));
}

#[test]
fn very_long_lines_are_truncated() {
    let long = "x".repeat(10_000);
    let wide = "語".repeat(10_000);
    let mut dashboard = TestDashboard::with(sample::options(), hostile_session(&[&long, &wide]), 60, 12);
    assert_sound(&mut dashboard);
    dashboard.key(KeyCode::Enter).keys("G");
    assert_sound(&mut dashboard);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,30}",
        "(\\PC|\\pC){0,20}",
        proptest::sample::select(TEXTS.to_vec()).prop_map(str::to_owned),
        Just("long ".repeat(300)),
    ]
}

fn code() -> impl Strategy<Value = KeyCode> {
    prop_oneof![
        4 => proptest::sample::select("qr?/adlo1230 jkgGnxctvmXPpiyRJK".chars().collect::<Vec<_>>()).prop_map(KeyCode::Char),
        1 => any::<char>().prop_map(KeyCode::Char),
        3 => proptest::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab, KeyCode::Up, KeyCode::Down, KeyCode::Left,
            KeyCode::PageUp, KeyCode::PageDown, KeyCode::Home, KeyCode::End, KeyCode::Backspace, KeyCode::Delete,
        ]),
    ]
}

/// A message of any type with any text.
fn message() -> impl Strategy<Value = Message> {
    let names = ["supervisor", "a-b", "c", "feat-long-long-long-name-of-an-agent", "z_z"];
    (0_usize..5, 0_usize..8, text(), text()).prop_map(move |(from, kind, text, other)| {
        let from = id(names[from]);
        match kind {
            0 => {
                let mut status = say::StatusMessage::new(from, text);
                status.phase = Some(other.clone());
                status.cli = Some(other.clone());
                status.modified_files = Some(vec![other]);
                status.into()
            }
            1 => say::ArtifactMessage::new(from, text).into(),
            2 => say::BlockedMessage::new(from, text, id("c")).into(),
            3 => say::FeedbackMessage::new(id("c"), from, vec![text, other]).into(),
            4 => say::QuestionMessage::new(from, text).into(),
            5 => say::AnswerMessage::new(from, id("c"), text).into(),
            6 => watch::gone_message(&from),
            _ => {
                let facts = serde_json::json!({"kind": "in-flight", "level": "conflict", "you": "c", "other": from,
                    "files": [{"path": text}]});
                let mut warning = say::FeedbackMessage::new(id("c"), id("supervisor"), vec![other]);
                warning.extra.payload.insert("conflict".to_owned(), facts);
                warning.into()
            }
        }
    })
}

fn update() -> impl Strategy<Value = DashboardUpdate> {
    prop_oneof![
        6 => (1_u64..60, message()).prop_map(|(seq, message)| sample::stored(seq, now(), message)),
        1 => text().prop_map(|text| DashboardUpdate::Disconnected(Text::line(&text))),
        1 => Just(DashboardUpdate::Connected),
        1 => Just(DashboardUpdate::View(ViewEvent::AgentGone(id("c")))),
        1 => (1_u64..60, text())
            .prop_map(|(question, text)| DashboardUpdate::AnswerFailed { question, reason: Text::line(&text) }),
        4 => answer_to_a_request(),
    ]
}

/// What the dashboard receives after it asked for something, about an agent of the sample session.
fn answer_to_a_request() -> impl Strategy<Value = DashboardUpdate> {
    let agent = proptest::sample::select(vec!["feat-auth", "feat-api", "supervisor"]).prop_map(id);
    (agent, 0_usize..7, text(), text(), any::<bool>()).prop_map(|(agent, kind, text, other, yes)| {
        let reason = || Text::line(&other);
        let job = AgentJob { action: AgentAction::Verify, agent: agent.clone(), name: text.clone() };
        match kind {
            0 => {
                let (cli, refusal) = (other.clone(), yes.then(|| other.clone()));
                let prompt = ShownPrompt { id: 1, cli, text, allowed: yes, reason: other, refusal };
                DashboardUpdate::Prompt { agent, found: Ok(prompt) }
            }
            1 => DashboardUpdate::Replied { agent, done: if yes { Ok(reason()) } else { Err(reason()) } },
            2 => DashboardUpdate::Preview {
                agent,
                rows: text.lines().map(|row| Text::row(row).to_string()).collect(),
            },
            3 => {
                let file = ChangedFile {
                    path: text.into(),
                    old_path: None,
                    kind: 'M',
                    added: Some(1),
                    removed: None,
                };
                let changes = WorkChanges { base: other, committed: yes, files: vec![file; 3] };
                DashboardUpdate::Changes { agent, found: Ok(changes) }
            }
            4 => DashboardUpdate::Patch {
                agent,
                path: text,
                lines: other.lines().map(str::to_owned).collect(),
            },
            5 => DashboardUpdate::Progress { job, line: reason() },
            _ => DashboardUpdate::Ended { job, success: yes, output: vec![other] },
        }
    })
}

fn event() -> impl Strategy<Value = DashboardEvent> {
    prop_oneof![
        6 => (code(), any::<bool>()).prop_map(|(code, control)| {
            let modifiers = if control && matches!(code, KeyCode::Char('l' | 'a' | 'd' | 'k')) { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
            DashboardEvent::Key(KeyEvent::new(code, modifiers))
        }),
        4 => update().prop_map(DashboardEvent::Update),
        1 => text().prop_map(DashboardEvent::Paste),
        1 => (1_u16..120, 1_u16..40).prop_map(|(columns, rows)| DashboardEvent::Resize { columns, rows }),
        1 => Just(DashboardEvent::Wake),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn the_screen_is_sound_after_any_events_at_any_size(
        columns in 1_u16..160, rows in 1_u16..50, events in proptest::collection::vec(event(), 0..60),
    ) {
        let mut dashboard = TestDashboard::of_session(columns, rows);
        for event in events {
            if let DashboardEvent::Resize { columns, rows } = event {
                dashboard.resize(columns, rows);
            } else {
                dashboard.on(event);
            }
            assert_sound(&mut dashboard);
            prop_assert!(dashboard.state.next_wake().is_none_or(|wake| wake > now()));
        }
    }
}
