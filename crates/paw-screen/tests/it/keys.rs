//! What keys do.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use paw_screen::dashboard::{DashboardEvent, DashboardHost, DashboardOptions, DashboardUpdate};
use paw_view::SessionView;

use crate::picture::{Picture, now};
use crate::sample::{self, answer, question, status};

const QUESTION: &str =
    "Should expired tokens be refused with 401, or refreshed silently when the refresh token is still good?";

fn control(letter: char) -> DashboardEvent {
    DashboardEvent::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL))
}

#[test]
fn q_hides_the_view_and_any_key_shows_it_again_without_doing_anything_else() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("q");
    assert!(picture.state.is_hidden() && !picture.quit);
    picture.keys("q");
    assert!(!picture.state.is_hidden() && picture.shows("feat-auth"));
}

#[test]
fn what_happens_while_hidden_is_there_afterwards_and_paints_nothing() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("q");
    let before = picture.redraws;
    picture.update(status(50, now(), "feat-new", "hello from afar"));
    assert_eq!(picture.redraws, before);
    assert_eq!(picture.state.next_wake(), None);
    assert!(picture.keys("x").shows("hello from afar"));
}

#[test]
fn q_closes_a_view_that_is_only_attached() {
    for event in [DashboardEvent::Key(KeyEvent::from(KeyCode::Char('q'))), control('c')] {
        let mut picture = Picture::with(
            DashboardOptions { host: DashboardHost::Attached, ..sample::options() },
            sample::empty(),
            80,
            24,
        );
        picture.on(event);
        assert!(picture.quit && !picture.state.is_hidden());
    }
}

#[test]
fn control_c_hides_and_does_not_end_the_broker() {
    let mut picture = Picture::of_session(80, 24);
    picture.on(control('c'));
    assert!(picture.state.is_hidden() && !picture.quit);
}

#[test]
fn a_question_is_answered_in_place() {
    let mut picture = Picture::of_session(100, 30);
    picture.key(KeyCode::Tab).key(KeyCode::Enter).keys("Refuse them.").key(KeyCode::Enter);
    assert_eq!(picture.answers.len(), 1);
    let sent = &picture.answers[0];
    assert_eq!((sent.question, sent.asker.as_str(), sent.text.as_str()), (9, "feat-auth", "Refuse them."));
    assert_eq!(sent.quoted, QUESTION);
    assert!(picture.shows("sending to feat-auth") && picture.shows("questions 1"));
    picture.update(answer(60, now(), "feat-auth", "Refuse them.", None));
    assert!(picture.shows("answered feat-auth") && !picture.shows("questions"));
}

#[test]
fn an_answer_that_did_not_get_through_is_not_lost() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("rno").key(KeyCode::Enter);
    picture.update(DashboardUpdate::AnswerFailed { question: 9, reason: "disk full".into() });
    assert!(picture.shows("answer not sent: disk full") && picture.shows("questions 1"));
    picture.keys("rt yet").key(KeyCode::Esc).keys("r!").key(KeyCode::Enter);
    assert_eq!(picture.answers[1].text, "not yet!");
}

#[test]
fn an_empty_answer_is_not_sent_and_escape_goes_back() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("r  ").key(KeyCode::Enter);
    assert!(picture.answers.is_empty() && picture.shows("an answer needs words"));
    picture.key(KeyCode::Esc);
    assert!(!picture.shows("feat-auth asks"));
}

#[test]
fn what_is_pasted_into_an_answer_is_one_line_and_sends_nothing() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("r").on(DashboardEvent::Paste("first\nsecond\u{1b}[2J".to_owned()));
    assert!(picture.answers.is_empty());
    picture.key(KeyCode::Enter);
    assert_eq!(picture.answers[0].text, "first second");
}

#[test]
fn keys_of_the_browser_are_letters_while_an_answer_is_written() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("rq?/a1d").key(KeyCode::Enter);
    assert_eq!(picture.answers[0].text, "q?/a1d");
    assert!(!picture.state.is_hidden());
}

#[test]
fn an_answer_closes_the_question_it_quotes_or_else_the_oldest() {
    let mut picture = Picture::empty(100, 30);
    for (seq, text) in [(1, "one?"), (2, "two?"), (3, "three?")] {
        picture.update(question(seq, now(), "a", text));
    }
    picture.update(answer(4, now(), "a", "yes", Some("two?")));
    picture.update(answer(5, now(), "a", "yes", None));
    assert!(picture.shows("questions 1"));
    assert!(picture.line("? a ").contains("three?"));
}

