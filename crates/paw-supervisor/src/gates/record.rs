//! Gate results on disk, stored by commit, for people and scripts.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::paths::PawDir;
use paw_host::files::{self, Access, FileError};
use serde::Serialize;

use super::outcome::{GateFinding, GateProof};
use super::plan::{Gate, GateStep};

/// The format this version writes.
const FORMAT: u32 = 1;

/// The gate results of one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateRecord {
    pub format: u32,
    pub commit: String,
    pub branch: String,
    pub at: Timestamp,
    pub proof: GateProof,
    pub findings: Vec<GateFinding>,
}

impl GateRecord {
    pub fn new(commit: &str, branch: &str, at: Timestamp) -> Self {
        Self {
            format: FORMAT,
            commit: commit.to_owned(),
            branch: branch.to_owned(),
            at,
            proof: GateProof::Unproven,
            findings: Vec::new(),
        }
    }

    /// Adds findings, replacing older ones of the same gates.
    pub(super) fn add(&mut self, findings: Vec<GateFinding>) {
        self.findings.retain(|old| findings.iter().all(|new| new.gate != old.gate));
        self.findings.extend(findings);
        self.findings.sort_by_key(|finding| finding.gate);
    }

    /// The finding of exactly this gate and command.
    pub(super) fn find(&self, step: &GateStep) -> Option<&GateFinding> {
        self.findings.iter().find(|finding| finding.gate == step.gate && finding.command == step.command)
    }
}

/// The results of a repository, one directory per commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRecords {
    files: PawDir,
}

impl GateRecords {
    pub fn of(common_dir: &Path) -> Self {
        Self { files: PawDir::of(common_dir) }
    }

    pub(super) fn files(&self) -> &PawDir {
        &self.files
    }

    /// The path of a commit's result.
    pub fn file(&self, commit: &str) -> PathBuf {
        self.files.gate_result(commit)
    }

    /// The path of a gate's output.
    pub(super) fn log(&self, commit: &str, gate: Gate) -> PathBuf {
        self.files.gate_log(commit, gate.as_str())
    }

    /// Nothing reads it back: any program can write the file. Signed results are in [`crate::proof`].
    pub fn save(&self, record: &GateRecord) -> Result<(), FileError> {
        let path = self.file(&record.commit);
        let text = serde_json::to_string_pretty(record).map_err(|error| FileError {
            action: "write",
            path: path.clone(),
            source: error.into(),
        })?;
        files::write_atomic(&path, format!("{text}\n").as_bytes(), Access::Private)
    }
}
