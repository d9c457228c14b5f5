//! A request to end checks early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use paw_core::PawError;
use paw_host::process::end_time_limited;
use paw_host::signals::ShutdownSignals;

/// A check may begin at the very moment at which all are ended, so they are ended again after this time.
const AGAIN: Duration = Duration::from_millis(200);

/// Not raised at first. All clones are one.
#[derive(Debug, Clone, Default)]
pub struct StopRequest(Arc<AtomicBool>);

impl StopRequest {
    /// From here on a signal ends the checks that run and raises the request, and does nothing else by itself.
    pub fn on_signals() -> Result<Self, PawError> {
        let stop = Self::default();
        let raised = stop.clone();
        ShutdownSignals::on_first(move || raised.end_checks())?;
        Ok(stop)
    }

    pub fn raise(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Raises it, then ends the checks that run and those that begin, until this process has ended.
    pub(crate) fn end_checks(&self) {
        self.raise();
        loop {
            end_time_limited();
            thread::sleep(AGAIN);
        }
    }
}
