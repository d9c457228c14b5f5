//! Runs a program so that every process it starts ends with it.
//!
//! A daemon leaves its parent, its process group and its session, and may clear its environment, so nothing marks it. On
//! Linux a small process of ours stands above the program as a subreaper: whatever loses its parent becomes its child. When the
//! program exits, that process ends all that is left, and only then exits itself.
#![expect(clippy::disallowed_methods, reason = "the program runs on our own standard streams")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command as StdCommand, ExitStatus};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, WaitOptions};

use super::{Exit, end_children};
use crate::clock::Stopwatch;
use crate::signals::ShutdownSignals;

/// How long killed processes may take to disappear. One that waits for a broken disk never does.
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

static HELPER: OnceLock<(PathBuf, &str)> = OnceLock::new();

/// Names the program and its first argument that call [`run_contained`]. Call it at the start of the process; without it,
/// contained programs are only marked in their environment.
pub fn set_containing_program(program: PathBuf, verb: &'static str) {
    let _ = HELPER.set((program, verb));
}

/// The program and the argument to put in front of a contained command.
pub(super) fn helper() -> Option<(PathBuf, &'static str)> {
    HELPER.get().filter(|(program, _)| program.is_file()).map(|(program, verb)| (program.clone(), *verb))
}

/// Runs a program on our own standard streams, then ends everything that it has started. Returns the exit code; exits by
/// the signal that killed the program, if one did.
pub fn run_contained(program: &OsString, args: &[OsString]) -> u8 {
    adopt_orphans();
    // Without this, a signal would end us first, and the rest would go on without us.
    let _ = ShutdownSignals::on_first(|| {
        end_all_descendants();
        std::process::exit(143);
    });
    let status = StdCommand::new(program).args(args).status();
    end_all_descendants();
    match status {
        Ok(status) => exit_like(status),
        Err(_) => 127,
    }
}

#[cfg(target_os = "linux")]
fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    // A killed git paw takes its runs along.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() {}

/// Until the system says that we have no child left: a list of processes can miss one that is being started.
fn end_all_descendants() {
    let watch = Stopwatch::start();
    while has_children() && !watch.remaining(TIMEOUT).is_zero() {
        end_children();
        thread::sleep(POLL_INTERVAL);
    }
}

fn has_children() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

fn exit_like(status: ExitStatus) -> u8 {
    match super::run::exit_of(status) {
        Exit::Code(code) => u8::try_from(code).unwrap_or(1),
        Exit::Signal(signal) => {
            if let Some(signal) = Signal::from_named_raw(signal) {
                let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
            }
            128_u8.saturating_add(u8::try_from(signal).unwrap_or(1))
        }
        Exit::TimedOut { .. } => 1,
    }
}
