//! A dashboard on a test terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use paw_core::AgentId;
use paw_screen::dashboard::{
    DashboardEffect, DashboardEvent, DashboardOptions, DashboardRequest, DashboardState, DashboardUpdate,
    OperatorAnswer, draw,
};
use paw_view::SessionView;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::sample;

pub(crate) fn now() -> Timestamp {
    "2026-11-15T09:30:00Z".parse().unwrap()
}

/// A dashboard with a test terminal and a fixed clock.
pub(crate) struct TestDashboard {
    pub(crate) state: DashboardState,
    pub(crate) terminal: Terminal<TestBackend>,
    pub(crate) now: Timestamp,
    pub(crate) answers: Vec<OperatorAnswer>,
    /// Everything else that was asked for.
    pub(crate) requests: Vec<DashboardRequest>,
    pub(crate) attached: Option<AgentId>,
    pub(crate) quit: bool,
    pub(crate) redraws: usize,
}

impl TestDashboard {
    pub(crate) fn empty(columns: u16, rows: u16) -> Self {
        Self::with(sample::options(), sample::empty(), columns, rows)
    }

    pub(crate) fn with(options: DashboardOptions, view: SessionView, columns: u16, rows: u16) -> Self {
        Self {
            state: DashboardState::new(options, view, columns, rows, now()),
            terminal: Terminal::new(TestBackend::new(columns, rows)).unwrap(),
            now: now(),
            answers: Vec::new(),
            requests: Vec::new(),
            attached: None,
            quit: false,
            redraws: 0,
        }
    }

    /// With the sample session.
    pub(crate) fn of_session(columns: u16, rows: u16) -> Self {
        Self::with(sample::options(), sample::session(now()), columns, rows)
    }

    pub(crate) fn update(&mut self, update: DashboardUpdate) -> &mut Self {
        self.on(DashboardEvent::Update(update))
    }

    pub(crate) fn on(&mut self, event: DashboardEvent) -> &mut Self {
        for effect in self.state.on_event(event, self.now) {
            match effect {
                DashboardEffect::Redraw => self.redraws += 1,
                DashboardEffect::Repaint => {}
                DashboardEffect::Request(DashboardRequest::Answer(answer)) => self.answers.push(answer),
                DashboardEffect::Request(request) => self.requests.push(request),
                DashboardEffect::Attach(agent) => self.attached = Some(agent),
                DashboardEffect::Quit => self.quit = true,
            }
        }
        self
    }

    pub(crate) fn key(&mut self, code: KeyCode) -> &mut Self {
        self.on(DashboardEvent::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    /// Presses a key for every letter.
    pub(crate) fn keys(&mut self, letters: &str) -> &mut Self {
        for letter in letters.chars() {
            self.key(KeyCode::Char(letter));
        }
        self
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        self.terminal.backend_mut().resize(columns, rows);
        self.on(DashboardEvent::Resize { columns, rows })
    }

    /// The screen without trailing spaces.
    pub(crate) fn screen(&mut self) -> String {
        self.terminal.draw(|frame| draw(&self.state, frame)).unwrap();
        let buffer = self.terminal.backend().buffer();
        let width = usize::from(buffer.area.width);
        let mut lines = Vec::new();
        for row in buffer.content().chunks(width.max(1)) {
            let mut line = String::new();
            let mut skip = 0;
            for cell in row {
                if skip == 0 {
                    line.push_str(cell.symbol());
                    skip = paw_core::text::width(cell.symbol()).max(1);
                }
                skip -= 1;
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n")
    }

    /// The line that contains `text`.
    pub(crate) fn line(&mut self, text: &str) -> String {
        let seen = self.screen();
        let line = seen.lines().find(|line| line.contains(text));
        line.unwrap_or_else(|| panic!("{text:?} is not in\n{seen}")).to_owned()
    }

    pub(crate) fn shows(&mut self, text: &str) -> bool {
        self.screen().contains(text)
    }
}
