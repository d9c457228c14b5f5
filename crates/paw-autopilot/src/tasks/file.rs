//! `tasks.json`, tagged or flat: its tags and tasks.

use serde_json::{Map, Value};

use super::id::{ItemId, SubtaskId, TaskId, text_of};
use super::model::{Priority, Subtask, Task, TaskStatus};
use super::problems::{ProblemKind, TaskProblem, find_problems};
use super::tag::{MASTER, TagName};
use crate::json_text::{self, JsonTextError};

/// The format of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileShape {
    /// Each top-level key is a tag.
    Tagged,
    /// One top-level list, the tag `master`.
    Flat,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TaskFile {
    pub shape: FileShape,
    pub tags: Vec<TagList>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TagList {
    pub name: TagName,
    pub tasks: Vec<Task>,
    pub problems: Vec<TaskProblem>,
}

impl TaskFile {
    pub fn parse(text: &str) -> Result<Self, FileShapeError> {
        let root = json_text::parse(text)?;
        let Value::Object(root) = root else {
            return Err(FileShapeError::NotAnObject);
        };
        let tags = tag_keys(&root);
        if tags.is_empty() {
            return match root.get("tasks") {
                Some(Value::Array(tasks)) => {
                    Ok(Self { shape: FileShape::Flat, tags: vec![TagList::read(TagName::master(), tasks)] })
                }
                None if root.is_empty() => Ok(Self { shape: FileShape::Tagged, tags: Vec::new() }),
                _ => Err(FileShapeError::NoList),
            };
        }
        let mut tags: Vec<TagList> =
            tags.into_iter().map(|(name, tasks)| TagList::read(TagName::from_key(name), tasks)).collect();
        // With both formats in one file, other programs read the tags; keep the flat list visible as `master`.
        if let Some(Value::Array(tasks)) = root.get("tasks")
            && !tags.iter().any(|tag| tag.name.as_str() == MASTER)
        {
            tags.insert(0, TagList::read(TagName::master(), tasks));
        }
        Ok(Self { shape: FileShape::Tagged, tags })
    }

    pub fn tag(&self, name: &TagName) -> Option<&TagList> {
        self.tags.iter().find(|tag| tag.name == *name)
    }

    pub fn tag_names(&self) -> Vec<String> {
        self.tags.iter().map(|tag| tag.name.to_string()).collect()
    }
}

/// Why a valid JSON text is not a task list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileShapeError {
    #[error(transparent)]
    Json(#[from] JsonTextError),
    #[error("its root is not an object")]
    NotAnObject,
    #[error("it has neither a list \"tasks\" nor a tag with one")]
    NoList,
}

fn tag_keys(root: &Map<String, Value>) -> Vec<(&str, &Vec<Value>)> {
    let list = |value: &'_ Value| value.get("tasks").is_some_and(Value::is_array);
    root.iter()
        .filter(|(_, value)| list(value))
        .filter_map(|(key, value)| Some((key.as_str(), value.get("tasks")?.as_array()?)))
        .collect()
}

impl TagList {
    fn read(name: TagName, values: &[Value]) -> Self {
        let mut problems = Vec::new();
        let tasks: Vec<Task> =
            values.iter().enumerate().filter_map(|(at, value)| read_task(value, at, &mut problems)).collect();
        problems.extend(find_problems(&tasks));
        Self { name, tasks, problems }
    }

    pub fn find_task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == *id)
    }
}

fn read_task(value: &Value, at: usize, problems: &mut Vec<TaskProblem>) -> Option<Task> {
    let place = format!("task number {}", at + 1);
    let (fields, id) = fields_and_id(value, &place, problems)?;
    let Ok(id) = TaskId::new(&id) else {
        problems.push(TaskProblem::new(
            place,
            ProblemKind::WrongType,
            format!("its id '{id}' is not a task id"),
        ));
        return None;
    };
    let item = ItemId::Task(id.clone());
    let common = read_common(fields, &item, problems, |text| text.parse().ok());
    let subtasks = match fields.get("subtasks") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(values)) => values
            .iter()
            .enumerate()
            .filter_map(|(at, value)| read_subtask(value, at, &id, problems))
            .collect(),
        Some(_) => wrong(problems, &item, "subtasks", "a list"),
    };
    let Common { title, status, priority, dependencies } = common;
    Some(Task { id, title, status, priority, dependencies, subtasks, fields: fields.clone() })
}

