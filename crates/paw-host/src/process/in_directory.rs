//! Who lives in a directory: the processes whose working directory it is, or lies below it.
//!
//! Neither this process nor anybody above it is ever named or ended: whoever types `remove` inside a worktree keeps
//! their shell. Nor is a tmux server: it stays where it happened to be started, works nowhere, and holds all sessions
//! of its user. Where a system does not say where a process works, it is simply not found.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::tree::{self, Signal};
use crate::clock::Stopwatch;

/// How long processes may clean up after they were asked to end.
const GRACE: Duration = Duration::from_secs(3);
/// How long the system may take to do away with a process that was killed.
const BURIAL: Duration = Duration::from_secs(2);
const GLANCE: Duration = Duration::from_millis(20);

/// A process at work in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    pub pid: u32,
    /// As a person would type it, or the bare name where the arguments cannot be read.
    pub command_line: String,
    pub cwd: PathBuf,
    /// Tells this process from a later one with the same id, where the system says when it was born.
    born: Option<u64>,
}

/// Every process that works in `dir` or below it, by id. The directory may have been deleted under them.
pub fn processes_in(dir: &Path) -> Vec<ProcessInfo> {
    let dir = real_path(dir);
    let spared = ourselves();
    let mut found: Vec<_> = system::processes()
        .into_iter()
        .filter(|process| process.cwd.starts_with(&dir) && !spared.contains(&process.pid))
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}

/// Asks the processes and everything they started to end, then makes them. Returns those that are still there.
pub fn terminate(processes: &[ProcessInfo]) -> Vec<ProcessInfo> {
    let spared = ourselves();
    let mut trees = BTreeSet::new();
    for process in processes.iter().filter(|process| is_still(process)) {
        trees.extend(tree::members(process.pid, None));
    }
    trees.retain(|pid| !spared.contains(pid));
    tree::signal(&trees, Signal::End);
    if !wait_for_end(&trees, GRACE) {
        // A member may have started another one in the meantime.
        let late: Vec<u32> = trees.iter().copied().filter(|pid| tree::is_running(*pid)).collect();
        for pid in late {
            trees.extend(tree::members(pid, None).into_iter().filter(|pid| !spared.contains(pid)));
        }
        trees.retain(|pid| tree::is_running(*pid));
        tree::signal(&trees, Signal::Kill);
        wait_for_end(&trees, BURIAL);
    }
    processes.iter().filter(|process| is_still(process)).cloned().collect()
}

fn wait_for_end(pids: &BTreeSet<u32>, limit: Duration) -> bool {
    let watch = Stopwatch::start();
    loop {
        if !pids.iter().any(|pid| tree::is_running(*pid)) {
            return true;
        }
        if watch.remaining(limit).is_zero() {
            return false;
        }
        thread::sleep(GLANCE);
    }
}

fn is_still(process: &ProcessInfo) -> bool {
    tree::is_running(process.pid) && (process.born.is_none() || system::born(process.pid) == process.born)
}

/// This process and its parent, its parent's parent, and so on.
pub(super) fn ourselves() -> BTreeSet<u32> {
    let mut line = BTreeSet::new();
    let mut next = Some(std::process::id());
    while let Some(pid) = next {
        next = if line.insert(pid) { system::parent(pid) } else { None };
    }
    line
}

/// The path the system would report, even when its last part no longer exists.
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
                    born: born(pid),
                })
            })
            .collect()
    }

    /// The server names itself so; its arguments are those of the client that started it.
    fn is_tmux_server(pid: u32) -> bool {
        fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"tmux: server\n")
    }

    /// The kernel marks a directory that is gone.
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

    /// When the process was started, in ticks since the machine was.
    pub(super) fn born(pid: u32) -> Option<u64> {
        after_name(pid, 19)?.parse().ok()
    }

    /// A field of `pid (name) state parent …`, counted from the state: the name may hold anything.
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

    /// `lsof` may hang on a network disk that went away.
    const PATIENCE: Duration = Duration::from_secs(10);

    pub(super) fn processes() -> Vec<ProcessInfo> {
        let asked = Command::new("lsof").args(["-w", "-d", "cwd", "-Fpn0"]).time_limit(PATIENCE).capture();
        let Ok(answer) = asked else { return Vec::new() };
        let answered = Command::new("ps").args(["-axo", "pid=,ppid=,args="]).time_limit(PATIENCE).capture();
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
                Some(ProcessInfo { pid, command_line, cwd, born: None })
            })
            .collect()
    }

    pub(super) fn parent(pid: u32) -> Option<u32> {
        let answer = Command::new("ps").args(["-o", "ppid=", "-p", &pid.to_string()]).capture().ok()?;
        String::from_utf8_lossy(&answer.stdout).trim().parse().ok().filter(|parent| *parent != 0)
    }

    pub(super) fn born(_pid: u32) -> Option<u64> {
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
    /// A client has the shell above it that it was typed in; the server has left its own.
    fn is_tmux_server(&self) -> bool {
        let name = self.args.split(' ').next().and_then(|program| program.rsplit('/').next());
        self.parent == 1 && matches!(name, Some("tmux" | "tmux:"))
    }
}

