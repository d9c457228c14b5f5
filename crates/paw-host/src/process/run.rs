//! Starts a program and waits for it to exit.
#![expect(clippy::disallowed_methods, reason = "the only module that starts programs")]

mod coprocess;
mod detach;
mod engine_retry;
mod feed;
mod follow;
mod output;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

pub use coprocess::Coprocess;
pub use detach::{DetachedCommand, leave_terminal, redirect_stderr, silence_stdout};
pub use follow::{FollowOutcome, RunningCommand, Stopper};
use output::{OutputPoller, Polled};

use super::{
    Command, Environment, Exit, Input, ProcessError, contain, find_program, is_harmless_variable, tree,
};
use crate::clock::Stopwatch;
use crate::sandbox::Sandbox;

/// How long to keep reading after the program has exited, while a background child holds its output open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Time between SIGTERM and SIGKILL.
const GRACE_PERIOD: Duration = Duration::from_secs(2);
/// [`stream`] splits longer lines.
const LONGEST_LINE: usize = 64 * 1024;

/// The stream that a line was printed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

/// A finished program and everything it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Writes the program's input and prepares to read its output. Kills the program if that fails.
fn attach(child: &mut Child, command: &Command) -> Result<OutputPoller, ProcessError> {
    match OutputPoller::of(child) {
        Ok(poller) => {
            write_input(child, &command.input);
            Ok(poller)
        }
        Err(source) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(wait_error(command, source))
        }
    }
}

fn wait_error(command: &Command, source: io::Error) -> ProcessError {
    ProcessError::Wait { command: command.to_string(), source }
}

/// Runs the command and collects its output.
pub(super) fn capture(command: &Command) -> Result<Output, ProcessError> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let exit = run(command, |stream, bytes| match stream {
        Stream::Out => stdout.extend_from_slice(bytes),
        Stream::Err => stderr.extend_from_slice(bytes),
    })?;
    Ok(Output { exit, stdout, stderr })
}

/// Runs the command and passes on each line as it arrives, without keeping it.
pub(super) fn stream(
    command: &Command,
    mut on_line: impl FnMut(Stream, &[u8]),
) -> Result<Exit, ProcessError> {
    let (mut out, mut err) = (LineBuffer::up_to(LONGEST_LINE), LineBuffer::up_to(LONGEST_LINE));
    let mut pass_on = |stream, text: &[u8]| {
        on_line(stream, text);
        ControlFlow::Continue(())
    };
    let exit = run(command, |stream, bytes| {
        let line = if stream == Stream::Out { &mut out } else { &mut err };
        let _ = line.push(bytes, |text| pass_on(stream, text));
    })?;
    let _ = out.finish(|text| pass_on(Stream::Out, text));
    let _ = err.finish(|text| pass_on(Stream::Err, text));
    Ok(exit)
}

fn run(command: &Command, mut on_bytes: impl FnMut(Stream, &[u8])) -> Result<Exit, ProcessError> {
    if command.sandbox.is_some() {
        return engine_retry::with_retries(|on_bytes| run_once(command, on_bytes), on_bytes);
    }
    run_once(command, &mut on_bytes)
}

fn run_once(command: &Command, on_bytes: &mut dyn FnMut(Stream, &[u8])) -> Result<Exit, ProcessError> {
    let watch = Stopwatch::start();
    let has_limit = command.limit.is_some() || command.output_limit.is_some();
    let has_tree = has_limit || command.sandbox.is_some() || command.contained;
    let cookie = has_tree.then(tree::Cookie::new);
    let mut child = spawn(command, Terminal::Hidden, cookie.as_ref())?;
    let mut poller = attach(&mut child, command)?;
    let mut deadline = Deadline::after(command.limit);
    let mut timed_out = None;
    let mut members = BTreeSet::new();
    let mut printed = 0;
    while !poller.is_done() {
        let had_ended = poller.has_ended();
        match poller
            .poll_once(deadline.remaining(), |stream, bytes| {
                printed += bytes.len();
                if !command.is_over_limit(printed) {
                    on_bytes(stream, bytes);
                }
            })
            .map_err(|source| wait_error(command, source))?
        {
            Polled::Ready if poller.has_ended() && !had_ended => {
                if command.contained {
                    tree::kill_all(child.id(), cookie.as_ref(), BTreeSet::new());
                }
                deadline = Deadline::after(Some(DRAIN_TIMEOUT));
            }
            Polled::Ready => {}
            // The program has exited; do not wait for a child that still holds its output open.
            Polled::TimedOut if had_ended => break,
            Polled::TimedOut => {
                let first = timed_out.is_none();
                timed_out = command.limit;
                members.extend(tree::members(child.id(), cookie.as_ref()));
                if first {
                    terminate(command, child.id(), &members);
                } else {
                    tree::signal(&members, tree::Signal::Kill);
                }
                deadline = Deadline::after(Some(GRACE_PERIOD));
            }
        }
        if command.is_over_limit(printed) {
            break;
        }
    }
    let is_over_limit = command.is_over_limit(printed);
    if is_over_limit {
        let _ = child.kill();
    }
    if is_over_limit || timed_out.is_some() || command.sandbox.is_some() {
        tree::kill_all(child.id(), cookie.as_ref(), members);
    }
    if let Some(cookie) = cookie {
        cookie.forget();
    }
    let status = child.wait().map_err(|source| wait_error(command, source))?;
    if let Some(limit) = command.output_limit.filter(|_| is_over_limit) {
        return Err(ProcessError::TooMuchOutput { command: command.to_string(), limit });
    }
    let exit = timed_out.map_or_else(|| exit_of(status), |limit| Exit::TimedOut { limit });
    trace(command, exit, &watch);
    Ok(exit)
}

