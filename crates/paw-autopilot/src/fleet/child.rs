//! The process that does one task: our own program in the task's worktree.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use paw_core::PawError;
use paw_core::paths::TaskmasterDir;
use paw_host::files::FileError;
use paw_host::process::{Command, Stopper, Stream};

use super::ending::{Ending, read};

/// A document is far smaller; more is a program gone wild.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Ends the processes that run, and those that are about to start.
#[derive(Debug, Default)]
pub(super) struct Stops {
    wanted: AtomicBool,
    stoppers: Mutex<Vec<Stopper>>,
}

impl Stops {
    pub(super) fn stop(&self) {
        self.wanted.store(true, Ordering::SeqCst);
        let stoppers = self.stoppers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        stoppers.iter().for_each(Stopper::stop);
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }

    fn add(&self, stopper: Stopper) {
        let mut stoppers = self.stoppers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if self.is_wanted() {
            stopper.stop();
        }
        stoppers.push(stopper);
    }
}

/// Runs it to its end. Its standard error is handed over line by line, and kept in a file.
pub(super) fn run(
    flags: &[String],
    project: &Path,
    stops: &Stops,
    say: &mut dyn FnMut(&str),
) -> Result<Ending, PawError> {
    let program = paw_host::process::own_program()?;
    let path = TaskmasterDir::of(project).output_log();
    let kept = OpenOptions::new().append(true).create(true).open(&path);
    let mut kept = kept.map_err(FileError::when("write", &path))?;
    // A process with the mark is ended with it, so no other process may have it.
    let mark = format!("autopilot-{}-{}", std::process::id(), project.display());
    let running = Command::new(program).args(flags).dir(project).start(&mark)?;
    stops.add(running.stopper());
    let (mut answer, mut last) = (Vec::new(), String::new());
    let followed = running.follow(|stream, bytes| {
        match stream {
            Stream::Out if answer.len() + bytes.len() < LONGEST_ANSWER => {
                answer.extend_from_slice(bytes);
                answer.push(b'\n');
            }
            Stream::Out => {}
            Stream::Err => {
                // A full disk is no reason to end the work.
                let _ = kept.write_all(&[bytes, b"\n"].concat());
                last = String::from_utf8_lossy(bytes).into_owned();
                say(&last);
            }
        }
        ControlFlow::Continue(())
    });
    let followed = followed?;
    Ok(read(followed.exit, followed.stopped, &answer, &last, project))
}
