//! The user's and the repository's configuration, read from disk and laid over each other.

use std::path::{Path, PathBuf};

use paw_core::PawError;
use paw_core::config::{self, ConfigWarning, Layer, PawConfig, TrustItem};
use paw_core::paths::CheckoutDir;

use crate::files::{self, Dirs};

/// The two files, read but not merged: who said what is still known.
#[derive(Debug, Clone)]
pub struct Layers {
    pub user: Layer,
    pub repo: Layer,
    repo_root: Option<PathBuf>,
}

impl Layers {
    /// What holds: defaults, over them the user's file, over that the repository's.
    pub fn resolve(&self) -> Result<PawConfig, PawError> {
        let exists = |path: &Path| self.repo_root.as_ref().is_some_and(|root| root.join(path).is_file());
        Ok(config::resolve(self.user.clone(), self.repo.clone(), exists)?)
    }

    /// As if the repository had said nothing.
    #[must_use]
    pub fn of_user_alone(&self) -> Self {
        Self { repo: Layer::default(), ..self.clone() }
    }

    /// As if the repository had not asked for those of its keys that need trust and are unwanted.
    #[must_use]
    pub fn without(&self, unwanted: impl Fn(&TrustItem) -> bool) -> Self {
        Self { repo: self.repo.without(unwanted), ..self.clone() }
    }

    /// Keys nobody reads, in both files.
    pub fn warnings(&self) -> impl Iterator<Item = &ConfigWarning> {
        self.user.warnings().iter().chain(self.repo.warnings())
    }
}

/// The repository's own configuration file.
pub fn repo_config_path(repo_root: &Path) -> PathBuf {
    CheckoutDir::of(repo_root).config()
}

/// Where the user's configuration file is on this machine.
pub fn global_config_path() -> Result<PathBuf, PawError> {
    Ok(Dirs::from_env()?.config_file())
}

/// Reads both files; one that does not exist says nothing. `user_config_path` replaces the user's file in tests.
pub fn load_layers(repo_root: Option<&Path>, user_config_path: Option<&Path>) -> Result<Layers, PawError> {
    let user = match user_config_path {
        Some(path) => path.to_path_buf(),
        None => global_config_path()?,
    };
    let repo = match repo_root {
        Some(root) => load_layer(&repo_config_path(root))?,
        None => Layer::default(),
    };
    Ok(Layers { user: load_layer(&user)?, repo, repo_root: repo_root.map(Path::to_path_buf) })
}

/// The merged configuration of a repository.
pub fn load_config(repo_root: &Path, user_config_path: Option<&Path>) -> Result<PawConfig, PawError> {
    load_layers(Some(repo_root), user_config_path)?.resolve()
}

/// One file, or nothing when it does not exist.
pub fn load_layer(path: &Path) -> Result<Layer, PawError> {
    match files::load_text(path)? {
        Some(text) => Ok(config::parse(&text, &path.display().to_string())?),
        None => Ok(Layer::default()),
    }
}
