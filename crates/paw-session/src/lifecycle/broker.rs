//! Checks and ends the session's process, which runs the broker.

use paw_broker::client::{self, PortOwner};
use paw_broker::endpoint::{Endpoint, repository_hash};
use paw_core::paths::PawDir;
use paw_host::git::Repo;
use paw_host::process;

/// The URL of the repository's broker, if it answers.
pub(super) fn find_answering(repo: &Repo) -> Option<String> {
    let endpoint = load(repo)?;
    match client::probe(endpoint.address()?) {
        Ok(PortOwner::Broker { repository_hash: of })
            if of.as_ref().is_none_or(|of| *of == repository_hash(&repo.root)) =>
        {
            Some(endpoint.url)
        }
        _ => None,
    }
}

/// Ends the session's process while it still has a terminal, and waits until it has saved its state. A broker started with
/// `git paw serve` keeps running.
pub(super) fn end(repo: &Repo) {
    let Some(endpoint) = load(repo) else { return };
    let is_it = |process: &process::ProcessInfo| {
        process.pid == endpoint.pid && process.command_line.ends_with(" __dashboard")
    };
    let own: Vec<_> = process::processes_in(&repo.root).into_iter().filter(is_it).collect();
    for process in process::terminate(&own) {
        tracing::warn!(target: "paw::session", "the broker (process {}) did not exit", process.pid);
    }
}

fn load(repo: &Repo) -> Option<Endpoint> {
    Endpoint::load(&PawDir::of(&repo.common_dir)).ok().flatten()
}
