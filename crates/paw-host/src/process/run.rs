//! Starting a program and following it to its end.
#![expect(clippy::disallowed_methods, reason = "this is the door through which programs are started")]

mod ears;
mod follow;

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use ears::{Ears, Heard};
pub use follow::{FollowOutcome, RunningCommand, Stopper};

use super::{Command, Environment, Exit, Input, ProcessError, is_harmless_variable, tree};
use crate::clock::Stopwatch;

/// Once a program has ended, how long its output may still be held open by something it left behind.
const DRAIN: Duration = Duration::from_millis(500);
/// How long a program may clean up after it was asked to end.
const GRACE: Duration = Duration::from_secs(2);
/// The longest line of [`stream`] in one piece.
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

/// Gives the program its input, and listens to it. One that cannot be heard does not run.
fn listen(child: &mut Child, command: &Command) -> Result<Ears, ProcessError> {
    match Ears::of(child) {
        Ok(ears) => {
            feed(child, &command.input);
            Ok(ears)
        }
        Err(source) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(lost(command, source))
        }
    }
}

fn lost(command: &Command, source: io::Error) -> ProcessError {
    ProcessError::Wait { command: command.to_string(), source }
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
    let mut ears = listen(&mut child, command)?;
    let mut deadline = Deadline::after(command.limit);
    let mut timed_out = None;
    let mut members = BTreeSet::new();
    while !ears.is_done() {
        let had_ended = ears.has_ended();
        match ears.hear(deadline.left(), &mut on_bytes).map_err(|source| lost(command, source))? {
            Heard::Something if ears.has_ended() && !had_ended => deadline = Deadline::after(Some(DRAIN)),
            Heard::Something => {}
            // The program has ended; whoever still holds its output open is not waited for.
            Heard::Nothing if had_ended => break,
            Heard::Nothing => {
                let first = timed_out.is_none();
                timed_out = command.limit;
                members.extend(tree::members(child.id(), cookie.as_ref()));
                tree::signal(&members, if first { tree::Signal::End } else { tree::Signal::Kill });
                deadline = Deadline::after(Some(GRACE));
            }
        }
    }
    if timed_out.is_some() {
        tree::kill_all(child.id(), cookie.as_ref(), members);
    }
    if let Some(cookie) = cookie {
        cookie.forget();
    }
    let status = child.wait().map_err(|source| lost(command, source))?;
    let exit = timed_out.map_or_else(|| exit_of(status), |limit| Exit::TimedOut { limit });
    trace(command, exit, &watch);
    Ok(exit)
}

pub(super) fn inherit(command: &Command) -> Result<Exit, ProcessError> {
    let watch = Stopwatch::start();
    let mut child = spawn(command, Terminal::Shared, None)?;
    let status = child.wait().map_err(|source| lost(command, source))?;
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

fn feed(child: &mut Child, input: &Input) {
    if let (Input::Bytes(bytes), Some(mut pipe)) = (input, child.stdin.take()) {
        let bytes = bytes.clone();
        // A program may end without reading everything; that is its business.
        thread::spawn(move || drop(pipe.write_all(&bytes)));
    }
}

struct Deadline(Option<(Stopwatch, Duration)>);

impl Deadline {
    fn after(limit: Option<Duration>) -> Self {
        Self(limit.map(|limit| (Stopwatch::start(), limit)))
    }

    /// How much time there is; any amount if nothing is said.
    fn left(&self) -> Option<Duration> {
        self.0.as_ref().map(|(watch, limit)| watch.remaining(*limit))
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
