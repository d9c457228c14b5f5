//! Lists and ends the processes whose working directory is in a directory.
//!
//! Never includes this process and its ancestors: a user who runs `remove` inside a worktree keeps their shell. Never
//! includes a tmux server either: it keeps the directory it was started in, and it holds all sessions of its user.
//! A process whose working directory cannot be read is not found.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::tree::{self, Signal};
use crate::clock::Stopwatch;

/// Time between SIGTERM and SIGKILL.
const GRACE_PERIOD: Duration = Duration::from_secs(3);
/// How long a killed process may take to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running process and its working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    pub pid: u32,
    /// Quoted for a shell; only the name if the arguments cannot be read.
    pub command_line: String,
    pub cwd: PathBuf,
    /// Distinguishes this process from a later one with the same id. Not available on every system.
    start_time: Option<u64>,
}

/// Every process whose working directory is `dir` or below it, sorted by id. The directory may already be deleted.
pub fn processes_in(dir: &Path) -> Vec<ProcessInfo> {
    let dir = real_path(dir);
    let excluded = own_ancestors();
    let mut found: Vec<_> = system::processes()
        .into_iter()
        .filter(|process| process.cwd.starts_with(&dir) && !excluded.contains(&process.pid))
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}

/// Terminates the processes and everything they started, then kills them. Returns those that are still running.
pub fn terminate(processes: &[ProcessInfo]) -> Vec<ProcessInfo> {
    let excluded = own_ancestors();
    let mut trees = BTreeSet::new();
    for process in processes.iter().filter(|process| is_still_running(process)) {
        trees.extend(tree::members(process.pid, None));
    }
    trees.retain(|pid| !excluded.contains(pid));
    tree::signal(&trees, Signal::Terminate);
    if !wait_for_exit(&trees, GRACE_PERIOD) {
        // A process may have started another one in the meantime.
        let late: Vec<u32> = trees.iter().copied().filter(|pid| tree::is_running(*pid)).collect();
        for pid in late {
            trees.extend(tree::members(pid, None).into_iter().filter(|pid| !excluded.contains(pid)));
        }
        trees.retain(|pid| tree::is_running(*pid));
        tree::signal(&trees, Signal::Kill);
        wait_for_exit(&trees, KILL_TIMEOUT);
    }
    processes.iter().filter(|process| is_still_running(process)).cloned().collect()
}

