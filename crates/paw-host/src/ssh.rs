//! Programs on other machines, run by the user's `ssh`. It never asks: a host that needs a password or has an unknown key is an
//! error with a hint.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use paw_core::text;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};

use crate::process::{Command, Exit, Output, ProcessError, shell_quote};

/// ssh exits with this code if it fails itself.
pub const SSH_FAILED: i32 = 255;
const CONNECT_SECONDS: u32 = 10;
/// What another machine prints is kept in memory. The largest answers are diffs.
pub(crate) const LARGEST_OUTPUT: usize = 64 << 20;

/// A destination as ssh takes it: `user@host`, an alias, or `ssh://user@host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshTarget(String);

impl SshTarget {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SshTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SshTarget {
    type Err = SshError;

    /// ssh's own configuration can put the destination into shell commands, so only plain characters are allowed.
    fn from_str(text: &str) -> Result<Self, SshError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@:/[]%".contains(c);
        let host = text.strip_prefix("ssh://").unwrap_or(text);
        let is_valid = !host.is_empty() && !host.starts_with(['-', '@', '/']) && text.chars().all(is_plain);
        let has_path = host.contains('/') || host.contains("@-");
        if is_valid && !has_path { Ok(Self(text.to_owned())) } else { Err(SshError::Target(text.to_owned())) }
    }
}

/// A program on another machine could not be run.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    #[error("'{0}' is not an ssh destination")]
    Target(String),
    #[error("the host key of {0} has changed")]
    HostKeyChanged(SshTarget),
    #[error("the host key of {0} is not known")]
    UnknownHostKey(SshTarget),
    #[error("{0} refuses this user or key")]
    Denied(SshTarget),
    #[error("cannot reach {target}: {reason}")]
    Unreachable { target: SshTarget, reason: String },
    #[error("{target} did not answer within {}s", limit.as_secs())]
    TimedOut { target: SshTarget, limit: Duration },
    #[error("{target} printed more than {} MB", LARGEST_OUTPUT >> 20)]
    TooMuchOutput { target: SshTarget },
    #[error("a command on {target} failed: {reason}")]
    Failed { target: SshTarget, reason: String },
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl SshError {
    /// Whether the machine may answer later.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut { .. })
    }
}

impl Diagnostic for SshError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::Target(_) => report(ErrorCode::InvalidArgument)
                .hint("use USER@HOST, an alias of your ssh configuration, or ssh://USER@HOST:PORT"),
            Self::HostKeyChanged(target) => report(ErrorCode::FailedPrecondition).hint(format!(
                "if the machine was set up again, remove the old key with ssh-keygen -R, then check the new one with 'ssh {target}'; \
                 otherwise another machine answers in its place"
            )),
            Self::UnknownHostKey(target) => report(ErrorCode::FailedPrecondition)
                .hint(format!("run 'ssh {target}' once and compare the fingerprint")),
            Self::Denied(target) => report(ErrorCode::FailedPrecondition).hint(format!(
                "check the user name; 'ssh -o BatchMode=yes {target} true' must work without a password"
            )),
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::TooMuchOutput { .. }
            | Self::Failed { .. } => {
                report(ErrorCode::FailedPrecondition)
            }
            Self::Process(error) => error.report(),
        }
    }
}

/// The longest path of a socket; ssh appends some letters while it creates it.
const LONGEST_SOCKET: usize = 80;
/// Options of every call: no terminal, no agent, no questions.
const OPTIONS: [&str; 5] = ["-T", "-a", "-x", "-o", "BatchMode=yes"];
/// A connection whose other side does not answer for this long is lost.
const ALIVE_OPTIONS: [&str; 4] = ["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"];