impl Command {
    fn is_over_limit(&self, printed: usize) -> bool {
        self.output_limit.is_some_and(|limit| printed > limit)
    }
}

/// Asks the members of a process tree to end. The engine of a sandbox would end at once and take the program with it.
fn terminate(command: &Command, root: u32, members: &BTreeSet<u32>) {
    let mut asked = members.clone();
    if command.sandbox.is_some() {
        asked.remove(&root);
    }
    tree::signal(&asked, tree::Signal::Terminate);
}

pub(super) fn inherit(command: &Command) -> Result<Exit, ProcessError> {
    let watch = Stopwatch::start();
    let mut child = spawn(command, Terminal::Shared, None)?;
    let status = child.wait().map_err(|source| wait_error(command, source))?;
    let exit = exit_of(status);
    trace(command, exit, &watch);
    Ok(exit)
}

fn trace(command: &Command, exit: Exit, watch: &Stopwatch) {
    let dir = command.dir.as_deref().map(|dir| dir.display().to_string());
    tracing::debug!(target: "paw::process", dir, took = ?watch.elapsed(), "{command} {exit}");
}

/// Whether the program shares our terminal.
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
    let mut std_command = prepare(command)?;
    if terminal == Terminal::Hidden {
        std_command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    match (&command.input, terminal) {
        (Input::Bytes(_) | Input::Open, _) => std_command.stdin(Stdio::piped()),
        (Input::Lock(lock), _) => {
            let spawn = |source| ProcessError::Spawn { command: command.to_string(), source };
            std_command.stdin(lock.to_stdio().map_err(spawn)?)
        }
        (Input::Nothing, Terminal::Hidden) => std_command.stdin(Stdio::null()),
        (Input::Nothing, Terminal::Shared) => std_command.stdin(Stdio::inherit()),
    };
    if let Some(cookie) = cookie {
        std_command.env(tree::Cookie::VARIABLE, cookie.as_str());
    }
    start(std_command, command)
}

/// The program with its arguments, environment and directory.
fn prepare(command: &Command) -> Result<std::process::Command, ProcessError> {
    // A sandbox contains its processes by itself.
    let mut std_command = match (&command.sandbox, contain::helper().filter(|_| command.contained)) {
        (Some(sandbox), _) => {
            let (engine, line) = sandboxed(command, sandbox)?;
            let mut std_command = std::process::Command::new(engine);
            std_command.args(line);
            std_command
        }
        (None, helper) => {
            let line = helper.map(|(helper, verb)| [helper.into_os_string(), verb.into()]);
            let mut line = line.into_iter().flatten().chain([command.program.clone()]);
            let program = line.next().unwrap_or_default();
            let mut std_command =
                std::process::Command::new(locate(&program, command).as_ref().unwrap_or(&program));
            std_command.arg0(&program).args(line).args(&command.args);
            std_command
        }
    };
    if command.environment == Environment::Harmless {
        std_command.env_clear();
        std_command.envs(std::env::vars_os().filter(|(name, _)| is_harmless_variable(name)));
    }
    for name in &command.removed {
        std_command.env_remove(name);
    }
    std_command.envs(command.set.iter().map(|(name, value)| (name, value)));
    if let Some(dir) = &command.dir {
        std_command.current_dir(dir);
    }
    Ok(std_command)
}

/// The path of a program that gets an environment of its own. Without it, the standard library searches the new environment for
/// the program, and forks for that: a copy of the memory map of a large process, and a page fault for everything it writes next.
fn locate(program: &OsStr, command: &Command) -> Option<OsString> {
    if command.environment != Environment::Harmless {
        return None;
    }
    let path = command.set.iter().rfind(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    let path = path.or_else(|| std::env::var_os("PATH"))?;
    find_program(program.to_str()?, &path).map(PathBuf::into_os_string)
}

fn start(mut std_command: std::process::Command, command: &Command) -> Result<Child, ProcessError> {
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

/// The command line of the sandbox's engine, which reports a missing program only as a failure.
fn sandboxed(command: &Command, sandbox: &Sandbox) -> Result<(PathBuf, Vec<OsString>), ProcessError> {
    let name = command.program.to_string_lossy();
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !name.contains('/') && find_program(&name, &path).is_none() {
        return Err(ProcessError::NotFound(name.into_owned()));
    }
    sandbox
        .wrap((&command.program, &command.args), command.dir.as_deref())
        .map_err(|reason| ProcessError::NoSandbox { command: command.to_string(), reason })
}

pub(super) fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}

fn write_input(child: &mut Child, input: &Input) {
    let Input::Bytes(bytes) = input else { return };
    if let Some(mut pipe) = child.stdin.take() {
        let bytes = bytes.clone();
        // A program may exit without reading all of its input.
        thread::spawn(move || drop(pipe.write_all(&bytes)));
    }
}

struct Deadline(Option<(Stopwatch, Duration)>);

impl Deadline {
    fn after(limit: Option<Duration>) -> Self {
        Self(limit.map(|limit| (Stopwatch::start(), limit)))
    }

    /// The remaining time; `None` without a limit.
    fn remaining(&self) -> Option<Duration> {
        self.0.as_ref().map(|(watch, limit)| watch.remaining(*limit))
    }
}

/// An incomplete line. A line longer than `limit` is passed on in pieces, so that no program can fill our memory.
struct LineBuffer {
    text: Vec<u8>,
    limit: usize,
}

impl LineBuffer {
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
