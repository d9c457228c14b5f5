//! `.taskmaster/`: tasks and settings, shared with another program, and our own runs, state and reports.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// `.taskmaster/` of a project, and older locations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskmasterDir {
    root: PathBuf,
    dir: PathBuf,
}

impl TaskmasterDir {
    pub const NAME: &str = ".taskmaster";
    /// Directories that every run writes to and that are not committed.
    pub const REPORTS: &str = "reports";
    pub const STATE: &str = "state";
    /// Relative to the project.
    pub const TASKS: &str = ".taskmaster/tasks/tasks.json";
    pub const CONFIG: &str = ".taskmaster/config.json";
    pub const OLD_TASKS: &str = "tasks/tasks.json";
    pub const OLD_CONFIG: &str = ".taskmasterconfig";

    pub fn of(project: &Path) -> Self {
        Self { root: project.to_path_buf(), dir: project.join(Self::NAME) }
    }

    /// Paths relative to the project.
    pub fn relative() -> Self {
        Self::of(Path::new(""))
    }

    pub fn path(&self) -> &Path {
        &self.dir
    }

    pub fn tasks(&self) -> PathBuf {
        self.root.join(Self::TASKS)
    }

    pub fn old_tasks(&self) -> PathBuf {
        self.root.join(Self::OLD_TASKS)
    }

    pub fn config(&self) -> PathBuf {
        self.root.join(Self::CONFIG)
    }

    pub fn old_config(&self) -> PathBuf {
        self.root.join(Self::OLD_CONFIG)
    }

    /// The active tag, in the file of the other program.
    pub fn state_file(&self) -> PathBuf {
        self.dir.join("state.json")
    }

    /// The state of runs.
    pub fn state(&self) -> PathBuf {
        self.dir.join(Self::STATE)
    }

    /// Held by the running run.
    pub fn run_lock(&self) -> PathBuf {
        self.state().join("run.lock")
    }

    /// Exists while a pause of the run is requested.
    pub fn pause_request(&self) -> PathBuf {
        self.state().join("pause-wanted")
    }

    /// The output of one of several concurrent tasks.
    pub fn output_log(&self) -> PathBuf {
        self.state().join("output.log")
    }

    /// The output of an executor that split a task into subtasks.
    pub fn expand_log(&self, task: &str, stamp: &str) -> PathBuf {
        self.state().join("expand").join(format!("task-{task}-{stamp}.log"))
    }

    /// The newest run, for displays.
    pub fn current_run(&self) -> PathBuf {
        self.state().join("current-run.json")
    }

    /// The checkpoints that runs resume from.
    pub fn checkpoints(&self) -> PathBuf {
        self.state().join("runs")
    }

    pub fn checkpoint(&self, run: &str) -> PathBuf {
        self.checkpoints().join(format!("{run}.json"))
    }

    /// The test results before the current subtask.
    pub fn baseline(&self, run: &str) -> PathBuf {
        self.checkpoints().join(format!("{run}.baseline.json"))
    }

    /// The reports of all runs.
    pub fn runs(&self) -> PathBuf {
        self.dir.join(Self::REPORTS).join("runs")
    }

    pub fn run(&self, run: &str) -> ReportDir {
        ReportDir::of(self.runs().join(run))
    }
}

/// The report of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportDir(PathBuf);

impl ReportDir {
    pub fn of(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn manifest(&self) -> PathBuf {
        self.0.join("manifest.json")
    }

    pub fn log(&self) -> PathBuf {
        self.0.join("log.jsonl")
    }

    pub fn commits(&self) -> PathBuf {
        self.0.join("commits.txt")
    }

    pub fn test_results(&self) -> PathBuf {
        self.0.join("test-results")
    }

    /// The prompt of an executor.
    pub fn prompt(&self, turn: &str) -> PathBuf {
        self.0.join("executor").join(format!("{turn}.prompt.md"))
    }

    /// The output of an executor.
    pub fn executor_log(&self, turn: &str) -> PathBuf {
        self.0.join("executor").join(format!("{turn}.log"))
    }

    pub fn pull_request(&self) -> PathBuf {
        self.0.join("pr.md")
    }
}

/// The lock of a task file, by the other program's convention: a directory named after the file.
pub fn tasks_lock(tasks: &Path) -> PathBuf {
    let mut name = OsString::from(tasks);
    name.push(".lock");
    PathBuf::from(name)
}