impl SshTarget {
    fn ssh<'a>(&self, options: impl IntoIterator<Item = &'a str>, command: &str) -> Command {
        Command::new("ssh").args(options).args([
            "-o",
            &format!("ConnectTimeout={CONNECT_SECONDS}"),
            "--",
            self.as_str(),
            command,
        ])
    }

    /// A command that keeps running there and whose input stays open. With `forward`, a port of the other machine's loopback
    /// leads to this port here; ssh prints its number, see [`forwarded_port`].
    /// With `shared`, other calls can use the connection, see [`git_ssh_command`].
    pub fn keep_running(&self, command: &str, forward: Option<u16>, shared: Option<&Path>) -> Command {
        let shared = shared.filter(|path| path.as_os_str().len() <= LONGEST_SOCKET);
        let socket = shared.map_or_else(|| "ControlPath=none".to_owned(), control_path);
        let master = if shared.is_some() { "ControlMaster=yes" } else { "ControlMaster=no" };
        let forward = forward.map(|port| format!("127.0.0.1:0:127.0.0.1:{port}"));
        let forward = forward.iter().flat_map(|ports| ["-o", "ExitOnForwardFailure=yes", "-R", ports]);
        // The number of the port is a message that a quiet ssh would not print.
        let rest = ["-o", "LogLevel=INFO", "-o", master, "-o", &socket];
        self.ssh(OPTIONS.into_iter().chain(ALIVE_OPTIONS).chain(rest).chain(forward), command).open_input()
    }

    /// A program there that uses this terminal.
    pub fn interactive(&self, command: &str) -> Command {
        let options = ["-t", "-a", "-x", "-o", "ClearAllForwardings=yes"];
        self.ssh(options.into_iter().chain(ALIVE_OPTIONS), command)
    }

    /// A program there that uses no terminal.
    pub fn plain(&self, command: &str) -> Command {
        let options = OPTIONS.into_iter().chain(ALIVE_OPTIONS).chain(["-o", "ClearAllForwardings=yes"]);
        self.ssh(options, command)
    }

    /// The URL of a repository there, for git.
    pub fn git_url(&self, path: &Path) -> OsString {
        let mut url = OsString::from(self.as_str());
        // Only a URL has a port, and its path starts after the host.
        if !self.0.starts_with("ssh://") {
            url.push(":");
        }
        url.push(path);
        url
    }

    /// Runs a shell command there, with `input` as its standard input. A command that fails is an error with its last line.
    pub fn run(&self, command: &str, input: Vec<u8>, limit: Duration) -> Result<Vec<u8>, SshError> {
        let Output { exit, stdout, stderr } = self.capture(command, input, limit)?;
        if exit.success() {
            return Ok(stdout);
        }
        let reason = last_line(&stderr).unwrap_or_else(|| exit.to_string());
        Err(SshError::Failed { target: self.clone(), reason })
    }

    /// Like [`Self::run`], whatever the exit code of the command. Only failures of ssh itself are errors.
    pub fn capture(&self, command: &str, input: Vec<u8>, limit: Duration) -> Result<Output, SshError> {
        let command = self.plain(command).input(input).time_limit(limit).output_limit(LARGEST_OUTPUT);
        let output = command.capture().map_err(|error| match error {
            ProcessError::TooMuchOutput { .. } => SshError::TooMuchOutput { target: self.clone() },
            error => error.into(),
        })?;
        match output.exit {
            Exit::TimedOut { limit } => Err(SshError::TimedOut { target: self.clone(), limit }),
            Exit::Code(SSH_FAILED) => Err(self.explain(&output.stderr)),
            _ => Ok(output),
        }
    }

    /// What the failure of a git command that used this destination means. `None` if ssh did not fail.
    pub fn explain_git(&self, stderr: &str) -> Option<SshError> {
        let (before, _) = stderr.split_once("fatal: Could not read from remote repository")?;
        Some(match self.explain(before.as_bytes()) {
            // The machine was reached: this is its git.
            SshError::Unreachable { target, reason } if reason.starts_with("fatal: ") => {
                SshError::Failed { target, reason }
            }
            meaning => meaning,
        })
    }

    /// What ssh's own message means.
    pub fn explain(&self, stderr: &[u8]) -> SshError {
        let text = String::from_utf8_lossy(stderr);
        let target = self.clone();
        if text.contains("REMOTE HOST IDENTIFICATION HAS CHANGED") {
            SshError::HostKeyChanged(target)
        } else if text.contains("Host key verification failed") {
            SshError::UnknownHostKey(target)
        } else if text.contains("Permission denied") || text.contains("Too many authentication failures") {
            SshError::Denied(target)
        } else {
            let reason = last_line(stderr).unwrap_or_else(|| "ssh failed without a message".to_owned());
            SshError::Unreachable { target, reason }
        }
    }
}

/// What git runs to reach a repository there. If a connection is `shared` ([`SshTarget::keep_running`]), it is used.
pub fn git_ssh_command(shared: Option<&Path>) -> String {
    let alive = ALIVE_OPTIONS.join(" ");
    let plain = format!(
        "ssh -a -x -o BatchMode=yes {alive} -o ClearAllForwardings=yes -o ConnectTimeout={CONNECT_SECONDS}"
    );
    match shared.filter(|path| path.exists()) {
        Some(path) => {
            let socket = shell_quote(OsStr::new(&control_path(path)));
            format!("{plain} -o ControlMaster=no -o {socket}")
        }
        None => plain,
    }
}

