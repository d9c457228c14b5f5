//! `--pane`: runs the executor in a tmux window of the session, where the user can watch it.
//!
//! A git paw process in the window runs the executor, with the same time limit and log, and reports to the run. If
//! either process ends, the other one stops.
//!
//! - `protocol`: the messages between the two
//! - `window`: the tmux window
//! - `worker`: the process in the window

mod protocol;
mod window;
mod worker;

use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use paw_core::{PawError, SessionName};
use paw_host::clock::Stopwatch;
use paw_host::process::{Exit, end_marked};
use paw_host::tmux::Tmux;
use paw_session::lifecycle::Session;
use tempfile::TempDir;

use crate::executor::{Executor, ExecutorBackend, ExecutorTask, TurnError, TurnResult};
use crate::work::ActiveRun;
use protocol::{PaneReply, PaneRequest};
use window::WindowSpec;
pub use worker::{PaneText, serve_run};

/// The hidden command that runs in the pane; its argument is the run's socket.
pub const COMMAND: &str = "__executor-pane";

/// How long the process in a new pane may take to connect.
const ARRIVAL: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The worker stops an attempt at its limit. If it cannot, because its terminal is suspended, the run does after this
/// time.
const GRACE: Duration = Duration::from_secs(15);

/// The session that shows the executor.
#[derive(Debug, Clone)]
pub struct PaneSession {
    tmux: Tmux,
    session: SessionName,
    /// The session in tmux, which users may have renamed.
    target: String,
}

impl PaneSession {
    /// `None` if the session is not running.
    pub fn of(session: &Session) -> Result<Option<Self>, PawError> {
        let window = session.find_window()?;
        Ok(window.map(|window| Self {
            tmux: session.tmux.clone(),
            session: session.receipt.session_name.clone(),
            target: window.session,
        }))
    }
}

/// The pane of one run.
#[derive(Debug)]
pub struct ExecutorPane {
    place: PaneSession,
    name: String,
    mark: String,
    project: std::path::PathBuf,
    open: Option<OpenPane>,
}

#[derive(Debug)]
struct OpenPane {
    pane: String,
    stream: UnixStream,
    answers: Receiver<PaneReply>,
    _socket: TempDir,
}

impl ExecutorPane {
    pub fn new(place: PaneSession, work: &ActiveRun) -> Self {
        let name = format!("task-{}", work.run.request.task);
        let (mark, project) = (work.notes.pane_mark(), work.context.project.root.clone());
        Self { place, name, mark, project, open: None }
    }

    /// Tells the user where the pane is.
    pub fn shown(&self) -> String {
        format!("window {} of session '{}' (git paw attach)", self.name, self.place.session)
    }

    /// Shows the last words in the window, which stays open; without them, removes the window.
    pub fn end(self, last_words: Option<String>) {
        match (last_words, self.open) {
            (Some(words), Some(open)) => drop(protocol::send(&open.stream, &PaneRequest::End { words })),
            (Some(_), None) => {}
            // Also removes a window of an earlier process of this run.
            (None, _) => window::remove_all(&self.place.tmux, &self.place.target, &self.project),
        }
    }

    fn open(&mut self) -> Result<&OpenPane, PawError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.make()?,
        };
        Ok(self.open.insert(open))
    }

    fn make(&self) -> Result<OpenPane, PawError> {
        let failed =
            |what: &str, error: std::io::Error| PawError::internal(format!("cannot {what}: {error}"));
        let dir = tempfile::Builder::new().prefix("git-paw-").tempdir();
        let dir = dir.map_err(|error| failed("make a directory", error))?;
        let path = dir.path().join("pane");
        let listener = UnixListener::bind(&path).map_err(|error| failed("listen to the pane", error))?;
        listener.set_nonblocking(true).map_err(|error| failed("listen to the pane", error))?;
        let program = paw_host::process::own_program()?;
        let wanted = WindowSpec {
            session: &self.place.target,
            project: &self.project,
            name: &self.name,
            mark: &self.mark,
            command: vec![program.into(), COMMAND.into(), path.into()],
        };
        let pane = window::make(&self.place.tmux, &wanted)?;
        let stream = self.wait_for_worker(&listener, &pane)?;
        let reader = stream.try_clone().map_err(|error| failed("listen to the pane", error))?;
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || protocol::receive(reader, |answer| sender.send(answer).is_ok()));
        Ok(OpenPane { pane, stream, answers, _socket: dir })
    }

    /// Waits until the worker connects.
    fn wait_for_worker(&self, listener: &UnixListener, pane: &str) -> Result<UnixStream, PawError> {
        let watch = Stopwatch::start();
        let mut looks = 0_u32;
        loop {
            if let Ok((stream, _)) = listener.accept() {
                let usable = stream.set_nonblocking(false);
                return usable.map(|()| stream).map_err(|error| {
                    PawError::internal(format!("cannot talk to the executor's pane: {error}"))
                });
            }
            looks += 1;
            let gone = looks.is_multiple_of(25) && !window::is_alive(&self.place.tmux, pane);
            if gone || watch.remaining(ARRIVAL).is_zero() {
                let shown = self.place.tmux.capture_pane(pane).unwrap_or_default();
                window::remove(&self.place.tmux, pane);
                return Err(PawError::TmuxError(format!(
                    "the executor's pane did not start\n{}",
                    shown.trim_end()
                )));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl ExecutorBackend for ExecutorPane {
    fn work(
        &mut self,
        executor: &Executor,
        assignment: &ExecutorTask,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<TurnResult, TurnError> {
        let watch = Stopwatch::start();
        let (mark, tmux) = (self.mark.clone(), self.place.tmux.clone());
        let open = self.open().map_err(|error| TurnError::NoPlace(error.to_string()))?;
        let sent = PaneRequest::Work { executor: executor.clone(), assignment: Box::new(assignment.clone()) };
        let sent = protocol::send(&open.stream, &sent);
        let closed = || {
            // Kill executors that ignore SIGHUP.
            end_marked(&assignment.mark);
            let there = window::exists(&tmux, &open.pane);
            let what = if there { "was stopped in its pane" } else { "lost its pane, which was closed" };
            Err(TurnError::Closed(format!("The executor {what}")))
        };
        if let Err(error) = sent {
            return match error.kind() {
                std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
                    Err(TurnError::NoPlace(format!("cannot tell the pane what to do: {error}")))
                }
                _ => closed(),
            };
        }
        loop {
            match open.answers.recv_timeout(watch.remaining(assignment.limit + GRACE)) {
                Ok(PaneReply::Said(line)) => on_text(&line),
                Ok(PaneReply::Turned(turned)) => return Ok(turned),
                Ok(PaneReply::Failed(why)) => return Err(TurnError::NoPlace(why)),
                Err(RecvTimeoutError::Disconnected) => return closed(),
                Err(RecvTimeoutError::Timeout) => {
                    end_marked(&mark);
                    let left = end_marked(&assignment.mark);
                    self.open = None;
                    return Ok(late(assignment.limit, watch.elapsed(), left));
                }
            }
        }
    }
}

fn late(limit: Duration, took: Duration, left: usize) -> TurnResult {
    let exit = Exit::TimedOut { limit };
    let complaint = Some(exit.to_string());
    TurnResult { exit, took, cost: 0, complaint, temporary: false, left, text: String::new() }
}