fn read_subtask(
    value: &Value,
    at: usize,
    parent: &TaskId,
    problems: &mut Vec<TaskProblem>,
) -> Option<Subtask> {
    let place = format!("subtask number {} of task {parent}", at + 1);
    let (fields, id) = fields_and_id(value, &place, problems)?;
    // A dotted id repeats the parent's id.
    let own = id.rsplit('.').next().unwrap_or_default();
    let Ok(id) = SubtaskId::new(own) else {
        problems.push(TaskProblem::new(
            place,
            ProblemKind::WrongType,
            format!("its id '{id}' is not a subtask id"),
        ));
        return None;
    };
    let item = ItemId::Subtask(parent.clone(), id.clone());
    // A bare id is a sibling.
    let sibling = |text: &str| {
        let bare = SubtaskId::new(text).map(|id| ItemId::Subtask(parent.clone(), id));
        bare.or_else(|_| text.parse()).ok()
    };
    let Common { title, status, priority, dependencies } = read_common(fields, &item, problems, sibling);
    let parent = parent.clone();
    Some(Subtask { id, parent, title, status, priority, dependencies, fields: fields.clone() })
}

fn fields_and_id<'a>(
    value: &'a Value,
    place: &str,
    problems: &mut Vec<TaskProblem>,
) -> Option<(&'a Map<String, Value>, String)> {
    let Value::Object(fields) = value else {
        problems.push(TaskProblem::new(place, ProblemKind::WrongType, "is not an object"));
        return None;
    };
    let id = fields.get("id").and_then(text_of);
    if id.is_none() {
        problems.push(TaskProblem::new(place, ProblemKind::WrongType, "has no id, so it cannot be used"));
    }
    Some((fields, id?))
}

/// Common fields of tasks and subtasks.
struct Common {
    title: String,
    status: TaskStatus,
    priority: Option<Priority>,
    dependencies: Vec<ItemId>,
}

fn read_common(
    fields: &Map<String, Value>,
    item: &ItemId,
    problems: &mut Vec<TaskProblem>,
    dependency: impl Fn(&str) -> Option<ItemId>,
) -> Common {
    let mut text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(_) => wrong(problems, item, name, "a text"),
    };
    let (title, status, priority) = (text("title"), text("status"), text("priority"));
    let status = TaskStatus::from_word(&status);
    if let TaskStatus::Other(word) = &status {
        problems.push(TaskProblem::new(
            item,
            ProblemKind::UnknownStatus,
            format!("its status '{word}' is unknown"),
        ));
    }
    let known = priority.parse().ok();
    if known.is_none() && !priority.is_empty() {
        let message = format!("its priority '{priority}' is unknown and counts as medium");
        problems.push(TaskProblem::new(item, ProblemKind::UnknownPriority, message));
    }
    let dependencies = match fields.get("dependencies") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(values)) => {
            let mut read = Vec::new();
            for value in values {
                let id = text_of(value).as_deref().and_then(&dependency);
                if id.is_none() {
                    let message = format!("depends on {value}, which is not an id");
                    problems.push(TaskProblem::new(item, ProblemKind::WrongType, message));
                }
                read.extend(id);
            }
            read
        }
        Some(_) => wrong(problems, item, "dependencies", "a list"),
    };
    Common { title, status, priority: known, dependencies }
}

/// Records a field with the wrong type; it counts as absent.
fn wrong<T: Default>(problems: &mut Vec<TaskProblem>, item: &ItemId, field: &str, expected: &str) -> T {
    problems.push(TaskProblem::new(item, ProblemKind::WrongType, format!("its '{field}' is not {expected}")));
    T::default()
}

#[cfg(test)]
mod tests;
