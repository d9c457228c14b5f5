//! The next unit of work, with its context.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use super::task_files::{files_of, tests_for};
use super::{ActiveRun, WorkError};
use crate::engine::pause::headline;
use crate::engine::view::{RunStatusView, next_action, status};
use crate::engine::{RunAction, RunStage};
use crate::evidence::SourceKind;
use crate::evidence::test_code::is_code;
use crate::runners::{TestCase, TestConventions};
use crate::tasks::model::{list_field, text_field};
use crate::tasks::project::{require_item, require_tag};
use crate::tasks::{ItemId, Subtask, Task};

/// A unit of work: phase, subtask, action and context.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkUnit {
    /// `RED`, `GREEN` or `COMMIT`.
    pub phase: &'static str,
    pub subtask: ItemId,
    pub action: String,
    pub context: Value,
}

impl ActiveRun {
    /// The next unit of work; `None` when all subtasks are done or the run is paused.
    pub fn next(&self) -> Result<Option<WorkUnit>, WorkError> {
        let commit = self.notes.proven && matches!(self.run.stage, RunStage::Green { .. });
        let Some(mut unit) = next_action(&self.run) else { return Ok(None) };
        if commit {
            unit.phase = "COMMIT";
            unit.action =
                format!("Commit {}", self.run.current().map(|step| step.title.as_str()).unwrap_or_default());
        }
        let context = self.context(&unit.subtask, unit.phase)?;
        Ok(Some(WorkUnit { phase: unit.phase, subtask: unit.subtask, action: unit.action, context }))
    }

    fn context(&self, item: &ItemId, phase: &str) -> Result<Value, WorkError> {
        let (task, subtask) = self.load_step(item)?;
        let text = |name: &str| text_field(&subtask.fields, name).map(str::to_owned);
        let (tests, files) = self.suggested_files(&subtask);
        let mut context = json!({
            "title": subtask.title,
            "description": text("description"),
            "details": text("details"),
            "testStrategy": text("testStrategy"),
            "acceptanceCriteria": list_field(&subtask.fields, "acceptanceCriteria"),
            "dependencies": subtask.dependencies.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "task": {"id": task.id, "title": task.title, "description": text_field(&task.fields, "description")},
            "tag": self.run.request.tag,
            "branch": self.run.branch,
            "testCommand": self.tester.name(),
            "testFile": tests.first(),
            "files": files,
            "objections": self.notes.objections.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        if let Some(conventions) = self.conventions()? {
            context["language"] = json!(conventions.language);
            context["framework"] = json!(conventions.framework);
            context["testFileConvention"] = json!(conventions.test_files);
        }
        if !self.notes.failing.is_empty() {
            let failure = |case: &TestCase| json!({"test": case.name, "error": case.error()});
            context["failures"] = self.notes.failing.iter().map(failure).collect();
        }
        if let RunStage::Green { red, .. } = &self.run.stage {
            context["failingTests"] = json!(red.tests);
            context["unbuiltFiles"] = json!(red.files);
        }
        if phase == "COMMIT" {
            context["message"] = json!(self.subject()?);
        }
        if let Some(fields) = context.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        Ok(context)
    }

    /// How the project's tests are written, if its runner is known.
    pub fn conventions(&self) -> Result<Option<TestConventions>, WorkError> {
        let Some(runner) = self.tester.adapter().conventions() else { return Ok(None) };
        let listing = self.context.git.run(["ls-files", "-z"])?;
        let paths = listing.split(|byte| *byte == 0).map(|path| Path::new(OsStr::from_bytes(path)));
        let tests = paths.filter(|path| is_code(path) && self.context.rules.kind(path) == SourceKind::Test);
        let tests: Vec<PathBuf> = tests.map(Path::to_path_buf).collect();
        let (settings, root) = (&self.context.settings, &self.context.project.root);
        let typed = root.join("tsconfig.json").is_file();
        Ok(Some(TestConventions::new(runner, settings.test_pattern.as_deref(), &tests, typed)))
    }

    /// Suggested paths for a subtask's tests and code.
    pub fn suggested_files(&self, subtask: &Subtask) -> (Vec<String>, Vec<String>) {
        let (tests, files) = tests_for(&self.context.rules, &files_of(subtask), self.context.has_tests_dir());
        let shown =
            |paths: Vec<std::path::PathBuf>| paths.iter().map(|path| path.display().to_string()).collect();
        (shown(tests), shown(files))
    }

    /// Loads the subtask and its task from tasks.json.
    pub fn load_step(&self, item: &ItemId) -> Result<(Task, Subtask), WorkError> {
        let file = self.context.project.load_tasks()?;
        let task = require_item(&file, &self.run.request.tag, item)?.clone();
        let missing =
            || crate::tasks::TaskError::NoSuchItem { item: item.clone(), tag: self.run.request.tag.clone() };
        let subtask = match item {
            ItemId::Subtask(_, id) => task.find_subtask(id).cloned(),
            ItemId::Task(_) => None,
        };
        require_tag(&file, &self.run.request.tag)?;
        let subtask = subtask.ok_or_else(missing)?;
        Ok((task, subtask))
    }

    /// The status of the run. A proven subtask that is not committed yet is in the COMMIT phase.
    pub fn status(&self) -> RunStatusView {
        let mut status = status(&self.run);
        if self.notes.proven && matches!(self.run.stage, RunStage::Green { .. }) {
            status.tdd_phase = Some("COMMIT");
        }
        status
    }

    /// The name of the next action in the JSON output.
    pub fn action_name(&self) -> &'static str {
        if self.notes.proven && matches!(self.run.stage, RunStage::Green { .. }) {
            return "commit_changes";
        }
        crate::engine::view::action_name(&self.run)
    }
}

/// Instructions for an agent that asks what to do next.
pub fn next_steps(work: &ActiveRun) -> String {
    if let Some(why) = headline(&work.run) {
        return format!("The run is paused: {why}. Fix it, then resume the run.");
    }
    let command = work.tester().name();
    match work.run.action() {
        _ if work.action_name() == "commit_changes" => "The tests prove the subtask. Commit it with the commit step, not with git.".into(),
        RunAction::WriteTests { insist: true } => {
            "The new tests pass without new code. Write one that fails until the subtask is done, or complete the phase again if it is already implemented.".into()
        }
        RunAction::WriteTests { .. } => {
            format!("Write failing tests for this subtask and nothing else. Then complete the phase: `{command}` is run for you.")
        }
        RunAction::WriteCode => {
            format!("Write the least code that makes the failing tests pass, without touching them. Then complete the phase: `{command}` is run for you.")
        }
        RunAction::RunTests => "Complete the phase to run the tests.".into(),
        RunAction::Commit => "Commit it with the commit step.".into(),
        RunAction::Finalize | RunAction::Push | RunAction::OpenPullRequest => "All subtasks are done. Finalize the run.".into(),
        RunAction::Preflight | RunAction::MakeBranch => "Resume the run; it has not started yet.".into(),
        RunAction::Wait(_) | RunAction::Stop => "Nothing; the run has ended.".into(),
    }
}
