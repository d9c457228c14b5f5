//! Starting a program and following it to its end: one loop over what its pipes say and when it ends.
#![expect(clippy::disallowed_methods, reason = "this is the door through which programs are started")]

mod follow;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

pub use follow::{Followed, Running, Stopper};

use super::{Command, Environment, Exit, Input, ProcessError, is_harmless_variable, tree};
use crate::clock::Stopwatch;

/// Once a program has ended, how long its output may still be held open by something it left behind.
const DRAIN: Duration = Duration::from_millis(500);
/// How long a program may clean up after it was asked to end.
const GRACE: Duration = Duration::from_secs(2);
/// The longest line of [`stream`] in one piece.
const LONGEST_LINE: usize = 64 * 1024;
/// How many pieces of output may wait for their reader.
const WAITING: usize = 16;

/// Which of a program's two outputs a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

/// A program that has ended, with everything it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// What happens to a program while it runs.
#[derive(Debug)]
enum Event {
    Said(Stream, Vec<u8>),
    Closed,
    Ended(io::Result<()>),
    /// Somebody wants it to stop.
    Wake,
}

/// The wire over which we hear of a program.
#[derive(Debug)]
struct Wire {
    events: SyncSender<Event>,
    inbox: Receiver<Event>,
    /// Outputs that are not closed yet.
    open: usize,
}

/// Gives the program its input, and listens to it. No more is read than is taken from the wire.
fn listen(child: &mut Child, input: &Input) -> Wire {
    let (events, inbox) = mpsc::sync_channel(WAITING);
    let mut open = 0;
    for (stream, pipe) in [
        (Stream::Out, child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>)),
        (Stream::Err, child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>)),
    ] {
        if let Some(pipe) = pipe {
            open += 1;
            let events = events.clone();
            thread::spawn(move || read_to_end(stream, pipe, &events));
        }
    }
    feed(child, input);
    let (pid, ends) = (child.id(), events.clone());
    thread::spawn(move || {
        let _ = ends.send(Event::Ended(wait_without_reaping(pid)));
    });
    Wire { events, inbox, open }
}

/// Runs it to its end and keeps everything it says.
pub(super) fn capture(command: &Command) -> Result<Output, ProcessError> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let exit = run(command, |stream, bytes| match stream {
        Stream::Out => stdout.extend_from_slice(bytes),
        Stream::Err => stderr.extend_from_slice(bytes),
    })?;
    Ok(Output { exit, stdout, stderr })
}

/// Runs it to its end, hands over each line as it comes, and keeps nothing.
pub(super) fn stream(
    command: &Command,
    mut on_line: impl FnMut(Stream, &[u8]),
) -> Result<Exit, ProcessError> {
    let (mut out, mut err) = (Line::up_to(LONGEST_LINE), Line::up_to(LONGEST_LINE));
    let mut hand_over = |stream, text: &[u8]| {
        on_line(stream, text);
        ControlFlow::Continue(())
    };
    let exit = run(command, |stream, bytes| {
        let line = if stream == Stream::Out { &mut out } else { &mut err };
        let _ = line.push(bytes, |text| hand_over(stream, text));
    })?;
    let _ = out.finish(|text| hand_over(Stream::Out, text));
    let _ = err.finish(|text| hand_over(Stream::Err, text));
    Ok(exit)
}

