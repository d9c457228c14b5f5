//! The panes of a tmux server that is known by its process. Neither `PATH` nor any other variable is used to find it.

use std::path::PathBuf;
use std::time::Duration;

use super::{TmuxCommand, TmuxError, stdout_of};
use crate::process::Command;

const TIME_LIMIT: Duration = Duration::from_secs(5);

/// A pane, and the value of one of its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPane {
    /// Its first process.
    pub pid: u32,
    /// `/dev/pts/4`
    pub terminal: String,
    /// Empty if the option is not set.
    pub option: String,
}

/// All panes of the server with this process id.
pub fn panes_of_server(server: u32, option: &str) -> Result<Vec<ServerPane>, TmuxError> {
    let (program, socket) = system::find(server)
        .ok_or_else(|| TmuxError::Unexpected(format!("cannot find the socket of tmux server {server}")))?;
    let format = format!("#{{pane_pid}}\t#{{pane_tty}}\t#{{{option}}}");
    let command = TmuxCommand::new("list-panes").args(["-a", "-F", &format]);
    let tmux = Command::new(program).args(["-u", "-S"]).arg(socket).args(command.words());
    let listing = stdout_of(&command, &tmux.time_limit(TIME_LIMIT).capture()?)?;
    Ok(listing.lines().filter_map(parse).collect())
}

fn parse(line: &str) -> Option<ServerPane> {
    let mut fields = line.splitn(3, '\t');
    let (pid, terminal, option) = (fields.next()?.parse().ok()?, fields.next()?, fields.next()?);
    Some(ServerPane { pid, terminal: terminal.to_owned(), option: option.to_owned() })
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeSet;
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;

    use super::PathBuf;

    /// The flag of a listening socket in `/proc/net/unix`.
    const LISTENS: &[u8] = b"00010000";

    /// The program and the socket of a server.
    pub(super) fn find(server: u32) -> Option<(PathBuf, PathBuf)> {
        let program = fs::read_link(format!("/proc/{server}/exe")).ok().filter(|program| program.is_file());
        let inodes: BTreeSet<Vec<u8>> = fs::read_dir(format!("/proc/{server}/fd"))
            .ok()?
            .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
            .filter_map(|link| inode(link.as_os_str().as_bytes()))
            .collect();
        let sockets = fs::read(format!("/proc/{server}/net/unix")).ok()?;
        let socket = sockets.split(|byte| *byte == b'\n').find_map(|line| listening(line, &inodes))?;
        Some((program.unwrap_or_else(|| "tmux".into()), socket))
    }

    fn inode(link: &[u8]) -> Option<Vec<u8>> {
        Some(link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?.to_vec())
    }

    /// The path in `number: references protocol flags type state inode path`. The inode is padded with spaces.
    fn listening(line: &[u8], inodes: &BTreeSet<Vec<u8>>) -> Option<PathBuf> {
        let mut fields = line.splitn(7, |byte| *byte == b' ');
        let (flags, rest) = (fields.nth(3)?, fields.nth(2)?.trim_ascii_start());
        let (inode, path) = rest.split_at_checked(rest.iter().position(|byte| *byte == b' ')?)?;
        let path = path.trim_ascii_start();
        (flags == LISTENS && inodes.contains(inode) && path.starts_with(b"/"))
            .then(|| PathBuf::from(OsStr::from_bytes(path)))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_a_listening_socket_of_the_server_is_found() {
            let inodes = BTreeSet::from([b"562".to_vec()]);
            let line = |flags: &str, inode: &str, path: &str| {
                format!("0000: 00000002 00000000 {flags} 0001 01 {inode}{path}").into_bytes()
            };
            let found = listening(&line("00010000", "  562", " /tmp/a b"), &inodes);
            assert_eq!(found, Some("/tmp/a b".into()));
            assert_eq!(listening(&line("00000000", "  562", " /tmp/a"), &inodes), None);
            assert_eq!(listening(&line("00010000", "  563", " /tmp/a"), &inodes), None);
            assert_eq!(listening(&line("00010000", "  562", " @abstract"), &inodes), None);
            assert_eq!(listening(&line("00010000", "  562", ""), &inodes), None);
            assert_eq!(listening(b"Num       RefCount Protocol", &inodes), None);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::PathBuf;

    /// Only the environment of a pane names its server here: `socket,pid,session`.
    pub(super) fn find(server: u32) -> Option<(PathBuf, PathBuf)> {
        let variable = std::env::var("TMUX").ok()?;
        let mut fields = variable.rsplitn(3, ',');
        let (_, pid, socket) = (fields.next()?, fields.next()?, fields.next()?);
        (pid.parse() == Ok(server)).then(|| ("tmux".into(), socket.into()))
    }
}
