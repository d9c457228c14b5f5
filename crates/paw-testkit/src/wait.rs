//! Waiting for something to become true, instead of sleeping and hoping.

use std::thread;
use std::time::{Duration, Instant};

/// Asks until there is an answer. Fails the test after a generous deadline, naming what it waited for.
pub fn wait_until<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "waited in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
