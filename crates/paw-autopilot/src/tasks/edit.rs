//! Edits `tasks.json` as text: sets a status, adds a task or subtask. Other bytes stay unchanged.

use jsonc_parser::ast::{Array, Object, Value as Node};
use jsonc_parser::common::Ranged as _;
use serde_json::{Map, Value, json};

use super::TaskError;
use super::file::{FileShapeError, TaskFile};
use super::id::{ItemId, SubtaskId, TaskId, text_of};
use super::model::{Priority, TaskStatus};
use super::tag::{MASTER, TagName};
use crate::json_text::{self, JsonTextError, Splice};

/// The text is not a task list, or does not contain the requested item.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    Shape(#[from] FileShapeError),
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl From<JsonTextError> for EditError {
    fn from(error: JsonTextError) -> Self {
        Self::Shape(error.into())
    }
}

/// A task to add, or a subtask if it has a parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    pub title: String,
    pub description: Option<String>,
    pub details: Option<String>,
    pub test_strategy: Option<String>,
    pub priority: Option<Priority>,
    pub dependencies: Vec<ItemId>,
    pub parent: Option<TaskId>,
}

impl NewTask {
    /// A task with only a title.
    pub fn titled(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            description: None,
            details: None,
            test_strategy: None,
            priority: None,
            dependencies: Vec::new(),
            parent: None,
        }
    }
}

/// Sets statuses. An item that already has the status under a synonym (`completed`) keeps it.
pub fn set_statuses(
    text: &str,
    tag: &TagName,
    changes: &[(ItemId, TaskStatus)],
) -> Result<String, EditError> {
    edit(text, tag, |text, tasks| {
        let mut splices = Vec::new();
        for (item, status) in changes {
            let object = find_item(text, tasks, item, tag)?;
            let now = json_text::property(object, "status").and_then(|status| status.value.as_string_lit());
            if now.is_none_or(|now| TaskStatus::from_word(&now.value) != *status) {
                splices.push(json_text::set(text, object, "status", &json!(status.as_str())));
            }
        }
        Ok((splices, ()))
    })
    .map(|(text, ())| text)
}

/// Appends a task, or a subtask to its parent. Returns the text and the new id.
pub fn add(text: &str, tag: &TagName, new: &NewTask) -> Result<(String, ItemId), EditError> {
    edit(text, tag, |text, tasks| match &new.parent {
        None => {
            let id = next_id(text, tasks);
            let item = ItemId::Task(TaskId::new(&id.to_string())?);
            require_dependencies(text, tasks, &item, new, tag)?;
            let mut fields = fields(numbered(text, tasks, id), new);
            fields.insert("priority".into(), json!(new.priority.unwrap_or_default().as_str()));
            fields.insert("subtasks".into(), json!([]));
            Ok((vec![json_text::push(text, tasks, &Value::Object(fields))], item))
        }
        Some(parent) => {
            let object = find_item(text, tasks, &ItemId::Task(parent.clone()), tag)?;
            let list = json_text::array_at(object, "subtasks");
            let id = list.map_or(1, |list| next_id(text, list));
            let item = ItemId::Subtask(parent.clone(), SubtaskId::new(&id.to_string())?);
            require_dependencies(text, tasks, &item, new, tag)?;
            let written = list.map_or_else(|| json!(id), |list| numbered(text, list, id));
            let mut fields = fields(written, new);
            if let Some(priority) = new.priority {
                fields.insert("priority".into(), json!(priority.as_str()));
            }
            let value = Value::Object(fields);
            let splice = match list {
                Some(list) => json_text::push(text, list, &value),
                None => json_text::set(text, object, "subtasks", &json!([value])),
            };
            Ok((vec![splice], item))
        }
    })
}

/// A file with one empty tag.
pub fn empty_file(tag: &TagName, now: jiff::Timestamp) -> String {
    let now = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    let list = json!({"tasks": [], "metadata": {"created": now, "updated": now}});
    format!("{:#}", json!({ tag.as_str(): list }))
}

