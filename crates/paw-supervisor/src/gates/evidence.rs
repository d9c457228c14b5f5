//! What ran: everything that a proof about a commit has to name.

use std::collections::BTreeMap;

use paw_core::BranchName;
use paw_core::config::SandboxLevel;
use paw_host::git::{GitError, Repo};
use paw_host::process::is_harmless_variable;
use paw_worktree::Preparation;
use serde::{Deserialize, Serialize};

use super::outcome::{GateFinding, GateProof};

/// One run of gates on one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateEvidence {
    pub commit: String,
    pub tree: String,
    pub branch: String,
    /// The gates that ran, with the exact text of their commands and their results.
    pub gates: Vec<GateFinding>,
    /// The exact text of what prepared the checkout: copied patterns, setup commands and scripts.
    pub setup: Vec<String>,
    /// The variables that the gates got, without those that differ from run to run.
    pub environment: BTreeMap<String, String>,
    /// The level in force.
    pub sandbox: SandboxLevel,
    pub proof: GateProof,
    /// Whether the checkout was new: its ignored files were only what runs of the main branch had left.
    pub fresh: bool,
}

impl GateEvidence {
    pub(crate) fn new(
        repo: &Repo,
        (branch, commit): (&BranchName, &str),
        preparation: &Preparation,
        sandbox: SandboxLevel,
        (gates, proof): (Vec<GateFinding>, GateProof),
        fresh: bool,
    ) -> Result<Self, GitError> {
        let tree = repo.git().find_object(commit, "tree")?.unwrap_or_default();
        let copied = preparation.copy.iter().map(|pattern| format!("copy {pattern}"));
        Ok(Self {
            commit: commit.to_owned(),
            tree,
            branch: branch.to_string(),
            gates,
            setup: copied.chain(preparation.setup.texts()).collect(),
            environment: environment(),
            sandbox,
            proof,
            fresh,
        })
    }
}

fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
    };
    std::env::vars_os().filter(|(name, _)| is_harmless_variable(name)).map(text).collect()
}
