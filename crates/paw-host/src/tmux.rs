//! Every tmux call.
//!
//! A [`TmuxCommand`] is an argument list as a value. A [`Batch`] of them runs in one tmux process and is passed through
//! standard input, which has no length limit and is invisible to `ps`. Targets are exact.

mod batch;
mod control;
mod paste;
mod server;
mod version;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use paw_core::{Diagnostic, ErrorCode, ErrorReport, PawError, SessionName};

pub use batch::Batch;
pub use control::{ControlClient, ControlEvent, ControlParser, ControlSender};
pub use paste::PasteMode;
pub use server::{ServerPane, panes_of_server};
pub use version::{MINIMUM_VERSION, TmuxVersion};

use crate::process::{Command, Exit, Output, ProcessError, shell_quote};

/// The error of a server that lost its last session and is exiting. It executed nothing; a retry starts a new server.
const SERVER_EXIT_MESSAGE: &str = "server exited unexpectedly";
const SERVER_EXIT_RETRIES: u32 = 20;
const SERVER_EXIT_DELAY: Duration = Duration::from_millis(25);

/// A failed tmux call.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    #[error("tmux is not installed")]
    NotInstalled,
    #[error("tmux session '{0}' does not exist")]
    NoSession(SessionName),
    #[error("`{command}` {exit}: {}", stderr.trim())]
    Failed { command: String, exit: Exit, stderr: String },
    #[error("cannot parse the output of tmux: {0}")]
    Unexpected(String),
    #[error("the connection to tmux was lost")]
    ConnectionLost,
    #[error(transparent)]
    Process(ProcessError),
}

impl From<ProcessError> for TmuxError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::NotFound(_) => Self::NotInstalled,
            other => Self::Process(other),
        }
    }
}

impl Diagnostic for TmuxError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::NotInstalled => PawError::TmuxNotInstalled.report(),
            Self::NoSession(_)
            | Self::Failed { .. }
            | Self::Unexpected(_)
            | Self::ConnectionLost
            | Self::Process(_) => ErrorReport::new(ErrorCode::Internal, self),
        }
    }
}

/// One tmux command: its name and arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmuxCommand(Vec<OsString>);

impl TmuxCommand {
    pub fn new(name: &str) -> Self {
        Self(vec![name.into()])
    }

    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.0.push(arg.into());
        self
    }

    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.0.extend(args.into_iter().map(Into::into));
        self
    }

    pub fn words(&self) -> impl Iterator<Item = &OsStr> {
        self.0.iter().map(OsString::as_os_str)
    }
}

/// As a person would type it, quoted for a shell.
impl fmt::Display for TmuxCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tmux")?;
        self.0.iter().try_for_each(|word| write!(f, " {}", shell_quote(word)))
    }
}

/// Matches exactly this session, never a prefix of its name. The colon makes `=` work with every command.
pub fn session_target(session: &SessionName) -> String {
    format!("={session}:")
}

/// The directories that hold the sockets of this user's servers.
pub fn socket_dirs() -> Vec<PathBuf> {
    let own = format!("tmux-{}", rustix::process::getuid().as_raw());
    let set = std::env::var_os("TMUX_TMPDIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    set.into_iter().chain([PathBuf::from("/tmp")]).map(|dir| dir.join(&own)).collect()
}

/// A session of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmuxSession {
    /// `$3`: a rename does not change it.
    pub id: String,
    pub name: String,
    /// The value of the option that was asked for.
    pub value: String,
}

impl TmuxSession {
    /// Matches exactly this session, even after a rename.
    pub fn target(&self) -> String {
        format!("{}:", self.id)
    }
}

/// A pane in the output of `list-panes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmuxPane {
    /// `%7`: unique for the lifetime of the server, unlike the index.
    pub id: String,
    pub index: u32,
    pub title: String,
    pub current_path: PathBuf,
    pub width: u32,
    pub height: u32,
    pub dead: bool,
}

/// A tmux server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tmux {
    /// The socket name (`-L`); `None` for the default server.
    socket: Option<String>,
}

impl Tmux {
    pub fn on_socket(socket: Option<String>) -> Self {
        Self { socket }
    }

