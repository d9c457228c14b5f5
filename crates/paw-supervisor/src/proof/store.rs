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
use paw_host::trust::TrustSubject;

use super::key::{PublicKey, SecretKey};
use super::{BuildOutput, ProofConditions, ProofError, ProofRecord, SignedProof};
use crate::gates::{GateFinding, GateProof};
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
        Ok(SecretKey::load(&self.dirs)?.map(|key| key.public()))
    }

    /// Signs and stores the result of all gates on a commit.
    pub fn record(
        &self,
        (commit, branch): (&str, &str),
        conditions: &ProofConditions,
        run: (GateProof, &[GateFinding]),
        build_output: BuildOutput,
        now: Timestamp,
    ) -> Result<SignedProof, ProofError> {
        let tree = self.tree_of(commit)?.ok_or_else(|| ProofError::Unknown(commit.to_owned()))?;
        let subject = (commit, tree.as_str(), branch);
        let mut record = ProofRecord::new(
            self.repository.clone(),
            subject,
            conditions,
            run,
            build_output,
            (now, host_name()),
        );
        record.audit = self.audit(commit)?.findings;
        let proof = self.sign(record)?;
        self.prune(now);
        Ok(proof)
    }

    /// What the supervisor or the user found in the audit of a commit.
    pub fn audit(&self, commit: &str) -> Result<AuditRecord, ProofError> {
        Ok(AuditRecord::load(&self.files, commit)?)
    }

    /// Signs an earlier run of the same tree again, with the audit of this commit.
    pub(super) fn with_audit(
        &self,
        proof: SignedProof,
        (commit, branch): (&str, &str),
        audit: AuditRecord,
    ) -> Result<SignedProof, ProofError> {
        if proof.record.commit == commit && proof.record.audit == audit.findings {
            return Ok(proof);
        }
        let (commit, branch, audit) = (commit.to_owned(), branch.to_owned(), audit.findings);
        self.sign(ProofRecord { commit, branch, audit, ..proof.record })
    }

    fn sign(&self, record: ProofRecord) -> Result<SignedProof, ProofError> {
        let path = self.files.proof(&record.commit);
        let proof = SignedProof::new(record, &SecretKey::open(&self.dirs)?);
        let text = serde_json::to_string_pretty(&proof).unwrap_or_default();
        files::write_atomic(&path, format!("{text}\n").as_bytes(), Access::Private)?;
        Ok(proof)
    }

    /// The record of a commit, if it counts: signed by this user's key, for this repository and this commit.
    pub fn find(&self, commit: &str) -> Result<Option<SignedProof>, ProofError> {
        let Some(key) = self.public_key()? else { return Ok(None) };
        let proof = load(&self.files.proof(commit)).filter(|proof| proof.record.commit == commit);
        Ok(proof.filter(|proof| self.counts(proof, key)))
    }

    /// A record of the same tree that can stand in for a run, newest first. A merge accepts only runs that the branch's own
    /// build output could not help.
    pub fn find_reusable(
        &self,
        commit: &str,
        conditions: &ProofConditions,
        accepted: &[BuildOutput],
        now: Timestamp,
    ) -> Result<Option<SignedProof>, ProofError> {
        let (Some(key), Some(tree)) = (self.public_key()?, self.tree_of(commit)?) else { return Ok(None) };
        let proofs = self.all().filter(|proof| {
            let record = &proof.record;
            record.tree == tree
                && accepted.contains(&record.build_output)
                && record.can_stand_in(conditions, now)
                && self.counts(proof, key)
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

/// A file that cannot be parsed is no record.
fn load(path: &Path) -> Option<SignedProof> {
    serde_json::from_str(&files::load_text(path).ok()??).ok()
}

fn host_name() -> String {
    let asked = || Command::new("hostname").capture().ok().map(|output| output.stdout);
    let name = fs::read("/proc/sys/kernel/hostname").ok().or_else(asked).unwrap_or_default();
    String::from_utf8_lossy(&name).trim().to_owned()
}
