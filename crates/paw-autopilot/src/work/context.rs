//! The project of a run: its repository, tasks, settings and tests.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_core::paths::DataDir;
use paw_host::clock;
use paw_host::config::load_config;
use paw_host::files::Dirs;
use paw_host::git::{Git, Repo};
use paw_host::locks::ExcludeLock;
use paw_host::trust::TrustSubject;
use paw_worktree::RunSandbox;

use super::proof::{ProofCheckout, moved_variables};
use super::{ApprovalCheck, WorkError};
use crate::evidence::FileRules;
use crate::runners::detect::{DetectedRunner, detect, load_facts};
use crate::runners::run::{TestPlace, measure, run as run_once, run_twice};
use crate::runners::{CoverageRun, TestLimits, TestRun, TestRunError, TestRunner, TestSelection};
use crate::tasks::{ProjectSettings, TagName, TaskProject};

#[derive(Debug, Clone)]
pub struct ProjectContext {
    pub repo: Repo,
    /// The root of the worktree.
    pub top: PathBuf,
    pub git: Git,
    pub project: TaskProject,
    pub settings: ProjectSettings,
    pub rules: FileRules,
    pub search_path: OsString,
    pub data: DataDir,
}

impl ProjectContext {
    /// Finds the project at or above `dir`, within the worktree.
    pub fn find(repo: Repo, dir: &Path, search_path: &OsStr) -> Result<Self, WorkError> {
        let top = repo.worktree.clone().ok_or(WorkError::NoWorktree)?;
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        let project = TaskProject::find(&dir, &top).unwrap_or_else(|| TaskProject::at(&top));
        let settings = project.load_settings()?;
        let rules = FileRules::with_pattern(settings.test_pattern.as_deref());
        let search_path = search_path.to_os_string();
        let data = Dirs::from_env()?.data().clone();
        Ok(Self { repo, git: Git::at(&top), top, project, settings, rules, search_path, data })
    }

    /// A path relative to the project, if it is inside it.
    pub fn shown(&self, path: &Path) -> String {
        let whole = self.top.join(path);
        whole.strip_prefix(&self.project.root).unwrap_or(path).display().to_string()
    }

    /// Loads a file named in the settings, if it is inside the worktree: a repository's settings must not read the
    /// user's secrets into a prompt or pull request.
    pub fn load_inside(&self, path: &Path) -> Option<String> {
        let top = self.top.canonicalize().unwrap_or_else(|_| self.top.clone());
        let real = self.project.root.join(path).canonicalize().ok();
        let real = real.filter(|real| real.starts_with(&top) && real.is_file())?;
        Some(String::from_utf8_lossy(&std::fs::read(real).ok()?).into_owned())
    }

    /// Makes a tag the active one in `state.json`, where other programs look for it. A new `state.json` would make the
    /// worktree dirty, so git is told to ignore it.
    pub(super) fn remember_tag(&self, tag: &TagName, branch: &str) -> Result<(), WorkError> {
        let file = self.project.state_file();
        let ignored = || self.git.output(["check-ignore".as_ref(), "--quiet".as_ref(), file.as_os_str()]);
        if !file.exists() && !ignored()?.exit.success() {
            let rule = format!("/{}", escaped(file.strip_prefix(&self.top).unwrap_or(&file)));
            let block = format!("# git-paw: the active tag of other task tools\n{rule}\n");
            ExcludeLock::wait(&self.repo.common_dir)?.add(&block, &[&rule])?;
        }
        Ok(self.project.set_active_tag(tag, Some(branch), clock::now())?)
    }

