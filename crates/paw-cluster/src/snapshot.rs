//! Snapshots of uncommitted work: a host keeps one per agent, and the hub fetches it.
//!
//! A snapshot is a commit on top of the agent's last one. Equal work is an equal commit, so nothing is stored or sent twice.

use std::collections::BTreeMap;

use jiff::Timestamp;
use paw_broker::watch::SnapshotNote;
use paw_core::paths::PawDir;
use paw_core::{AgentId, HostName};
use paw_host::clock;
use paw_host::files::{self, Access};
use paw_host::git::{KeptWork, Repo, ScratchError, ScratchRepo};
use serde::{Deserialize, Serialize};

use crate::hub::HubError;
use crate::remote::RemoteHost;

/// The most bytes that a snapshot may add to what is committed, compressed.
pub const LARGEST: u64 = 64 << 20;

/// The snapshot of an agent, on its host.
pub fn own_ref(agent: &AgentId) -> String {
    format!("refs/paw/snapshots/{agent}")
}

/// The same, on the hub. Each host has its own, so that none can replace another's.
pub fn fetched_ref(host: &HostName, agent: &AgentId) -> String {
    format!("refs/paw/snapshots/{host}/{agent}")
}

/// Stores the work of an agent. Returns what the hub should know, or nothing if it knows it already.
pub fn keep(
    scratch: &ScratchRepo,
    work: &str,
    agent: &AgentId,
) -> Result<Option<SnapshotNote>, ScratchError> {
    Ok(match scratch.keep_work(work, &own_ref(agent), LARGEST)? {
        KeptWork::Stored(commit) => Some(SnapshotNote::Commit(commit)),
        KeptWork::Unchanged(_) => None,
        KeptWork::TooLarge(bytes) => Some(SnapshotNote::Problem(too_large(bytes))),
    })
}

pub fn too_large(bytes: u64) -> String {
    format!(
        "uncommitted work of {} MB is not copied to the hub; the limit is {} MB",
        bytes >> 20,
        LARGEST >> 20
    )
}

/// A snapshot that was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchedSnapshot {
    pub commit: String,
    /// When it was fetched first.
    pub at: Timestamp,
}

/// The snapshots that were fetched from a host.
pub fn load(repo: &Repo, host: &HostName) -> BTreeMap<AgentId, FetchedSnapshot> {
    let text = files::load_text(&PawDir::of(&repo.common_dir).snapshots(host)).ok().flatten();
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Fetches the snapshots of all agents of a host. Returns those of `agents`.
pub fn fetch(
    repo: &Repo,
    host: &RemoteHost,
    agents: &[AgentId],
) -> Result<BTreeMap<AgentId, FetchedSnapshot>, HubError> {
    let git = repo.git();
    let path = host.path.clone().unwrap_or_default();
    let all = format!("+refs/paw/snapshots/*:refs/paw/snapshots/{}/*", host.name);
    let shared = PawDir::of(&repo.common_dir).host_socket(&host.name);
    git.fetch_over((&host.target, &path), Some(&shared), [all])?;
    let (mut known, now) = (load(repo, &host.name), clock::now());
    known.retain(|agent, _| agents.contains(agent));
    for agent in agents {
        let Some(commit) = git.find_object(&fetched_ref(&host.name, agent), "commit")? else { continue };
        if known.get(agent).is_none_or(|known| known.commit != commit) {
            known.insert(agent.clone(), FetchedSnapshot { commit, at: now });
        }
    }
    let file = PawDir::of(&repo.common_dir).snapshots(&host.name);
    let text = serde_json::to_vec(&known).unwrap_or_default();
    files::write_atomic(&file, &text, Access::Private)?;
    Ok(known)
}

/// Deletes all snapshots and moved work of a session.
pub fn delete_all(repo: &Repo) -> Result<(), HubError> {
    let git = repo.git();
    let listing = git.line([
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/paw/snapshots/",
        "refs/paw/moved/",
    ])?;
    for (full_ref, commit) in listing.lines().filter_map(|line| line.split_once(' ')) {
        git.delete_ref(full_ref, commit)?;
    }
    Ok(())
}
