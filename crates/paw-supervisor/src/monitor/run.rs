//! The monitor's loop, on its own thread in the session's process.
//!
//! Hooks wake it at once. Panes are captured when something was drawn in their windows; the poll interval grows while nothing
//! changes.

mod activity_note;
mod answer;
mod border;
mod monitored_agent;
mod poll_interval;
mod state;

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use notify::{EventKind, RecursiveMode, Watcher as _};
use paw_broker::message::Message;
use paw_core::config::SupervisorConfig;
use paw_core::{AgentId, SessionName};
use paw_host::clock::{self, Stopwatch};
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_session::Receipts;
use paw_view::Observation;

use self::state::MonitorState;

/// What the monitor watches, and its configuration.
#[derive(Debug, Clone)]
pub struct MonitorSettings {
    pub repo: Repo,
    pub dirs: Dirs,
    pub receipts: Receipts,
    pub session: SessionName,
    pub config: SupervisorConfig,
}

/// What the monitor found out.
#[derive(Debug, Clone, PartialEq)]
pub enum MonitorEvent {
    /// A message for the session's broker.
    Publish(Box<Message>),
    /// An agent's state, or what it waits for, changed.
    Observed { agent: AgentId, seen: Observation },
    /// An agent makes no progress.
    Stalled { agent: AgentId, reason: String },
    /// The screen of an agent has changed.
    ScreenChanged,
}

impl From<Message> for MonitorEvent {
    fn from(message: Message) -> Self {
        Self::Publish(Box::new(message))
    }
}

enum Wake {
    /// A hook wrote a note.
    HookEvent,
    Stop,
}

/// A running monitor. It stops when it is dropped.
#[derive(Debug)]
pub struct Monitor {
    wake: Sender<Wake>,
    thread: Option<JoinHandle<()>>,
    /// Kept alive: a dropped watcher reports nothing.
    _watcher: Option<notify::RecommendedWatcher>,
}

impl Monitor {
    /// Starts the monitor. `report` is called on the monitor's thread.
    pub fn start(
        settings: MonitorSettings,
        report: impl FnMut(MonitorEvent) + Send + 'static,
    ) -> io::Result<Self> {
        let (wake, woken) = mpsc::channel();
        let mut state = MonitorState::new(settings, Box::new(report));
        let hook_events = wake.clone();
        let watcher = watch(&state, hook_events);
        let thread = thread::Builder::new().name("paw-monitor".to_owned()).spawn(move || {
            run(&mut state, &woken);
            state.clear_borders();
        })?;
        Ok(Self { wake, thread: Some(thread), _watcher: watcher })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.wake.send(Wake::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Where the directory cannot be watched, hook notes are read at the next poll.
fn watch(state: &MonitorState, hook_events: Sender<Wake>) -> Option<notify::RecommendedWatcher> {
    let dir = state.notes_dir()?;
    let on_event = move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_))) {
            let _ = hook_events.send(Wake::HookEvent);
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).ok()?;
    watcher.watch(&dir, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

fn run(state: &mut MonitorState, woken: &Receiver<Wake>) {
    let mut quiet = Stopwatch::start();
    let mut due = Stopwatch::start();
    loop {
        match woken.recv_timeout(due.remaining(state.wait_after(quiet.elapsed()))) {
            Ok(Wake::HookEvent) => {
                // Several notes at once are read together.
                if woken.try_iter().any(|wake| matches!(wake, Wake::Stop)) {
                    return;
                }
                state.read_hooks(clock::now());
                quiet = Stopwatch::start();
            }
            Err(RecvTimeoutError::Timeout) => {
                if state.poll(clock::now()) {
                    quiet = Stopwatch::start();
                }
                due = Stopwatch::start();
            }
            Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
