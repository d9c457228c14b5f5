//! Commands as values, and the only module that runs them.
//!
//! A [`Command`] can be compared, printed and built far from where it runs. [`Command::capture`] collects its output,
//! [`Command::stream`] passes on every line as it arrives, [`Command::inherit`] runs it on our terminal, and
//! [`Command::start`] runs it in the background until it exits or is stopped, [`Command::coprocess`] asks it one question
//! after another. [`Command::detach`] starts a program that outlives this process.
//! A command that exceeds its time limit is ended with its whole process tree (`tree`).

mod cleanup;
mod contain;
mod exec;
mod find;
mod foreground;
mod in_directory;
pub mod lineage;
mod run;
mod script;
mod tree;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_core::{Diagnostic, ErrorCode, ErrorReport};

use crate::files::{Lock, LockInput};
use crate::sandbox::Sandbox;

pub use cleanup::{end_children, end_marked, end_time_limited};
pub use contain::{run_contained, set_containing_program};
pub use exec::{exec_program, exec_script, exec_shell_line};
pub use find::{find_program, is_executable, own_program};
pub use foreground::find_foreground_script;
pub use in_directory::{ProcessInfo, processes_in, terminate};
pub use run::{
    Coprocess, DetachedCommand, FollowOutcome, Output, RunningCommand, Stopper, Stream, leave_terminal,
    redirect_stderr, silence_stdout,
};
pub use script::ScriptFile;
pub use tree::{exists, is_alive};

/// The environment variable that marks the members of a process tree. [`end_marked`] searches for its value.
pub const MARK_VARIABLE: &str = tree::Cookie::VARIABLE;

/// A program could not be run at all. A program that ran and failed is an [`Exit`], not an error.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("program '{0}' not found on PATH")]
    NotFound(String),
    #[error("cannot run '{command}' in {}: the directory does not exist", dir.display())]
    NoDirectory { command: String, dir: PathBuf },
    #[error("cannot run '{command}' in a sandbox: {reason}")]
    NoSandbox { command: String, reason: String },
    #[error("cannot run '{command}': {source}")]
    Spawn { command: String, source: io::Error },
    #[error("'{command}' printed more than {} MB", limit >> 20)]
    TooMuchOutput { command: String, limit: usize },
    #[error("lost contact with '{command}': {source}")]
    Wait { command: String, source: io::Error },
}

impl Diagnostic for ProcessError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::Internal, self)
    }
}

/// How a program exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It exceeded its time limit and was killed with everything it had started.
    TimedOut {
        limit: Duration,
    },
}

impl Exit {
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(signal) => write!(f, "was killed by signal {signal}"),
            Self::TimedOut { limit } => write!(f, "timed out after {}s", limit.as_secs()),
        }
    }
}

/// The standard input of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Input {
    #[default]
    Nothing,
    Bytes(Vec<u8>),
    /// A pipe that stays open; see [`RunningCommand::take_stdin`].
    Open,
    Lock(LockInput),
}

/// Which of our environment variables a program inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Environment {
    #[default]
    Inherited,
    /// Only those that [`is_harmless_variable`] accepts: no keys, no tokens.
    Harmless,
}

/// A program, its arguments, its directory and its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    dir: Option<PathBuf>,
    environment: Environment,
    set: Vec<(OsString, OsString)>,
    removed: Vec<OsString>,
    input: Input,
    limit: Option<Duration>,
    output_limit: Option<usize>,
    sandbox: Option<Sandbox>,
    contained: bool,
}

impl Command {
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            dir: None,
            environment: Environment::default(),
            set: Vec::new(),
            removed: Vec::new(),
            input: Input::default(),
            limit: None,
            output_limit: None,
            sandbox: None,
            contained: false,
        }
    }

    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set.push((name.into(), value.into()));
        self
    }

    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.removed.push(name.into());
        self
    }

    /// Hides keys and tokens from the program: it inherits only the variables that never hold a secret.
    #[must_use]
    pub fn harmless_environment(mut self) -> Self {
        self.environment = Environment::Harmless;
        self
    }

    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    /// Keeps standard input open, for [`Command::start`].
    #[must_use]
    pub fn open_input(mut self) -> Self {
        self.input = Input::Open;
        self
    }

    /// The program holds the lock as well: if this process is killed, the lock is released only when the program has ended.
    #[must_use]
    pub fn holding(mut self, lock: &Lock) -> Self {
        self.input = Input::Lock(lock.as_input());
        self
    }

    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// A program that prints more bytes than this is killed, and [`Command::capture`] fails: what it prints is kept in memory.
    #[must_use]
    pub fn output_limit(mut self, bytes: usize) -> Self {
        self.output_limit = Some(bytes);
        self
    }

    /// Runs the program inside a sandbox, without a terminal. Every process that it starts ends with it.
    #[must_use]
    pub fn sandbox(mut self, sandbox: &Sandbox) -> Self {
        self.sandbox = Some(sandbox.clone());
        self
    }

    /// Ends every process that the program has started when the program exits, daemons included.
    #[must_use]
    pub fn contained(mut self) -> Self {
        self.contained = true;
        self
    }

    pub fn directory(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Runs the command and collects its output.
    pub fn capture(&self) -> Result<Output, ProcessError> {
        run::capture(self)
    }

    /// Runs the command and passes on each line as it arrives, without its newline. Keeps nothing.
    pub fn stream(&self, on_line: impl FnMut(Stream, &[u8])) -> Result<Exit, ProcessError> {
        run::stream(self, on_line)
    }

    /// Runs the command on our own terminal.
    pub fn inherit(&self) -> Result<Exit, ProcessError> {
        run::inherit(self)
    }
}

