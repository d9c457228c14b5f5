//! Ctrl+C, and whatever else asks us to end, while checks run.

use std::thread;
use std::time::Duration;

use paw_core::PawError;
use paw_host::process::end_limited;
use paw_screen::terminal::EndSignals;
use paw_supervisor::gates::Stop;

/// One check may begin at the very moment at which all are ended.
const AGAIN: Duration = Duration::from_millis(200);

/// From here on a signal ends the checks that run, and nothing else by itself: whoever runs them finds the wish raised.
pub(crate) fn stop_on_signals() -> Result<Stop, PawError> {
    let stop = Stop::default();
    let wish = stop.clone();
    let end = move || end_checks(&wish);
    EndSignals::on_first(end)?;
    Ok(stop)
}

/// Ends the checks that run, and those that begin, until this process has ended.
pub(crate) fn end_checks(stop: &Stop) {
    stop.raise();
    loop {
        end_limited();
        thread::sleep(AGAIN);
    }
}
