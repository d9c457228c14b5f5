//! The keys of the dashboard.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use paw_screen::dashboard::{DashboardEvent, DashboardHost, DashboardOptions, DashboardUpdate};
use paw_view::SessionView;

use crate::sample::{self, answer, question, status};
use crate::test_dashboard::{TestDashboard, now};

const QUESTION: &str =
    "Should expired tokens be refused with 401, or refreshed silently when the refresh token is still good?";

fn control(letter: char) -> DashboardEvent {
    DashboardEvent::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL))
}

#[test]
fn q_hides_the_view_and_any_key_only_shows_it_again() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("q");
    assert!(dashboard.state.is_hidden() && !dashboard.quit);
    dashboard.keys("q");
    assert!(!dashboard.state.is_hidden() && dashboard.shows("feat-auth"));
}

#[test]
fn a_hidden_view_applies_updates_without_drawing() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("q");
    let before = dashboard.redraws;
    dashboard.update(status(50, now(), "feat-new", "hello from afar"));
    assert_eq!(dashboard.redraws, before);
    assert_eq!(dashboard.state.next_wake(), None);
    assert!(dashboard.keys("x").shows("hello from afar"));
}

#[test]
fn q_closes_an_attached_dashboard() {
    for event in [DashboardEvent::Key(KeyEvent::from(KeyCode::Char('q'))), control('c')] {
        let mut dashboard = TestDashboard::with(
            DashboardOptions { host: DashboardHost::Attached, ..sample::options() },
            sample::empty(),
            80,
            24,
        );
        dashboard.on(event);
        assert!(dashboard.quit && !dashboard.state.is_hidden());
    }
}

#[test]
fn control_c_hides_the_dashboard_of_a_session() {
    let mut dashboard = TestDashboard::of_session(80, 24);
    dashboard.on(control('c'));
    assert!(dashboard.state.is_hidden() && !dashboard.quit);
}

#[test]
fn enter_answers_the_selected_question() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.key(KeyCode::Tab).key(KeyCode::Enter).keys("Refuse them.").key(KeyCode::Enter);
    assert_eq!(dashboard.answers.len(), 1);
    let sent = &dashboard.answers[0];
    assert_eq!((sent.question, sent.asker.as_str(), sent.text.as_str()), (9, "feat-auth", "Refuse them."));
    assert_eq!(sent.quoted, QUESTION);
    assert!(dashboard.shows("sending to feat-auth") && dashboard.shows("needs you 1"));
    dashboard.update(answer(60, now(), "feat-auth", "Refuse them.", None));
    assert!(dashboard.shows("answered feat-auth") && !dashboard.shows("needs you"));
}

#[test]
fn an_answer_that_could_not_be_sent_is_kept() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("rno").key(KeyCode::Enter);
    dashboard.update(DashboardUpdate::AnswerFailed { question: 9, reason: "disk full".into() });
    assert!(dashboard.shows("answer not sent: disk full") && dashboard.shows("needs you 1"));
    dashboard.keys("rt yet").key(KeyCode::Esc).keys("r!").key(KeyCode::Enter);
    assert_eq!(dashboard.answers[1].text, "not yet!");
}

#[test]
fn an_empty_answer_is_not_sent() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("r  ").key(KeyCode::Enter);
    assert!(dashboard.answers.is_empty() && dashboard.shows("the answer is empty"));
    dashboard.key(KeyCode::Esc);
    assert!(!dashboard.shows("feat-auth asks"));
}

#[test]
fn a_paste_into_an_answer_is_one_line_and_sends_nothing() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("r").on(DashboardEvent::Paste("first\nsecond\u{1b}[2J".to_owned()));
    assert!(dashboard.answers.is_empty());
    dashboard.key(KeyCode::Enter);
    assert_eq!(dashboard.answers[0].text, "first second");
}

#[test]
fn browse_keys_are_text_while_an_answer_is_written() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("rq?/a1d").key(KeyCode::Enter);
    assert_eq!(dashboard.answers[0].text, "q?/a1d");
    assert!(!dashboard.state.is_hidden());
}

#[test]
fn an_answer_closes_the_question_it_quotes_or_else_the_oldest() {
    let mut dashboard = TestDashboard::empty(100, 30);
    for (seq, text) in [(1, "one?"), (2, "two?"), (3, "three?")] {
        dashboard.update(question(seq, now(), "a", text));
    }
    dashboard.update(answer(4, now(), "a", "yes", Some("two?")));
    dashboard.update(answer(5, now(), "a", "yes", None));
    assert!(dashboard.shows("needs you 1"));
    assert!(dashboard.line("? a ").contains("three?"));
}

