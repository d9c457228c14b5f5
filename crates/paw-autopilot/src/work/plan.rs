//! What a run would do, and what blocks it. Changes nothing.

mod checks;

use std::path::PathBuf;

use paw_core::{BranchName, Diagnostic as _};
use paw_host::trust::TrustSubject;
use serde::Serialize;

use checks::PlanChecks;

use super::finish::FinalCommands;
use super::head::current_head;
use super::options::{Relaxation, RunOptions};
use super::snapshot::ChangeSnapshot;
use super::task_files::{files_of, tests_for};
use super::{CoverageGate, ProjectContext, WorkError};
use crate::branch::choose_branch;
use crate::message::CommitMessage;
use crate::scope::scope;
use crate::tasks::file::TagList;
use crate::tasks::next::next_item;
use crate::tasks::project::{require_item, require_tag};
use crate::tasks::{ItemId, Subtask, TagName, Task, TaskId};

/// One precondition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanCheck {
    pub ok: bool,
    /// The run cannot start without it.
    pub needed: bool,
    pub words: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedStep {
    pub id: ItemId,
    pub title: String,
    pub depends_on: Vec<ItemId>,
    /// Suggested paths for tests and code.
    pub tests: Vec<PathBuf>,
    pub files: Vec<PathBuf>,
    pub commit: String,
}

/// Whether the run has a coverage gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CoveragePlan {
    pub gate: bool,
    /// What is required and what measures it, or why there is no gate.
    pub words: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunPlan {
    pub task_id: TaskId,
    pub tag: TagName,
    pub title: String,
    pub test_command: Option<String>,
    pub branch: BranchName,
    /// The preferred branch name, if it clashes with existing branches.
    pub instead_of: Option<String>,
    pub on_branch_already: bool,
    pub default_branch: Option<BranchName>,
    /// The base branch of the pull request.
    pub base: Option<String>,
    pub remote: Option<String>,
    pub checks: Vec<PlanCheck>,
    pub coverage: CoveragePlan,
    pub subtasks: Vec<PlannedStep>,
    /// The task has no subtasks yet and must be expanded first.
    pub needs_subtasks: bool,
    /// A project command that needs the user's approval.
    #[serde(skip)]
    pub subject: Option<TrustSubject>,
}

impl RunPlan {
    /// Problems that block the run.
    pub fn problems(&self) -> Vec<String> {
        self.checks
            .iter()
            .filter(|check| check.needed && !check.ok)
            .map(|check| check.words.clone())
            .collect()
    }
}

