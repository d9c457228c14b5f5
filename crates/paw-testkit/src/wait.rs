//! Waits for a condition with a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// Polls until there is a result. Panics after a generous deadline with the name of the condition.
pub fn wait_until<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(result) = poll() {
            return result;
        }
        assert!(start.elapsed() < Duration::from_mins(3), "timed out waiting until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