    /// The name of the repository's directory.
    pub fn name(&self) -> String {
        self.repo.root.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(super) fn has_tests_dir(&self) -> bool {
        self.project.root.join("tests").is_dir()
    }

    /// Finds the test runner: requested by the user, else configured, else detected.
    pub fn detect(
        &self,
        requested: Option<&str>,
    ) -> Result<(DetectedRunner, Option<TrustSubject>), WorkError> {
        self.detect_in(&self.project.root, requested)
    }

    fn detect_in(
        &self,
        root: &Path,
        requested: Option<&str>,
    ) -> Result<(DetectedRunner, Option<TrustSubject>), WorkError> {
        let requested = requested.filter(|requested| *requested != "auto");
        let wanted = requested.or(self.settings.runner.as_deref());
        let facts = load_facts(root, &self.search_path, wanted);
        let detected = detect(&facts, root, wanted)?;
        // A command the user typed is trusted; a command from the project's files is not.
        let foreign_changes = detected.needs_trust && requested.is_none();
        let subject =
            foreign_changes.then(|| TrustSubject::new("tests").with("test.runner", detected.adapter.name()));
        Ok((detected, subject))
    }

    /// The sandbox of runs in the checkout.
    fn sandbox(&self, checkout: &Path) -> Result<RunSandbox, WorkError> {
        let config = load_config(&self.repo.root, None)?;
        let opened = RunSandbox::open(config.sandbox.runs, &self.repo, checkout);
        Ok(opened.map_err(TestRunError::from)?)
    }

    /// Finds the test runner in the checkout, where no executor can replace it, and checks that it is approved.
    pub(super) fn tester(
        &self,
        checkout: &ProofCheckout,
        requested: Option<&str>,
        approves: ApprovalCheck<'_>,
    ) -> Result<Tester, WorkError> {
        let (detected, subject) = self.detect_in(checkout.root(), requested)?;
        if let Some(subject) = subject
            && !approves(&subject)?
        {
            return Err(WorkError::NotApproved(subject.summary().join("; ")));
        }
        Ok(Tester {
            adapter: detected.adapter,
            root: checkout.root().to_path_buf(),
            variables: moved_variables(&self.top, checkout.dir()),
            sandbox: self.sandbox(checkout.dir())?,
            timeout: self.settings.test_timeout,
            limits: TestLimits::of(self.settings.test_timeout),
            mark: None,
        })
    }
}

/// A path as a pattern of `info/exclude`.
fn escaped(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .flat_map(|c| "*?[\\".contains(c).then_some('\\').into_iter().chain([c]))
        .collect()
}

/// Runs the tests of a project.
#[derive(Debug)]
pub struct Tester {
    adapter: Box<dyn TestRunner>,
    /// The project in the checkout.
    root: PathBuf,
    variables: Vec<(String, String)>,
    /// Protects the repository of the worktree, not the checkout's own.
    sandbox: RunSandbox,
    /// The configured time limit.
    timeout: Duration,
    limits: TestLimits,
    /// The mark of every process it starts.
    mark: Option<String>,
}

impl Tester {
    pub(super) fn set_mark(&mut self, mark: String) {
        self.mark = Some(mark);
    }

    /// The display name: `npm test`.
    pub fn name(&self) -> String {
        self.adapter.name()
    }

    /// The shell command, for a generic runner.
    pub(super) fn line(&self) -> Option<&str> {
        self.adapter.line()
    }

    /// Shortens the time limit to what is left of a budget.
    pub(super) fn limit_to(&mut self, left: Option<Duration>) {
        self.limits = TestLimits::of(left.map_or(self.timeout, |left| self.timeout.min(left)));
    }

    pub fn limit(&self) -> Duration {
        self.limits.time
    }

    pub(super) fn sandbox(&self) -> &RunSandbox {
        &self.sandbox
    }

    pub(super) fn adapter(&self) -> &dyn TestRunner {
        self.adapter.as_ref()
    }

    /// Runs the whole suite to measure coverage. Returns the reports, or why there are none.
    pub(super) fn measure(&self, coverage: &CoverageRun) -> Result<Result<Vec<String>, String>, WorkError> {
        Ok(measure(self.mark.as_deref(), coverage, self.place(), self.limits)?)
    }

    /// Runs the tests of these files, and failed ones a second time if `twice`. `None` if the runner cannot select
    /// them.
    pub(super) fn run_files(&self, files: &[PathBuf], twice: bool) -> Result<Option<TestRun>, WorkError> {
        let which = TestSelection::Files(files.to_vec());
        if files.is_empty() || self.adapter.call(&which) == self.adapter.call(&TestSelection::All) {
            return Ok(None);
        }
        let run = if twice { run_twice } else { run_once };
        Ok(Some(run(self.mark.as_deref(), self.adapter.as_ref(), self.place(), &which, self.limits)?))
    }

    /// Runs the whole suite, and failed tests a second time.
    pub fn run(&self) -> Result<TestRun, WorkError> {
        let mark = self.mark.as_deref();
        Ok(run_twice(mark, self.adapter.as_ref(), self.place(), &TestSelection::All, self.limits)?)
    }

    /// Runs some tests once.
    pub(super) fn run_some(&self, which: &TestSelection) -> Result<TestRun, WorkError> {
        let mark = self.mark.as_deref();
        Ok(run_once(mark, self.adapter.as_ref(), self.place(), which, self.limits)?)
    }

    fn place(&self) -> TestPlace<'_> {
        TestPlace { root: &self.root, variables: &self.variables, sandbox: Some(&self.sandbox) }
    }
}
