//! How a session on several machines looks after the agents on the other ones: by `[supervisor]` of the hub, as its user configured or
//! approved it.

use paw_core::config::SupervisorConfig;
use paw_core::receipt::HubSupervision;
use paw_core::{PawError, Receipt};
use paw_host::config::{self, Layers};
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_host::trust::TrustStore;
use paw_session::trust;

use super::repository_rules::limit_to_approved;
use crate::gates::{self, Gate};

/// By the configuration of now. `None` if nothing looks after the agents of the session.
pub fn load_hub_supervision(
    receipt: &Receipt,
    repo: &Repo,
    dirs: &Dirs,
) -> Result<Option<HubSupervision>, PawError> {
    if !receipt.is_looked_after() {
        return Ok(None);
    }
    let layers = config::load_layers(Some(&repo.root), None)?;
    let config = approved_config(&layers, repo, &TrustStore::open(dirs))?;
    Ok(Some(HubSupervision { config, unattended: !receipt.has_supervisor() }))
}

/// What the user configured or has approved. Asks nothing.
fn approved_config(layers: &Layers, repo: &Repo, store: &TrustStore) -> Result<SupervisorConfig, PawError> {
    let gates = gates::plan(&layers.resolve()?.supervisor.unwrap_or_default(), &layers.repo);
    let requests =
        trust::find_agent_request(layers, Gate::is_command)?.into_iter().chain(gates.request().cloned());
    let followed = trust::resolve_trusted(layers, requests, |request| {
        Ok::<_, PawError>(store.is_approved(repo, &request.subject)?)
    })?;
    limit_to_approved(followed.config.supervisor.unwrap_or_default(), layers, repo, store)
}
