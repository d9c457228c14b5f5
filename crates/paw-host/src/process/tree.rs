//! Process trees: finds and ends a program and everything it started.
//!
//! A child can leave its process group (`setsid`) and its parent can die, so neither the group nor the parent id finds
//! all of them. A program with a time limit therefore carries a cookie in its environment, which its children inherit.
//! Where `/proc` can be read, every process with the cookie belongs to the tree.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, kill_process};

#[derive(Debug)]
pub(super) struct Cookie(String);

static ACTIVE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn active() -> MutexGuard<'static, BTreeSet<String>> {
    ACTIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cookie {
    pub(super) const VARIABLE: &str = "GIT_PAW_PROCESS_TREE";

    pub(super) fn new() -> Self {
        let cookie = Self(uuid::Uuid::now_v7().simple().to_string());
        active().insert(cookie.0.clone());
        cookie
    }

    /// Call when the program has exited.
    pub(super) fn forget(self) {
        active().remove(&self.0);
    }

    /// The cookies of the programs that this process is running.
    pub(super) fn all_active() -> Vec<Self> {
        active().iter().map(|name| Self::named(name)).collect()
    }

    /// A cookie with a fixed name, which another process can search for later.
    pub(super) fn named(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Signal {
    Terminate,
    Kill,
}

pub(super) fn signal(pids: &BTreeSet<u32>, signal: Signal) {
    for pid in pids.iter().filter_map(|pid| i32::try_from(*pid).ok().and_then(Pid::from_raw)) {
        let signal = match signal {
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
        };
        // The process may have exited already.
        let _ = kill_process(pid, signal);
    }
}

/// Kills until no member is left: a member may start another process while we look. `known` are the members seen
/// before; a dying process no longer shows its cookie, so it has to be remembered.
pub(super) fn kill_all(root: u32, cookie: Option<&Cookie>, mut known: BTreeSet<u32>) {
    known.remove(&root);
    for _ in 0..200 {
        let mut members = members(root, cookie);
        members.remove(&root);
        signal(&members, Signal::Kill);
        known.extend(members);
        if !table::all().iter().any(|process| known.contains(&process.pid) && !process.zombie) {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The root, its descendants, and every process with the cookie.
pub(super) fn members(root: u32, cookie: Option<&Cookie>) -> BTreeSet<u32> {
    let mut members = carriers(cookie);
    members.insert(root);
    with_descendants(members)
}

/// Every process with the cookie.
pub(super) fn carriers(cookie: Option<&Cookie>) -> BTreeSet<u32> {
    table::all().iter().map(|process| process.pid).filter(|pid| table::carries(*pid, cookie)).collect()
}

pub(super) fn with_descendants(mut members: BTreeSet<u32>) -> BTreeSet<u32> {
    let processes = table::all();
    loop {
        let before = members.len();
        let children = processes.iter().filter(|process| members.contains(&process.parent));
        members.extend(children.map(|process| process.pid).collect::<Vec<_>>());
        if members.len() == before {
            return members;
        }
    }
}

/// Whether there is a process with this id, perhaps a zombie.
pub fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let refused = Err(rustix::io::Errno::PERM);
    pid.is_some_and(|pid| {
        let asked = rustix::process::test_kill_process(pid);
        asked.is_ok() || asked == refused
    })
}

/// Whether a process is neither a zombie nor exiting. One that was killed may hold its locks for a moment longer.
pub fn is_alive(pid: u32) -> bool {
    exists(pid) && table::has_memory(pid)
}

/// Whether a process exists and is not a zombie.
pub(super) fn is_running(pid: u32) -> bool {
    table::all().iter().any(|process| process.pid == pid && !process.zombie)
}

struct Process {
    pid: u32,
    parent: u32,
    zombie: bool,
}

#[cfg(target_os = "linux")]
mod table {
    use std::fs;

    use super::{Cookie, Process};

    pub(super) fn all() -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        entries
            .filter_map(Result::ok)
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(|pid: u32| parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?))
            .collect()
    }

    /// `pid (name) state parent …`, where the name may hold anything, parentheses included.
    fn parse(pid: u32, stat: &str) -> Option<Process> {
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
        let zombie = matches!(fields.next()?, "Z" | "X");
        Some(Process { pid, parent: fields.next()?.parse().ok()?, zombie })
    }

    /// A process loses its memory first, and with it the command line.
    pub(super) fn has_memory(pid: u32) -> bool {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|command| !command.is_empty())
    }

    pub(super) fn carries(pid: u32, cookie: Option<&Cookie>) -> bool {
        let Some(cookie) = cookie else { return false };
        let wanted = format!("{}={}", Cookie::VARIABLE, cookie.as_str()).into_bytes();
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|variable| variable == wanted))
    }
}

#[cfg(not(target_os = "linux"))]
mod table {
    use super::{Cookie, Process};
    use crate::process::Command;

    pub(super) fn all() -> Vec<Process> {
        let Ok(output) = Command::new("ps").args(["-axo", "pid=,ppid=,state="]).capture() else {
            return Vec::new();
        };
        String::from_utf8_lossy(&output.stdout).lines().filter_map(parse).collect()
    }

    fn parse(line: &str) -> Option<Process> {
        let mut fields = line.split_whitespace();
        let (pid, parent) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Process { pid, parent, zombie: fields.next()?.starts_with('Z') })
    }

    pub(super) fn has_memory(pid: u32) -> bool {
        super::is_running(pid)
    }

    /// The environment of other processes cannot be read on this system.
    pub(super) fn carries(_pid: u32, _cookie: Option<&Cookie>) -> bool {
        false
    }
}