fn wait_for_exit(pids: &BTreeSet<u32>, limit: Duration) -> bool {
    let watch = Stopwatch::start();
    loop {
        if !pids.iter().any(|pid| tree::is_running(*pid)) {
            return true;
        }
        if watch.remaining(limit).is_zero() {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn is_still_running(process: &ProcessInfo) -> bool {
    tree::is_running(process.pid)
        && (process.start_time.is_none() || system::start_time(process.pid) == process.start_time)
}

/// This process, its parent, and so on.
pub(super) fn own_ancestors() -> BTreeSet<u32> {
    let mut line = BTreeSet::new();
    let mut next = Some(std::process::id());
    while let Some(pid) = next {
        next = if line.insert(pid) { system::parent(pid) } else { None };
    }
    line
}

/// The canonical path, even if its last component no longer exists.
fn real_path(dir: &Path) -> PathBuf {
    if let Ok(real) = dir.canonicalize() {
        return real;
    }
    match (dir.parent().and_then(|parent| parent.canonicalize().ok()), dir.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => dir.to_path_buf(),
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::PathBuf;

    use super::ProcessInfo;
    use crate::process::shell_quote;

    pub(super) fn processes() -> Vec<ProcessInfo> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        entries
            .filter_map(Result::ok)
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(|pid: u32| {
                let cwd = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
                if is_tmux_server(pid) {
                    return None;
                }
                Some(ProcessInfo {
                    pid,
                    command_line: command_line(pid)?,
                    cwd: undeleted(cwd),
                    start_time: start_time(pid),
                })
            })
            .collect()
    }

    /// The server sets its own process name; its arguments are those of the client that started it.
    fn is_tmux_server(pid: u32) -> bool {
        fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"tmux: server\n")
    }

    /// The kernel appends ` (deleted)` to a deleted directory.
    fn undeleted(cwd: PathBuf) -> PathBuf {
        match cwd.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
            Some(before) if !cwd.exists() => PathBuf::from(OsStr::from_bytes(before)),
            _ => cwd,
        }
    }

    fn command_line(pid: u32) -> Option<String> {
        let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words: Vec<String> = bytes
            .strip_suffix(b"\0")
            .unwrap_or(&bytes)
            .split(|byte| *byte == 0)
            .map(|word| shell_quote(OsStr::from_bytes(word)))
            .collect();
        if !bytes.is_empty() {
            return Some(words.join(" "));
        }
        let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
        Some(std::ffi::OsString::from_vec(name).to_string_lossy().trim_end().to_owned())
    }

    pub(super) fn parent(pid: u32) -> Option<u32> {
        after_name(pid, 1)?.parse().ok().filter(|parent| *parent != 0)
    }

    /// In clock ticks since boot.
    pub(super) fn start_time(pid: u32) -> Option<u64> {
        after_name(pid, 19)?.parse().ok()
    }

    /// A field of `pid (name) state parent …`, counted from the state, because the name may contain anything.
    fn after_name(pid: u32, field: usize) -> Option<String> {
        let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let start = line.iter().rposition(|byte| *byte == b')')? + 1;
        Some(std::str::from_utf8(&line[start..]).ok()?.split_whitespace().nth(field)?.to_owned())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::time::Duration;

    use super::{ProcessInfo, Program};
    use crate::process::Command;

    /// `lsof` may hang on an unreachable network disk.
    const TIMEOUT: Duration = Duration::from_secs(10);

    pub(super) fn processes() -> Vec<ProcessInfo> {
        let asked = Command::new("lsof").args(["-w", "-d", "cwd", "-Fpn0"]).time_limit(TIMEOUT).capture();
        let Ok(answer) = asked else { return Vec::new() };
        let answered = Command::new("ps").args(["-axo", "pid=,ppid=,args="]).time_limit(TIMEOUT).capture();
        let table = answered.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned());
        let mut programs: BTreeMap<u32, Program> = super::programs(table.as_deref().unwrap_or_default());
        super::working_directories(&answer.stdout)
            .into_iter()
            .filter_map(|(pid, cwd): (u32, PathBuf)| {
                let program = programs.remove(&pid);
                if program.as_ref().is_some_and(Program::is_tmux_server) {
                    return None;
                }
                let command_line = program.map_or_else(|| pid.to_string(), |program| program.args);
                Some(ProcessInfo { pid, command_line, cwd, start_time: None })
            })
            .collect()
    }

    pub(super) fn parent(pid: u32) -> Option<u32> {
        let answer = Command::new("ps").args(["-o", "ppid=", "-p", &pid.to_string()]).capture().ok()?;
        String::from_utf8_lossy(&answer.stdout).trim().parse().ok().filter(|parent| *parent != 0)
    }

    pub(super) fn start_time(_pid: u32) -> Option<u64> {
        None
    }
}

#[cfg(any(test, not(target_os = "linux")))]
struct Program {
    parent: u32,
    args: String,
}

#[cfg(any(test, not(target_os = "linux")))]
impl Program {
    /// The parent of a client is a shell; the server is a daemon.
    fn is_tmux_server(&self) -> bool {
        let name = self.args.split(' ').next().and_then(|program| program.rsplit('/').next());
        self.parent == 1 && matches!(name, Some("tmux" | "tmux:"))
    }
}

/// Parses `ps -axo pid=,ppid=,args=`.
#[cfg(any(test, not(target_os = "linux")))]
fn programs(table: &str) -> std::collections::BTreeMap<u32, Program> {
    let row = |line: &str| {
        let (pid, rest) = line.trim_start().split_once(' ')?;
        let (parent, args) = rest.trim_start().split_once(' ')?;
        let program = Program { parent: parent.parse().ok()?, args: args.trim_start().to_owned() };
        Some((pid.parse().ok()?, program))
    };
    table.lines().filter_map(row).collect()
}

/// Parses `lsof -Fpn0`: fields end with NUL, sets with a newline; `p` starts a process, `n` is a file name.
#[cfg(any(test, not(target_os = "linux")))]
fn working_directories(listing: &[u8]) -> Vec<(u32, PathBuf)> {
    use std::os::unix::ffi::OsStrExt as _;

    let mut found = Vec::new();
    let mut pid = None;
    for field in listing.split(|byte| *byte == 0) {
        let field = field.strip_prefix(b"\n").unwrap_or(field);
        match field.split_first() {
            Some((b'p', rest)) => pid = std::str::from_utf8(rest).ok().and_then(|text| text.parse().ok()),
            Some((b'n', rest)) => {
                found.extend(pid.map(|pid| (pid, PathBuf::from(std::ffi::OsStr::from_bytes(rest)))));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Child, Stdio};

    use super::*;

    #[test]
    fn lsof_output_is_parsed_even_with_newlines_in_paths() {
        let listing = b"p12\0\nfcwd\0n/a\nb\0\np7\0\nfcwd\0n/c\0\npx\0\nfcwd\0n/unparsed\0\n";
        assert_eq!(working_directories(listing), [(12, PathBuf::from("/a\nb")), (7, PathBuf::from("/c"))]);
    }

    #[test]
    fn ps_output_distinguishes_a_tmux_server_from_its_clients() {
        let table = "  17     1 tmux new-session -d\n 18 9 /opt/bin/tmux attach\n19 1 /opt/bin/tmux -L x new\n20 1 vi tmux\n";
        let programs = programs(table);
        let servers: Vec<u32> =
            programs.iter().filter(|(_, program)| program.is_tmux_server()).map(|(pid, _)| *pid).collect();
        assert_eq!((programs.len(), servers), (4, vec![17, 19]));
        assert_eq!(programs[&20].args, "vi tmux");
    }

    #[test]
    fn processes_in_excludes_this_process_and_its_parent() {
        let excluded = own_ancestors();
        assert!(excluded.contains(&std::process::id()));
        assert!(excluded.contains(&std::os::unix::process::parent_id()));
        assert!(processes_in(Path::new("/")).iter().all(|process| !excluded.contains(&process.pid)));
    }

    /// Killed and reaped when the test ends.
    struct TestProcess(Child);

    impl TestProcess {
        #[expect(clippy::disallowed_methods, reason = "the process has to outlive the call that starts it")]
        fn start_in(dir: &Path, script: &str) -> Self {
            let mut command = std::process::Command::new("sh");
            Self(command.args(["-c", script]).current_dir(dir).stdin(Stdio::null()).spawn().unwrap())
        }
    }

    impl Drop for TestProcess {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn wait_for(dir: &Path, count: usize) -> Vec<ProcessInfo> {
        let watch = Stopwatch::start();
        loop {
            let found = processes_in(dir);
            if found.len() == count {
                return found;
            }
            assert!(watch.elapsed() < Duration::from_secs(20), "{count} processes expected, found {found:?}");
            thread::yield_now();
        }
    }

    #[test]
    fn processes_in_finds_processes_in_the_directory_and_below_only() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["tree/below", "tree-2"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let inside = TestProcess::start_in(&dir.path().join("tree/below"), "exec sleep 1000");
        let _next_to_it = TestProcess::start_in(&dir.path().join("tree-2"), "exec sleep 1000");
        let found = wait_for(&dir.path().join("tree"), 1);
        assert_eq!(found[0].pid, inside.0.id());
        assert!(found[0].cwd.ends_with("tree/below"));
        let named = || processes_in(&dir.path().join("tree"))[0].command_line == "sleep 1000";
        let watch = Stopwatch::start();
        while !named() {
            assert!(watch.elapsed() < Duration::from_secs(20));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn processes_in_finds_processes_in_a_deleted_directory() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let _inside = TestProcess::start_in(&tree, "exec sleep 1000");
        wait_for(&tree, 1);
        fs::remove_dir(&tree).unwrap();
        assert_eq!(wait_for(&tree, 1)[0].cwd, tree.parent().unwrap().canonicalize().unwrap().join("tree"));
    }

    #[test]
    fn terminate_kills_a_process_that_ignores_sigterm_and_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let script = "trap '' TERM; (cd /; exec sleep 1000) & echo $! > child; while :; do sleep 1000; done";
        let mut stubborn = TestProcess::start_in(dir.path(), script);
        let watch = Stopwatch::start();
        let child = loop {
            let text = fs::read_to_string(dir.path().join("child")).unwrap_or_default();
            if let Ok(pid) = text.trim().parse::<u32>() {
                break pid;
            }
            assert!(watch.elapsed() < Duration::from_secs(20));
        };
        let found = processes_in(dir.path());
        assert!(found.iter().any(|process| process.pid == stubborn.0.id()), "{found:?}");
        assert_eq!(terminate(&found), []);
        stubborn.0.wait().unwrap();
        assert!(!tree::is_running(child));
        assert_eq!(processes_in(dir.path()), []);
    }

    #[test]
    fn terminate_spares_a_later_process_with_the_same_id() {
        let dir = tempfile::tempdir().unwrap();
        let inside = TestProcess::start_in(dir.path(), "exec sleep 1000");
        let mut found = wait_for(dir.path(), 1);
        if let Some(start_time) = &mut found[0].start_time {
            *start_time += 1;
            assert_eq!(terminate(&found), []);
            assert!(tree::is_running(inside.0.id()));
        }
    }
}
