//! The session's long-running process, `git paw __session`: starts it detached from any terminal, finds it, and ends it.
//!
//! The running broker holds a lock, so only one process runs; `endpoint.json` says which. Without a broker, the process holds
//! a lock of its own and watches only the panes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use paw_broker::endpoint::{Endpoint, VERSION};
use paw_core::paths::PawDir;
use paw_core::{Diagnostic, ErrorCode, ErrorReport, Receipt};
use paw_host::caller::{AGENT_VARIABLE, TOKEN_VARIABLE};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, FileError, Lock};
use paw_host::git::Repo;
use paw_host::locks::SessionLock;
use paw_host::process::{self, Command, MARK_VARIABLE, ProcessError};
use serde_json::Value;

use crate::panes::URL_VARIABLE;

/// The hidden command that the process runs.
pub const SESSION_COMMAND: &str = "__session";
/// Its flag for a process that only starts it, if it is missing.
pub const ENSURE: &str = "--ensure";
/// The hidden command of older versions, which ran the process in the dashboard's pane.
const OLD_COMMAND: &str = "__dashboard";

/// How long the process may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Its log is replaced when it is larger at a start.
pub const LARGEST_LOG: u64 = 1 << 20;
/// Reserved for lines that say why the process ends, even if the disk is full.
const RESERVED_LOG: u64 = 64 << 10;

/// What the process must not inherit: the identity and the marks of the pane or program that starts it, and the context of
/// a git hook.
const NOT_INHERITED: [&str; 11] = [
    AGENT_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    MARK_VARIABLE,
    "TMUX_PANE",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
];

/// The session's process did not start.
#[derive(Debug, thiserror::Error)]
pub enum ProcessStartError {
    #[error("the session's process did not start: {problem}")]
    Failed { problem: String, hints: Vec<String> },
    #[error("the session's process ended while it was starting: {0}")]
    Ended(String),
    #[error("the session's process did not start within {} seconds", START_TIMEOUT.as_secs())]
    Slow,
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for ProcessStartError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::Internal, self);
        match self {
            Self::Failed { hints, .. } => report.with_hints(hints.clone()),
            Self::Ended(_) | Self::Slow => {
                report.hint("see paw/session.log in the repository's git directory")
            }
            Self::Process(error) => error.report(),
            Self::File(error) => error.report(),
        }
    }
}

/// The state of the process that runs a repository's broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessState {
    Running(Endpoint),
    /// It holds its lock and has no address yet.
    Starting,
    /// It ended without a shutdown: it was killed, or it crashed.
    Died(Endpoint),
    NotRunning,
}

/// Finds the process by its lock. An open port or a process id would not be enough: other programs use them, too.
pub fn find(repo: &Repo) -> Result<ProcessState, FileError> {
    let dir = PawDir::of(&repo.common_dir);
    if !dir.path().is_dir() {
        return Ok(ProcessState::NotRunning);
    }
    let is_running = Lock::try_take(&dir.broker_lock())?.is_none();
    Ok(match (is_running, Endpoint::load(&dir)?) {
        // Without its process, the lock is held by one that is starting or has just been killed, or by a command that looks
        // for it just now.
        (true, Some(endpoint)) if process::is_alive(endpoint.pid) => ProcessState::Running(endpoint),
        (true, _) => ProcessState::Starting,
        (false, Some(endpoint)) => ProcessState::Died(endpoint),
        (false, None) => ProcessState::NotRunning,
    })
}

/// Whether the process of a session without a broker is running.
pub fn is_running_without_broker(repo: &Repo) -> Result<bool, FileError> {
    let dir = PawDir::of(&repo.common_dir);
    if dir.path().is_dir() { Lock::is_held(&dir.process_lock()) } else { Ok(false) }
}

