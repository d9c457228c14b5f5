//! How often a host sends. Pure.
//!
//! Each entry of the stream costs every host: it checks a signature and reads a header, however many messages the entry has. So
//! the more hosts send at the same time, the rarer and larger their batches are. A message after a quiet moment is sent at once.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// What a host sends in a second while it has a lot to send, so that it leaves the processor to those who publish.
const BYTES_PER_SECOND: u32 = 8_000_000;
/// The pause for each host that is sending. All hosts together store at most 200 entries in a second.
const SHARE: Duration = Duration::from_millis(5);
const SHORTEST: Duration = Duration::from_millis(3);
/// More hosts than these do not make the pause longer.
const MAX_HOSTS: usize = 50;
/// A host whose last entry is older is not sending.
const WINDOW: Duration = Duration::from_secs(1);

/// The hosts that are sending.
#[derive(Debug, Default)]
pub struct Pace {
    newest: HashMap<Box<str>, Instant>,
}

impl Pace {
    /// An entry of this host was read.
    pub fn note(&mut self, host: &str, now: Instant) {
        if let Some(newest) = self.newest.get_mut(host) {
            *newest = now;
            return;
        }
        if self.newest.len() >= MAX_HOSTS {
            self.forget_silent(now);
        }
        // An entry may name any host.
        if self.newest.len() < MAX_HOSTS {
            self.newest.insert(host.into(), now);
        }
    }

    fn forget_silent(&mut self, now: Instant) {
        self.newest.retain(|_, newest| now.duration_since(*newest) < WINDOW);
    }

    /// The time between a batch of this size and the next one, at least.
    pub fn pause_after(&mut self, bytes: usize, now: Instant) -> Duration {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.pause(now).max(Duration::from_secs(1) * bytes / BYTES_PER_SECOND)
    }

    /// The least time between two batches of this host.
    pub fn pause(&mut self, now: Instant) -> Duration {
        self.forget_silent(now);
        match self.newest.len() {
            0 | 1 => SHORTEST,
            hosts => SHARE * u32::try_from(hosts).unwrap_or(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_rarer_while_many_hosts_send_and_not_afterwards() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        assert_eq!(pace.pause(start), SHORTEST);
        for host in 0..10 {
            pace.note(&format!("host-{host}"), start);
        }
        assert_eq!(pace.pause(start), SHARE * 10);
        pace.note("host-3", start + WINDOW / 2);
        assert_eq!(pace.pause(start + WINDOW), SHORTEST, "one host sends");
        assert_eq!(pace.pause(start + WINDOW * 2), SHORTEST);
    }

    #[test]
    fn a_host_with_a_lot_to_send_leaves_time_to_others() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        assert_eq!(pace.pause_after(1000, start), SHORTEST);
        assert_eq!(pace.pause_after(200_000, start), Duration::from_millis(25));
        assert!(pace.pause_after(usize::MAX, start) > Duration::from_secs(1), "no overflow");
    }

    #[test]
    fn names_of_hosts_that_do_not_exist_cost_little_and_are_forgotten() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        for host in 0..1000 {
            pace.note(&format!("host-{host}"), start);
        }
        assert_eq!(pace.pause(start), Duration::from_millis(250));
        pace.note("another", start + WINDOW);
        assert_eq!(pace.newest.len(), 1);
    }
}
