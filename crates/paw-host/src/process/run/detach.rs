//! Starts a program that outlives this process, and the program's own part of it.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::process::{ChildStdout, Stdio};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdout};

use super::{Deadline, exit_of, prepare, start};
use crate::process::{Command, ProcessError};

/// A program in the background. Its standard output is a pipe for one answer: whether it is ready.
#[derive(Debug)]
pub struct DetachedCommand {
    pub pid: u32,
    answer: ChildStdout,
}

impl Command {
    /// Starts the program in the background, without input, with its standard error in `log`. The program has to call
    /// [`leave_terminal`], and [`silence_stdout`] after its answer.
    pub fn detach(&self, log: File) -> Result<DetachedCommand, ProcessError> {
        let mut record = log.try_clone().ok();
        let mut std_command = prepare(self)?;
        std_command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = start(std_command, self)?;
        let pid = child.id();
        let Some(answer) = child.stdout.take() else {
            let source = io::ErrorKind::BrokenPipe.into();
            return Err(ProcessError::Spawn { command: self.to_string(), source });
        };
        // If this process lives longer than the program, the program must not stay a zombie, and its log says how it died.
        thread::spawn(move || {
            let Ok(status) = child.wait() else { return };
            if let (false, Some(record)) = (status.success(), &mut record) {
                let _ = writeln!(record, "process {pid} {}", exit_of(status));
            }
        });
        Ok(DetachedCommand { pid, answer })
    }
}

impl DetachedCommand {
    /// What the program prints until it closes its standard output. `None` if that takes longer than `limit`.
    pub fn answer(mut self, limit: Duration) -> io::Result<Option<Vec<u8>>> {
        let deadline = Deadline::after(Some(limit));
        let (mut answer, mut part) = (Vec::new(), [0; 4096]);
        loop {
            let left = deadline.remaining().unwrap_or_default();
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&self.answer, PollFlags::IN)], Some(&left)) {
                Ok(0) => return Ok(None),
                Ok(_) => match self.answer.read(&mut part)? {
                    0 => return Ok(Some(answer)),
                    count => answer.extend_from_slice(&part[..count]),
                },
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Gives this process a session of its own, so that it has no terminal and receives no signal of one.
pub fn leave_terminal() {
    // Fails only for a process that leads a session or a group already.
    let _ = setsid();
}

/// Closes standard output, so that the process that started this one sees the end of the answer. Later output goes to
/// standard error.
pub fn silence_stdout() -> io::Result<()> {
    Ok(dup2_stdout(io::stderr())?)
}

/// Sends later output on standard error to `file`.
pub fn redirect_stderr(file: &File) -> io::Result<()> {
    Ok(dup2_stderr(file)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        Command::new("sh").args(["-c", script])
    }

    #[test]
    fn detached_program_answers_and_writes_its_errors_to_the_log() {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        let started = sh("echo broken >&2; echo ready").detach(log.reopen().unwrap()).unwrap();
        let answer = started.answer(Duration::from_secs(20)).unwrap().unwrap();
        let mut errors = String::new();
        log.read_to_string(&mut errors).unwrap();
        assert_eq!((answer.as_slice(), errors.as_str()), (&b"ready\n"[..], "broken\n"));
    }

    #[test]
    fn detached_program_that_does_not_answer_is_not_waited_for() {
        let started = sh("exec sleep 1000").detach(tempfile::tempfile().unwrap()).unwrap();
        let pid = started.pid.to_string();
        assert_eq!(started.answer(Duration::from_millis(50)).unwrap(), None);
        Command::new("kill").arg(pid).capture().unwrap();
    }
}