/// As a person would type it, quoted for a shell. Omits the environment, which may hold secrets, and the sandbox.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shell_quote(&self.program))?;
        for arg in &self.args {
            write!(f, " {}", shell_quote(arg))?;
        }
        Ok(())
    }
}

/// Quotes any text as one word of a POSIX shell.
pub fn shell_quote(text: &OsStr) -> String {
    let text = text.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Variables that programs need and that never hold a secret.
pub fn is_harmless_variable(name: &OsStr) -> bool {
    const HARMLESS: [&str; 10] =
        ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR"];
    let harmless = |name: &str| HARMLESS.contains(&name) || TOOLCHAINS.contains(&name);
    name.to_str().is_some_and(|name| harmless(name) || name.starts_with("LC_"))
}

/// Locations of toolchains. Without them, a compiler on `PATH` may not find its own files.
const TOOLCHAINS: [&str; 21] = [
    "ASDF_DATA_DIR",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "FNM_DIR",
    "GEM_HOME",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "MISE_DATA_DIR",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sh(script: &str) -> Command {
        Command::new("sh").args(["-c", script])
    }

    #[test]
    fn commands_can_be_compared_and_printed() {
        let command = Command::new("git").args(["log", "--format=%H", "it's"]).dir("/tmp");
        assert_eq!(command, Command::new("git").args(["log", "--format=%H", "it's"]).dir("/tmp"));
        assert_eq!(command.to_string(), r"git log --format=%H 'it'\''s'");
    }

    #[test]
    fn capture_returns_both_streams_and_the_exit_code() {
        let output = sh("echo out; echo err >&2; exit 3").capture().unwrap();
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(output.exit, Exit::Code(3));
    }

    #[test]
    fn stream_passes_on_each_line_even_a_last_one_without_newline() {
        let mut lines = Vec::new();
        sh("printf 'a\\nb\\nc'")
            .stream(|stream, line| lines.push((stream, String::from_utf8_lossy(line).into_owned())))
            .unwrap();
        assert_eq!(lines, ["a", "b", "c"].map(|line| (Stream::Out, line.to_owned())));
    }

    #[test]
    fn input_larger_than_a_pipe_arrives_complete() {
        let input = vec![b'x'; 1 << 20];
        assert_eq!(Command::new("cat").input(input.clone()).capture().unwrap().stdout, input);
    }

    #[test]
    fn a_program_may_ignore_its_input() {
        assert!(Command::new("true").input(vec![b'x'; 1 << 20]).capture().unwrap().exit.success());
    }

    #[test]
    fn a_missing_program_and_a_missing_directory_are_different_errors() {
        let error = Command::new("no-such-program-here").capture().unwrap_err();
        assert!(matches!(error, ProcessError::NotFound(_)), "{error}");
        let error = sh("true").dir("/no/such/dir").capture().unwrap_err();
        assert!(matches!(error, ProcessError::NoDirectory { .. }), "{error}");
    }

    #[test]
    fn a_harmless_environment_hides_keys_and_keeps_path_and_home() {
        let output = Command::new("env").harmless_environment().env("WORKTREE_PATH", "/w").capture().unwrap();
        let names: Vec<_> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| line.split_once('=').map(|(name, _)| name.to_owned()))
            .collect();
        assert!(
            names.contains(&"PATH".to_owned()) && names.contains(&"WORKTREE_PATH".to_owned()),
            "{names:?}"
        );
        let is_hidden = |name: &String| name.starts_with("CARGO_") && name != "CARGO_HOME";
        assert!(!names.iter().any(is_hidden), "{names:?}");
    }

    #[test]
    fn a_program_with_a_harmless_environment_has_its_own_name_and_its_own_path() {
        let named = Command::new("sh").args(["-c", "echo $0"]).harmless_environment();
        assert_eq!(named.capture().unwrap().stdout, b"sh\n");
        let elsewhere =
            Command::new("sh").args(["-c", "true"]).harmless_environment().env("PATH", "/nowhere");
        assert!(matches!(elsewhere.capture(), Err(ProcessError::NotFound(_))));
    }

    #[test]
    fn harmless_variables_include_toolchain_locations_but_no_keys() {
        for name in ["RUSTUP_HOME", "CARGO_HOME", "GOPATH", "NVM_DIR", "VIRTUAL_ENV", "LC_ALL"] {
            assert!(is_harmless_variable(OsStr::new(name)), "{name}");
        }
        for name in ["CARGO_REGISTRY_TOKEN", "NPM_TOKEN", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "HTTPS_PROXY"]
        {
            assert!(!is_harmless_variable(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_killed_program_reports_its_signal() {
        assert_eq!(sh("kill -9 $$").capture().unwrap().exit, Exit::Signal(9));
    }

    #[test]
    fn capture_does_not_wait_for_a_background_child_that_holds_the_pipe() {
        let output = sh("echo hello; sleep 600 & echo $!").capture().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let pid = text.lines().nth(1).unwrap().to_owned();
        assert!(text.starts_with("hello\n"));
        Command::new("kill").arg(pid).capture().unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_contained_program_leaves_no_marked_process_behind() {
        let output = sh("setsid sleep 600 >/dev/null 2>&1 & echo $!").contained().capture().unwrap();
        let pid: u32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        assert_eq!((output.exit, tree::is_running(pid)), (Exit::Code(0), false));
    }

    #[test]
    fn a_timeout_ends_the_whole_process_tree() {
        let script = "trap '' TERM; (trap '' TERM; sleep 600 & echo $!; wait) & echo $!; \
                      setsid sh -c 'trap \"\" TERM; echo $$; sleep 600' & wait";
        let limit = Duration::from_millis(400);
        let output = sh(script).time_limit(limit).capture().unwrap();
        assert_eq!(output.exit, Exit::TimedOut { limit });
        let pids = String::from_utf8(output.stdout).unwrap();
        assert_eq!(pids.lines().count(), 3, "{pids}");
        for pid in pids.lines() {
            assert!(!tree::is_running(pid.parse().unwrap()), "process {pid} is still running");
        }
    }

    #[test]
    fn a_program_that_never_stops_printing_still_times_out() {
        let mut lines = 0_u64;
        let limit = Duration::from_millis(300);
        let exit = Command::new("yes").time_limit(limit).stream(|_, _| lines += 1).unwrap();
        assert_eq!(exit, Exit::TimedOut { limit });
        assert!(lines > 0);
    }

    #[test]
    fn a_program_that_prints_more_than_its_limit_is_killed_with_everything_it_started() {
        let kept =
            sh("head -c 600 /dev/zero; head -c 400 /dev/zero >&2").output_limit(1000).capture().unwrap();
        assert_eq!((kept.stdout.len(), kept.stderr.len(), kept.exit), (600, 400, Exit::Code(0)));
        let dir = tempfile::tempdir().unwrap();
        let script = format!("sleep 600 & echo $! $$ >{}/pids; exec yes", dir.path().display());
        let endless = sh(&script).output_limit(1 << 20).capture().unwrap_err();
        assert!(matches!(endless, ProcessError::TooMuchOutput { limit: 1_048_576, .. }), "{endless}");
        let pids = std::fs::read_to_string(dir.path().join("pids")).unwrap();
        assert_eq!(pids.split_whitespace().count(), 2);
        for pid in pids.split_whitespace() {
            assert!(!tree::is_running(pid.parse().unwrap()), "process {pid} is still running");
        }
    }

    #[test]
    fn a_program_that_handles_sigterm_may_clean_up_after_a_timeout() {
        let output = sh("trap 'echo bye; exit 0' TERM; sleep 600 & wait")
            .time_limit(Duration::from_millis(300))
            .capture()
            .unwrap();
        assert_eq!(output.stdout, b"bye\n");
        assert!(matches!(output.exit, Exit::TimedOut { .. }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn quoting_survives_a_real_shell(words in proptest::collection::vec("[^\\x00]{0,12}", 1..4)) {
            let quoted: Vec<_> = words.iter().map(|word| shell_quote(OsStr::new(word))).collect();
            let output = sh(&format!("printf '%s\\0' {}", quoted.join(" "))).capture().unwrap();
            let expected: Vec<u8> = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
            prop_assert_eq!(output.stdout, expected);
        }
    }
}