#[test]
fn the_same_question_asked_again_is_one_question() {
    let mut dashboard = TestDashboard::empty(100, 30);
    for seq in [1, 2] {
        dashboard.update(question(seq, now(), "a", "why?"));
    }
    assert!(dashboard.shows("needs you 1"));
}

#[test]
fn x_dismisses_a_question() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("x");
    assert!(dashboard.shows("needs you 1"), "only where questions are chosen");
    dashboard.key(KeyCode::Tab).keys("x");
    assert!(!dashboard.shows("needs you 1") && dashboard.shows("feat-auth was not notified"));
}

#[test]
fn digits_filter_message_types_and_escape_shows_all() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("6");
    assert!(dashboard.shows("messages 1 of 10: question"));
    dashboard.keys("3");
    assert!(dashboard.shows("messages 2 of 10: blocked, question"));
    dashboard.keys("6");
    assert!(dashboard.shows("messages 1 of 10: blocked"));
    dashboard.key(KeyCode::Esc);
    assert!(dashboard.shows("messages 10 "));
    dashboard.keys("0");
    assert!(dashboard.shows("No messages match; Esc shows all"));
}

#[test]
fn search_filters_while_typing() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("/ARGON");
    assert!(dashboard.shows("messages 1 of 10: \"ARGON\""));
    dashboard.key(KeyCode::Enter).key(KeyCode::Enter);
    assert!(dashboard.shows("argon2 behind a trait") && dashboard.shows("▸ intent 2"));
    dashboard.key(KeyCode::Esc).keys("/x").key(KeyCode::Esc);
    assert!(dashboard.shows("messages 1 of 10: \"ARGON\""), "escape gives up the change");
    dashboard.key(KeyCode::Esc);
    assert!(dashboard.shows("messages 10 "));
}

#[test]
fn o_shows_the_messages_of_one_agent() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("jjjo");
    assert!(dashboard.shows("messages 2 of 10: of feat-api"), "{}", dashboard.screen());
    dashboard.keys("o");
    assert!(dashboard.shows("messages 10 "));
}

#[test]
fn the_newest_message_stays_visible_until_the_user_scrolls_back() {
    let mut dashboard = TestDashboard::empty(80, 14);
    let say = |dashboard: &mut TestDashboard, seq: u64| {
        dashboard.update(status(seq, now(), "a", &format!("message number {seq}.")));
    };
    (1..=50).for_each(|seq| say(&mut dashboard, seq));
    assert!(dashboard.shows("number 50."));
    dashboard.key(KeyCode::Tab).key(KeyCode::PageUp).key(KeyCode::PageUp);
    assert!(!dashboard.shows("number 50."));
    let before = dashboard.line("below").split_whitespace().nth(4).map(str::to_owned);
    (51..=60).for_each(|seq| say(&mut dashboard, seq));
    assert_ne!(dashboard.line("below").split_whitespace().nth(4).map(str::to_owned), before);
    assert!(!dashboard.shows("number 60."));
    dashboard.keys("G");
    assert!(dashboard.shows("number 60."));
    say(&mut dashboard, 61);
    assert!(dashboard.shows("number 61."));
}

#[test]
fn the_selected_agent_stays_selected_when_others_appear() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    dashboard.keys("jjj");
    dashboard.update(status(50, now(), "aaa-first", "working"));
    dashboard.keys("i");
    assert!(dashboard.shows("▸ feat-api"));
}

#[test]
fn the_number_of_kept_messages_is_limited() {
    let mut dashboard = TestDashboard::with(sample::options(), SessionView::new(5), 80, 24);
    for seq in 1..=20 {
        dashboard.update(status(seq, now(), "a", &format!("m{seq}.")));
    }
    assert!(dashboard.shows("messages 5 ") && dashboard.shows("m16.") && !dashboard.shows("m15."));
}

#[test]
fn a_message_that_arrives_twice_is_shown_once() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    let before = dashboard.redraws;
    dashboard.update(status(10, now(), "feat-auth", "working"));
    assert_eq!(dashboard.redraws, before);
    assert!(dashboard.shows("messages 10 "));
}

#[test]
fn l_hides_the_messages() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    assert!(!dashboard.keys("l").shows("messages"));
    assert!(dashboard.keys("l").shows("messages 10"));
}

#[test]
fn a_key_release_does_nothing() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    let mut key = KeyEvent::from(KeyCode::Char('q'));
    key.kind = KeyEventKind::Release;
    dashboard.on(DashboardEvent::Key(key));
    assert!(!dashboard.state.is_hidden());
}
