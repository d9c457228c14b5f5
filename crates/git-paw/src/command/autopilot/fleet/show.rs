//! Prints the plan and the summary of several tasks.

use std::path::{Path, PathBuf};

use paw_autopilot::fleet::conflicts::TaskConflict;
use paw_autopilot::fleet::outcome::TaskState;
use paw_autopilot::fleet::run::FinishedTask;
use paw_autopilot::fleet::{FleetPlan, TaskProgress};
use paw_autopilot::tasks::TaskId;
use paw_core::PawError;
use paw_core::text::plural;
use paw_host::process::shell_quote;
use serde_json::{Value, json};

use super::super::AutopilotArgs;
use super::super::format::line;
use crate::context::Context;
use crate::output::Style;

pub(super) fn plan(
    args: &AutopilotArgs,
    plan: &FleetPlan,
    places: &[Option<PathBuf>],
    context: &Context,
) -> Result<(), PawError> {
    let output = context.output;
    let tasks = plan.tasks.iter().zip(places);
    if output.wants_json() {
        let each = tasks.map(|(task, place)| {
            json!({
                "task": task.member.task,
                "title": task.member.title,
                "standing": word(&task.progress),
                "dependsOn": task.member.after,
                "branch": task.branch.as_str(),
                "worktree": place,
            })
        });
        let each: Vec<Value> = each.collect();
        return output
            .document(&json!({"dryRun": true, "base": plan.base, "parallel": args.parallel, "tasks": each}));
    }
    let title = format!("Autopilot Plan for {} from {}", plural(plan.tasks.len(), "task"), plan.base);
    output.say(&output.paint(Style::Bold, &title))?;
    let rows = tasks.map(|(task, place)| {
        let after = names(&task.member.after);
        let first = if after.is_empty() { "-".to_owned() } else { after };
        let place = place.as_ref().map_or_else(|| "-".to_owned(), |place| line(&place.display().to_string()));
        [task.member.task.to_string(), word(&task.progress).into(), first, task.branch.to_string(), place]
    });
    let rows: Vec<_> = rows.collect();
    output.table(["TASK", "STATE", "AFTER", "BRANCH", "WORKTREE"], rows)?;
    output.say(&format!("At most {} at once. Run without --dry-run to execute.", args.parallel))
}

fn word(standing: &TaskProgress) -> &'static str {
    match standing {
        TaskProgress::Done | TaskProgress::Finished { .. } => "done",
        TaskProgress::Unfinished { .. } => "unfinished",
        TaskProgress::Begun { .. } => "begun",
        TaskProgress::New => "new",
    }
}

fn names(tasks: &[TaskId]) -> String {
    tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")
}

pub(super) fn summary(
    args: &AutopilotArgs,
    plan: &FleetPlan,
    finished: &[FinishedTask<'_>],
    collisions: &[TaskConflict],
    context: &Context,
) -> Result<(), PawError> {
    let output = context.output;
    if output.wants_json() {
        let collisions: Vec<Value> = collisions.iter().map(TaskConflict::document).collect();
        let tasks: Vec<Value> = finished.iter().map(document).collect();
        let done = finished.iter().filter(|finished| finished.outcome.state == TaskState::Done).count();
        return output.document(&json!({"base": plan.base, "parallel": args.parallel, "done": done,
            "tasks": tasks, "collisions": collisions}));
    }
    let rows = finished.iter().map(|finished| {
        let ending = &finished.outcome;
        let mark = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            finished.task.member.task.to_string(),
            ending.state.as_str().to_owned(),
            mark(branch(finished)),
            mark(ending.commits.map(|commits| commits.to_string())),
            mark(ending.report.as_ref().map(|report| line(&report.display().to_string()))),
        ]
    });
    output.table(["TASK", "STATE", "BRANCH", "COMMITS", "REPORT"], rows.collect())?;
    for finished in finished {
        let (id, ending) = (&finished.task.member.task, &finished.outcome);
        if let Some(url) = &ending.pull_request {
            output.say(&format!("task {id}: {}", line(url)))?;
        }
        if ending.state == TaskState::Done {
            continue;
        }
        output.say(&format!(
            "task {id} {}: {}",
            ending.state.as_str(),
            line(ending.reason.as_deref().unwrap_or(""))
        ))?;
        if let Some(command) = resume(finished) {
            output.say(&format!("  to continue: {command}"))?;
        }
    }
    if !collisions.is_empty() {
        output.say("Changed by more than one task:")?;
        collisions.iter().try_for_each(|collision| output.say(&format!("  {}", line(&collision.shown()))))?;
    }
    if finished.iter().any(|finished| finished.outcome.state != TaskState::Done) {
        output.say("Run the same command again to continue with the unfinished tasks.")?;
    }
    if finished.iter().any(|finished| finished.project.is_some()) {
        output.say("The worktrees are kept (see git paw worktree list, git paw worktree remove).")?;
    }
    Ok(())
}

/// The branch, if it exists: a skipped task has none.
fn branch(finished: &FinishedTask<'_>) -> Option<String> {
    let is_there = finished.project.is_some() || finished.task.progress != TaskProgress::New;
    let planned = || {
        (is_there && finished.task.progress != TaskProgress::Done).then(|| finished.task.branch.to_string())
    };
    finished.outcome.branch.as_deref().map(line).or_else(planned)
}

fn resume(finished: &FinishedTask<'_>) -> Option<String> {
    let project = finished.project.as_deref().filter(|_| finished.outcome.can_resume)?;
    Some(format!("cd {} && git paw autopilot --resume", quoted(project)))
}

fn quoted(path: &Path) -> String {
    shell_quote(path.as_os_str())
}

fn document(finished: &FinishedTask<'_>) -> Value {
    let ending = &finished.outcome;
    json!({
        "task": finished.task.member.task,
        "title": finished.task.member.title,
        "state": ending.state.as_str(),
        "reason": ending.reason.as_deref().map(line),
        "branch": branch(finished),
        "directory": finished.project,
        "commits": ending.commits,
        "report": ending.report,
        "pullRequest": ending.pull_request.as_deref().map(line),
        "resume": resume(finished),
    })
}