fn run(command: &Command, mut on_bytes: impl FnMut(Stream, &[u8])) -> Result<Exit, ProcessError> {
    let watch = Stopwatch::start();
    let cookie = command.limit.map(|_| tree::Cookie::new());
    let mut child = spawn(command, Terminal::Hidden, cookie.as_ref())?;
    let mut wire = listen(&mut child, &command.input);
    let mut deadline = Deadline::after(command.limit);
    let mut timed_out = None;
    let mut members = BTreeSet::new();
    let mut ended = false;
    while !ended || wire.open > 0 {
        match deadline.next(&wire.inbox) {
            Ok(Event::Said(stream, bytes)) => on_bytes(stream, &bytes),
            Ok(Event::Closed) => wire.open -= 1,
            Ok(Event::Wake) => {}
            Ok(Event::Ended(Ok(()))) => {
                ended = true;
                deadline = Deadline::after(Some(DRAIN));
            }
            Ok(Event::Ended(Err(source))) => {
                return Err(ProcessError::Wait { command: command.to_string(), source });
            }
            // The program has ended; whoever still holds its output open is not waited for.
            Err(RecvTimeoutError::Timeout) if ended => break,
            Err(RecvTimeoutError::Timeout) => {
                let first = timed_out.is_none();
                timed_out = command.limit;
                members.extend(tree::members(child.id(), cookie.as_ref()));
                tree::signal(&members, if first { tree::Signal::End } else { tree::Signal::Kill });
                deadline = Deadline::after(Some(GRACE));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if timed_out.is_some() {
        tree::kill_all(child.id(), cookie.as_ref(), members);
    }
    if let Some(cookie) = cookie {
        cookie.forget();
    }
    let status =
        child.wait().map_err(|source| ProcessError::Wait { command: command.to_string(), source })?;
    let exit = timed_out.map_or_else(|| exit_of(status), |limit| Exit::TimedOut { limit });
    trace(command, exit, &watch);
    Ok(exit)
}

pub(super) fn inherit(command: &Command) -> Result<Exit, ProcessError> {
    let watch = Stopwatch::start();
    let mut child = spawn(command, Terminal::Shared, None)?;
    let status =
        child.wait().map_err(|source| ProcessError::Wait { command: command.to_string(), source })?;
    let exit = exit_of(status);
    trace(command, exit, &watch);
    Ok(exit)
}

fn trace(command: &Command, exit: Exit, watch: &Stopwatch) {
    let dir = command.dir.as_deref().map(|dir| dir.display().to_string());
    tracing::debug!(target: "paw::process", dir, took = ?watch.elapsed(), "{command} {exit}");
}

/// Whether the program may use the terminal we run on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Terminal {
    Hidden,
    Shared,
}

fn spawn(
    command: &Command,
    terminal: Terminal,
    cookie: Option<&tree::Cookie>,
) -> Result<Child, ProcessError> {
    let mut std_command = std::process::Command::new(&command.program);
    std_command.args(&command.args);
    if terminal == Terminal::Hidden {
        std_command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    match (&command.input, terminal) {
        (Input::Bytes(_), _) => std_command.stdin(Stdio::piped()),
        (Input::Nothing, Terminal::Hidden) => std_command.stdin(Stdio::null()),
        (Input::Nothing, Terminal::Shared) => std_command.stdin(Stdio::inherit()),
    };
    if command.environment == Environment::Harmless {
        std_command.env_clear();
        std_command.envs(std::env::vars_os().filter(|(name, _)| is_harmless_variable(name)));
    }
    for name in &command.removed {
        std_command.env_remove(name);
    }
    std_command.envs(command.set.iter().map(|(name, value)| (name, value)));
    if let Some(cookie) = cookie {
        std_command.env(tree::Cookie::VARIABLE, cookie.as_str());
    }
    if let Some(dir) = &command.dir {
        std_command.current_dir(dir);
    }
    std_command.spawn().map_err(|source| match (source.kind(), &command.dir) {
        (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, Some(dir)) if !dir.is_dir() => {
            ProcessError::NoDirectory { command: command.to_string(), dir: dir.clone() }
        }
        (io::ErrorKind::NotFound, _) => {
            ProcessError::NotFound(command.program.to_string_lossy().into_owned())
        }
        _ => ProcessError::Spawn { command: command.to_string(), source },
    })
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}

fn read_to_end(stream: Stream, mut pipe: impl Read, events: &SyncSender<Event>) {
    let mut buffer = vec![0; 32 * 1024];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                if events.send(Event::Said(stream, buffer[..n].to_vec())).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ = events.send(Event::Closed);
}

fn feed(child: &mut Child, input: &Input) {
    if let (Input::Bytes(bytes), Some(mut pipe)) = (input, child.stdin.take()) {
        let bytes = bytes.clone();
        // A program may end without reading everything; that is its business.
        thread::spawn(move || drop(pipe.write_all(&bytes)));
    }
}

/// Waits for the end of a child but leaves it unreaped, so that its process id cannot become somebody else's while we
/// may still want to signal it.
fn wait_without_reaping(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

struct Deadline(Option<(Stopwatch, Duration)>);

impl Deadline {
    fn after(limit: Option<Duration>) -> Self {
        Self(limit.map(|limit| (Stopwatch::start(), limit)))
    }

    fn next(&self, inbox: &Receiver<Event>) -> Result<Event, RecvTimeoutError> {
        match &self.0 {
            // Whoever talks without end has no more time than anybody else.
            Some((watch, limit)) if watch.remaining(*limit).is_zero() => Err(RecvTimeoutError::Timeout),
            Some((watch, limit)) => inbox.recv_timeout(watch.remaining(*limit)),
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }
}

/// The line that is not finished yet. One longer than `limit` is handed over in pieces, so that no program can fill
/// our memory with it.
struct Line {
    text: Vec<u8>,
    limit: usize,
}

impl Line {
    fn up_to(limit: usize) -> Self {
        Self { text: Vec::new(), limit }
    }

    fn push(
        &mut self,
        mut bytes: &[u8],
        mut on_line: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            self.text.extend_from_slice(&bytes[..at]);
            bytes = &bytes[at + 1..];
            on_line(&std::mem::take(&mut self.text))?;
        }
        self.text.extend_from_slice(bytes);
        if self.text.len() > self.limit {
            on_line(&std::mem::take(&mut self.text))?;
        }
        ControlFlow::Continue(())
    }

    fn finish(self, mut on_line: impl FnMut(&[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        if self.text.is_empty() { ControlFlow::Continue(()) } else { on_line(&self.text) }
    }
}
