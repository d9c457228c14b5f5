//! Starting a program and following it to its end: one loop over what its pipes say and when it ends.
#![expect(clippy::disallowed_methods, reason = "this is the door through which programs are started")]

mod follow;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
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
/// A line longer than this is handed over in pieces, so that no program can fill our memory with one.
const LONGEST_LINE: usize = 64 * 1024;

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

enum Event {
    Said(Stream, Vec<u8>),
    Closed,
    Ended(io::Result<()>),
}

pub(super) fn collect(
    command: &Command,
    mut on_line: impl FnMut(Stream, &[u8]),
) -> Result<Output, ProcessError> {
    let watch = Stopwatch::start();
    let cookie = command.limit.map(|_| tree::Cookie::new());
    let mut child = spawn(command, Terminal::Hidden, cookie.as_ref())?;
    let (events, inbox) = mpsc::channel();
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
    feed(&mut child, &command.input);
    announce_end(&child, events);

    let (mut out, mut err) = (Lines::new(Stream::Out), Lines::new(Stream::Err));
    let mut deadline = Deadline::after(command.limit);
    let mut timed_out = None;
    let mut members = BTreeSet::new();
    let mut ended = false;
    while !ended || open > 0 {
        match deadline.next(&inbox) {
            Ok(Event::Said(Stream::Out, bytes)) => out.push(&bytes, &mut on_line),
            Ok(Event::Said(Stream::Err, bytes)) => err.push(&bytes, &mut on_line),
            Ok(Event::Closed) => open -= 1,
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
    out.finish(&mut on_line);
    err.finish(&mut on_line);
    if timed_out.is_some() {
        tree::kill_all(child.id(), cookie.as_ref(), members);
    }
    let status =
        child.wait().map_err(|source| ProcessError::Wait { command: command.to_string(), source })?;
    let exit = timed_out.map_or_else(|| exit_of(status), |limit| Exit::TimedOut { limit });
    trace(command, exit, &watch);
    Ok(Output { exit, stdout: out.all, stderr: err.all })
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

fn read_to_end(stream: Stream, mut pipe: impl Read, events: &Sender<Event>) {
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

/// Says when the child has ended.
fn announce_end(child: &Child, events: Sender<Event>) {
    let pid = child.id();
    thread::spawn(move || {
        let _ = events.send(Event::Ended(wait_without_reaping(pid)));
    });
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

    fn next(&self, inbox: &mpsc::Receiver<Event>) -> Result<Event, RecvTimeoutError> {
        match &self.0 {
            Some((watch, limit)) => inbox.recv_timeout(watch.remaining(*limit)),
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }
}

/// Everything one stream said, and the line that is not finished yet.
struct Lines {
    stream: Stream,
    all: Vec<u8>,
    handed_over: usize,
}

impl Lines {
    fn new(stream: Stream) -> Self {
        Self { stream, all: Vec::new(), handed_over: 0 }
    }

    fn push(&mut self, bytes: &[u8], on_line: &mut impl FnMut(Stream, &[u8])) {
        let searched = self.all.len();
        self.all.extend_from_slice(bytes);
        let mut from = searched;
        while let Some(at) = self.all[from..].iter().position(|byte| *byte == b'\n') {
            on_line(self.stream, &self.all[self.handed_over..from + at]);
            from += at + 1;
            self.handed_over = from;
        }
        if self.all.len() - self.handed_over > LONGEST_LINE {
            on_line(self.stream, &self.all[self.handed_over..]);
            self.handed_over = self.all.len();
        }
    }

    fn finish(&mut self, on_line: &mut impl FnMut(Stream, &[u8])) {
        if self.handed_over < self.all.len() {
            on_line(self.stream, &self.all[self.handed_over..]);
        }
    }
}
