//! When the screen is painted.

use std::io;

use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent};
use jiff::SignedDuration;
use paw_screen::dashboard::run::{DashboardChannels, DashboardExit, run};
use paw_screen::dashboard::{DashboardEvent, DashboardState};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

use crate::picture::{Picture, now};
use crate::sample;

#[test]
fn it_sleeps_until_an_age_reads_differently() {
    let mut picture = Picture::empty(80, 24);
    assert_eq!(picture.state.next_wake(), None);
    picture.update(sample::records(&[sample::agent(now(), "a-b", "working", &[], 600, "")]));
    let wake = picture.state.next_wake().unwrap();
    assert_eq!(wake.duration_since(now()), SignedDuration::from_secs(60));
    let before = picture.redraws;
    picture.now = wake - SignedDuration::from_secs(1);
    picture.on(DashboardEvent::Wake);
    assert_eq!(picture.redraws, before);
    picture.now = wake;
    picture.on(DashboardEvent::Wake);
    assert_eq!(picture.redraws, before + 1);
    assert!(picture.shows("11m"));
}

#[test]
fn ages_out_of_sight_wake_nobody() {
    let mut picture = Picture::empty(80, 12);
    let silent =
        (0..30).map(|number| sample::agent(now(), &format!("a-{number:02}"), "working", &[], 900, ""));
    let agents: Vec<_> = silent.chain([sample::agent(now(), "z-last", "working", &[], 5, "")]).collect();
    picture.update(sample::records(&agents));
    assert_eq!(picture.state.next_wake().unwrap().duration_since(now()), SignedDuration::from_secs(60));
    picture.keys("G");
    assert_eq!(picture.state.next_wake().unwrap().duration_since(now()), SignedDuration::from_secs(1));
}

#[test]
fn a_heartbeat_that_changes_nothing_paints_nothing() {
    let mut picture = Picture::of_session(100, 30);
    let before = picture.redraws;
    picture.update(sample::records(&sample::session(now()).agents));
    assert_eq!(picture.redraws, before);
}

#[tokio::test(start_paused = true)]
async fn the_loop_shows_news_hands_answers_over_and_closes() {
    let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
    let options =
        paw_screen::dashboard::Options { host: paw_screen::dashboard::Home::Attached, ..sample::options() };
    let state = DashboardState::new(options, sample::session(now()), 100, 30, now());
    let (_update, updates) = mpsc::channel(64);
    let (answers, mut answered) = mpsc::channel(1);
    let (key, keys) = mpsc::channel::<io::Result<TerminalEvent>>(64);
    let person = tokio::spawn(async move {
        // Keys come after the session was painted.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        for code in
            [KeyCode::Char('r'), KeyCode::Char('o'), KeyCode::Char('k'), KeyCode::Enter, KeyCode::Char('q')]
        {
            key.send(Ok(TerminalEvent::Key(KeyEvent::from(code)))).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    });
    let keys = ReceiverStream::new(keys).fuse();
    let end =
        run(&mut terminal, state, keys, DashboardChannels { updates, answers }, std::future::pending(), now)
            .await
            .unwrap();
    person.abort();
    assert_eq!(end, DashboardExit::Closed);
    assert_eq!(answered.recv().await.unwrap().text, "ok");
    let text: String =
        terminal.backend().buffer().content().iter().map(ratatui::buffer::Cell::symbol).collect();
    assert!(text.contains("feat-search") && text.contains("sending to feat-auth"));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_news_is_taken_in_and_the_loop_still_stops() {
    let mut terminal = Terminal::new(TestBackend::new(60, 12)).unwrap();
    let state = DashboardState::new(sample::options(), sample::empty(), 60, 12, now());
    let (update, updates) = mpsc::channel(64);
    let (answers, _answered) = mpsc::channel(1);
    let (_key, keys) = mpsc::channel::<io::Result<TerminalEvent>>(1);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        for seq in 1..=20_000 {
            update.send(sample::status(seq, now(), "a", &format!("n{seq}."))).await.unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let _ = stop.send(());
        std::future::pending::<()>().await;
    });
    let stop = async {
        let _ = stopped.await;
    };
    let keys = ReceiverStream::new(keys);
    let end =
        run(&mut terminal, state, keys, DashboardChannels { updates, answers }, stop, now).await.unwrap();
    assert_eq!(end, DashboardExit::Stopped);
    let text: String =
        terminal.backend().buffer().content().iter().map(ratatui::buffer::Cell::symbol).collect();
    assert!(text.contains("n20000."));
}

#[tokio::test]
async fn a_terminal_that_is_gone_ends_the_loop() {
    let mut terminal = Terminal::new(TestBackend::new(60, 12)).unwrap();
    let state = DashboardState::new(sample::options(), sample::empty(), 60, 12, now());
    let (_update, updates) = mpsc::channel(1);
    let (answers, _answered) = mpsc::channel(1);
    let keys = tokio_stream::iter([Err(io::Error::other("gone"))]);
    let end =
        run(&mut terminal, state, keys, DashboardChannels { updates, answers }, std::future::pending(), now)
            .await
            .unwrap();
    assert_eq!(end, DashboardExit::TerminalGone);
}
