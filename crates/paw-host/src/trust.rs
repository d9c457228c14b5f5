//! The user's approvals of commands that a repository configures, keyed by a fingerprint of their content.
//!
//! Approvals are stored per repository in one file of the user's data directory. A file that cannot be parsed approves
//! nothing and is never overwritten. This module decides neither what needs an approval nor when to ask.

mod subject;

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::paths::lock_of;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};

pub use subject::{Fingerprint, TrustSubject};

use crate::caller::CommandCaller;
use crate::clock;
use crate::files::{self, Access, Dirs, FileError, Lock};
use crate::git::Repo;

/// The file format that this version writes, and the newest that it can read.
const FORMAT: u32 = 1;

/// Approvals cannot be read, stored or granted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("{} is damaged, so nothing is trusted: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("{} was written by a newer git-paw (format {found}, this one knows {FORMAT})", path.display())]
    Newer { path: PathBuf, found: u32 },
    #[error("an agent cannot approve the commands of a repository")]
    NotTheUser,
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for TrustError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::InvalidArgument, self);
        match self {
            Self::Damaged { .. } => report.hint("repair or move it, then approve again with `git paw trust`"),
            Self::Newer { .. } => report.hint("update git-paw"),
            Self::NotTheUser => report.hint("ask the user to review and approve them"),
            Self::File(error) => error.report(),
        }
    }
}

/// An approval by the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredApproval {
    /// The common git directory of the repository. Backslashes are doubled, and bytes that are not UTF-8 are written as
    /// `\xNN`.
    pub repository: String,
    /// The kind of the approved [`TrustSubject`].
    pub subject: String,
    pub hash: Fingerprint,
    pub approved_at: Timestamp,
    /// A summary for people; only the hash is compared.
    pub what: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    format: u32,
    approvals: Vec<StoredApproval>,
}

/// Permission to approve: proof that the user runs the command.
///
/// Prevents an agent from approving on the user's behalf by mistake or on request. It does not protect against a
/// malicious program that runs as the user, which could write the file itself.
#[derive(Debug)]
pub struct Approver(());

impl Approver {
    pub fn new(caller: &CommandCaller) -> Result<Self, TrustError> {
        if caller.is_user() { Ok(Self(())) } else { Err(TrustError::NotTheUser) }
    }
}

/// The user's approvals on disk. Every query reads the file again, because another process may have changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustStore {
    path: PathBuf,
}

impl TrustStore {
    pub fn open(dirs: &Dirs) -> Self {
        Self::at(dirs.data().trust())
    }

    /// A store in a file of the caller's choice.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this exact content was approved for this repository.
    pub fn is_approved(&self, repo: &Repo, subject: &TrustSubject) -> Result<bool, TrustError> {
        let (repository, hash) = (repository_key(repo), subject.fingerprint());
        let approved = self.list()?.into_iter().any(|approval| {
            approval.repository == repository && approval.subject == subject.kind() && approval.hash == hash
        });
        Ok(approved)
    }

    /// Stores the approval until it is revoked. Does nothing if it is already approved.
    pub fn approve(&self, _by: &Approver, repo: &Repo, subject: &TrustSubject) -> Result<(), TrustError> {
        let _lock = self.lock()?;
        if self.is_approved(repo, subject)? {
            return Ok(());
        }
        let mut approvals = self.list()?;
        approvals.push(StoredApproval {
            repository: repository_key(repo),
            subject: subject.kind().to_owned(),
            hash: subject.fingerprint(),
            approved_at: clock::now(),
            what: subject.summary(),
        });
        self.save(approvals)
    }

    /// Removes all approvals of a repository and returns their number.
    pub fn revoke(&self, repo: &Repo) -> Result<usize, TrustError> {
        let repository = repository_key(repo);
        self.retain(|approval| approval.repository != repository)
    }

    /// All approvals, oldest first.
    pub fn list(&self) -> Result<Vec<StoredApproval>, TrustError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let Some(text) = files::load_text(&self.path)? else { return Ok(Vec::new()) };
        let damaged = |error: serde_json::Error| TrustError::Damaged {
            path: self.path.clone(),
            reason: error.to_string(),
        };
        let Format { format } = serde_json::from_str(&text).map_err(damaged)?;
        if format > FORMAT {
            return Err(TrustError::Newer { path: self.path.clone(), found: format });
        }
        Ok(serde_json::from_str::<TrustFile>(&text).map_err(damaged)?.approvals)
    }

    fn retain(&self, wanted: impl Fn(&StoredApproval) -> bool) -> Result<usize, TrustError> {
        let _lock = self.lock()?;
        let approvals = self.list()?;
        let before = approvals.len();
        let kept: Vec<_> = approvals.into_iter().filter(wanted).collect();
        let revoked = before - kept.len();
        if revoked > 0 {
            self.save(kept)?;
        }
        Ok(revoked)
    }

    fn lock(&self) -> Result<Lock, TrustError> {
        Ok(Lock::wait(&lock_of(&self.path))?)
    }

    fn save(&self, approvals: Vec<StoredApproval>) -> Result<(), TrustError> {
        let stored = TrustFile { format: FORMAT, approvals };
        let mut text = serde_json::to_string_pretty(&stored)
            .map_err(|error| TrustError::Damaged { path: self.path.clone(), reason: error.to_string() })?;
        text.push('\n');
        Ok(files::write_atomic(&self.path, text.as_bytes(), Access::Private)?)
    }
}

/// The canonical common directory, escaped so that different paths have different keys.
fn repository_key(repo: &Repo) -> String {
    let path = repo.common_dir.canonicalize().unwrap_or_else(|_| repo.common_dir.clone());
    let mut key = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        key.push_str(&chunk.valid().replace('\\', r"\\"));
        key.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    key
}

#[cfg(test)]
mod tests;