    fn command<A: Into<OsString>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let tmux = Command::new("tmux");
        let tmux = match &self.socket {
            Some(socket) => tmux.args(["-L", socket]),
            None if self.is_own_server() => tmux,
            // In a pane of another server, tmux would use that one.
            None => tmux.env_remove("TMUX"),
        };
        tmux.args(args)
    }

    /// A command whose output is parsed. In a locale without UTF-8, tmux would print `_` for tabs and non-ASCII characters.
    fn utf8_command(&self, command: &TmuxCommand) -> Command {
        self.command([OsStr::new("-u")].into_iter().chain(command.words()))
    }

    /// A client in control mode on the session of `target`: commands on its input, events on its output. It never changes the
    /// size of a window.
    pub fn control_command(&self, target: &str) -> Command {
        let attach = TmuxCommand::new("-C").args(["attach-session", "-f", "ignore-size", "-t", target]);
        self.utf8_command(&attach).env_remove("TMUX")
    }

    fn output(&self, command: &TmuxCommand) -> Result<Output, TmuxError> {
        Ok(self.utf8_command(command).capture()?)
    }

    /// Runs one command and returns its output.
    pub fn run(&self, command: &TmuxCommand) -> Result<String, TmuxError> {
        stdout_of(command, &self.output(command)?)
    }

    /// Runs a batch in one process, up to the first command that fails. Does not undo the earlier commands; the caller has
    /// to clean up.
    pub fn run_batch(&self, batch: &Batch) -> Result<String, TmuxError> {
        let command = TmuxCommand::new("start-server").args([";", "source-file", "-"]);
        let tmux = self.utf8_command(&command).input(batch.script());
        let mut output = tmux.capture()?;
        for _ in 0..SERVER_EXIT_RETRIES {
            if output.exit.success() || !String::from_utf8_lossy(&output.stderr).contains(SERVER_EXIT_MESSAGE)
            {
                break;
            }
            thread::sleep(SERVER_EXIT_DELAY);
            output = tmux.capture()?;
        }
        stdout_of(&command, &output)
    }

    /// Whether this session exists. False if no server is running.
    pub fn has_session(&self, session: &SessionName) -> Result<bool, TmuxError> {
        let command = TmuxCommand::new("has-session").arg("-t").arg(session_target(session));
        Ok(self.output(&command)?.exit.success())
    }

    /// All sessions, each with the value of one option. Empty if no server is running.
    pub fn sessions(&self, option: &str) -> Result<Vec<TmuxSession>, TmuxError> {
        let format = format!("#{{session_id}}\t#{{session_name}}\t#{{{option}}}");
        let output = self.output(&TmuxCommand::new("list-sessions").args(["-F", &format]))?;
        let listing = if output.exit.success() { output.stdout } else { Vec::new() };
        let session = |line: &str| {
            let (id, rest) = line.split_once('\t')?;
            let (name, value) = rest.split_once('\t')?;
            Some(TmuxSession { id: id.to_owned(), name: name.to_owned(), value: value.to_owned() })
        };
        Ok(String::from_utf8_lossy(&listing).lines().filter_map(session).collect())
    }

    /// The pane ids of a session, each with the value of one option, in pane order.
    pub fn panes_with(
        &self,
        session: &SessionName,
        option: &str,
    ) -> Result<Vec<(String, String)>, TmuxError> {
        self.require_session(session)?;
        self.target_panes_with(&session_target(session), option)
    }

    /// Like [`Self::panes_with`], for a target.
    pub fn target_panes_with(&self, target: &str, option: &str) -> Result<Vec<(String, String)>, TmuxError> {
        let format = format!("#{{pane_id}}\t#{{{option}}}");
        Ok(pairs(&self.run(&TmuxCommand::new("list-panes").args(["-s", "-t", target, "-F", &format]))?))
    }

    /// Ends the session and everything in its panes. Does nothing if the session does not exist.
    pub fn kill_session(&self, session: &SessionName) -> Result<(), TmuxError> {
        if self.has_session(session)? { self.kill_target(&session_target(session)) } else { Ok(()) }
    }

    /// Ends the session of a target and everything in its panes.
    pub fn kill_target(&self, target: &str) -> Result<(), TmuxError> {
        self.run(&TmuxCommand::new("kill-session").args(["-t", target])).map(drop)
    }

    /// All panes of a session's first window, sorted by index.
    pub fn panes(&self, session: &SessionName) -> Result<Vec<TmuxPane>, TmuxError> {
        const FORMAT: &str = "#{pane_id}\t#{pane_index}\t#{pane_width}\t#{pane_height}\t#{pane_dead}\t\
                              #{pane_current_path}\t#{pane_title}";
        self.require_session(session)?;
        let command = TmuxCommand::new("list-panes").args(["-t", &session_target(session), "-F", FORMAT]);
        self.run(&command)?
            .lines()
            .map(|line| parse_pane(line).ok_or_else(|| TmuxError::Unexpected(line.to_owned())))
            .collect()
    }

    /// The visible content of a pane, as plain text.
    pub fn capture_pane(&self, pane_id: &str) -> Result<String, TmuxError> {
        self.run(&TmuxCommand::new("capture-pane").args(["-p", "-t", pane_id]))
    }

    /// Waits for a signal on the channel (`wait-for -S`). A signal that was sent earlier counts.
    pub fn wait_for(&self, channel: &str, limit: Duration) -> Result<(), TmuxError> {
        let command = TmuxCommand::new("wait-for").arg(channel);
        stdout_of(&command, &self.command(command.words()).time_limit(limit).capture()?).map(drop)
    }

    /// Attaches the user's terminal to the session, or switches to it inside the same server.
    pub fn attach(&self, session: &SessionName) -> Result<(), TmuxError> {
        self.require_session(session)?;
        self.attach_target(&session_target(session))
    }

    /// Like [`Self::attach`], for a target.
    pub fn attach_target(&self, target: &str) -> Result<(), TmuxError> {
        let inside = self.is_own_server();
        let verb = if inside { "switch-client" } else { "attach-session" };
        let command = TmuxCommand::new(verb).args(["-t", target]);
        let tmux = self.command(command.words());
        // tmux refuses to attach inside a pane of another server while TMUX is set.
        match if inside { tmux } else { tmux.env_remove("TMUX") }.inherit()? {
            Exit::Code(0) => Ok(()),
            exit => {
                Err(TmuxError::Failed { command: command.to_string(), exit, stderr: "see above".to_owned() })
            }
        }
    }

    /// Whether this process runs in a pane of this server.
    fn is_own_server(&self) -> bool {
        std::env::var_os("TMUX").is_some_and(|value| self.is_server_of(&value, &socket_dirs()))
    }

    /// The size of the terminal that [`Self::attach`] would use, if this process runs in a pane of this server: that of the
    /// client, not of the pane.
    pub fn find_client_size(&self) -> Option<(u16, u16)> {
        let format = "#{client_width} #{client_height}";
        let show = TmuxCommand::new("display-message").args(["-p", format]);
        let shown = self.is_own_server().then(|| self.run(&show).ok())??;
        let (columns, lines) = shown.trim().split_once(' ')?;
        Some((columns.parse().ok()?, lines.parse().ok()?))
    }

    /// Whether the value of `TMUX` (socket, process, session) belongs to a pane of this server. Servers in other directories may
    /// have a socket of the same name. tmux uses the first directory whose parent exists.
    fn is_server_of(&self, variable: &OsStr, dirs: &[PathBuf]) -> bool {
        let variable = variable.to_string_lossy();
        let Some(theirs) = variable.rsplitn(3, ',').nth(2) else { return false };
        let dir = dirs.iter().find(|dir| dir.parent().is_some_and(Path::exists));
        let ours = dir.map(|dir| dir.join(self.socket.as_deref().unwrap_or("default")));
        let ours = ours.and_then(|socket| socket.canonicalize().ok());
        ours.is_some() && Path::new(theirs).canonicalize().ok() == ours
    }

    fn require_session(&self, session: &SessionName) -> Result<(), TmuxError> {
        if self.has_session(session)? { Ok(()) } else { Err(TmuxError::NoSession(session.clone())) }
    }
}

