//! What agents write and people press, at its worst.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use paw_screen::dashboard::{Conflict, ConflictKind, Event, Feed, Header, Kind, Message, Role};
use paw_screen::text::Text;
use proptest::prelude::*;

use crate::picture::{Picture, now};
use crate::sample::{self, ago, id};

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

fn hostile_session(picture: &mut Picture, texts: &[&str]) {
    picture.feed(Feed::Header(Header {
        session: texts[0].into(),
        repository: texts[1 % texts.len()].into(),
        address: texts[2 % texts.len()].into(),
        open_to_all: true,
    }));
    for (number, text) in texts.iter().enumerate() {
        let mut agent = sample::agent(now(), &format!("a-{number}"), "working", &["x"], 1, text);
        agent.state = Text::line(text);
        agent.branch = Text::line(text);
        agent.cli = Text::line(text);
        agent.files = vec![Text::line(text)];
        picture.feed(Feed::Agent(agent));
        picture.feed(Feed::Conflict(Conflict {
            key: number.to_string(),
            kind: ConflictKind::Shared,
            file: Text::line(text),
            lines: Text::line(text),
            agents: [Text::line(text), Text::line(text)],
            since: ago(now(), 1),
            story: Text::new(text),
        }));
        let seq = number as u64 + 1;
        picture.feed(Feed::Message(Message {
            seq,
            at: now(),
            kind: Kind::Question,
            from: Text::line(text),
            to: Text::line(text),
            text: Text::line(text),
            fields: vec![(Text::line(text), Text::new(text))],
            role: Role::Question { asker: id("a-0"), question: (*text).to_owned() },
        }));
    }
}

/// Every row has as many columns as the screen, and nothing in it that a terminal obeys.
fn is_sound(picture: &mut Picture) {
    let columns = usize::from(picture.terminal.backend().buffer().area.width);
    let seen = picture.seen();
    for line in seen.lines() {
        assert!(paw_core::text::width(line) <= columns, "{line:?} in\n{seen}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert!(!line.contains(['\u{202e}', '\u{2066}', '\u{200d}', '\u{fe0f}']), "{line:?}");
    }
}

#[test]
fn hostile_texts_move_no_column_and_no_cursor() {
    for (columns, rows) in [(60, 12), (100, 30), (200, 50)] {
        let mut picture = Picture::empty(columns, rows);
        hostile_session(&mut picture, &TEXTS);
        is_sound(&mut picture);
        for panel in 0..4 {
            picture.key(KeyCode::Enter);
            is_sound(&mut picture);
            picture.key(KeyCode::Esc).key(KeyCode::Tab);
            assert!(panel < 4);
        }
    }
}

#[test]
fn wide_letters_leave_the_columns_where_they_are() {
    let mut picture = Picture::empty(100, 12);
    for (name, text) in [("a-one", "日本語"), ("a-two", "plain")] {
        let mut agent = sample::agent(now(), name, "working", &[], 5, "the same words");
        agent.branch = text.into();
        picture.feed(Feed::Agent(agent));
    }
    let column = |line: &str| paw_core::text::width(line.split("the same").next().unwrap());
    assert_eq!(column(&picture.line("a-one")), column(&picture.line("a-two")));
}

#[test]
fn lines_of_ten_thousand_letters_are_cut() {
    let long = "x".repeat(10_000);
    let wide = "語".repeat(10_000);
    let mut picture = Picture::empty(60, 12);
    hostile_session(&mut picture, &[&long, &wide]);
    is_sound(&mut picture);
    picture.key(KeyCode::Enter).keys("G");
    is_sound(&mut picture);
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
        4 => proptest::sample::select("qr?/adlo1230 jkgGnx".chars().collect::<Vec<_>>()).prop_map(KeyCode::Char),
        1 => any::<char>().prop_map(KeyCode::Char),
        3 => proptest::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab, KeyCode::Up, KeyCode::Down, KeyCode::Left,
            KeyCode::PageUp, KeyCode::PageDown, KeyCode::Home, KeyCode::End, KeyCode::Backspace, KeyCode::Delete,
        ]),
    ]
}

fn feed() -> impl Strategy<Value = Feed> {
    let agent = (0_usize..5, text(), 0_i64..9_000).prop_map(|(number, text, age)| {
        let names = ["supervisor", "a-b", "c", "feat-long-long-long-name-of-an-agent", "z_z"];
        Feed::Agent(sample::agent(now(), names[number], &text, &["f"], age, &text))
    });
    let message = (1_u64..60, 0_usize..10, text()).prop_map(|(seq, kind, text)| {
        Feed::Message(sample::message(now(), seq, 3, Kind::ALL[kind], ("a-b", "c"), &text))
    });
    let conflict = (0_usize..3, text()).prop_map(|(key, text)| {
        Feed::Conflict(Conflict {
            key: key.to_string(),
            kind: ConflictKind::Clash,
            file: Text::line(&text),
            lines: "1-2".into(),
            agents: ["a".into(), "b".into()],
            since: now(),
            story: Text::new(&text),
        })
    });
    prop_oneof![
        agent,
        message,
        conflict,
        (0_usize..3).prop_map(|key| Feed::ConflictCleared(key.to_string())),
        text().prop_map(|text| Feed::Lost(Text::line(&text))),
        Just(Feed::Found),
        Just(Feed::AgentGone(id("c"))),
        (1_u64..60, text())
            .prop_map(|(question, text)| Feed::AnswerFailed { question, reason: Text::line(&text) }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (code(), any::<bool>()).prop_map(|(code, control)| {
            let modifiers = if control && matches!(code, KeyCode::Char('l' | 'a' | 'd' | 'k')) { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
            Event::Key(KeyEvent::new(code, modifiers))
        }),
        4 => feed().prop_map(Event::Feed),
        1 => text().prop_map(Event::Paste),
        1 => (1_u16..120, 1_u16..40).prop_map(|(columns, rows)| Event::Resize { columns, rows }),
        1 => Just(Event::Wake),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_events_at_any_size_leave_a_sound_screen(
        columns in 1_u16..160, rows in 1_u16..50, events in proptest::collection::vec(event(), 0..60),
    ) {
        let mut picture = Picture::empty(columns, rows);
        picture.feed_all(sample::session(now()));
        for event in events {
            if let Event::Resize { columns, rows } = event {
                picture.resize(columns, rows);
            } else {
                picture.on(event);
            }
            is_sound(&mut picture);
            prop_assert!(picture.state.next_wake().is_none_or(|wake| wake > now()));
        }
    }
}
