//! The directory of a run, its checkpoint, and the file that other views read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::paths::{ReportDir, TaskmasterDir};
use paw_host::files::{self, Access, FileError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::RunId;
use super::log;
use super::manifest::RunManifest;
use super::results::{TestResult, TestRunKind};
use crate::engine::Run;
use crate::runners::TestReport;
use crate::tasks::TaskProject;
use crate::work::RunNotes;

/// The stored state a run resumes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunCheckpoint {
    pub run: Run,
    pub notes: RunNotes,
}

/// `.taskmaster/reports/runs/<id>/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    pub id: RunId,
    files: ReportDir,
    kept: TaskmasterDir,
}

impl RunDir {
    /// Creates the directory of a new run. Two runs in the same second get different directories.
    pub fn create(project: &TaskProject, began: Timestamp) -> Result<Self, FileError> {
        let runs = project.files().runs();
        files::create_dir(&runs)?;
        loop {
            let id = RunId::of(began, |name| runs.join(name).exists());
            let run = Self::of(project, id);
            match fs::create_dir(run.path()) {
                Ok(()) => break files::create_dir(&run.files.test_results()).map(|()| run),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => {
                    break Err(FileError { action: "create", path: run.path().to_path_buf(), source });
                }
            }
        }
    }

    pub fn of(project: &TaskProject, id: RunId) -> Self {
        let kept = project.files();
        Self { files: kept.run(id.as_str()), id, kept }
    }

    pub fn path(&self) -> &Path {
        self.files.path()
    }

    pub fn files(&self) -> &ReportDir {
        &self.files
    }

    pub fn write_manifest(&self, manifest: &RunManifest) -> Result<(), FileError> {
        write_unsynced(&self.files.manifest(), json_text(self.path(), manifest)?.as_bytes())
    }

    pub fn log(&self, at: Timestamp, phase: &str, fields: Value) -> Result<(), FileError> {
        append(&self.files.log(), &log::line(at, phase, fields))
    }

    pub fn add_commit(&self, sha: &str) -> Result<(), FileError> {
        append(&self.files.commits(), sha)
    }

    /// Writes a test result and returns its path.
    pub fn write_result(&self, occasion: TestRunKind<'_>, result: &TestResult) -> Result<PathBuf, FileError> {
        let path = self.files.test_results().join(occasion.file_name());
        write_unsynced(&path, json_text(&path, result)?.as_bytes())?;
        Ok(path)
    }

    /// Stores a prompt.
    pub fn write_prompt(&self, name: &str, prompt: &str) -> Result<(), FileError> {
        write_unsynced(&self.files.prompt(name), prompt.as_bytes())
    }

    /// The log of an executor's output.
    pub fn executor_log(&self, name: &str) -> PathBuf {
        self.files.executor_log(name)
    }

    pub fn write_pull_request(&self, body: &str) -> Result<(), FileError> {
        files::write_atomic(&self.files.pull_request(), body.as_bytes(), Access::Usual)
    }

    /// Stores the checkpoint after each step.
    pub fn write_checkpoint(&self, run: &Run, notes: &RunNotes) -> Result<(), FileError> {
        let stored = RunCheckpoint { run: run.checkpoint(), notes: notes.clone() };
        write_json(&self.kept.checkpoint(self.id.as_str()), &stored)?;
        let status = crate::engine::view::status(run);
        let view = serde_json::json!({"runId": self.id, "status": status, "run": stored.run});
        let path = self.kept.current_run();
        write_unsynced(&path, json_text(&path, &view)?.as_bytes())
    }

    /// The files that decide how a run continues.
    pub fn state_files(&self) -> [PathBuf; 2] {
        [self.kept.checkpoint(self.id.as_str()), self.kept.baseline(self.id.as_str())]
    }

    pub fn load_checkpoint(&self) -> Result<Option<RunCheckpoint>, FileError> {
        load_json(&self.kept.checkpoint(self.id.as_str()))
    }

    /// Stores the test report from before the current subtask, for a resumed run.
    pub fn write_baseline(&self, baseline: &TestReport) -> Result<(), FileError> {
        write_json(&self.kept.baseline(self.id.as_str()), baseline)
    }

    pub fn load_baseline(&self) -> Result<Option<TestReport>, FileError> {
        load_json(&self.kept.baseline(self.id.as_str()))
    }
}

/// Finds the newest run with a checkpoint.
pub fn find_latest(project: &TaskProject) -> Option<RunDir> {
    let entries = fs::read_dir(project.files().checkpoints()).ok()?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let ids = names.filter_map(|name| RunId::parse(name.strip_suffix(".json")?));
    ids.max().map(|id| RunDir::of(project, id))
}

/// Files of runs that cannot be read: checkpoints and test reports. A run without its checkpoint is not resumed; a new run
/// continues after the last finished subtask.
pub fn find_damaged(project: &Path) -> Vec<PathBuf> {
    let dir = TaskmasterDir::of(project).checkpoints();
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_damaged = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(id) = name.strip_suffix(".json") else { return false };
        let bytes = fs::read(path).unwrap_or_default();
        match RunId::parse(id) {
            Some(_) => serde_json::from_slice::<RunCheckpoint>(&bytes).is_err(),
            None => serde_json::from_slice::<serde_json::Value>(&bytes).is_err(),
        }
    };
    let mut damaged: Vec<_> = entries.filter(is_damaged).collect();
    damaged.sort();
    damaged
}

fn load_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    let Some(text) = files::load_text(path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| FileError {
        action: "read",
        path: path.to_path_buf(),
        source: io::Error::new(io::ErrorKind::InvalidData, error),
    })
}

/// Checkpoints must survive a power failure.
fn write_json(path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    files::write_atomic(path, json_text(path, value)?.as_bytes(), Access::Usual)
}

fn json_text(path: &Path, value: &impl Serialize) -> Result<String, FileError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| FileError::when("write", path)(io::Error::other(error)))?;
    Ok(format!("{text}\n"))
}

/// Writes atomically, but without fsync: the file survives a kill, not a power failure.
fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    files::create_dir(dir)?;
    let mut builder = tempfile::Builder::new();
    let file = builder.prefix(".git-paw-").permissions(fs::Permissions::from_mode(0o666)).tempfile_in(dir);
    let written = file.and_then(|mut file| {
        file.write_all(bytes)?;
        file.persist(path).map(|_| ()).map_err(|error| error.error)
    });
    written.map_err(FileError::when("write", path))
}

/// One write per line, so that a crash cannot corrupt earlier lines.
fn append(path: &Path, line: &str) -> Result<(), FileError> {
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.map_err(|source| FileError { action: "write", path: path.to_path_buf(), source })
}
