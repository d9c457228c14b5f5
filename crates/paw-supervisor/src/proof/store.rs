//! The records of a repository on disk, one per commit.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use paw_core::paths::PawDir;
use paw_host::files::{self, Access, Dirs};
use paw_host::git::Repo;
use paw_host::process::Command;
use paw_host::signing::{PublicKey, SecretKey};
use paw_host::trust::TrustSubject;

use super::{BuildOutput, ProofConditions, ProofError, ProofRecord, ProvenGate, SignedProof};
use crate::gates::{GateFinding, GateProof, GateStatus};
use crate::governance::AuditRecord;

/// Older records are deleted. They prove what is on main now, so they stay longer than they can be reused.
const OLDEST: SignedDuration = SignedDuration::from_hours(90 * 24);

/// The records of a repository, and this user's key.
#[derive(Debug, Clone)]
pub struct ProofStore {
    repo: Repo,
    files: PawDir,
    repository: String,
    dirs: Dirs,
}

impl ProofStore {
    pub fn open(repo: &Repo, dirs: &Dirs) -> Self {
        let real = repo.common_dir.canonicalize().unwrap_or_else(|_| repo.common_dir.clone());
        let subject = TrustSubject::new("proofs").with("repository", real.as_os_str().as_bytes());
        Self {
            repo: repo.clone(),
            files: PawDir::of(&repo.common_dir),
            repository: subject.fingerprint().as_str().to_owned(),
            dirs: dirs.clone(),
        }
    }

    /// The public key of this user, if there is a key already.
    pub fn public_key(&self) -> Result<Option<PublicKey>, ProofError> {
        Ok(SecretKey::load(&self.dirs.data().proof_key())?.map(|key| key.public()))
    }

    /// Signs and stores the result of all gates on a commit.
    pub fn record(
        &self,
        subject: (&str, &str),
        conditions: &ProofConditions,
        run: (GateProof, &[GateFinding]),
        build_output: BuildOutput,
        now: Timestamp,
    ) -> Result<SignedProof, ProofError> {
        let proof = self.sign(subject, conditions, run, build_output, now)?;
        save(&proof, &self.files.proof(subject.0))?;
        self.prune(now);
        Ok(proof)
    }

    /// Signs and stores the results of some gates on a commit of the main branch. They do not prove the commit.
    pub(crate) fn record_baseline(
        &self,
        subject: (&str, &str),
        conditions: &ProofConditions,
        findings: &[GateFinding],
        now: Timestamp,
    ) -> Result<(), ProofError> {
        let run = (GateProof::Unproven, findings);
        let proof = self.sign(subject, conditions, run, BuildOutput::Main, now)?;
        save(&proof, &self.files.proof_of_baseline(subject.0))
    }

    fn sign(
        &self,
        (commit, branch): (&str, &str),
        conditions: &ProofConditions,
        run: (GateProof, &[GateFinding]),
        build_output: BuildOutput,
        now: Timestamp,
    ) -> Result<SignedProof, ProofError> {
        let tree = self.tree_of(commit)?.ok_or_else(|| ProofError::Unknown(commit.to_owned()))?;
        let subject = (commit, tree.as_str(), branch);
        let repository = self.repository.clone();
        let record = ProofRecord::new(repository, subject, conditions, run, build_output, (now, host_name()));
        let audit = self.audit(commit)?.findings;
        Ok(SignedProof::new(
            ProofRecord { audit, ..record },
            &SecretKey::open(&self.dirs.data().proof_key())?,
        ))
    }

    /// What the supervisor or the user found in the audit of a commit.
    pub fn audit(&self, commit: &str) -> Result<AuditRecord, ProofError> {
        Ok(AuditRecord::load(&self.files, commit)?)
    }

    /// Signs an earlier run of the same tree again, with the audit of this commit.
    pub(crate) fn with_audit(
        &self,
        proof: SignedProof,
        (commit, branch): (&str, &str),
        audit: AuditRecord,
    ) -> Result<SignedProof, ProofError> {
        if proof.record.commit == commit && proof.record.audit == audit.findings {
            return Ok(proof);
        }
        let (commit, branch, audit) = (commit.to_owned(), branch.to_owned(), audit.findings);
        let record = ProofRecord { commit, branch, audit, ..proof.record };
        let proof = SignedProof::new(record, &SecretKey::open(&self.dirs.data().proof_key())?);
        save(&proof, &self.files.proof(&proof.record.commit))?;
        Ok(proof)
    }

    /// The record of a commit, if it counts: signed by this user's key, for this repository and this commit.
    pub fn find(&self, commit: &str) -> Result<Option<SignedProof>, ProofError> {
        self.find_at(&self.files.proof(commit), commit)
    }

