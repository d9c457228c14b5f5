//! Lists, shows, chooses, changes and adds tasks.

use paw_core::PawError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::super::arguments;
use super::super::tool::{Effect, Tool};
use super::super::tool_sets::ToolSet::Tasks;
use crate::command::tasks::{TaskArgs, add, list, next, set_status, show};
use crate::context::Context;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            Tasks,
            "tasks_list",
            Effect::Reads,
            "List the tasks and subtasks of a tag, and the problems in the file.",
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
            "Return the next task or subtask to do; null if nothing is ready.",
            |args: OfTag, context| next::answer(&next::NextArgs { common: common(args.tag) }, context),
        ),
        Tool::new(
            Tasks,
            "tasks_set_status",
            Effect::Changes,
            "Set the status of a task or subtask. Its parent or its subtasks change, too; `changed` lists all of them.",
            set_status,
        ),
        Tool::new(
            Tasks,
            "tasks_add",
            Effect::Adds,
            "Add a task, or with `parent` a subtask. Returns its id.",
            |args: NewTask, context| add::answer(&args.into(), context),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfTag {
    /// The tag (default: the branch's own, else the active one)
    tag: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListTasks {
    /// List only tasks with this status: pending, in-progress, done, review, blocked, deferred or cancelled
    status: Option<String>,
    /// The tag (default: the branch's own, else the active one)
    tag: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneTask {
    /// 42 is a task, 42.1 its first subtask
    #[serde(deserialize_with = "arguments::id")]
    id: String,
    /// The tag (default: the branch's own, else the active one)
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
    /// The tag (default: the branch's own, else the active one)
    tag: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewTask {
    /// The title, one line
    title: String,
    /// A short description
    description: Option<String>,
    /// Implementation details
    details: Option<String>,
    /// How to test it
    test_strategy: Option<String>,
    /// critical, high, medium or low
    priority: Option<String>,
    /// Ids that must be done first
    #[serde(default, deserialize_with = "arguments::ids")]
    depends_on: Vec<String>,
    /// Add it as a subtask of this task
    #[serde(default, deserialize_with = "arguments::optional_id")]
    parent: Option<String>,
    /// The tag (default: the branch's own, else the active one)
    tag: Option<String>,
}

fn common(tag: Option<String>) -> TaskArgs {
    TaskArgs { tag, json: true }
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
