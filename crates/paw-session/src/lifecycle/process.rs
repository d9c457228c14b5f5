//! The session's process, as commands need it: restarted if it has died, and described in the status.

use std::path::Path;
use std::thread;
use std::time::Duration;

use paw_broker::client::{self, PortOwner};
use paw_broker::endpoint::{Endpoint, VERSION, repository_hash};
use paw_core::SessionStatus;
use paw_core::paths::PawDir;
use paw_host::clock::Stopwatch;
use paw_host::git::Repo;
use paw_host::locks::SessionLock;
use paw_host::process::shell_quote;
use paw_host::tmux::{TmuxCommand, TmuxError};
use paw_view::BrokerView;

use super::{LifecycleError, Session};
use crate::panes::plain;
use crate::session_process::{self, ENSURE, ProcessState, SESSION_COMMAND};

/// How long [`Session::wait_for_process`] waits. Longer than a process may take to start.
const WAIT_TIMEOUT: Duration = Duration::from_secs(25);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The result of [`Session::ensure_process`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnsuredProcess {
    Running,
    Started,
    /// The session has no process: it is paused or stopped.
    NotWanted,
    /// Another command starts, changes or ends the session right now.
    Busy,
}

impl Session {
    /// Starts the session's process if it is missing, unless the session is paused or stopped.
    pub fn ensure_process(&self, program: &Path) -> Result<EnsuredProcess, LifecycleError> {
        if self.receipt.status != SessionStatus::Active {
            return Ok(EnsuredProcess::NotWanted);
        }
        if self.is_process_running()? {
            return Ok(EnsuredProcess::Running);
        }
        let Some(lock) = SessionLock::try_take(&self.repo.common_dir)? else {
            return Ok(EnsuredProcess::Busy);
        };
        // Another command may have changed the session before it released the lock.
        let Some(session) = self.reload()? else { return Ok(EnsuredProcess::NotWanted) };
        if session.state()?.0 != SessionStatus::Active {
            return Ok(EnsuredProcess::NotWanted);
        }
        session_process::start(&self.repo, program, &session.receipt, &lock)?;
        Ok(EnsuredProcess::Started)
    }

    /// Like [`Self::ensure_process`], and waits while another command starts the process or changes the session.
    pub fn wait_for_process(&self, program: &Path) -> Result<EnsuredProcess, LifecycleError> {
        let watch = Stopwatch::start();
        loop {
            match self.ensure_process(program)? {
                EnsuredProcess::Busy if !watch.remaining(WAIT_TIMEOUT).is_zero() => {
                    thread::sleep(POLL_INTERVAL);
                }
                ensured => return Ok(ensured),
            }
        }
    }

    /// Whether the session's process is running.
    pub fn is_process_running(&self) -> Result<bool, LifecycleError> {
        if !self.receipt.has_broker() {
            return Ok(session_process::is_running_without_broker(&self.repo)?);
        }
        Ok(matches!(session_process::find(&self.repo)?, ProcessState::Running(_)))
    }

    /// Like [`Self::ensure_process`], but asks the tmux server to start the process, without waiting for it.
    pub fn ensure_process_by_tmux(&self, program: &Path) -> Result<EnsuredProcess, LifecycleError> {
        if self.receipt.status != SessionStatus::Active {
            return Ok(EnsuredProcess::NotWanted);
        }
        // In a sandbox, the process may not be visible.
        let is_starting = || matches!(session_process::find(&self.repo), Ok(ProcessState::Starting));
        if self.is_process_running()? || (self.receipt.has_broker() && is_starting()) {
            return Ok(EnsuredProcess::Running);
        }
        let line = format!(
            "cd {} && {} {SESSION_COMMAND} {ENSURE} >/dev/null 2>&1",
            shell_quote(self.repo.root.as_os_str()),
            shell_quote(program.as_os_str())
        );
        let start = TmuxCommand::new("run-shell").args(["-b", &plain(&line).replace('%', "%%")]);
        match self.tmux.run(&start) {
            // In a sandbox the server cannot be reached; the dashboard restarts the process then.
            Ok(_) | Err(TmuxError::Failed { .. } | TmuxError::NotInstalled) => Ok(EnsuredProcess::Busy),
            Err(error) => Err(error.into()),
        }
    }

    /// The broker of a session that has one. A process that runs and does not answer is busy, not dead.
    pub(super) fn broker_view(&self) -> BrokerView {
        let recorded = BrokerView {
            url: self.receipt.broker_url(),
            port: self.receipt.broker_port,
            ..BrokerView::default()
        };
        match session_process::find(&self.repo) {
            Ok(ProcessState::Running(endpoint)) => {
                let problem = problem_of(&self.repo, &endpoint);
                BrokerView {
                    port: endpoint.address().map(|address| address.port()).or(recorded.port),
                    url: Some(endpoint.url),
                    running: true,
                    pid: Some(endpoint.pid),
                    since: endpoint.started_at,
                    problem,
                    ..recorded
                }
            }
            Ok(ProcessState::Died(endpoint)) => {
                let log = PawDir::of(&self.repo.common_dir).session_log();
                let problem = format!(
                    "the session's process (pid {}) died; its log is {}",
                    endpoint.pid,
                    log.display()
                );
                BrokerView { problem: Some(problem), ..recorded }
            }
            Ok(ProcessState::Starting | ProcessState::NotRunning) | Err(_) => recorded,
        }
    }
}

/// What is wrong with a running process.
fn problem_of(repo: &Repo, endpoint: &Endpoint) -> Option<String> {
    let owner = endpoint.address().map(client::probe);
    match owner {
        Some(Ok(PortOwner::Broker { repository_hash: of }))
            if of.as_ref().is_none_or(|of| *of == repository_hash(&repo.root)) =>
        {
            let is_other = endpoint.version != VERSION;
            is_other.then(|| {
                format!("it is git-paw {}, this is {VERSION}; 'git paw start' replaces it", endpoint.version)
            })
        }
        _ => Some("it does not answer right now".to_owned()),
    }
}