fn edit<T>(
    text: &str,
    tag: &TagName,
    change: impl FnOnce(&str, &Array<'_>) -> Result<(Vec<Splice>, T), EditError>,
) -> Result<(String, T), EditError> {
    // Parse strictly first; invalid files are never edited.
    let file = TaskFile::parse(text)?;
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = json_text::places(bare)?;
    let tasks = tree.as_object().and_then(|root| tasks_of(root, tag));
    let tasks = tasks.ok_or_else(|| TaskError::NoSuchTag { tag: tag.clone(), known: file.tag_names() })?;
    let (splices, answer) = change(bare, tasks)?;
    let mark = &text[..text.len() - bare.len()];
    Ok((format!("{mark}{}", json_text::apply(bare, splices)), answer))
}

fn tasks_of<'a, 'b>(root: &'b Object<'a>, tag: &TagName) -> Option<&'b Array<'a>> {
    let tagged = json_text::object_at(root, tag.as_str()).and_then(|tag| json_text::array_at(tag, "tasks"));
    tagged.or_else(|| if tag.as_str() == MASTER { json_text::array_at(root, "tasks") } else { None })
}

fn find_item<'a, 'b>(
    text: &str,
    tasks: &'b Array<'a>,
    item: &ItemId,
    tag: &TagName,
) -> Result<&'b Object<'a>, TaskError> {
    let missing = || TaskError::NoSuchItem { item: item.clone(), tag: tag.clone() };
    let ambiguous = || TaskError::Ambiguous { item: item.clone(), tag: tag.clone() };
    let only = |list: &'b Array<'a>, is_it: &dyn Fn(&str) -> bool| -> Result<&'b Object<'a>, TaskError> {
        let objects = list.elements.iter().filter_map(Node::as_object);
        let mut found = objects.filter(|object| id_in(text, object).is_some_and(|own| is_it(&own)));
        let first = found.next().ok_or_else(missing)?;
        if found.next().is_some() { Err(ambiguous()) } else { Ok(first) }
    };
    let task = only(tasks, &|own| own == item.task().as_str())?;
    match item {
        ItemId::Task(_) => Ok(task),
        ItemId::Subtask(_, id) => {
            let subtasks = json_text::array_at(task, "subtasks").ok_or_else(missing)?;
            // A subtask's id may include its task's id before a dot.
            only(subtasks, &|own| own.rsplit('.').next() == Some(id.as_str()))
        }
    }
}

fn id_in(text: &str, object: &Object<'_>) -> Option<String> {
    let id = json_text::property(object, "id")?.value.range();
    let value: Value = serde_json::from_str(&text[id.start..id.end]).ok()?;
    text_of(&value)
}

fn next_id(text: &str, list: &Array<'_>) -> u64 {
    let ids = list.elements.iter().filter_map(Node::as_object).filter_map(|object| id_in(text, object));
    let numbers = ids.filter_map(|id| id.rsplit('.').next()?.parse::<u64>().ok());
    numbers.max().unwrap_or(0).saturating_add(1)
}

/// A number, or a string if the last id is a string.
fn numbered(text: &str, list: &Array<'_>, number: u64) -> Value {
    let newest = list.elements.last().and_then(Node::as_object);
    let quoted = newest
        .and_then(|object| json_text::property(object, "id"))
        .is_some_and(|id| text[id.value.range().start..].starts_with('"'));
    if quoted { json!(number.to_string()) } else { json!(number) }
}

fn fields(id: Value, new: &NewTask) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("id".into(), id);
    fields.insert("title".into(), json!(new.title));
    // Other programs require a description.
    fields.insert("description".into(), json!(new.description.as_ref().unwrap_or(&new.title)));
    for (name, text) in [("details", &new.details), ("testStrategy", &new.test_strategy)] {
        if let Some(text) = text {
            fields.insert(name.into(), json!(text));
        }
    }
    fields.insert("status".into(), json!(TaskStatus::Pending.as_str()));
    let dependencies =
        new.dependencies.iter().map(|dependency| dependency_value(dependency, new.parent.as_ref()));
    fields.insert("dependencies".into(), dependencies.collect());
    fields
}

/// Siblings are written as bare numbers, other items with their full id.
fn dependency_value(dependency: &ItemId, parent: Option<&TaskId>) -> Value {
    let bare = match dependency {
        ItemId::Task(id) => id.as_str(),
        ItemId::Subtask(task, id) if Some(task) == parent => id.as_str(),
        ItemId::Subtask(..) => return json!(dependency.to_string()),
    };
    bare.parse::<u64>().map_or_else(|_| json!(bare), |number| json!(number))
}

fn require_dependencies(
    text: &str,
    tasks: &Array<'_>,
    item: &ItemId,
    new: &NewTask,
    tag: &TagName,
) -> Result<(), TaskError> {
    for dependency in &new.dependencies {
        // A bare id in a subtask would be read as a sibling.
        if matches!((item, dependency), (ItemId::Subtask(..), ItemId::Task(_))) {
            return Err(TaskError::BadId(dependency.to_string()));
        }
        find_item(text, tasks, dependency, tag)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
