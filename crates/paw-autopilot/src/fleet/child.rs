//! The process that runs one task: git paw itself, in the task's worktree.

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

use super::outcome::{TaskOutcome, read_outcome};

/// Output beyond this is dropped; a result is far smaller.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Stops running processes, and those that are about to start.
#[derive(Debug, Default)]
pub(super) struct StopSwitch {
    wanted: AtomicBool,
    stoppers: Mutex<Vec<Stopper>>,
}

impl StopSwitch {
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

/// Runs the process to its end. Its stderr is passed on line by line and appended to a file.
pub(super) fn run(
    flags: &[String],
    project: &Path,
    stops: &StopSwitch,
    say: &mut dyn FnMut(&str),
) -> Result<TaskOutcome, PawError> {
    let program = paw_host::process::own_program()?;
    let path = TaskmasterDir::of(project).output_log();
    let kept = OpenOptions::new().append(true).create(true).open(&path);
    let mut kept = kept.map_err(FileError::when("write", &path))?;
    // Ending a mark ends every process that carries it, so the mark must be unique.
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
                // A full disk must not stop the task.
                let _ = kept.write_all(&[bytes, b"\n"].concat());
                last = String::from_utf8_lossy(bytes).into_owned();
                say(&last);
            }
        }
        ControlFlow::Continue(())
    });
    let followed = followed?;
    Ok(read_outcome(followed.exit, followed.stopped, &answer, &last, project))
}
