//! The processes that this one belongs to: its ancestors, and the leaders of their terminal sessions.
//!
//! A process that left its parent keeps its terminal session, and one that left its terminal keeps its parent, so both are
//! followed.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

/// One process of a lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineageProcess {
    pub pid: u32,
    pub parent: u32,
    /// The controlling terminal: `/dev/pts/4`.
    pub terminal: Option<String>,
}

/// The processes that this one belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lineage {
    /// This process first.
    pub processes: Vec<LineageProcess>,
    /// The tmux servers among them, which are not part of `processes`. Servers of other users are left out.
    pub tmux_servers: Vec<u32>,
    /// The terminal of this process belongs to another process namespace, which hides the rest.
    pub is_cut_off: bool,
}

impl Lineage {
    /// The lineage of this process.
    pub fn load() -> Self {
        let mut lineage = Self::default();
        let mut seen = BTreeSet::from([0]);
        let mut left = VecDeque::from([std::process::id()]);
        let table = system::table();
        while let Some(pid) = left.pop_front() {
            if !seen.insert(pid) {
                continue;
            }
            let Some(found) = table.find(pid) else { continue };
            left.extend([found.process.parent].into_iter().chain(found.session_leader));
            // Any program can take the name of a tmux server, so its parents count, too.
            if found.is_tmux_server {
                lineage.tmux_servers.extend(found.is_own.then_some(pid));
                continue;
            }
            lineage.is_cut_off |= lineage.processes.is_empty()
                && found.process.terminal.is_some()
                && found.session_leader == Some(0);
            lineage.processes.push(found.process);
        }
        lineage
    }

    pub fn has(&self, pid: u32) -> bool {
        self.processes.iter().any(|process| process.pid == pid)
    }

    /// This process and its ancestors up to the first one with a terminal, which is left out.
    pub fn without_terminal(&self) -> Vec<u32> {
        let mut found = Vec::new();
        let mut next = self.processes.first();
        while let Some(process) = next.filter(|process| process.terminal.is_none()) {
            found.push(process.pid);
            next = self.processes.iter().find(|above| above.pid == process.parent);
        }
        found
    }
}

/// The working directory of a process.
pub fn working_directory(pid: u32) -> Option<PathBuf> {
    if pid == std::process::id() { std::env::current_dir().ok() } else { system::working_directory(pid) }
}

/// A variable of the environment that a process was started with.
pub fn start_variable(pid: u32, name: &str) -> Option<String> {
    if pid == std::process::id() {
        return std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    }
    system::start_variable(pid, name)
}

struct FoundProcess {
    process: LineageProcess,
    session_leader: Option<u32>,
    is_tmux_server: bool,
    /// Whether it runs as this user. Everything does for root.
    is_own: bool,
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::PathBuf;

    use super::{FoundProcess, LineageProcess};

    /// The device number of the first pseudo-terminal is this major number with minor 0.
    const PTS_MAJOR: u64 = 136;

    pub(super) struct Table;

    pub(super) fn table() -> Table {
        Table
    }

    impl Table {
        #[expect(clippy::unused_self, reason = "other systems read all processes at once")]
        pub(super) fn find(&self, pid: u32) -> Option<FoundProcess> {
            let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
            let (name, rest) = split(&stat)?;
            let mut fields = rest.split_whitespace().skip(1);
            let parent = fields.next()?.parse().ok()?;
            let session: u32 = fields.nth(1)?.parse().ok()?;
            let terminal = terminal(fields.next()?.parse::<i32>().ok()?.cast_unsigned().into());
            let us = rustix::process::geteuid();
            let owner = fs::metadata(format!("/proc/{pid}")).ok().map(|found| found.uid());
            Some(FoundProcess {
                process: LineageProcess { pid, parent, terminal },
                // 0 if the leader is in another process namespace.
                session_leader: Some(session),
                // The server sets its own process name; its arguments are those of the client that started it.
                is_tmux_server: name == b"tmux: server",
                is_own: us.is_root() || owner == Some(us.as_raw()),
            })
        }
    }

