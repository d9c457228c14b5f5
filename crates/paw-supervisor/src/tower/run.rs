//! The loop of the tower, on a thread of its own in the session's process.
//!
//! Hooks wake it at once. Panes are looked at when something was drawn in them; how often that is asked depends on how
//! long nothing has happened.

mod answer;
mod border;
mod desk;
mod pace;
mod sheet;

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use notify::{EventKind, RecursiveMode, Watcher as _};
use paw_broker::message::Message;
use paw_core::SessionName;
use paw_core::config::SupervisorConfig;
use paw_host::clock::{self, Stopwatch};
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_session::Receipts;

use self::desk::Desk;

/// What the tower watches, and by which rules.
#[derive(Debug, Clone)]
pub struct Settings {
    pub repo: Repo,
    pub dirs: Dirs,
    pub receipts: Receipts,
    pub session: SessionName,
    pub config: SupervisorConfig,
}

enum Wake {
    /// A hook has told something.
    Told,
    Stop,
}

/// A tower that watches until it is dropped.
#[derive(Debug)]
pub struct Tower {
    wake: Sender<Wake>,
    thread: Option<JoinHandle<()>>,
    /// Nobody would be told by it any more.
    _watcher: Option<notify::RecommendedWatcher>,
}

impl Tower {
    /// Begins to watch. `publish` is called on the tower's own thread.
    pub fn start(settings: Settings, publish: impl FnMut(Message) + Send + 'static) -> io::Result<Self> {
        let (wake, woken) = mpsc::channel();
        let mut desk = Desk::new(settings, Box::new(publish));
        let told = wake.clone();
        let watcher = watch(&desk, told);
        let thread = thread::Builder::new().name("paw-tower".to_owned()).spawn(move || {
            run(&mut desk, &woken);
            desk.clear_borders();
        })?;
        Ok(Self { wake, thread: Some(thread), _watcher: watcher })
    }
}

impl Drop for Tower {
    fn drop(&mut self) {
        let _ = self.wake.send(Wake::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Hooks are heard a little later where the directory cannot be watched.
fn watch(desk: &Desk, told: Sender<Wake>) -> Option<notify::RecommendedWatcher> {
    let dir = desk.notes_dir()?;
    let on_event = move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_))) {
            let _ = told.send(Wake::Told);
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).ok()?;
    watcher.watch(&dir, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

fn run(desk: &mut Desk, woken: &Receiver<Wake>) {
    let mut quiet = Stopwatch::start();
    let mut due = Stopwatch::start();
    loop {
        match woken.recv_timeout(due.remaining(desk.pace().next(quiet.elapsed()))) {
            Ok(Wake::Told) => {
                // Several lines at once are one reason to look.
                if woken.try_iter().any(|wake| matches!(wake, Wake::Stop)) {
                    return;
                }
                desk.hear(clock::now());
                quiet = Stopwatch::start();
            }
            Err(RecvTimeoutError::Timeout) => {
                if desk.look(clock::now()) {
                    quiet = Stopwatch::start();
                }
                due = Stopwatch::start();
            }
            Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
