//! What every command is given: where it runs, where our files are, and how to speak.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use paw_broker::SessionId;
use paw_broker::client::{Client, Who};
use paw_core::PawError;
use paw_core::config::ConfigError;
use paw_core::paths::lock_of;
use paw_host::config::{self, Layers};
use paw_host::files::{self, Access, Dirs, Lock};
use paw_host::git::{GitError, Repo};
use paw_session::trust::loosens;

use crate::output::Output;

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) cwd: PathBuf,
    pub(crate) dirs: Dirs,
    pub(crate) search_path: OsString,
    pub(crate) output: Output,
}

impl Context {
    pub(crate) fn new(output: Output) -> Result<Self, PawError> {
        let cwd = env::current_dir().map_err(|error| {
            PawError::internal(format!("cannot tell the current directory: {error}"))
                .hint("cd to one that exists")
        })?;
        let search_path = env::var_os("PATH").unwrap_or_default();
        Ok(Self { cwd, dirs: Dirs::from_env()?, search_path, output })
    }

    /// The same for a program that asks about another directory: one document, and nobody is asked anything.
    pub(crate) fn for_program(&self, cwd: PathBuf) -> Self {
        let (dirs, search_path) = (self.dirs.clone(), self.search_path.clone());
        Self { cwd, dirs, search_path, output: Output::new(true) }
    }

    /// The repository of this command, or nothing outside of one.
    pub(crate) fn find_repo(&self) -> Result<Option<Repo>, PawError> {
        match Repo::discover(&self.cwd) {
            Ok(repo) => Ok(Some(repo)),
            Err(GitError::NotARepository(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the current directory lies in a repository, or in something that git refuses to take for one.
    pub(crate) fn is_inside_repo(&self) -> bool {
        !matches!(Repo::discover(&self.cwd), Err(GitError::NotARepository(_)))
    }

    /// The current directory, where it lies in a repository.
    pub(crate) fn repo_dir(&self) -> Option<&Path> {
        self.is_inside_repo().then_some(self.cwd.as_path())
    }

    pub(crate) fn require_repo(&self) -> Result<Repo, PawError> {
        Ok(Repo::discover(&self.cwd)?)
    }

    /// The user's configuration and, inside a repository, its own; keys nobody reads are said aloud.
    pub(crate) fn load_config(&self) -> Result<Layers, PawError> {
        let repo = self.find_repo()?;
        let layers = config::load_layers(repo.as_ref().map(|repo| repo.root.as_path()), None)?;
        for warning in layers.warnings() {
            self.output.warn(&warning.to_string());
        }
        Ok(layers)
    }

    /// Whoever runs this command, as one who sends and receives messages: the agent of this pane, or the operator.
    pub(crate) fn broker_client(&self) -> Result<Client, PawError> {
        let repo = self.require_repo()?;
        // Whoever serves has said what of a repository's file is not followed.
        let config = config::load_layers(Some(&repo.root), None)?.without(loosens).resolve()?;
        // Without a receipt that can be read it is the session that spoke last.
        let receipt = self.receipts().find_for_repo(&repo.root).unwrap_or_default();
        let session = receipt.map(|receipt| SessionId::new(&receipt.session_id()));
        let variable = |name: &str| env::var(name).ok();
        let who = Who {
            agent: variable("GIT_PAW_AGENT_ID"),
            token: variable("GIT_PAW_BROKER_TOKEN"),
            url: variable("GIT_PAW_BROKER_URL"),
        };
        let nudge = config.supervisor.as_ref().is_none_or(|wish| wish.verify_on_commit_nudge);
        Ok(Client::new(&repo.common_dir, config.broker, who, session)?.nudging(nudge))
    }

    /// Changes the user's configuration file by `edit`, which gets its text and its name and returns the new text,
    /// or nothing to leave it alone. Says whether it was changed. Two edits at once do not lose one of them.
    pub(crate) fn edit_user_config(
        &self,
        edit: impl FnOnce(&str, &str) -> Result<Option<String>, ConfigError>,
    ) -> Result<bool, PawError> {
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
