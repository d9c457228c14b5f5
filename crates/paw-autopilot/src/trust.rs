//! Repository settings that need the user's approval: the programs autopilot runs.

use paw_core::config::TrustItem;
use paw_host::config::Layers;
use paw_session::trust::TrustRequest;

/// The programs that the repository's configuration makes autopilot run.
pub fn request(layers: &Layers) -> Option<TrustRequest> {
    let is_ours = |item: &TrustItem| item.key.starts_with("autopilot.");
    let items = layers.repo.needs_trust().into_iter().filter(is_ours);
    let question = "this repository wants autopilot to run:";
    TrustRequest::new(question, "autopilot", items.map(|item| (item.key, item.value)))
}
