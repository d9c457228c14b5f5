//! A program that runs until it ends, or until somebody stops it with everything it has started.
//!
//! Nothing it says is kept, and no more is read than its reader takes: a program may run for hours.

use std::io::{self, PipeWriter, Write as _};
use std::ops::ControlFlow;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{DRAIN, Ears, GRACE, Heard, Line, Stream, Terminal, exit_of, listen, lost, spawn, trace};
use crate::clock::Stopwatch;
use crate::process::{Command, Exit, ProcessError, tree};

/// A longer line is handed over in pieces. Agents print whole files in one line, so this is generous.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

impl Command {
    /// Starts it and returns at once. Everything it starts carries `mark`, by which [`super::super::end_marked`] finds
    /// it again, even after we have died.
    pub fn start(&self, mark: &str) -> Result<RunningCommand, ProcessError> {
        let watch = Stopwatch::start();
        let cookie = tree::Cookie::named(mark);
        let (bell, rope) = io::pipe().map_err(|source| lost(self, source))?;
        let mut child = spawn(self, Terminal::Hidden, Some(&cookie))?;
        let ears = listen(&mut child, self)?.with_bell(bell);
        let stopper = Stopper { wanted: Arc::new(AtomicBool::new(false)), rope: Arc::new(rope) };
        Ok(RunningCommand { command: self.clone(), child, cookie, ears, stopper, watch, over: false })
    }
}

/// Ends a running program, from any thread, without waiting for it.
#[derive(Debug, Clone)]
pub struct Stopper {
    wanted: Arc<AtomicBool>,
    rope: Arc<PipeWriter>,
}

impl Stopper {
    pub fn stop(&self) {
        // One letter always fits into the pipe.
        if !self.wanted.swap(true, Ordering::SeqCst) {
            let _ = (&*self.rope).write_all(b"!");
        }
    }

    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }
}

/// How a program that was followed has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowOutcome {
    pub exit: Exit,
    /// We ended it, with everything it had started.
    pub stopped: bool,
}

/// A program that runs. Dropped without having been followed to its end, it is killed with everything it has started.
#[derive(Debug)]
pub struct RunningCommand {
    command: Command,
    child: Child,
    cookie: tree::Cookie,
    ears: Ears,
    stopper: Stopper,
    watch: Stopwatch,
    over: bool,
}

impl RunningCommand {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Hands over each line as it comes, without its end, until the program has ended. `Break` stops the program, as
    /// the [`Stopper`] does; it is asked first and may clean up for a moment.
    pub fn follow(
        mut self,
        mut on_line: impl FnMut(Stream, &[u8]) -> ControlFlow<()>,
    ) -> Result<FollowOutcome, ProcessError> {
        let (mut out, mut err) = (Line::up_to(LONGEST_LINE), Line::up_to(LONGEST_LINE));
        let mut phase = Phase::Running;
        let mut ended: Option<Stopwatch> = None;
        while !self.ears.is_done() {
            if matches!(phase, Phase::Running) && ended.is_none() && self.stopper.is_wanted() {
                let members = tree::members(self.child.id(), Some(&self.cookie));
                tree::signal(&members, tree::Signal::End);
                phase = Phase::Ending { since: Stopwatch::start(), members };
            }
            let heard = self.ears.hear(left(&phase, ended.as_ref()), |stream, bytes| {
                let line = if stream == Stream::Out { &mut out } else { &mut err };
                if matches!(phase, Phase::Running)
                    && line.push(bytes, |text| on_line(stream, text)).is_break()
                {
                    self.stopper.stop();
                }
            });
            match heard.map_err(|source| lost(&self.command, source))? {
                Heard::Something if ended.is_none() && self.ears.has_ended() => {
                    ended = Some(Stopwatch::start());
                }
                Heard::Something => {}
                // Whoever still holds its output open is not waited for.
                Heard::Nothing if ended.is_some() => break,
                Heard::Nothing => {
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
                // What has no line end is said all the same.
                let _ = out.finish(|text| on_line(Stream::Out, text));
                let _ = err.finish(|text| on_line(Stream::Err, text));
                false
            }
            Phase::Ending { members, .. } => {
                tree::kill_all(self.child.id(), Some(&self.cookie), members);
                true
            }
        };
        let exit = self.child.wait().map(exit_of).map_err(|source| lost(&self.command, source))?;
        self.over = true;
        trace(&self.command, exit, &self.watch);
        Ok(FollowOutcome { exit, stopped })
    }
}

/// How long to wait for the next thing.
fn left(phase: &Phase, ended: Option<&Stopwatch>) -> Option<Duration> {
    match (phase, ended) {
        // Somebody it left behind may talk on for ever.
        (_, Some(since)) => Some(since.remaining(DRAIN)),
        (Phase::Ending { since, .. }, None) => Some(since.remaining(GRACE)),
        (Phase::Running, None) => None,
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if self.over {
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
    Ending { since: Stopwatch, members: std::collections::BTreeSet<u32> },
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// How long a test waits for a thing that must happen.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn sh(script: &str) -> Command {
        Command::new("sh").args(["-c", script])
    }

    fn unique(name: &str) -> String {
        format!("{name}-{}", uuid::Uuid::now_v7().simple())
    }

    fn is_gone(pid: u32) -> bool {
        let watch = Stopwatch::start();
        while tree::is_running(pid) {
            if watch.remaining(PATIENCE).is_zero() {
                return false;
            }
            thread::yield_now();
        }
        true
    }

    #[test]
    fn every_line_is_handed_over_and_the_end_is_told() {
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
    fn a_line_longer_than_a_pipe_arrives_in_one_piece() {
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
    fn a_stopped_program_takes_everything_it_started_with_it() {
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
    fn a_chatty_child_left_behind_does_not_hold_us() {
        let mark = unique("chatty");
        let running = sh("(while true; do echo noise; done) & exit 0").start(&mark).unwrap();
        let followed = running.follow(|_, _| ControlFlow::Continue(()));
        assert_eq!(followed.unwrap(), FollowOutcome { exit: Exit::Code(0), stopped: false });
        crate::process::end_marked(&mark);
    }

    #[test]
    fn a_reader_that_has_enough_stops_the_program() {
        let running = sh("echo $$; exec sleep 600").start(&unique("enough")).unwrap();
        let pid = running.pid();
        assert!(running.follow(|_, _| ControlFlow::Break(())).unwrap().stopped);
        assert!(is_gone(pid));
    }

    #[test]
    fn a_program_nobody_follows_does_not_outlive_its_handle() {
        let running = sh("sleep 600").start(&unique("dropped")).unwrap();
        let pid = running.pid();
        drop(running);
        assert!(is_gone(pid));
    }

    #[test]
    fn what_a_dead_process_left_is_found_by_its_mark() {
        let mark = unique("left");
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
