//! A program that runs in the background until it exits or is stopped, together with everything it started.
//!
//! Its output is passed on line by line and not kept, because it may run for hours.

use std::collections::BTreeSet;
use std::io::{self, PipeWriter, Write as _};
use std::ops::ControlFlow;
use std::process::{Child, ChildStdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{
    DRAIN_TIMEOUT, GRACE_PERIOD, LineBuffer, OutputPoller, Polled, Stream, Terminal, attach, exit_of, spawn,
    terminate, trace, wait_error,
};
use crate::clock::Stopwatch;
use crate::process::{Command, Exit, ProcessError, tree};

/// Longer lines are split. Agents print whole files in one line, so the limit is generous.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

impl Command {
    /// Starts the command and returns at once. Its whole process tree carries `mark` in its environment, so that
    /// [`super::super::end_marked`] finds it even after this process has died.
    pub fn start(&self, mark: &str) -> Result<RunningCommand, ProcessError> {
        let watch = Stopwatch::start();
        let cookie = tree::Cookie::named(mark);
        let (wakeup, waker) = io::pipe().map_err(|source| wait_error(self, source))?;
        let mut child = spawn(self, Terminal::Hidden, Some(&cookie))?;
        let poller = attach(&mut child, self)?.with_wakeup(wakeup);
        let stopper = Stopper { wanted: Arc::new(AtomicBool::new(false)), waker: Arc::new(waker) };
        Ok(RunningCommand { command: self.clone(), child, cookie, poller, stopper, watch, finished: false })
    }
}

/// Stops a running program from any thread, without waiting for it.
#[derive(Debug, Clone)]
pub struct Stopper {
    wanted: Arc<AtomicBool>,
    waker: Arc<PipeWriter>,
}

impl Stopper {
    pub fn stop(&self) {
        // One byte always fits into the pipe.
        if !self.wanted.swap(true, Ordering::SeqCst) {
            let _ = (&*self.waker).write_all(b"!");
        }
    }

    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }
}

/// How a followed program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowOutcome {
    pub exit: Exit,
    /// It was stopped, with everything it had started.
    pub stopped: bool,
}

/// A running program. Dropping it before it has finished kills it with everything it has started.
#[derive(Debug)]
pub struct RunningCommand {
    command: Command,
    child: Child,
    cookie: tree::Cookie,
    poller: OutputPoller,
    stopper: Stopper,
    watch: Stopwatch,
    finished: bool,
}

impl RunningCommand {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard input, if the command was built with [`Command::open_input`]. It is closed when this is dropped.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Passes on each line, without its newline, until the program exits. `Break` stops the program like the [`Stopper`]:
    /// SIGTERM, a grace period, SIGKILL.
    pub fn follow(
        mut self,
        mut on_line: impl FnMut(Stream, &[u8]) -> ControlFlow<()>,
    ) -> Result<FollowOutcome, ProcessError> {
        let (mut out, mut err) = (LineBuffer::up_to(LONGEST_LINE), LineBuffer::up_to(LONGEST_LINE));
        let mut phase = Phase::Running;
        let mut ended: Option<Stopwatch> = None;
        while !self.poller.is_done() {
            if matches!(phase, Phase::Running) && ended.is_none() && self.stopper.is_wanted() {
                let members = tree::members(self.child.id(), Some(&self.cookie));
                terminate(&self.command, self.child.id(), &members);
                phase = Phase::Ending { since: Stopwatch::start(), members };
            }
            let polled = self.poller.poll_once(time_left(&phase, ended.as_ref()), |stream, bytes| {
                let line = if stream == Stream::Out { &mut out } else { &mut err };
                if matches!(phase, Phase::Running)
                    && line.push(bytes, |text| on_line(stream, text)).is_break()
                {
                    self.stopper.stop();
                }
            });
            match polled.map_err(|source| wait_error(&self.command, source))? {
                Polled::Ready if ended.is_none() && self.poller.has_ended() => {
                    ended = Some(Stopwatch::start());
                }
                Polled::Ready => {}
                // Do not wait for a child that still holds the output open.
                Polled::TimedOut if ended.is_some() => break,
                Polled::TimedOut => {
                    if let Phase::Ending { since, members } = &mut phase {
                        members.extend(tree::members(self.child.id(), Some(&self.cookie)));
                        tree::signal(members, tree::Signal::Kill);
                        *since = Stopwatch::start();
                    }
                }
            }
        }
        let stopped = match phase {
            Phase::Running => {
                // The last line may have no newline.
                let _ = out.finish(|text| on_line(Stream::Out, text));
                let _ = err.finish(|text| on_line(Stream::Err, text));
                if self.command.sandbox.is_some() {
                    tree::kill_all(self.child.id(), Some(&self.cookie), BTreeSet::new());
                }
                false
            }
            Phase::Ending { members, .. } => {
                tree::kill_all(self.child.id(), Some(&self.cookie), members);
                true
            }
        };
        let exit = self.child.wait().map(exit_of).map_err(|source| wait_error(&self.command, source))?;
        self.finished = true;
        trace(&self.command, exit, &self.watch);
        Ok(FollowOutcome { exit, stopped })
    }
}

