//! Finding the repository's session.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::time::Duration;

use paw_core::receipt::AgentLookupError;
use paw_core::{BranchName, PawError, Receipt};
use paw_host::caller::CommandCaller;
use paw_host::git::Repo;
use paw_host::locks::SessionLock;
use paw_host::process::{own_program, shell_quote};
use paw_host::tmux::Tmux;
use paw_runtime::SessionSettings;
use paw_session::Receipts;
use paw_session::launch;
use paw_session::lifecycle::Session;
use paw_session::lifecycle::process::EnsuredProcess;
use paw_session::recover::RunningSessions;
use paw_view::BrokerView;

use crate::approval;
use crate::context::Context;

impl Context {
    pub(crate) fn receipts(&self) -> Receipts {
        Receipts::at(self.dirs.sessions_dir())
    }

    /// The session of this repository, if it has one.
    pub(crate) fn find_session(&self) -> Result<Option<Session>, PawError> {
        let session = Session::find(&self.require_repo()?, &self.receipts())?;
        if let Some(moved_from) = session.as_ref().and_then(|session| session.moved_from.as_ref()) {
            self.output.warn(&format!(
                "this repository was at {} when its session was started",
                moved_from.display()
            ));
        }
        Ok(session)
    }

    /// The branch that a person means: an existing one, else that of an agent, by its id or a unique prefix.
    pub(crate) fn find_meant_branch(&self, name: &str) -> Result<BranchName, PawError> {
        let branch = BranchName::new(name);
        if let Ok(branch) = &branch
            && self.require_repo()?.git().has_ref(&branch.full_ref())?
        {
            return Ok(branch.clone());
        }
        match self.find_session()?.map(|session| session.receipt) {
            Some(receipt) => match receipt.find_named(name) {
                Ok((agent, _)) => Ok(agent.branch.clone()),
                Err(AgentLookupError::Unknown { .. }) => Ok(branch?),
                Err(elsewhere @ AgentLookupError::Elsewhere { .. }) => receipt
                    .find_elsewhere(name)
                    .map(|agent| agent.branch.clone())
                    .ok_or_else(|| elsewhere.into()),
                Err(ambiguous) => Err(ambiguous.into()),
            },
            None => Ok(branch?),
        }
    }

    /// The settings of the session's long-running process.
    pub(crate) fn session_settings(&self) -> Result<SessionSettings, PawError> {
        let repo = self.require_repo()?;
        let config = approval::guarded_config(&self.load_config()?, self)?;
        // Slow machines raise it.
        let timeout = std::env::var("GIT_PAW_READINESS_TIMEOUT_MS").ok().and_then(|value| value.parse().ok());
        let ready_timeout = timeout.map(Duration::from_millis);
        Ok(SessionSettings { repo, config, dirs: self.dirs.clone(), ready_timeout })
    }

    /// Locks the session of a repository. Waits for a command that changes it, and says so.
    pub(crate) fn lock_session(&self, repo: &Repo) -> Result<SessionLock, PawError> {
        let waiting = || self.output.note("waiting for another git paw command that changes this session");
        Ok(launch::lock(repo, waiting)?)
    }

    /// Starts the session's process if it has died. A command that needs it works without it, too, so failures are only
    /// warnings. Must not be called with the session's lock, which a start of the process needs.
    pub(crate) fn ensure_process(&self, session: &Session) {
        let ensured = own_program().and_then(|program| {
            // A process started by an agent would run in its sandbox, so the tmux server starts it.
            match self.caller()? {
                CommandCaller::Agent(_) => Ok(session.ensure_process_by_tmux(&program)?),
                CommandCaller::User => Ok(session.wait_for_process(&program)?),
            }
        });
        match ensured {
            Ok(EnsuredProcess::Started) => self.output.note("the session's process had died: restarted it"),
            Ok(EnsuredProcess::Running | EnsuredProcess::NotWanted | EnsuredProcess::Busy) => {}
            Err(error) => self.output.warn(&error.to_string()),
        }
    }

    pub(crate) fn require_session(&self) -> Result<Session, PawError> {
        self.find_session()?.ok_or_else(|| {
            PawError::SessionError("no session for this repository".to_owned())
                .hint("start one with 'git paw start'")
        })
    }
}

/// The tmux command that attaches to a session, which may have been renamed in tmux.
pub(crate) fn attach_command(receipt: &Receipt) -> String {
    let running = RunningSessions::load(&Tmux::on_socket(receipt.tmux_socket.clone())).unwrap_or_default();
    let name = running.find(receipt).map_or(receipt.session_name.as_str(), |running| running.name.as_str());
    let socket = receipt.tmux_socket.as_ref().map(|socket| format!(" -L {socket}")).unwrap_or_default();
    format!("tmux{socket} attach -t {}", shell_quote(OsStr::new(name)))
}

/// One line about the process that runs a session's broker.
pub(crate) fn describe_process(broker: &BrokerView) -> String {
    let mut line = if broker.running { "running" } else { "not running" }.to_owned();
    let since = broker.since.map(|since| format!(" since {}", since.strftime("%Y-%m-%d %H:%M:%S UTC")));
    if let Some(pid) = broker.pid {
        let _ = write!(line, " (pid {pid}{})", since.unwrap_or_default());
    }
    if let Some(problem) = &broker.problem {
        let _ = write!(line, ": {problem}");
    }
    line
}

/// The tmux pane that this process runs in.
pub(crate) fn own_pane() -> Option<String> {
    std::env::var("TMUX_PANE").ok().filter(|pane| pane.starts_with('%'))
}