fn stdout_of(command: &TmuxCommand, output: &Output) -> Result<String, TmuxError> {
    if output.exit.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(TmuxError::Failed { command: command.to_string(), exit: output.exit, stderr })
}

/// Parses lines of a name, a tab and a value.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| line.split_once('\t').map(|(name, value)| (name.to_owned(), value.to_owned()));
    text.lines().filter_map(pair).collect()
}

/// The title comes last, because agents set it and it may contain tabs.
fn parse_pane(line: &str) -> Option<TmuxPane> {
    let mut fields = line.splitn(7, '\t');
    Some(TmuxPane {
        id: fields.next().filter(|id| id.starts_with('%'))?.to_owned(),
        index: fields.next()?.parse().ok()?,
        width: fields.next()?.parse().ok()?,
        height: fields.next()?.parse().ok()?,
        dead: fields.next()? == "1",
        current_path: fields.next()?.into(),
        title: fields.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_pane_line_is_parsed_with_a_tab_in_its_title() {
        let pane = parse_pane("%3\t2\t80\t24\t0\t/w t\tfeat/x → a\tb").unwrap();
        assert_eq!((pane.id.as_str(), pane.index, pane.title.as_str()), ("%3", 2, "feat/x → a\tb"));
        assert_eq!(pane.current_path, PathBuf::from("/w t"));
        assert!(parse_pane("").is_none() && parse_pane("3\t2").is_none());
    }

    #[test]
    fn a_pane_belongs_to_the_server_whose_socket_it_names() {
        let root = tempfile::tempdir().unwrap();
        let place = |dir: &str| root.path().join(dir).join("tmux-1000");
        let dirs = [place("set"), place("usual")];
        let value = |dir: &str, name: &str| {
            // Any file will do for the socket.
            fs::create_dir_all(place(dir).join(name)).unwrap();
            OsString::from(format!("{},4242,0", place(dir).join(name).display()))
        };
        let (usual, own) = (Tmux::default(), Tmux::on_socket(Some("paw".to_owned())));
        assert!(usual.is_server_of(&value("usual", "default"), &dirs));
        assert!(!own.is_server_of(&value("usual", "default"), &dirs));
        assert!(own.is_server_of(&value("usual", "paw"), &dirs));
        assert!(!usual.is_server_of(&value("other,place", "default"), &dirs), "a server of the same name");
        assert!(usual.is_server_of(&value("set", "default"), &dirs), "the first directory that exists");
        assert!(!usual.is_server_of(&value("usual", "default"), &dirs));
        assert!(!usual.is_server_of(OsStr::new(""), &dirs));
    }

    #[test]
    fn a_tmux_command_prints_as_it_would_be_typed() {
        let command = TmuxCommand::new("send-keys").args(["-t", "=paw-a:", "it's me", "Enter"]);
        assert_eq!(command.to_string(), r"tmux send-keys -t =paw-a: 'it'\''s me' Enter");
    }
}