#[test]
fn the_same_question_asked_again_is_one_question() {
    let mut picture = Picture::empty(100, 30);
    for seq in [1, 2] {
        picture.update(question(seq, now(), "a", "why?"));
    }
    assert!(picture.shows("questions 1"));
}

#[test]
fn a_question_can_be_taken_off_the_screen() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("d");
    assert!(picture.shows("questions 1"), "only where questions are chosen");
    picture.key(KeyCode::Tab).keys("d");
    assert!(!picture.shows("questions 1") && picture.shows("feat-auth was told nothing"));
}

#[test]
fn digits_choose_types_of_messages_and_a_shows_all() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("6");
    assert!(picture.shows("messages 1 of 10: question"));
    picture.keys("3");
    assert!(picture.shows("messages 2 of 10: blocked, question"));
    picture.keys("6");
    assert!(picture.shows("messages 1 of 10: blocked"));
    picture.keys("a");
    assert!(picture.shows("messages 10 "));
    picture.keys("0");
    assert!(picture.shows("No message fits; a shows all"));
}

#[test]
fn a_search_narrows_while_it_is_typed() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("/ARGON");
    assert!(picture.shows("messages 1 of 10: \"ARGON\""));
    picture.key(KeyCode::Enter).key(KeyCode::Enter);
    assert!(picture.shows("argon2 behind a trait") && picture.shows("▸ intent 2"));
    picture.key(KeyCode::Esc).keys("/x").key(KeyCode::Esc);
    assert!(picture.shows("messages 1 of 10: \"ARGON\""), "escape gives up the change");
    picture.key(KeyCode::Esc);
    assert!(picture.shows("messages 10 "));
}

#[test]
fn o_shows_the_messages_of_one_agent() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("jjo");
    assert!(picture.shows("messages 2 of 10: of feat-api"), "{}", picture.seen());
    picture.keys("o");
    assert!(picture.shows("messages 10 "));
}

#[test]
fn the_newest_message_stays_in_sight_until_one_looks_back() {
    let mut picture = Picture::empty(80, 14);
    let say = |picture: &mut Picture, seq: u64| {
        picture.update(status(seq, now(), "a", &format!("message number {seq}.")));
    };
    (1..=50).for_each(|seq| say(&mut picture, seq));
    assert!(picture.shows("number 50."));
    picture.key(KeyCode::Tab).key(KeyCode::PageUp).key(KeyCode::PageUp);
    assert!(!picture.shows("number 50."));
    let before = picture.line("below").split_whitespace().nth(4).map(str::to_owned);
    (51..=60).for_each(|seq| say(&mut picture, seq));
    assert_ne!(picture.line("below").split_whitespace().nth(4).map(str::to_owned), before);
    assert!(!picture.shows("number 60."));
    picture.keys("G");
    assert!(picture.shows("number 60."));
    say(&mut picture, 61);
    assert!(picture.shows("number 61."));
}

#[test]
fn the_chosen_agent_stays_chosen_when_others_come() {
    let mut picture = Picture::of_session(100, 30);
    picture.keys("jj");
    picture.update(status(50, now(), "aaa-first", "working"));
    picture.key(KeyCode::Enter);
    assert!(picture.shows("▸ feat-api"));
}

#[test]
fn only_so_many_messages_are_kept() {
    let mut picture = Picture::with(sample::options(), SessionView::new(5), 80, 24);
    for seq in 1..=20 {
        picture.update(status(seq, now(), "a", &format!("m{seq}.")));
    }
    assert!(picture.shows("messages 5 ") && picture.shows("m16.") && !picture.shows("m15."));
}

#[test]
fn a_message_that_comes_twice_is_shown_once() {
    let mut picture = Picture::of_session(100, 30);
    let before = picture.redraws;
    picture.update(status(10, now(), "feat-auth", "working"));
    assert_eq!(picture.redraws, before);
    assert!(picture.shows("messages 10 "));
}

#[test]
fn l_closes_the_panel_of_messages() {
    let mut picture = Picture::of_session(100, 30);
    assert!(!picture.keys("l").shows("messages"));
    assert!(picture.keys("l").shows("messages 10"));
}

#[test]
fn a_key_that_is_let_go_does_nothing() {
    let mut picture = Picture::of_session(100, 30);
    let mut key = KeyEvent::from(KeyCode::Char('q'));
    key.kind = KeyEventKind::Release;
    picture.on(DashboardEvent::Key(key));
    assert!(!picture.state.is_hidden());
}