/// How long to wait for the next event.
fn time_left(phase: &Phase, ended: Option<&Stopwatch>) -> Option<Duration> {
    match (phase, ended) {
        // A background child may keep printing for ever.
        (_, Some(since)) => Some(since.remaining(DRAIN_TIMEOUT)),
        (Phase::Ending { since, .. }, None) => Some(since.remaining(GRACE_PERIOD)),
        (Phase::Running, None) => None,
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let members = tree::members(self.child.id(), Some(&self.cookie));
        tree::signal(&members, tree::Signal::Kill);
        tree::kill_all(self.child.id(), Some(&self.cookie), members);
        let _ = self.child.wait();
    }
}

enum Phase {
    Running,
    Ending { since: Stopwatch, members: BTreeSet<u32> },
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// How long a test waits for an event.
    const TIMEOUT: Duration = Duration::from_secs(30);

    fn sh(script: &str) -> Command {
        Command::new("sh").args(["-c", script])
    }

    fn unique(name: &str) -> String {
        format!("{name}-{}", uuid::Uuid::now_v7().simple())
    }

    fn is_gone(pid: u32) -> bool {
        let watch = Stopwatch::start();
        while tree::is_running(pid) {
            if watch.remaining(TIMEOUT).is_zero() {
                return false;
            }
            thread::yield_now();
        }
        true
    }

    #[test]
    fn follow_passes_on_every_line_and_the_exit_code() {
        let running = sh("printf 'a\\nb'; echo c >&2; exit 3").start(&unique("lines")).unwrap();
        let mut lines = Vec::new();
        let followed = running.follow(|stream, line| {
            lines.push((stream, String::from_utf8_lossy(line).into_owned()));
            ControlFlow::Continue(())
        });
        lines.sort_by(|a, b| a.1.cmp(&b.1));
        let expected = [(Stream::Out, "a"), (Stream::Out, "b"), (Stream::Err, "c")]
            .map(|(from, text)| (from, text.to_owned()));
        assert_eq!(lines, expected);
        assert_eq!(followed.unwrap(), FollowOutcome { exit: Exit::Code(3), stopped: false });
    }

    #[test]
    fn follow_keeps_a_line_longer_than_a_pipe_in_one_piece() {
        let running = sh("head -c 1000000 /dev/zero | tr '\\0' x; echo").start(&unique("long")).unwrap();
        let mut lengths = Vec::new();
        running
            .follow(|_, line| {
                lengths.push(line.len());
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(lengths, [1_000_000]);
    }

    #[test]
    fn stopping_a_program_ends_its_whole_process_tree() {
        let script = "trap '' TERM; setsid sh -c 'echo $$; sleep 600' & sleep 600 & echo $!; wait";
        let running = sh(script).start(&unique("stop")).unwrap();
        let (pid, stopper) = (running.pid(), running.stopper());
        let mut children = Vec::new();
        let followed = running.follow(|_, line| {
            children.push(String::from_utf8_lossy(line).parse().unwrap());
            if children.len() == 2 {
                stopper.stop();
            }
            ControlFlow::Continue(())
        });
        assert!(followed.unwrap().stopped);
        for process in children.into_iter().chain([pid]) {
            assert!(is_gone(process), "process {process} is still there");
        }
    }

    #[test]
    fn follow_does_not_wait_for_a_background_child_that_keeps_printing() {
        let mark = unique("chatty");
        let running = sh("(while true; do echo noise; done) & exit 0").start(&mark).unwrap();
        let followed = running.follow(|_, _| ControlFlow::Continue(()));
        assert_eq!(followed.unwrap(), FollowOutcome { exit: Exit::Code(0), stopped: false });
        crate::process::end_marked(&mark);
    }

    #[test]
    fn follow_stops_the_program_when_the_reader_breaks() {
        let running = sh("echo $$; exec sleep 600").start(&unique("enough")).unwrap();
        let pid = running.pid();
        assert!(running.follow(|_, _| ControlFlow::Break(())).unwrap().stopped);
        assert!(is_gone(pid));
    }

    #[test]
    fn dropping_a_running_command_kills_it() {
        let running = sh("sleep 600").start(&unique("dropped")).unwrap();
        let pid = running.pid();
        drop(running);
        assert!(is_gone(pid));
    }

    #[test]
    fn end_marked_finds_a_detached_child_by_its_mark() {
        let mark = unique("marked");
        let running = sh("setsid sleep 600 & echo $!; wait").start(&mark).unwrap();
        let mut first = None;
        let found = running.follow(|_, line| {
            first = String::from_utf8_lossy(line).parse::<u32>().ok();
            crate::process::end_marked(&mark);
            ControlFlow::Continue(())
        });
        assert!(!found.unwrap().stopped);
        assert!(first.is_some_and(is_gone));
        assert_eq!(crate::process::end_marked(&mark), 0);
    }
}
