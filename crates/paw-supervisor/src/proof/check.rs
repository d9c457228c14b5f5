//! What a record is worth in this repository, for example an exported one in another clone.

use paw_host::git::Repo;
use paw_host::signing::PublicKey;
use serde::Serialize;

use super::{ProofError, ProofStore, SignedProof};
use crate::gates::GateProof;

/// The findings about a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProofCheck {
    /// Whether the signature belongs to the record.
    pub signed: bool,
    /// Whether it is a key of this user, or one that the caller knows.
    pub known_key: bool,
    /// Whether the commit exists here and has the record's tree.
    pub commit: bool,
    /// Whether all gates passed.
    pub verified: bool,
    /// What is wrong, for people.
    pub problems: Vec<String>,
}

impl ProofCheck {
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Checks a record without running anything. `known` is a further key that the caller trusts.
pub fn check(
    proof: &SignedProof,
    repo: &Repo,
    store: &ProofStore,
    known: Option<PublicKey>,
) -> Result<ProofCheck, ProofError> {
    let signer = proof.signer();
    let own = store.public_key()?;
    let known_key = signer.is_some() && (signer == own || signer == known);
    let record = &proof.record;
    let tree = repo.git().find_object(&record.commit, "tree")?;
    let verified = record.result == GateProof::Verified;
    let mut problems = Vec::new();
    if signer.is_none() {
        problems.push("the signature does not belong to this record: it was changed".to_owned());
    } else if !known_key {
        problems.push(format!("signed by a key that is not known here: {}", proof.key));
    }
    match &tree {
        None => problems.push(format!("commit {} does not exist in this repository", record.commit)),
        Some(tree) if *tree != record.tree => {
            problems.push(format!("commit {} has another tree: {tree}", record.commit));
        }
        Some(_) => {}
    }
    if !verified {
        problems.push(format!("the gates did not verify it: {}", record.result.as_str()));
    }
    Ok(ProofCheck {
        signed: signer.is_some(),
        known_key,
        commit: tree.as_deref() == Some(record.tree.as_str()),
        verified,
        problems,
    })
}
