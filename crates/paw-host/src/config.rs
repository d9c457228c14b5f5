//! Loads and merges the user's and the repository's configuration.

use std::path::{Path, PathBuf};

use paw_core::PawError;
use paw_core::config::{self, ConfigWarning, Layer, PawConfig, TrustItem};
use paw_core::paths::CheckoutDir;

use crate::files::{self, Dirs};

/// Both configuration files, parsed but not merged.
#[derive(Debug, Clone)]
pub struct Layers {
    pub user: Layer,
    pub repo: Layer,
    repo_root: Option<PathBuf>,
}

impl Layers {
    /// Merges the layers: the repository's file overrides the user's, which overrides the defaults.
    pub fn resolve(&self) -> Result<PawConfig, PawError> {
        let exists = |path: &Path| self.repo_root.as_ref().is_some_and(|root| root.join(path).is_file());
        Ok(config::resolve(self.user.clone(), self.repo.clone(), exists)?)
    }

    /// Whether one of the files sets this key.
    pub fn has(&self, key: &str) -> bool {
        self.user.has(key) || self.repo.has(key)
    }

    /// Without the repository's file.
    #[must_use]
    pub fn of_user_alone(&self) -> Self {
        Self { repo: Layer::default(), ..self.clone() }
    }

    /// Without those keys of the repository that need trust and for which `unwanted` is true.
    #[must_use]
    pub fn without(&self, unwanted: impl Fn(&TrustItem) -> bool) -> Self {
        Self { repo: self.repo.without(unwanted), ..self.clone() }
    }

    /// Unknown keys in both files, and keys without effect.
    pub fn warnings(&self) -> impl Iterator<Item = &ConfigWarning> {
        self.user.warnings().iter().chain(self.repo.warnings())
    }
}

/// The repository's configuration file.
pub fn repo_config_path(repo_root: &Path) -> PathBuf {
    CheckoutDir::of(repo_root).config()
}

/// The path of the user's configuration file.
pub fn global_config_path() -> Result<PathBuf, PawError> {
    Ok(Dirs::from_env()?.config_file())
}

/// Loads both files; a missing file is an empty layer. `user_config_path` overrides the user's file in tests.
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

/// Loads one file; a missing file is an empty layer.
pub fn load_layer(path: &Path) -> Result<Layer, PawError> {
    match files::load_text(path)? {
        Some(text) => Ok(config::parse(&text, &path.display().to_string())?),
        None => Ok(Layer::default()),
    }
}
