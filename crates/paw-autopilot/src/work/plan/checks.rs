//! The checks before a run begins.

use std::collections::BTreeSet;

use paw_core::BranchName;
use paw_host::process::find_program;

use super::{CoveragePlan, PlanCheck};
use crate::tasks::file::TagList;
use crate::tasks::next::plan_subtasks;
use crate::tasks::{ItemId, ProblemKind, Subtask, Task, TaskId, TaskStatus};
use crate::work::{CoverageGate, ProjectContext, RunOptions};

/// The checks so far.
pub(super) struct PlanChecks(pub(super) Vec<PlanCheck>);

impl PlanChecks {
    pub(super) fn add(&mut self, ok: bool, needed: bool, words: String) {
        self.0.push(PlanCheck { ok, needed, words });
    }

    pub(super) fn tree(&mut self, foreign: &[String], relaxed: bool) {
        if foreign.is_empty() {
            return self.add(true, true, "Working tree is clean".into());
        }
        let more = foreign.len().saturating_sub(5);
        let shown = foreign.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
        let shown = if more > 0 { format!("{shown} and {more} more") } else { shown };
        if relaxed {
            self.add(true, true, format!("Working tree has changes, which stay uncommitted: {shown}"));
        } else {
            self.add(
                false,
                true,
                format!("Working tree is not clean: {shown} (commit or stash them, or use --force=dirty)"),
            );
        }
    }

    pub(super) fn coverage(&mut self, gate: &CoverageGate) -> CoveragePlan {
        let plan = match gate.words() {
            Ok(words) => CoveragePlan { gate: true, words },
            Err(why) => CoveragePlan { gate: false, words: why.to_owned() },
        };
        let title = if plan.gate { "Coverage gate" } else { "No coverage gate" };
        self.add(plan.gate, gate.required, format!("{title}: {}", plan.words));
        plan
    }

    pub(super) fn tools(
        &mut self,
        context: &ProjectContext,
        options: &RunOptions,
        test_command: Option<&str>,
        more: &[String],
    ) {
        let mut wanted = vec!["git".to_owned()];
        if options.pull_request {
            wanted.push("gh".into());
        }
        wanted.extend(test_command.into_iter().flat_map(tools_of).map(str::to_owned));
        wanted.extend(more.iter().cloned());
        let mut known = BTreeSet::new();
        wanted.retain(|tool| known.insert(tool.clone()));
        let is_there =
            |tool: &String| tool.contains('/') || find_program(tool, &context.search_path).is_some();
        let (there, missing): (Vec<_>, Vec<_>) = wanted.into_iter().partition(is_there);
        self.add(true, true, format!("Tools available: {}", there.join(", ")));
        for tool in missing {
            let without_it =
                if tool == "gh" { "; the commands for a pull request will be printed" } else { "" };
            self.add(false, tool != "gh", format!("Tool missing: {tool}{without_it}"));
        }
    }

    pub(super) fn branch(
        &mut self,
        current: Option<&BranchName>,
        commit: &str,
        wanted: &BranchName,
        exists: bool,
        default: Option<&BranchName>,
    ) {
        let words = match current {
            None => return self.add(false, true, "HEAD is detached (git switch to a branch first)".into()),
            Some(_) if commit.is_empty() => {
                return self.add(false, true, "There is no commit yet (make a first one)".into());
            }
            Some(_) if default == Some(wanted) => {
                let words = format!(
                    "Branch {wanted} is the default branch, which autopilot never commits to (git.branchPattern in .taskmaster/config.json needs {{id}})"
                );
                return self.add(false, true, words);
            }
            Some(current) if current == wanted => format!("Current branch: {current} (will continue on it)"),
            Some(_) if exists => {
                let words = format!(
                    "Branch {wanted} already exists (git switch {wanted} to continue on it, or git branch -D {wanted})"
                );
                return self.add(false, true, words);
            }
            Some(current) => format!("Current branch: {current} (will create new branch)"),
        };
        self.add(true, true, words);
    }

    /// Returns the open subtasks in execution order.
    pub(super) fn subtasks<'a>(
        &mut self,
        task: &'a Task,
        list: &TagList,
        built_on: &[TaskId],
    ) -> Vec<&'a Subtask> {
        let list = &with_done(list, built_on);
        let of_task = |item: &str| item.split('.').next() == Some(task.id.as_str());
        for problem in &list.problems {
            if problem.kind == ProblemKind::DuplicateId && of_task(&problem.item) {
                self.add(false, true, format!("{problem}"));
            }
        }
        let waits: Vec<String> = task
            .dependencies
            .iter()
            .filter(|dependency| !is_done(dependency, list))
            .map(ToString::to_string)
            .collect();
        if !waits.is_empty() {
            self.add(false, true, format!("Task {} depends on {}, not done yet", task.id, waits.join(", ")));
        }
        let plan = plan_subtasks(task, &list.tasks);
        for stuck in plan.stuck {
            self.add(
                false,
                true,
                format!(
                    "Subtask {}.{stuck} depends on an item that is not done and not in this task",
                    task.id
                ),
            );
        }
        plan.order.into_iter().filter_map(|id| task.find_subtask(id)).collect()
    }
}

/// The task list with the dependencies that are already on this branch marked as done.
fn with_done(list: &TagList, built_on: &[TaskId]) -> TagList {
    let mut list = list.clone();
    for task in list.tasks.iter_mut().filter(|task| built_on.contains(&task.id)) {
        task.status = TaskStatus::Done;
    }
    list
}

fn is_done(item: &ItemId, list: &TagList) -> bool {
    let Some(task) = list.find_task(item.task()) else { return false };
    match item {
        ItemId::Task(_) => task.status == TaskStatus::Done,
        ItemId::Subtask(_, id) => {
            task.find_subtask(id).is_some_and(|subtask| subtask.status == TaskStatus::Done)
        }
    }
}

/// The programs a test command needs.
fn tools_of(command: &str) -> Vec<&str> {
    match command.split_whitespace().next() {
        Some("npm") => vec!["node", "npm"],
        Some(manager @ ("pnpm" | "yarn")) => vec!["node", manager],
        Some("python" | "pytest") => vec!["python3"],
        Some(program @ ("cargo" | "go" | "bun" | "node")) => vec![program],
        _ => Vec::new(),
    }
}