    /// The name and the fields of `pid (name) state parent …`. The name may contain anything, parentheses included.
    fn split(stat: &[u8]) -> Option<(&[u8], &str)> {
        let from = stat.iter().position(|byte| *byte == b'(')? + 1;
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        Some((stat.get(from..end)?, std::str::from_utf8(stat.get(end + 1..)?).ok()?))
    }

    fn terminal(device: u64) -> Option<String> {
        let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
        match (major, minor) {
            (0, 0) => None,
            (PTS_MAJOR.., minor) if major < PTS_MAJOR + 8 => {
                Some(format!("/dev/pts/{}", ((major - PTS_MAJOR) << 8) | minor))
            }
            (major, minor) => Some(format!("terminal {major}:{minor}")),
        }
    }

    pub(super) fn working_directory(pid: u32) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{pid}/cwd")).ok()
    }

    pub(super) fn start_variable(pid: u32, name: &str) -> Option<String> {
        let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let value = environ
            .split(|byte| *byte == 0)
            .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn terminal_names_come_from_device_numbers() {
            assert_eq!(terminal(0), None);
            assert_eq!(terminal((136 << 8) | 4).as_deref(), Some("/dev/pts/4"));
            assert_eq!(terminal((136 << 8) | 0x2c | (1 << 20)).as_deref(), Some("/dev/pts/300"));
            assert_eq!(terminal((4 << 8) | 1).as_deref(), Some("terminal 4:1"));
        }

        #[test]
        fn a_process_name_may_contain_anything() {
            assert_eq!(split(b"7 (a) b) S 1").unwrap(), (&b"a) b"[..], " S 1"));
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::PathBuf;

    use super::{FoundProcess, LineageProcess};
    use crate::process::Command;

    pub(super) struct Table(String);

    /// The session leader is not known here; the terminal of a process says as much.
    pub(super) fn table() -> Table {
        let listed = Command::new("ps").args(["-axo", "pid=,ppid=,tty=,comm="]).capture();
        Table(listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default())
    }

    impl Table {
        pub(super) fn find(&self, wanted: u32) -> Option<FoundProcess> {
            self.0.lines().filter_map(parse).find(|found| found.process.pid == wanted)
        }
    }

    fn parse(line: &str) -> Option<FoundProcess> {
        let mut fields = line.split_whitespace();
        let (pid, parent) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let terminal =
            Some(fields.next()?).filter(|name| !name.contains('?')).map(|name| format!("/dev/{name}"));
        // Only a server has processes of panes as its children.
        let is_tmux_server = fields.next()?.rsplit('/').next()?.starts_with("tmux");
        let process = LineageProcess { pid, parent, terminal };
        Some(FoundProcess { process, session_leader: None, is_tmux_server, is_own: true })
    }

    /// Not available without other programs.
    pub(super) fn working_directory(_pid: u32) -> Option<PathBuf> {
        None
    }

    pub(super) fn start_variable(_pid: u32, _name: &str) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, terminal: Option<&str>) -> LineageProcess {
        LineageProcess { pid, parent, terminal: terminal.map(str::to_owned) }
    }

    #[test]
    fn lineage_contains_this_process_and_its_parent() {
        let lineage = Lineage::load();
        assert_eq!(lineage.processes[0].pid, std::process::id());
        assert!(lineage.has(lineage.processes[0].parent));
        assert_eq!(working_directory(std::process::id()), std::env::current_dir().ok());
        assert!(!lineage.is_cut_off);
    }

    #[test]
    fn processes_without_a_terminal_end_at_the_first_terminal() {
        let processes = vec![
            process(9, 8, None),
            process(8, 7, None),
            process(7, 6, Some("/dev/pts/1")),
            process(6, 1, None),
        ];
        let lineage = Lineage { processes, ..Lineage::default() };
        assert_eq!(lineage.without_terminal(), [9, 8]);
        let on_terminal = Lineage { processes: vec![process(9, 8, Some("x"))], ..Lineage::default() };
        assert_eq!(on_terminal.without_terminal(), [0; 0]);
    }
}
