//! The rules and the place of a worktree, read from disk.

use std::path::Path;

use paw_broker::endpoint::Endpoint;
use paw_core::PawError;
use paw_core::paths::PawDir;
use paw_host::config;
use paw_host::files::Dirs;
use paw_host::git::{Git, GitError, Repo};
use paw_host::trust::TrustStore;

use super::{Configured, Place, Rules, configured};

/// What holds for a shell in `dir`. A directory outside of any repository has the user's own rules.
pub fn gather(dir: &Path, dirs: &Dirs) -> Result<(Configured, Place), PawError> {
    match Repo::discover(dir) {
        Ok(repo) => gather_in(&repo, dir, dirs),
        Err(GitError::NotARepository(_)) => {
            let config = config::load_layers(None, None)?.resolve()?;
            let rules = Rules::from_config(&config.supervisor.unwrap_or_default());
            let (home, broker_port) = (std::env::home_dir(), Some(config.broker.port));
            Ok((Configured { rules, unapproved: None }, Place { home, broker_port, ..Place::at(dir) }))
        }
        Err(error) => Err(error.into()),
    }
}

/// The same where the repository of `dir` is known already.
pub fn gather_in(repo: &Repo, dir: &Path, dirs: &Dirs) -> Result<(Configured, Place), PawError> {
    let layers = config::load_layers(Some(&repo.root), None)?;
    let configured = configured(&layers, repo, &TrustStore::open(dirs))?;
    let root = repo.worktree.clone().unwrap_or_else(|| dir.to_path_buf());
    let endpoint = Endpoint::load(&PawDir::of(&repo.common_dir)).ok().flatten();
    let port = endpoint.and_then(|endpoint| endpoint.address()).map(|address| address.port());
    let config = layers.resolve()?;
    let place = Place {
        cwd: dir.to_path_buf(),
        home: std::env::home_dir(),
        branch: Git::at(&root).find_current_branch()?.map(String::from),
        broker_port: Some(port.unwrap_or(config.broker.port)),
        settings: config.clis.values().filter_map(|cli| cli.settings_path.clone()).collect(),
        ..Place::at(root)
    };
    Ok((configured, place))
}