/// `tools`: required programs besides git, such as the executor.
pub fn plan(
    context: &ProjectContext,
    options: &RunOptions,
    tools: &[String],
    commands: &FinalCommands,
) -> Result<RunPlan, WorkError> {
    if !context.settings.enabled {
        return Err(WorkError::Off);
    }
    let (current, commit) = current_head(&context.git)?;
    let variable = std::env::var("TASKMASTER_TAG").ok();
    let on = current.as_ref().map(BranchName::as_str);
    let tag = context.project.resolve_tag(options.tag.as_deref(), variable.as_deref(), on)?;
    let file = context.project.load_tasks()?;
    let list = require_tag(&file, &tag)?;
    let task = find_task(options, list)?;
    let mut checks = PlanChecks(Vec::new());
    let foreign_changes = ChangeSnapshot::take(context)?
        .foreign_changes()
        .iter()
        .map(|path| context.shown(path))
        .collect::<Vec<_>>();
    checks.tree(&foreign_changes, !context.settings.require_clean_tree || options.relaxes(Relaxation::Dirty));
    let mut coverage = CoveragePlan { gate: false, words: "there is no test command".into() };
    let (test_command, subject) = match context.detect(options.runner.as_deref()) {
        Ok((detected, subject)) => {
            let also = detected.others.join(", ");
            let also =
                if also.is_empty() { also } else { format!(" (also found: {also}; --runner chooses)") };
            checks.add(true, true, format!("Test command detected: {}{also}", detected.adapter.name()));
            coverage = checks.coverage(&CoverageGate::of(
                context,
                &context.project.root,
                detected.adapter.as_ref(),
                commands,
            ));
            (Some(detected.adapter.name()), subject)
        }
        Err(WorkError::Detect(error)) => {
            let report = error.report();
            checks.add(false, true, format!("{} ({})", report.message, report.hints.join("; ")));
            (None, None)
        }
        Err(other) => return Err(other),
    };
    checks.tools(context, options, test_command.as_deref(), tools);
    let existing = context.git.local_branches()?;
    let picked = choose_branch(&context.settings.branch_pattern, &tag, &task.id, &task.title, &existing)?;
    let on_branch_already = current.as_ref() == Some(&picked.branch);
    let default_branch = context.git.find_default_branch()?;
    let exists = existing.contains(&picked.branch);
    checks.branch(current.as_ref(), &commit, &picked.branch, exists, default_branch.as_ref());
    let remote = find_remote(context)?;
    if options.push && remote.is_none() {
        checks.add(
            false,
            false,
            "Remote to push to: none (the run will pause before the push; --no-push skips it)".into(),
        );
    }
    let subtasks = checks.subtasks(task, list, &options.built_on);
    let planned = subtasks.iter().map(|subtask| planned(context, options, &tag, task, subtask)).collect();
    Ok(RunPlan {
        task_id: task.id.clone(),
        title: task.title.clone(),
        test_command,
        branch: picked.branch,
        instead_of: picked.instead_of,
        on_branch_already,
        base: context
            .settings
            .pull_request
            .base
            .clone()
            .or_else(|| default_branch.as_ref().map(ToString::to_string)),
        default_branch,
        remote,
        checks: checks.0,
        coverage,
        subtasks: planned,
        needs_subtasks: task.subtasks.is_empty(),
        subject,
        tag,
    })
}

fn find_task<'a>(options: &RunOptions, list: &'a TagList) -> Result<&'a Task, WorkError> {
    let item = match &options.task {
        Some(requested) => requested.parse::<ItemId>()?,
        None => next_item(&list.tasks).ok_or(WorkError::NothingReady)?,
    };
    if options.task.is_some() && matches!(item, ItemId::Subtask(..)) {
        return Err(WorkError::OnlyTasks(item.to_string()));
    }
    let file =
        crate::tasks::TaskFile { shape: crate::tasks::file::FileShape::Tagged, tags: vec![list.clone()] };
    require_item(&file, &list.name, &ItemId::Task(item.task().clone()))?;
    list.find_task(item.task()).ok_or(WorkError::NothingReady)
}

/// The remote to push to: `origin`, else the only remote.
pub(super) fn find_remote(context: &ProjectContext) -> Result<Option<String>, WorkError> {
    let remotes = context.git.remotes()?;
    let origin = remotes.iter().find(|remote| *remote == "origin").cloned();
    Ok(origin.or_else(|| if remotes.len() == 1 { remotes.into_iter().next() } else { None }))
}

fn planned(
    context: &ProjectContext,
    options: &RunOptions,
    tag: &TagName,
    task: &Task,
    subtask: &Subtask,
) -> PlannedStep {
    let named = files_of(subtask);
    let (tests, files) = tests_for(&context.rules, &named, context.has_tests_dir());
    let both: Vec<PathBuf> = tests.iter().chain(&files).cloned().collect();
    let scope = scope(options.commit_scope.as_deref(), &context.rules, &both, tag);
    let message = CommitMessage {
        template: &context.settings.commit_template,
        kind: &context.settings.commit_type,
        scope: &scope,
        task: &task.id,
        subtask: &subtask.item(),
        title: &subtask.title,
        tag,
        proven: 0,
        passed: 0,
        co_author: None,
    };
    PlannedStep {
        id: subtask.item(),
        title: subtask.title.clone(),
        depends_on: subtask.dependencies.clone(),
        commit: message.subject(),
        tests,
        files,
    }
}
