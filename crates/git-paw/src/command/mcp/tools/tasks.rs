//! Tasks: list, show, choose, change and add.

use paw_core::PawError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::super::arguments;
use super::super::sets::ToolSet::Tasks;
use super::super::tool::{Effect, Tool};
use crate::command::tasks::{CommonArgs, add, list, next, set_status, show};
use crate::context::Context;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            Tasks,
            "tasks_list",
            Effect::Reads,
            "List the tasks and subtasks of a tag, and what is wrong with the file.",
            |args: ListTasks, context| list::answer(&args.into(), context),
        ),
        Tool::new(
            Tasks,
            "tasks_show",
            Effect::Reads,
            "Show a task or subtask with all its fields.",
            |args: OneTask, context| {
                show::answer(&show::ShowArgs { id: args.id, common: common(args.tag) }, context)
            },
        ),
        Tool::new(
            Tasks,
            "tasks_next",
            Effect::Reads,
            "Which task or subtask to do next; null when nothing is ready.",
            |args: OfTag, context| next::answer(&next::NextArgs { common: common(args.tag) }, context),
        ),
        Tool::new(
            Tasks,
            "tasks_set_status",
            Effect::Changes,
            "Give a task or subtask a status. Its task or its subtasks move along; `changed` lists all of them.",
            set_status,
        ),
        Tool::new(
            Tasks,
            "tasks_add",
            Effect::Adds,
            "Add a task, or a subtask where `parent` is given. Answers its id.",
            |args: NewTask, context| add::answer(&args.into(), context),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfTag {
    /// Which list of tasks; without it, the branch's or the active one
    tag: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListTasks {
    /// Only those with this status: pending, in-progress, done, review, blocked, deferred or cancelled
    status: Option<String>,
    /// Which list of tasks; without it, the branch's or the active one
    tag: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneTask {
    /// 42 is a task, 42.1 its first subtask
    #[serde(deserialize_with = "arguments::id")]
    id: String,
    /// Which list of tasks; without it, the branch's or the active one
    tag: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetStatus {
    /// 42 is a task, 42.1 its first subtask
    #[serde(deserialize_with = "arguments::id")]
    id: String,
    /// pending, in-progress, done, review, blocked, deferred or cancelled
    status: String,
    /// Which list of tasks; without it, the branch's or the active one
    tag: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewTask {
    /// What is to be done, in a line
    title: String,
    /// What it is about
    description: Option<String>,
    /// How to do it
    details: Option<String>,
    /// How to prove it
    test_strategy: Option<String>,
    /// critical, high, medium or low
    priority: Option<String>,
    /// Ids of what has to be done before
    #[serde(default, deserialize_with = "arguments::ids")]
    depends_on: Vec<String>,
    /// Make it a subtask of this task
    #[serde(default, deserialize_with = "arguments::optional_id")]
    parent: Option<String>,
    /// Which list of tasks; without it, the branch's or the active one
    tag: Option<String>,
}

fn common(tag: Option<String>) -> CommonArgs {
    CommonArgs { tag, json: true }
}

fn set_status(args: SetStatus, context: &Context) -> Result<Value, PawError> {
    let SetStatus { id, status, tag } = args;
    set_status::answer(&set_status::SetStatusArgs { id, status, common: common(tag) }, context)
}

impl From<ListTasks> for list::ListArgs {
    fn from(args: ListTasks) -> Self {
        Self { status: args.status, common: common(args.tag) }
    }
}

impl From<NewTask> for add::AddArgs {
    fn from(args: NewTask) -> Self {
        Self {
            title: Some(args.title),
            spec: None,
            specs_format: None,
            dry_run: false,
            description: args.description,
            details: args.details,
            test_strategy: args.test_strategy,
            priority: args.priority,
            depends_on: args.depends_on,
            parent: args.parent,
            common: common(args.tag),
        }
    }
}
