//! A request to stop running gates.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use paw_core::PawError;
use paw_host::process::end_time_limited;
use paw_host::signals::ShutdownSignals;

/// A gate may start just after all were killed, so the kill is repeated at this interval.
const AGAIN: Duration = Duration::from_millis(200);

/// A flag that all clones share, not raised at first.
#[derive(Debug, Clone, Default)]
pub struct StopRequest(Arc<AtomicBool>);

impl StopRequest {
    /// From here on a signal raises the request and kills running gates, instead of ending the process.
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

    /// Raises the request and kills running gates until this process exits.
    pub(crate) fn end_checks(&self) {
        self.raise();
        loop {
            end_time_limited();
            thread::sleep(AGAIN);
        }
    }
}