/// Starts the process of this session unless it is running, and waits until it is ready.
pub fn start(
    repo: &Repo,
    program: &Path,
    receipt: &Receipt,
    _lock: &SessionLock,
) -> Result<(), ProcessStartError> {
    let watch = Stopwatch::start();
    loop {
        let is_locked = if receipt.has_broker() {
            match find(repo)? {
                ProcessState::Running(_) => return Ok(()),
                ProcessState::Starting => true,
                ProcessState::Died(_) | ProcessState::NotRunning => false,
            }
        } else {
            is_running_without_broker(repo)?
        };
        if !is_locked {
            return spawn(repo, program);
        }
        // A process that was killed holds its lock until it is gone.
        if !receipt.has_broker() && !processes(repo).is_empty() {
            return Ok(());
        }
        if watch.remaining(START_TIMEOUT).is_zero() {
            return Err(ProcessStartError::Slow);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Like [`start`], and replaces a process of another version. Returns notes for the user.
pub fn start_newest(
    repo: &Repo,
    program: &Path,
    receipt: &Receipt,
    lock: &SessionLock,
) -> Result<Vec<String>, ProcessStartError> {
    if !receipt.has_broker() {
        start(repo, program, receipt, lock)?;
        return Ok(Vec::new());
    }
    let before = find(repo)?;
    let mut notes = Vec::new();
    match &before {
        ProcessState::Running(endpoint) if endpoint.version != VERSION && end(repo) => {
            notes.push(format!("replaced the session's process of git-paw {}", endpoint.version));
        }
        ProcessState::Died(endpoint) => {
            notes.push(format!("the session's process (pid {}) had died: restarted it", endpoint.pid));
        }
        ProcessState::NotRunning => {
            notes.push("the session's process was not running: started it".to_owned());
        }
        ProcessState::Running(_) | ProcessState::Starting => {}
    }
    start(repo, program, receipt, lock)?;
    Ok(notes)
}

fn spawn(repo: &Repo, program: &Path) -> Result<(), ProcessStartError> {
    let dir = PawDir::of(&repo.common_dir);
    let command = Command::new(program).arg(SESSION_COMMAND).dir(&repo.root);
    let command = NOT_INHERITED.into_iter().fold(command, Command::env_remove);
    let started = command.detach(open_log(&dir.session_log())?)?;
    let lost = |error: io::Error| ProcessStartError::Ended(error.to_string());
    let answer = started.answer(START_TIMEOUT).map_err(lost)?.ok_or(ProcessStartError::Slow)?;
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    if answer["ready"] == true {
        return Ok(());
    }
    let Some(problem) = answer["error"]["message"].as_str() else {
        return Err(ProcessStartError::Ended(last_line(&dir.session_log())));
    };
    let hints = answer["error"]["hints"].as_array().into_iter().flatten();
    let hints = hints.filter_map(Value::as_str).map(str::to_owned).collect();
    Err(ProcessStartError::Failed { problem: problem.to_owned(), hints })
}

/// Opens the process's log. A large one is replaced; one old log is kept.
pub fn open_log(path: &Path) -> Result<File, FileError> {
    if let Some(dir) = path.parent() {
        files::create_private_dir(dir)?;
    }
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > LARGEST_LOG) {
        let _ = std::fs::rename(path, path.with_extension("log.old"));
    }
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let file = opened.map_err(FileError::when("open", path))?;
    files::reserve(&file, RESERVED_LOG);
    Ok(file)
}

/// The last line of the process's log.
fn last_line(log: &Path) -> String {
    let text = files::load_text(log).ok().flatten().unwrap_or_default();
    text.lines().next_back().unwrap_or("it wrote nothing to its log").to_owned()
}

/// Ends the session's process and waits until it has saved its state. A broker started with `git paw serve` keeps running.
/// Returns whether there was a process.
pub fn end(repo: &Repo) -> bool {
    let own = processes(repo);
    for process in process::terminate(&own) {
        tracing::warn!(target: "paw::session", "the session's process ({}) did not exit", process.pid);
    }
    !own.is_empty()
}

/// The running processes of the repository's session; one that is exiting has no command line and is left out.
fn processes(repo: &Repo) -> Vec<process::ProcessInfo> {
    let root = repo.root.canonicalize().unwrap_or_else(|_| repo.root.clone());
    let is_it = |process: &process::ProcessInfo| {
        let command = process.command_line.rsplit(' ').next();
        process.cwd == root && (command == Some(SESSION_COMMAND) || is_old(repo, process))
    };
    process::processes_in(&root).into_iter().filter(is_it).collect()
}

/// The process of an older version: the dashboard whose id is in `endpoint.json`.
fn is_old(repo: &Repo, process: &process::ProcessInfo) -> bool {
    process.command_line.ends_with(&format!(" {OLD_COMMAND}"))
        && matches!(Endpoint::load(&PawDir::of(&repo.common_dir)), Ok(Some(found)) if found.pid == process.pid)
}
