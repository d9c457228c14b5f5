//! Tasks and subtasks: only the id is required, and every field is kept.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::TaskError;
use super::id::{ItemId, SubtaskId, TaskId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskStatus {
    Pending,
    InProgress,
    Done,
    Review,
    Blocked,
    Deferred,
    Cancelled,
    /// A status of another program: kept and shown, never set.
    Other(String),
}

impl TaskStatus {
    /// The status for a word in the file. Empty means pending.
    pub fn from_word(word: &str) -> Self {
        match word.trim().to_lowercase().as_str() {
            "" | "pending" => Self::Pending,
            "in-progress" => Self::InProgress,
            "done" | "completed" => Self::Done,
            "review" => Self::Review,
            "blocked" => Self::Blocked,
            "deferred" => Self::Deferred,
            "cancelled" => Self::Cancelled,
            _ => Self::Other(word.to_owned()),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in-progress",
            Self::Done => "done",
            Self::Review => "review",
            Self::Blocked => "blocked",
            Self::Deferred => "deferred",
            Self::Cancelled => "cancelled",
            Self::Other(word) => word,
        }
    }

    /// It can be worked on.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }

    /// No further work will happen.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Done | Self::Cancelled)
    }
}

/// A status from the command line must be known.
impl FromStr for TaskStatus {
    type Err = TaskError;

    fn from_str(word: &str) -> Result<Self, TaskError> {
        match Self::from_word(word) {
            Self::Pending if word.trim().is_empty() => Err(TaskError::BadStatus(word.to_owned())),
            Self::Other(word) => Err(TaskError::BadStatus(word)),
            status => Ok(status),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Priority {
    Low,
    #[default]
    Medium,
    High,
    Critical,
}

impl Priority {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl FromStr for Priority {
    type Err = TaskError;

    fn from_str(word: &str) -> Result<Self, TaskError> {
        match word.trim().to_lowercase().as_str() {
            "low" => Ok(Self::Low),
            "medium" => Ok(Self::Medium),
            "high" => Ok(Self::High),
            "critical" => Ok(Self::Critical),
            _ => Err(TaskError::BadPriority(word.to_owned())),
        }
    }
}

macro_rules! shown_as_word {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

shown_as_word!(TaskStatus);
shown_as_word!(Priority);

#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    pub status: TaskStatus,
    /// The priority in the file; `None` counts as medium.
    pub priority: Option<Priority>,
    pub dependencies: Vec<ItemId>,
    pub subtasks: Vec<Subtask>,
    /// All fields of the file, including those above.
    pub fields: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Subtask {
    pub id: SubtaskId,
    /// The task that contains it, whatever its `parentId`.
    pub parent: TaskId,
    pub title: String,
    pub status: TaskStatus,
    pub priority: Option<Priority>,
    pub dependencies: Vec<ItemId>,
    pub fields: Map<String, Value>,
}

impl Task {
    pub fn item(&self) -> ItemId {
        ItemId::Task(self.id.clone())
    }

    pub fn find_subtask(&self, id: &SubtaskId) -> Option<&Subtask> {
        self.subtasks.iter().find(|subtask| subtask.id == *id)
    }
}

impl Subtask {
    pub fn item(&self) -> ItemId {
        ItemId::Subtask(self.parent.clone(), self.id.clone())
    }
}

/// A text field; `None` if it is absent, empty or not a text.
pub fn text_field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// A list of texts; a single text is split into lines, as in older files.
pub fn list_field(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    let clean = |line: &str| line.trim().trim_start_matches(['-', '*', '•']).trim().to_owned();
    let lines: Vec<String> = match fields.get(name) {
        Some(Value::String(text)) => text.lines().map(clean).collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(clean).collect(),
        _ => Vec::new(),
    };
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn completed_means_done_and_unknown_statuses_are_kept() {
        assert_eq!(TaskStatus::from_word("Completed"), TaskStatus::Done);
        assert_eq!(TaskStatus::from_word(""), TaskStatus::Pending);
        assert_eq!(TaskStatus::from_word("on hold").as_str(), "on hold");
        assert!("on hold".parse::<TaskStatus>().is_err() && "".parse::<TaskStatus>().is_err());
    }

    #[test]
    fn acceptance_criteria_may_be_a_text_or_a_list() {
        let fields = json!({"a": "- one\n\n* two", "b": ["one", 2, " two "], "c": 3});
        let fields = fields.as_object().unwrap();
        assert_eq!(list_field(fields, "a"), ["one", "two"]);
        assert_eq!(list_field(fields, "b"), ["one", "two"]);
        assert!(list_field(fields, "c").is_empty() && list_field(fields, "d").is_empty());
    }
}
