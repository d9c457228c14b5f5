//! Processes without an owner: what a process that died has left running, and what this one would leave.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use super::in_directory::ourselves;
use super::tree::{self, Signal};
use crate::clock::Stopwatch;

/// How long processes may clean up after they were asked to end.
const GRACE: Duration = Duration::from_secs(2);
/// How long the system may take to do away with processes that were killed.
const BURIAL: Duration = Duration::from_secs(2);
const GLANCE: Duration = Duration::from_millis(10);

/// Ends everything that was started under `mark` ([`super::Command::start`]), whoever started it. Says how many there
/// were. Where a system does not show environments, there are none.
pub fn end_marked(mark: &str) -> usize {
    let cookie = tree::Cookie::named(mark);
    let spared = ourselves();
    end_all(|| {
        let mut found = tree::with_descendants(tree::carriers(Some(&cookie)));
        found.retain(|pid| !spared.contains(pid));
        found
    })
}

/// Ends everything that this process has started and that still runs. For the last moment before it ends itself.
pub fn end_children() -> usize {
    end_all(children)
}

/// Ends the programs that this process runs for a limited time, with everything they have started, and no others: git is
/// left to finish what it is at.
pub fn end_time_limited() -> usize {
    if cfg!(not(target_os = "linux")) {
        // Nobody can tell there which they are.
        return end_children();
    }
    end_all(|| {
        let cookies = tree::Cookie::all_living();
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
    let living = || -> BTreeSet<u32> { find().into_iter().filter(|pid| tree::is_running(*pid)).collect() };
    let first = living();
    for (signal, patience) in [(Signal::End, GRACE), (Signal::Kill, BURIAL)] {
        let watch = Stopwatch::start();
        let mut asked = BTreeSet::new();
        loop {
            let now = living();
            if now.is_empty() {
                return first.len();
            }
            // Asked once; one that was started meanwhile is asked too.
            tree::signal(&now.difference(&asked).copied().collect(), signal);
            asked.extend(now);
            if watch.remaining(patience).is_zero() {
                break;
            }
            thread::sleep(GLANCE);
        }
    }
    first.len()
}
