//! Requests to pause a run: a file next to its state, or a signal to its process.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use paw_host::files::{self, Access, FileError};
use paw_host::process::end_marked;

use super::{ActiveRun, WorkError};
use crate::engine::{PauseReason, RunEvent, RunStage};
use crate::tasks::TaskProject;

/// How often the file is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// The pause request of one run. Clones share it.
#[derive(Debug, Clone)]
pub struct PauseRequest {
    file: PathBuf,
    raised: Arc<AtomicBool>,
}

impl PauseRequest {
    pub fn of(project: &TaskProject) -> Self {
        let file = project.files().pause_request();
        Self { file, raised: Arc::new(AtomicBool::new(false)) }
    }

    /// Requests a pause from another process. A run that starts later ignores the request.
    pub fn ask(project: &TaskProject) -> Result<(), FileError> {
        files::write_atomic(&Self::of(project).file, b"", Access::Usual)
    }

    /// Requests a pause from within the run's process.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
    }

    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst) || self.file.exists()
    }

    pub(super) fn forget(&self) {
        self.raised.store(false, Ordering::SeqCst);
        // If the file cannot be removed, the run pauses again and reports it.
        let _ = std::fs::remove_file(&self.file);
    }

    /// Sleeps until the time is over or a pause is requested.
    pub fn sleep(&self, time: Duration) {
        let mut left = time;
        while !left.is_zero() && !self.is_raised() {
            let nap = left.min(POLL_INTERVAL);
            thread::sleep(nap);
            left = left.saturating_sub(nap);
        }
    }
}

/// Kills what the run is waiting for as soon as a pause is requested, until dropped.
#[derive(Debug)]
pub struct PauseWatch(Arc<AtomicBool>);

impl Drop for PauseWatch {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl ActiveRun {
    /// From now on a pause request interrupts the executor and the tests.
    pub fn watch_for_pause(&self) -> PauseWatch {
        let over = Arc::new(AtomicBool::new(false));
        let (stopped, request, marks) = (Arc::clone(&over), self.pause.clone(), self.notes.interruptible());
        thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                if request.is_raised() {
                    for mark in &marks {
                        end_marked(mark);
                    }
                }
                thread::sleep(POLL_INTERVAL);
            }
        });
        PauseWatch(over)
    }

    /// Pauses the run if requested.
    pub fn check_pause(&mut self) -> Result<(), WorkError> {
        let stands = self.run.is_over() || matches!(self.run.stage, RunStage::Paused { .. });
        if stands || !self.pause.is_raised() {
            return Ok(());
        }
        self.pause.forget();
        self.apply(RunEvent::Pause)?;
        Err(WorkError::Paused(PauseReason::Asked.to_string()))
    }
}
