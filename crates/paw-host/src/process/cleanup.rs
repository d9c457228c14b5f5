//! Ends leftover processes: those that a dead process left behind, and the children of this one.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use super::in_directory::own_ancestors;
use super::tree::{self, Signal};
use crate::clock::Stopwatch;

/// Time between SIGTERM and SIGKILL.
const GRACE_PERIOD: Duration = Duration::from_secs(2);
/// How long killed processes may take to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Ends every process that carries `mark` ([`super::Command::start`]), also those that another process started. Returns
/// their number; always 0 on systems that hide the environment of processes.
pub fn end_marked(mark: &str) -> usize {
    let cookie = tree::Cookie::named(mark);
    let spared = own_ancestors();
    end_all(|| {
        let mut found = tree::with_descendants(tree::carriers(Some(&cookie)));
        found.retain(|pid| !spared.contains(pid));
        found
    })
}

/// Ends every running descendant of this process. Call it just before the process exits.
pub fn end_children() -> usize {
    end_all(children)
}

/// Ends the programs that this process runs with a time limit, including everything they started. Other children, such
/// as git, keep running.
pub fn end_time_limited() -> usize {
    if cfg!(not(target_os = "linux")) {
        // Without `/proc` they cannot be told from other children.
        return end_children();
    }
    end_all(|| {
        let cookies = tree::Cookie::all_active();
        cookies.iter().flat_map(|cookie| tree::with_descendants(tree::carriers(Some(cookie)))).collect()
    })
}

fn children() -> BTreeSet<u32> {
    let own = std::process::id();
    let mut found = tree::members(own, None);
    found.remove(&own);
    found
}

fn end_all(find: impl Fn() -> BTreeSet<u32>) -> usize {
    let running = || -> BTreeSet<u32> { find().into_iter().filter(|pid| tree::is_running(*pid)).collect() };
    let first = running();
    for (signal, limit) in [(Signal::Terminate, GRACE_PERIOD), (Signal::Kill, KILL_TIMEOUT)] {
        let watch = Stopwatch::start();
        let mut signalled = BTreeSet::new();
        loop {
            let now = running();
            if now.is_empty() {
                return first.len();
            }
            // Signal each process once, including those started in the meantime.
            tree::signal(&now.difference(&signalled).copied().collect(), signal);
            signalled.extend(now);
            if watch.remaining(limit).is_zero() {
                break;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
    first.len()
}
