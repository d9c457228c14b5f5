//! The event loop of the dashboard, and when it redraws.

use std::io;

use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent};
use jiff::SignedDuration;
use paw_screen::dashboard::run::{DashboardChannels, DashboardExit, run};
use paw_screen::dashboard::{DashboardEvent, DashboardRequest, DashboardState};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

use crate::sample;
use crate::test_dashboard::{TestDashboard, now};

#[test]
fn dashboard_wakes_when_a_visible_age_changes() {
    let mut dashboard = TestDashboard::empty(80, 24);
    assert_eq!(dashboard.state.next_wake(), None);
    dashboard.update(sample::records(&[sample::agent(now(), "a-b", "working", &[], 600, "")]));
    let wake = dashboard.state.next_wake().unwrap();
    assert_eq!(wake.duration_since(now()), SignedDuration::from_secs(60));
    let before = dashboard.redraws;
    dashboard.now = wake - SignedDuration::from_secs(1);
    dashboard.on(DashboardEvent::Wake);
    assert_eq!(dashboard.redraws, before);
    dashboard.now = wake;
    dashboard.on(DashboardEvent::Wake);
    assert_eq!(dashboard.redraws, before + 1);
    assert!(dashboard.shows("11m"));
}

#[test]
fn dashboard_does_not_wake_for_invisible_ages() {
    let mut dashboard = TestDashboard::empty(80, 12);
    let silent =
        (0..30).map(|number| sample::agent(now(), &format!("a-{number:02}"), "working", &[], 900, ""));
    let agents: Vec<_> = silent.chain([sample::agent(now(), "z-last", "working", &[], 5, "")]).collect();
    dashboard.update(sample::records(&agents));
    assert_eq!(dashboard.state.next_wake().unwrap().duration_since(now()), SignedDuration::from_secs(60));
    dashboard.keys("G");
    assert_eq!(dashboard.state.next_wake().unwrap().duration_since(now()), SignedDuration::from_secs(1));
}

#[test]
fn an_update_without_changes_does_not_redraw() {
    let mut dashboard = TestDashboard::of_session(100, 30);
    let before = dashboard.redraws;
    dashboard.update(sample::records(&sample::session(now()).agents));
    assert_eq!(dashboard.redraws, before);
}

#[tokio::test(start_paused = true)]
async fn run_draws_updates_sends_answers_and_closes() {
    let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
    let options = paw_screen::dashboard::DashboardOptions {
        host: paw_screen::dashboard::DashboardHost::Attached,
        ..sample::options()
    };
    let state = DashboardState::new(options, sample::session(now()), 100, 30, now());
    let (_update, updates) = mpsc::channel(64);
    let (requests, mut requested) = mpsc::channel(4);
    let (key, keys) = mpsc::channel::<io::Result<TerminalEvent>>(64);
    let person = tokio::spawn(async move {
        // Keys come after the session was drawn.
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
        run(&mut terminal, state, keys, DashboardChannels { updates, requests }, std::future::pending(), now)
            .await
            .unwrap();
    person.abort();
    assert_eq!(end, DashboardExit::Closed);
    let asked = requested.recv().await.unwrap();
    assert!(matches!(&asked, DashboardRequest::Answer(answer) if answer.text == "ok"), "{asked:?}");
    let text: String =
        terminal.backend().buffer().content().iter().map(ratatui::buffer::Cell::symbol).collect();
    assert!(text.contains("feat-search") && text.contains("sending to feat-auth"));
}

#[tokio::test(start_paused = true)]
async fn run_stops_during_a_flood_of_updates() {
    let mut terminal = Terminal::new(TestBackend::new(60, 12)).unwrap();
    let state = DashboardState::new(sample::options(), sample::empty(), 60, 12, now());
    let (update, updates) = mpsc::channel(64);
    let (requests, _requested) = mpsc::channel(1);
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
        run(&mut terminal, state, keys, DashboardChannels { updates, requests }, stop, now).await.unwrap();
    assert_eq!(end, DashboardExit::Stopped);
    let text: String =
        terminal.backend().buffer().content().iter().map(ratatui::buffer::Cell::symbol).collect();
    assert!(text.contains("n20000."));
}

#[tokio::test]
async fn run_ends_when_the_terminal_is_closed() {
    let mut terminal = Terminal::new(TestBackend::new(60, 12)).unwrap();
    let state = DashboardState::new(sample::options(), sample::empty(), 60, 12, now());
    let (_update, updates) = mpsc::channel(1);
    let (requests, _requested) = mpsc::channel(1);
    let keys = tokio_stream::iter([Err(io::Error::other("gone"))]);
    let end =
        run(&mut terminal, state, keys, DashboardChannels { updates, requests }, std::future::pending(), now)
            .await
            .unwrap();
    assert_eq!(end, DashboardExit::TerminalGone);
}

#[test]
fn dashboard_does_not_redraw_for_the_minute_of_each_agent() {
    let mut dashboard = TestDashboard::empty(80, 40);
    let agents: Vec<_> = (0..25)
        .map(|number| sample::agent(now(), &format!("a-{number:02}"), "working", &[], 600 + number, ""))
        .collect();
    dashboard.update(sample::records(&agents));
    let (start, before) = (now(), dashboard.redraws);
    while let Some(wake) =
        dashboard.state.next_wake().filter(|wake| wake.duration_since(start).as_secs() < 60)
    {
        dashboard.now = wake;
        dashboard.on(DashboardEvent::Wake);
    }
    assert!(dashboard.redraws - before <= 6, "{} in a minute", dashboard.redraws - before);
}