/// From `ps -axo pid=,ppid=,args=`.
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

/// From `lsof -Fpn0`: fields end with NUL, sets with a newline; `p` opens a process, `n` is a file's name.
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
    fn a_listing_of_working_directories_is_read_with_newlines_in_their_names() {
        let listing = b"p12\0\nfcwd\0n/a\nb\0\np7\0\nfcwd\0n/c\0\npx\0\nfcwd\0n/nobody\0\n";
        assert_eq!(working_directories(listing), [(12, PathBuf::from("/a\nb")), (7, PathBuf::from("/c"))]);
    }

    #[test]
    fn a_tmux_server_is_told_from_its_clients_in_a_table_of_processes() {
        let table = "  17     1 tmux new-session -d\n 18 9 /opt/bin/tmux attach\n19 1 /opt/bin/tmux -L x new\n20 1 vi tmux\n";
        let programs = programs(table);
        let servers: Vec<u32> =
            programs.iter().filter(|(_, program)| program.is_tmux_server()).map(|(pid, _)| *pid).collect();
        assert_eq!((programs.len(), servers), (4, vec![17, 19]));
        assert_eq!(programs[&20].args, "vi tmux");
    }

    #[test]
    fn our_own_process_and_its_parent_are_spared() {
        let spared = ourselves();
        assert!(spared.contains(&std::process::id()));
        assert!(spared.contains(&std::os::unix::process::parent_id()));
        assert!(processes_in(Path::new("/")).iter().all(|process| !spared.contains(&process.pid)));
    }

    /// A process that is reaped whatever the test does.
    struct Inhabitant(Child);

    impl Inhabitant {
        #[expect(clippy::disallowed_methods, reason = "the process has to outlive the call that starts it")]
        fn moves_into(dir: &Path, script: &str) -> Self {
            let mut command = std::process::Command::new("sh");
            Self(command.args(["-c", script]).current_dir(dir).stdin(Stdio::null()).spawn().unwrap())
        }
    }

    impl Drop for Inhabitant {
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
    fn whoever_works_in_a_directory_or_below_is_found_and_nobody_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["tree/below", "tree-2"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let inside = Inhabitant::moves_into(&dir.path().join("tree/below"), "exec sleep 1000");
        let _beside = Inhabitant::moves_into(&dir.path().join("tree-2"), "exec sleep 1000");
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
    fn whoever_works_in_a_deleted_directory_is_still_found() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let _inside = Inhabitant::moves_into(&tree, "exec sleep 1000");
        wait_for(&tree, 1);
        fs::remove_dir(&tree).unwrap();
        assert_eq!(wait_for(&tree, 1)[0].cwd, tree.parent().unwrap().canonicalize().unwrap().join("tree"));
    }

    #[test]
    fn a_process_that_refuses_to_end_is_ended_with_what_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let script = "trap '' TERM; (cd /; exec sleep 1000) & echo $! > child; while :; do sleep 1000; done";
        let mut stubborn = Inhabitant::moves_into(dir.path(), script);
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
    fn a_later_process_with_the_same_id_is_not_ended() {
        let dir = tempfile::tempdir().unwrap();
        let inside = Inhabitant::moves_into(dir.path(), "exec sleep 1000");
        let mut found = wait_for(dir.path(), 1);
        if let Some(born) = &mut found[0].born {
            *born += 1;
            assert_eq!(terminate(&found), []);
            assert!(tree::is_running(inside.0.id()));
        }
    }
}
