//! Task and subtask ids. Files store numbers or strings; ids compare as text.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::TaskError;

/// Long enough for issue trackers, short enough for a branch name.
const LONGEST: usize = 40;

macro_rules! id_text {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl TryFrom<String> for $name {
            type Error = TaskError;

            fn try_from(text: String) -> Result<Self, TaskError> {
                Self::new(&text)
            }
        }

        impl $name {
            pub fn new(text: &str) -> Result<Self, TaskError> {
                let text = text.trim();
                let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                if text.is_empty() || text.len() > LONGEST || !text.chars().all(legal) || text.starts_with('-') {
                    return Err(TaskError::BadId(text.to_owned()));
                }
                Ok(Self(text.to_owned()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The id as a number, if it is one.
            pub fn number(&self) -> Option<u64> {
                self.0.parse().ok()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        /// Numbers first, by value.
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                let key = |id: &Self| (id.number().is_none(), id.number());
                key(self).cmp(&key(other)).then_with(|| self.0.cmp(&other.0))
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }
    };
}

id_text!(
    /// A task within its tag: `42`, `HAM-12`.
    TaskId
);

id_text!(
    /// A subtask within its task: `3`.
    SubtaskId
);

/// A task or a subtask.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemId {
    Task(TaskId),
    Subtask(TaskId, SubtaskId),
}

impl ItemId {
    pub fn task(&self) -> &TaskId {
        match self {
            Self::Task(task) | Self::Subtask(task, _) => task,
        }
    }

    pub fn noun(&self) -> String {
        match self {
            Self::Task(id) => format!("task {id}"),
            Self::Subtask(..) => format!("subtask {self}"),
        }
    }
}

impl FromStr for ItemId {
    type Err = TaskError;

    fn from_str(text: &str) -> Result<Self, TaskError> {
        let bad = || TaskError::BadId(text.to_owned());
        match text.trim().split_once('.') {
            None => Ok(Self::Task(TaskId::new(text).map_err(|_| bad())?)),
            Some((task, subtask)) => Ok(Self::Subtask(
                TaskId::new(task).map_err(|_| bad())?,
                SubtaskId::new(subtask).map_err(|_| bad())?,
            )),
        }
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => task.fmt(f),
            Self::Subtask(task, subtask) => write!(f, "{task}.{subtask}"),
        }
    }
}

impl Serialize for ItemId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ItemId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The text of an id, stored as a number or string. `5.2` is a valid dependency.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dotted_id_is_a_subtask() {
        assert_eq!("42".parse::<ItemId>().unwrap().noun(), "task 42");
        assert_eq!(" 42.3 ".parse::<ItemId>().unwrap().noun(), "subtask 42.3");
        assert_eq!("HAM-12.1".parse::<ItemId>().unwrap().task().as_str(), "HAM-12");
        for bad in ["", ".", "1.", ".1", "1.2.3", "a b", "-x", "../x", "1\n"] {
            assert_eq!(bad.parse::<ItemId>().is_ok(), bad == "1\n", "{bad:?}");
        }
    }

    #[test]
    fn numbers_sort_by_value_and_before_words() {
        let mut ids: Vec<_> = ["B-1", "10", "9", "A-2"].map(|id| TaskId::new(id).unwrap()).into();
        ids.sort();
        assert_eq!(ids.iter().map(TaskId::as_str).collect::<Vec<_>>(), ["9", "10", "A-2", "B-1"]);
    }

    proptest! {
        #[test]
        fn an_id_survives_being_written_and_read(text in "\\PC{0,12}") {
            if let Ok(id) = text.parse::<ItemId>() {
                prop_assert_eq!(id.to_string().parse::<ItemId>().unwrap(), id);
            }
        }
    }
}
