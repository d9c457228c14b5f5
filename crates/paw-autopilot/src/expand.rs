//! Splits a task into subtasks with an executor. The answer is validated, and written only if the user agrees.
//!
//! - [`answer`]: parses the executor's answer

pub mod answer;

use std::fmt::Write as _;

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::clock;

use crate::executor::{Executor, ExecutorTask};
use crate::tasks::model::text_field;
use crate::tasks::project::{require_item, require_tag};
use crate::tasks::{ItemId, NewTask, SubtaskId, TagName, Task, TaskError, TaskId};
use crate::work::snapshot::ChangeSnapshot;
use crate::work::{ProjectContext, WorkError, snapshot};

pub use answer::ProposedSubtask;

#[derive(Debug, thiserror::Error)]
pub enum ExpandError {
    #[error("task {0} has subtasks already")]
    HasSubtasks(TaskId),
    #[error("the executor did not answer: {0}")]
    NoAnswer(String),
    #[error("the executor's answer cannot be used: {0}")]
    Unusable(String, String),
    #[error("the executor changed files instead of answering: {}", .0.join(", "))]
    ChangedFiles(Vec<String>),
    #[error(transparent)]
    Work(#[from] WorkError),
}

impl From<TaskError> for ExpandError {
    fn from(error: TaskError) -> Self {
        Self::Work(error.into())
    }
}

impl Diagnostic for ExpandError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::HasSubtasks(task) => report.hint(format!("git paw tasks show {task}")),
            Self::NoAnswer(_) => report,
            Self::Unusable(_, file) => report.hint(format!(
                "it is kept in {file}; try again, or add subtasks with git paw tasks add --parent"
            )),
            Self::ChangedFiles(_) => report.hint("look at them with git status, then try again"),
            Self::Work(error) => error.report(),
        }
    }
}

/// Asks the executor for subtasks. Writes nothing.
pub fn propose(
    context: &ProjectContext,
    executor: &Executor,
    tag: &TagName,
    id: &TaskId,
    on_text: &mut dyn FnMut(&str),
) -> Result<Vec<ProposedSubtask>, ExpandError> {
    let file = context.project.load_tasks()?;
    let task = require_item(&file, tag, &ItemId::Task(id.clone()))?;
    if !task.subtasks.is_empty() {
        return Err(ExpandError::HasSubtasks(id.clone()));
    }
    let others: Vec<&Task> = require_tag(&file, tag)?.tasks.iter().filter(|other| other.id != *id).collect();
    snapshot::write_gitignores(context)?;
    let before = ChangeSnapshot::take(context)?;
    let stamp = clock::now().strftime("%Y-%m-%d-%H%M%S").to_string();
    let log = context.project.files().expand_log(id.as_str(), &stamp);
    let assignment = ExecutorTask {
        prompt: prompt(task, &others),
        task: id.to_string(),
        subtask: String::new(),
        phase: "EXPAND".to_owned(),
        attempt: 1,
        root: context.project.root.clone(),
        test_command: None,
        mark: format!("expand-{id}-{stamp}-{}", std::process::id()),
        log: log.clone(),
        limit: executor.limit,
    };
    let turned = executor.work(&assignment, on_text).map_err(WorkError::from)?;
    let changed = before.changes_until(&ChangeSnapshot::take(context)?);
    if !changed.is_empty() {
        return Err(ExpandError::ChangedFiles(
            changed.iter().map(|change| context.shown(&change.path)).collect(),
        ));
    }
    if let Some(complaint) = turned.complaint {
        return Err(ExpandError::NoAnswer(complaint));
    }
    answer::parse_answer(&turned.text).map_err(|why| ExpandError::Unusable(why, context.shown(&log)))
}

/// Adds all proposed subtasks in one step.
pub fn add_subtasks(
    context: &ProjectContext,
    tag: &TagName,
    id: &TaskId,
    proposed: &[ProposedSubtask],
) -> Result<Vec<ItemId>, ExpandError> {
    let sibling = |number: &usize| {
        SubtaskId::new(&number.to_string()).map(|subtask| ItemId::Subtask(id.clone(), subtask))
    };
    let new = proposed.iter().map(|proposed| {
        Ok(NewTask {
            title: proposed.title.clone(),
            description: proposed.description.clone(),
            details: proposed.details.clone(),
            test_strategy: proposed.test_strategy.clone(),
            priority: None,
            dependencies: proposed.dependencies.iter().map(sibling).collect::<Result<_, _>>()?,
            parent: Some(id.clone()),
        })
    });
    let new: Vec<NewTask> = new.collect::<Result<_, TaskError>>()?;
    Ok(context.project.add_tasks(tag, &new)?)
}

fn prompt(task: &Task, others: &[&Task]) -> String {
    let mut text = format!("Divide a task into subtasks.\n\nTask #{}: {}\n", task.id, task.title.trim());
    for (title, field) in
        [("Description", "description"), ("Details", "details"), ("Test strategy", "testStrategy")]
    {
        if let Some(words) = text_field(&task.fields, field) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n{title}:\n{words}\n");
        }
    }
    if !others.is_empty() {
        text.push_str("\nOther tasks, which are not part of it:\n");
        text.extend(others.iter().take(50).map(|other| format!("- #{} {}\n", other.id, other.title.trim())));
    }
    text.push_str(INSTRUCTION);
    text
}

const INSTRUCTION: &str = r#"
Look at the code first. Then answer with two to seven subtasks, each so small that a few tests pin it down, in the order
they are done. Each is tested and committed on its own, so nothing may be half done in between.
Change no file. End your answer with a JSON list and nothing after it:

[{"title": "...", "description": "...", "details": "which files, which functions", "testStrategy": "...", "dependencies": []}]

"dependencies" holds the numbers of earlier subtasks of this list, counted from 1.
"#;
