//! Creates a task from a spec.

mod draft;

use paw_autopilot::tasks::{NewTask, Task, TaskFile};
use paw_core::text::{self, plural};
use paw_core::{ErrorCode, PawError};
use paw_host::clock;
use paw_session::specs::{self, SpecEntry, SpecFormat};
use serde_json::{Value, json};

use self::draft::draft;
use super::add::AddArgs;
use super::find_project;
use crate::context::Context;

pub(super) fn run(args: &AddArgs, name: &str, context: &Context) -> Result<(), PawError> {
    let answer = answer(args, name, context)?;
    if context.output.wants_json() {
        return context.output.document(&answer);
    }
    let text = |key: &str| text::line(answer[key].as_str().unwrap_or_default());
    let titles: Vec<&str> =
        answer["subtasks"].as_array().into_iter().flatten().filter_map(|one| one["title"].as_str()).collect();
    let subtasks = plural(titles.len(), "subtask");
    let how = if args.dry_run {
        format!("would add a task with {subtasks}")
    } else {
        format!("added task {} with {subtasks}", text("id"))
    };
    context.output.say(&format!("{how} to '{}': {}", text("tag"), text("title")))?;
    for (title, number) in titles.iter().zip(1..) {
        context.output.say(&format!("  {number} {}", text::line(title)))?;
    }
    if args.dry_run {
        context.output.say("")?;
        text::block(answer["details"].as_str().unwrap_or_default())
            .lines()
            .try_for_each(|line| context.output.say(format!("  {line}").trim_end()))?;
    } else if titles.is_empty() {
        context.output.say(&format!(
            "the spec has no open tasks; create subtasks with 'git paw tasks expand {}'",
            text("id")
        ))?;
    }
    Ok(())
}

/// The answer for programs.
pub(super) fn answer(args: &AddArgs, name: &str, context: &Context) -> Result<Value, PawError> {
    let draft = draft(&find(name, args.specs_format, context)?)?;
    let title = args.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    let new = NewTask {
        details: Some(draft.details.clone()),
        ..super::add::new_task(args, title.unwrap_or(&draft.title))?
    };
    let (project, tag) = find_project(&args.common, context)?;
    let subtasks: Vec<Value> =
        draft.subtasks.iter().map(|item| json!({"title": item.title, "details": item.details})).collect();
    if project.tasks_file().exists()
        && let Some(made) = made_before(&project.load_tasks()?, tag.as_str(), &draft.details)
    {
        let source = draft.details.lines().next().unwrap_or_default();
        let problem = format!("task {} was already created from this spec ({})", made.id, text::line(source));
        return Err(PawError::new(ErrorCode::FailedPrecondition, problem)
            .hint(format!("git paw tasks show {}", made.id)));
    }
    let mut answer = json!({"tag": tag, "title": new.title, "details": draft.details, "subtasks": subtasks});
    if args.dry_run {
        answer["dryRun"] = json!(true);
        return Ok(answer);
    }
    let items = draft.subtasks.iter().map(|item| NewTask {
        details: (!item.details.is_empty()).then(|| item.details.clone()),
        ..NewTask::titled(item.title.as_str())
    });
    let (id, added) = project.add_task_with_subtasks(&tag, &new, &items.collect::<Vec<_>>(), clock::now())?;
    answer["id"] = json!(id);
    answer["added"] = json!(added);
    Ok(answer)
}

/// The specs with this name, as `git paw start --specs` finds them.
fn find(name: &str, format: Option<SpecFormat>, context: &Context) -> Result<Vec<SpecEntry>, PawError> {
    let repo = context.require_repo()?;
    let config = context.load_config()?.resolve()?;
    let scan = specs::scan(&repo.root, config.specs.as_ref(), format, &config.branch_prefix())?;
    for warning in &scan.warnings {
        context.output.warn(warning);
    }
    let mut found = specs::resolve(&[name.to_owned()], &scan.entries)?;
    for entry in &mut found {
        entry.path = entry.path.strip_prefix(&repo.root).unwrap_or(&entry.path).to_path_buf();
    }
    Ok(found)
}

/// The task that was created from the same spec, if any.
fn made_before<'a>(file: &'a TaskFile, tag: &str, details: &str) -> Option<&'a Task> {
    let source = details.lines().next()?;
    let tag = file.tags.iter().find(|one| one.name.as_str() == tag)?;
    tag.tasks.iter().find(|task| {
        let said = task.fields.get("details").and_then(Value::as_str);
        said.and_then(|said| said.lines().next()) == Some(source)
    })
}