/// ssh replaces what follows `%`, and splits words.
fn control_path(path: &Path) -> String {
    format!("ControlPath=\"{}\"", path.display().to_string().replace('%', "%%"))
}

/// The port that ssh has opened on the other machine, if this line of its messages names it.
pub fn forwarded_port(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line).ok()?;
    line.trim().strip_prefix("Allocated port ")?.split(' ').next()?.parse().ok()
}

fn last_line(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(text::output_line(line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_plain_words_that_ssh_cannot_take_for_options_or_commands() {
        for text in ["big", "me@big.example", "ssh://me@big:2222", "ssh://me@[::1]:22", "fe80::1%eth0"] {
            assert_eq!(text.parse::<SshTarget>().unwrap().as_str(), text);
        }
        for text in [
            "",
            "-oProxyCommand=x",
            "ssh://",
            "ssh://-x",
            "a b",
            "a;b",
            "$(x)",
            "a`b`",
            "me@-x",
            "a/b",
            "@x",
            "a\nb",
        ] {
            assert!(text.parse::<SshTarget>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_fetch_that_failed_because_of_ssh_is_explained_without_the_words_of_git() {
        let target: SshTarget = "big".parse().unwrap();
        let advice = "Please make sure you have the correct access rights\nand the repository exists.\n";
        let stderr = format!(
            "ssh: connect to host big port 22: No route to host\nfatal: Could not read from remote repository.\n\n{advice}"
        );
        assert_eq!(
            target.explain_git(&stderr).unwrap().to_string(),
            "cannot reach big: ssh: connect to host big port 22: No route to host"
        );
        let missing = format!(
            "fatal: '/x' does not appear to be a git repository\nfatal: Could not read from remote repository.\n\n{advice}"
        );
        let meaning = target.explain_git(&missing).unwrap();
        assert!(!meaning.is_unreachable());
        assert_eq!(
            meaning.to_string(),
            "a command on big failed: fatal: '/x' does not appear to be a git repository"
        );
        assert!(target.explain_git("fatal: couldn't find remote ref refs/heads/x\n").is_none());
    }

    #[test]
    fn repositories_on_other_machines_have_urls_that_git_understands() {
        let url = |target: &str| target.parse::<SshTarget>().unwrap().git_url(Path::new("/home/me/x y"));
        assert_eq!(url("me@big"), "me@big:/home/me/x y");
        assert_eq!(url("ssh://me@big:2222"), "ssh://me@big:2222/home/me/x y");
    }

    #[test]
    fn the_port_of_a_forward_is_read_from_the_message_of_ssh() {
        let line = b"Allocated port 41234 for remote forward to 127.0.0.1:4222\r";
        assert_eq!(forwarded_port(line), Some(41234));
        for other in [b"".as_slice(), b"Allocated port x", b"Warning: Permanently added 'big'"] {
            assert_eq!(forwarded_port(other), None);
        }
    }

    #[test]
    fn every_connection_notices_that_the_other_machine_is_gone() {
        let target: SshTarget = "big".parse().unwrap();
        let commands = [target.plain("x"), target.interactive("x"), target.keep_running("x", None, None)];
        let mut texts: Vec<_> = commands.iter().map(|command| format!("{command:?}")).collect();
        texts.push(git_ssh_command(None));
        for text in texts {
            assert!(text.contains("ServerAliveInterval=5") && text.contains("ConnectTimeout=10"), "{text}");
        }
    }

    #[test]
    fn messages_of_ssh_have_a_meaning() {
        let target: SshTarget = "big".parse().unwrap();
        let meaning = |stderr: &str| target.explain(stderr.as_bytes()).to_string();
        let changed =
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!  @\nHost key verification failed.\n";
        assert_eq!(meaning(changed), "the host key of big has changed");
        assert_eq!(meaning("Host key verification failed.\n"), "the host key of big is not known");
        assert_eq!(meaning("me@big: Permission denied (publickey).\n"), "big refuses this user or key");
        let lost = "ssh: connect to host big port 22: Connection refused\r\n";
        assert_eq!(meaning(lost), "cannot reach big: ssh: connect to host big port 22: Connection refused");
        assert_eq!(meaning(""), "cannot reach big: ssh failed without a message");
    }
}
