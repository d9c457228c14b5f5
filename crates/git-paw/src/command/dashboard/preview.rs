//! Sends the pane of the selected agent to the dashboard whenever it changes.

use std::sync::mpsc::{self as channel, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use std::{io, thread};

use paw_core::AgentId;
use paw_screen::dashboard::DashboardUpdate;
use paw_screen::text::Text;
use paw_session::lifecycle::Session;
use tokio::sync::mpsc;

/// Sends the pane of the agent that was last asked for.
pub(super) fn start(
    session: Option<Session>,
    updates: mpsc::Sender<DashboardUpdate>,
) -> io::Result<Sender<Option<AgentId>>> {
    let (sender, wanted) = channel::channel();
    thread::Builder::new().name("paw-preview".into()).spawn(move || {
        if let Some(session) = session {
            follow(&session, &wanted, &updates);
        }
    })?;
    Ok(sender)
}

/// The time between two captures of a pane that has not changed this many times.
fn wait_after(unchanged: u32) -> Duration {
    match unchanged {
        0..8 => Duration::from_millis(400),
        8..30 => Duration::from_secs(1),
        _ => Duration::from_secs(4),
    }
}

fn follow(session: &Session, wanted: &Receiver<Option<AgentId>>, updates: &mpsc::Sender<DashboardUpdate>) {
    let mut shown: Option<ShownPane> = None;
    loop {
        let next = match &shown {
            None => wanted.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(pane) => wanted.recv_timeout(wait_after(pane.unchanged)),
        };
        match next {
            // The selection may have moved over several agents.
            Ok(agent) => shown = wanted.try_iter().last().unwrap_or(agent).map(ShownPane::new),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if let Some(update) = shown.as_mut().and_then(|pane| pane.capture(session))
            && updates.blocking_send(update).is_err()
        {
            return;
        }
    }
}

struct ShownPane {
    agent: AgentId,
    pane: Option<String>,
    text: Option<String>,
    unchanged: u32,
}

impl ShownPane {
    fn new(agent: AgentId) -> Self {
        Self { agent, pane: None, text: None, unchanged: 0 }
    }

    /// The pane's rows, if they have changed.
    fn capture(&mut self, session: &Session) -> Option<DashboardUpdate> {
        let pane = self.pane.take().or_else(|| find_pane(session, &self.agent));
        let text =
            pane.as_ref().map(|pane| session.tmux.capture_pane(pane).map_err(|error| error.to_string()));
        let text = match text {
            Some(Ok(text)) => {
                self.pane = pane;
                text
            }
            // The pane was closed; it is looked for again.
            Some(Err(_)) | None => "it has no pane".to_owned(),
        };
        self.unchanged = self.unchanged.saturating_add(1);
        if self.text.as_ref() == Some(&text) {
            return None;
        }
        self.unchanged = 0;
        let rows = text.lines().map(|line| Text::row(line).to_string()).collect();
        self.text = Some(text);
        Some(DashboardUpdate::Preview { agent: self.agent.clone(), rows })
    }
}

fn find_pane(session: &Session, agent: &AgentId) -> Option<String> {
    let window = session.find_window().ok()??;
    window.find_pane(agent.as_str()).map(|pane| pane.id.clone())
}
