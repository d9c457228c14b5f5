//! What every command receives: its directory, our data directories, and its output.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use paw_broker::SessionId;
use paw_broker::client::{BrokerClient, ClientIdentity};
use paw_core::config::ConfigError;
use paw_core::paths::lock_of;
use paw_core::{AgentId, PawError};
use paw_host::caller::{CallingAgent, CommandCaller};
use paw_host::config::{self, Layers};
use paw_host::files::{self, Access, Dirs, Lock};
use paw_host::git::{GitError, Repo};
use paw_host::trust::Approver;
use paw_session::lifecycle::Session;
use paw_session::panes::URL_VARIABLE;
use paw_session::trust::is_user_only;

use crate::output::Output;

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) cwd: PathBuf,
    pub(crate) dirs: Dirs,
    pub(crate) search_path: OsString,
    pub(crate) output: Output,
    /// Identified when a command needs it.
    caller: OnceLock<CommandCaller>,
}

impl Context {
    pub(crate) fn new(output: Output) -> Result<Self, PawError> {
        let cwd = env::current_dir().map_err(|error| {
            PawError::internal(format!("cannot find the current directory: {error}"))
                .hint("change to a directory that exists")
        })?;
        let search_path = env::var_os("PATH").unwrap_or_default();
        Ok(Self::at(cwd, Dirs::from_env()?, search_path, output))
    }

    pub(crate) fn at(cwd: PathBuf, dirs: Dirs, search_path: OsString, output: Output) -> Self {
        Self { cwd, dirs, search_path, output, caller: OnceLock::new() }
    }

    /// The same for a call from a program: another directory, JSON output, no prompts.
    pub(crate) fn for_program(&self, cwd: PathBuf) -> Self {
        let (dirs, search_path) = (self.dirs.clone(), self.search_path.clone());
        Self { caller: self.caller.clone(), ..Self::at(cwd, dirs, search_path, Output::new(true)) }
    }

    /// Who runs this command.
    pub(crate) fn caller(&self) -> Result<&CommandCaller, PawError> {
        if let Some(caller) = self.caller.get() {
            return Ok(caller);
        }
        let caller = CommandCaller::identify(|dir| self.receipts().find_agent_in(dir))?;
        Ok(self.caller.get_or_init(|| caller))
    }

    /// Fails if an agent runs this command.
    pub(crate) fn require_user(&self, action: &str) -> Result<(), PawError> {
        if self.caller()?.is_user() {
            return Ok(());
        }
        Err(PawError::SessionError(format!("an agent cannot {action}")).hint("ask the user"))
    }

    /// Permission to approve, which only the user has.
    pub(crate) fn approver(&self) -> Result<Approver, PawError> {
        Ok(Approver::new(self.caller()?)?)
    }

    /// The repository of the current directory, if there is one.
    pub(crate) fn find_repo(&self) -> Result<Option<Repo>, PawError> {
        match Repo::discover(&self.cwd) {
            Ok(repo) => Ok(Some(repo)),
            Err(GitError::NotARepository(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the current directory is in a repository, including one that git refuses to open.
    pub(crate) fn is_inside_repo(&self) -> bool {
        !matches!(Repo::discover(&self.cwd), Err(GitError::NotARepository(_)))
    }

    /// The current directory, if it is in a repository.
    pub(crate) fn repo_dir(&self) -> Option<&Path> {
        self.is_inside_repo().then_some(self.cwd.as_path())
    }

    pub(crate) fn require_repo(&self) -> Result<Repo, PawError> {
        Ok(Repo::discover(&self.cwd)?)
    }

    /// The user's configuration and, inside a repository, its own. Warns about unknown keys.
    pub(crate) fn load_config(&self) -> Result<Layers, PawError> {
        let repo = self.find_repo()?;
        let layers = config::load_layers(repo.as_ref().map(|repo| repo.root.as_path()), None)?;
        for warning in layers.warnings() {
            self.output.warn(&warning.to_string());
        }
        Ok(layers)
    }

    /// The broker client of the caller: an agent, or the operator.
    pub(crate) fn broker_client(&self) -> Result<BrokerClient, PawError> {
        let who = match self.caller()? {
            CommandCaller::User => ClientIdentity::default(),
            CommandCaller::Agent(agent) => agent_identity(agent)?,
        };
        self.broker_client_as(who)
    }

    /// The broker client of the caller, if it may act for the whole session: the supervisor, or the operator. Either proves
    /// it with its token.
    pub(crate) fn privileged_client(&self, action: &'static str) -> Result<BrokerClient, PawError> {
        let client = self.broker_client()?;
        client.require_privilege(action)?;
        Ok(client)
    }

    /// The broker client for news about an agent's worktree, by any author: if its agent has no token here, it is the
    /// operator's.
    pub(crate) fn worktree_client(&self, owner: &AgentId) -> Result<BrokerClient, PawError> {
        match self.caller()? {
            CommandCaller::Agent(agent) if agent.token.is_none() && agent.id.as_ref() == Some(owner) => {
                self.broker_client_as(ClientIdentity::default())
            }
            _ => self.broker_client(),
        }
    }

    fn broker_client_as(&self, who: ClientIdentity) -> Result<BrokerClient, PawError> {
        let repo = self.require_repo()?;
        // The broker process has already warned about the keys of the repository that are ignored.
        let config = config::load_layers(Some(&repo.root), None)?.without(is_user_only).resolve()?;
        // Without a readable receipt, the client uses the session of the last message.
        let session = Session::find(&repo, &self.receipts()).unwrap_or_default();
        if let Some(session) = &session {
            self.ensure_process(session);
        }
        let session = session.map(|session| SessionId::new(&session.receipt.session_id()));
        let who = ClientIdentity { url: env::var(URL_VARIABLE).ok(), ..who };
        let nudge = config.supervisor.as_ref().is_none_or(|supervisor| supervisor.verify_on_commit_nudge);
        Ok(BrokerClient::new(&repo.common_dir, config.broker, who, session)?.with_nudge(nudge))
    }

    /// Edits the user's configuration file under a lock. `edit` gets the text and the file name and returns the new
    /// text, or `None` to leave the file alone. Returns whether the file changed.
    pub(crate) fn edit_user_config(
        &self,
        edit: impl FnOnce(&str, &str) -> Result<Option<String>, ConfigError>,
    ) -> Result<bool, PawError> {
        self.require_user("change the user's configuration")?;
        let file = self.dirs.config_file();
        let _lock = Lock::wait(&lock_of(&file))?;
        let before = files::load_text(&file)?.unwrap_or_default();
        match edit(&before, &file.display().to_string())? {
            Some(after) => files::write_atomic(&file, after.as_bytes(), Access::Usual).map(|()| true),
            None => Ok(false),
        }
        .map_err(Into::into)
    }
}

fn agent_identity(agent: &CallingAgent) -> Result<ClientIdentity, PawError> {
    let unknown = || {
        PawError::SessionError("this command runs in an agent's pane, but not as a known agent".to_owned())
    };
    let id = agent.id.as_ref().map(AgentId::to_string).ok_or_else(unknown)?;
    Ok(ClientIdentity { agent: Some(id), token: agent.token.clone(), url: None })
}
