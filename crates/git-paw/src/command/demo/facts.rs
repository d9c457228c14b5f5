//! Facts that a demo checks: it waits for each of them, and lists them at the end.

use std::fmt;
use std::time::Duration;

use paw_core::PawError;
use paw_host::clock::Stopwatch;

use crate::context::Context;
use crate::output::Style;

/// Longer than any step takes, on any machine.
const TIMEOUT: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The facts checked so far.
pub(super) type CheckedFacts = Vec<&'static str>;

/// The error of a failed check.
pub(super) fn not_seen(fact: &str, found: impl fmt::Display) -> PawError {
    PawError::SessionError(format!("not seen: {fact} ({found})"))
}

/// Polls until a fact is seen.
pub(super) fn wait_until(
    fact: &str,
    mut is_seen: impl FnMut() -> Result<bool, PawError>,
) -> Result<(), PawError> {
    let watch = Stopwatch::start();
    while !is_seen()? {
        if watch.remaining(TIMEOUT).is_zero() {
            return Err(not_seen(fact, format!("waited {} s", TIMEOUT.as_secs())));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Lists the facts at the end of a demo.
pub(super) fn list(seen: &CheckedFacts, context: &Context) -> Result<(), PawError> {
    let output = &context.output;
    output.say("")?;
    output.say(&format!("you have seen ({} checked facts):", seen.len()))?;
    seen.iter().try_for_each(|fact| output.say(&format!("  {} {fact}", output.paint(Style::Success, "✓"))))
}