    /// Whether a record says that the gates of this commit passed, and no item of its audit failed since.
    pub fn is_proven(&self, commit: &str) -> Result<bool, ProofError> {
        let proof = self.find(commit)?.filter(|proof| proof.record.result == GateProof::Verified);
        Ok(proof.is_some() && self.audit(commit)?.errors().is_empty())
    }

    /// The gates that ran on a commit of the main branch under these conditions. Those of a baseline come first.
    pub(crate) fn find_baseline(
        &self,
        commit: &str,
        conditions: &ProofConditions,
    ) -> Result<Vec<ProvenGate>, ProofError> {
        let mut gates = Vec::new();
        for path in [self.files.proof_of_baseline(commit), self.files.proof(commit)] {
            let found = self.find_at(&path, commit)?.filter(|proof| proof.record.is_under(conditions));
            gates.extend(found.into_iter().flat_map(|proof| proof.record.gates));
        }
        Ok(gates)
    }

    fn find_at(&self, path: &Path, commit: &str) -> Result<Option<SignedProof>, ProofError> {
        let Some(proof) = load(path).filter(|proof| proof.record.commit == commit) else { return Ok(None) };
        let key = self.public_key()?;
        Ok(Some(proof).filter(|proof| key.is_some_and(|key| self.counts(proof, key))))
    }

    /// The newest record of the same tree that can stand in for a run, unless a later run failed. A merge accepts only runs that
    /// the branch's own build output could not help.
    pub fn find_reusable(
        &self,
        commit: &str,
        conditions: &ProofConditions,
        accepted: &[BuildOutput],
        now: Timestamp,
    ) -> Result<Option<SignedProof>, ProofError> {
        let (Some(key), Some(tree)) = (self.public_key()?, self.tree_of(commit)?) else { return Ok(None) };
        let is_equal = |proof: &SignedProof| {
            let record = &proof.record;
            record.tree == tree && record.is_of(conditions) && self.counts(proof, key)
        };
        let equal: Vec<_> = self.all().filter(is_equal).collect();
        // A failed audit says nothing about the gates.
        let failed = |proof: &&SignedProof| {
            let is_of_gate = |gate: &ProvenGate| gate.status != GateStatus::Passed;
            let record = &proof.record;
            record.result != GateProof::Verified
                && (record.audit.is_empty() || record.gates.iter().any(is_of_gate))
        };
        let last_failure = equal.iter().filter(failed).map(|proof| proof.record.at).max();
        let proofs = equal.into_iter().filter(|proof| {
            let record = &proof.record;
            accepted.contains(&record.build_output)
                && record.can_stand_in(conditions, now)
                && last_failure.is_none_or(|failure| record.at > failure)
        });
        Ok(proofs.max_by_key(|proof| proof.record.at))
    }

    /// Every commit with a record that counts and says that its gates passed, unless an item of its audit failed since.
    pub fn verified_commits(&self) -> Result<BTreeSet<String>, ProofError> {
        let Some(key) = self.public_key()? else { return Ok(BTreeSet::new()) };
        let proofs = self.all().filter(|proof| proof.record.result == GateProof::Verified);
        let mut commits: BTreeSet<String> =
            proofs.filter(|proof| self.counts(proof, key)).map(|proof| proof.record.commit).collect();
        commits.retain(|commit| self.audit(commit).is_ok_and(|audit| audit.errors().is_empty()));
        Ok(commits)
    }

    fn all(&self) -> impl Iterator<Item = SignedProof> {
        let entries = fs::read_dir(self.files.proofs()).into_iter().flatten().filter_map(Result::ok);
        entries.filter_map(|entry| load(&entry.path()))
    }

    fn counts(&self, proof: &SignedProof, key: PublicKey) -> bool {
        proof.record.repository == self.repository && proof.signer() == Some(key)
    }

    fn tree_of(&self, commit: &str) -> Result<Option<String>, ProofError> {
        Ok(self.repo.git().find_object(commit, "tree")?)
    }

    fn prune(&self, now: Timestamp) {
        let entries = fs::read_dir(self.files.proofs()).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            let modified = entry.metadata().and_then(|found| found.modified()).ok();
            let at = modified.and_then(|at| Timestamp::try_from(at).ok());
            if at.is_some_and(|at| now.duration_since(at) > OLDEST) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn save(proof: &SignedProof, path: &Path) -> Result<(), ProofError> {
    let text = serde_json::to_string_pretty(proof).unwrap_or_default();
    Ok(files::write_atomic(path, format!("{text}\n").as_bytes(), Access::Private)?)
}

/// A file that cannot be parsed is no record.
fn load(path: &Path) -> Option<SignedProof> {
    serde_json::from_str(&files::load_text(path).ok()??).ok()
}

fn host_name() -> String {
    let asked = || Command::new("hostname").capture().ok().map(|output| output.stdout);
    let name = fs::read("/proc/sys/kernel/hostname").ok().or_else(asked).unwrap_or_default();
    String::from_utf8_lossy(&name).trim().to_owned()
}
