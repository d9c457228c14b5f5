//! A program on our own output, with an input that is passed on to it. It does not outlive its input.

use std::process::ChildStdin;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::{Terminal, exit_of, spawn, wait_error};
use crate::process::{Command, Exit, ProcessError, tree};

enum FeedEvent {
    /// There is no more input.
    Fed,
    Exited(Result<Exit, ProcessError>),
}

impl Command {
    /// Runs the program and has `feed` write its input. When `feed` has returned, the input is closed, and a program that does not
    /// exit within `grace` is killed. A program that exits by itself is not waited for by `feed`, which ends with this process.
    pub fn feed(
        &self,
        grace: Duration,
        feed: impl FnOnce(ChildStdin) + Send + 'static,
    ) -> Result<Exit, ProcessError> {
        let command = self.clone().open_input();
        let mut child = spawn(&command, Terminal::Shared, None)?;
        let (pid, input) = (child.id(), child.stdin.take());
        let (sender, events) = channel();
        let exited = sender.clone();
        thread::spawn(move || {
            let exit = child.wait().map(exit_of).map_err(|source| wait_error(&command, source));
            let _ = exited.send(FeedEvent::Exited(exit));
        });
        thread::spawn(move || {
            if let Some(input) = input {
                feed(input);
            }
            let _ = sender.send(FeedEvent::Fed);
        });
        let lost = || wait_error(self, std::io::ErrorKind::BrokenPipe.into());
        if let FeedEvent::Exited(exit) = events.recv().map_err(|_| lost())? {
            return exit;
        }
        let event = events.recv_timeout(grace).or_else(|_| {
            tree::signal(&[pid].into(), tree::Signal::Kill);
            events.recv()
        });
        match event {
            Ok(FeedEvent::Exited(exit)) => exit,
            Ok(FeedEvent::Fed) | Err(_) => Err(lost()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Longer than any test waits.
    const LONG: Duration = Duration::from_mins(5);

    fn sh(script: &str) -> Command {
        Command::new("sh").args(["-c", script])
    }

    #[test]
    fn a_program_gets_its_input_and_ends_with_it() {
        let fed = sh("read a; read b; [ \"$a$b\" = onetwo ] && ! read c").feed(LONG, |mut input| {
            input.write_all(b"one\ntwo\n").unwrap();
        });
        assert_eq!(fed.unwrap(), Exit::Code(0));
    }

    #[test]
    fn a_program_that_outlives_its_input_is_killed() {
        assert_eq!(sh("exec sleep 1000").feed(Duration::from_millis(50), drop).unwrap(), Exit::Signal(9));
    }

    #[test]
    fn a_program_that_exits_does_not_wait_for_more_input() {
        let fed = sh("exit 3").feed(LONG, |input| {
            thread::sleep(LONG);
            drop(input);
        });
        assert_eq!(fed.unwrap(), Exit::Code(3));
    }
}
