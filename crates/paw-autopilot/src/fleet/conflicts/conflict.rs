//! A file changed by two tasks, or by a task and a session agent.

use paw_broker::conflict::{ConflictFile, ConflictLevel, LineRange};
use serde_json::{Value, json};

use super::TaskAgent;

/// A file changed on both sides. The path is relative to the repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskConflict {
    pub(super) task: String,
    /// Another task, or a session agent.
    pub(super) other: String,
    pub(super) path: String,
    pub(super) fits: Mergeability,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mergeability {
    /// git cannot merge both changes.
    No {
        own: Vec<LineRange>,
        others: Vec<LineRange>,
    },
    Unknown,
    Yes,
}

impl TaskConflict {
    pub fn shown(&self) -> String {
        let (task, other, path) = (&self.task, &self.other, &self.path);
        format!("{path}: task {task} and {other} change it, {}", self.fits.shown())
    }

    pub fn document(&self) -> Value {
        let (own, others) = match &self.fits {
            Mergeability::No { own, others } => (own.as_slice(), others.as_slice()),
            Mergeability::Unknown | Mergeability::Yes => (&[][..], &[][..]),
        };
        let merges = match self.fits {
            Mergeability::No { .. } => Some(false),
            Mergeability::Yes => Some(true),
            Mergeability::Unknown => None,
        };
        json!({"task": self.task, "other": self.other, "path": self.path, "merges": merges,
            "lines": own, "otherLines": others})
    }
}

impl Mergeability {
    fn shown(&self) -> String {
        match self {
            Self::Yes => "and both changes merge".to_owned(),
            Self::Unknown => "and it is unknown whether they merge".to_owned(),
            Self::No { own, others } => match (lines(own), lines(others)) {
                (Some(own), Some(others)) => format!("and {own} and {others} do not merge"),
                _ => "and they do not merge".to_owned(),
            },
        }
    }
}

fn lines(ranges: &[LineRange]) -> Option<String> {
    let shown = |LineRange(first, last): &LineRange| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let noun = if matches!(ranges, [LineRange(first, last)] if first == last) { "line" } else { "lines" };
    let all: Vec<String> = ranges.iter().map(shown).collect();
    (!all.is_empty()).then(|| format!("{noun} {}", all.join(", ")))
}

/// Describes a conflict while tasks run. Mergeable changes of related tasks are not reported.
pub(super) fn describe_in_flight(
    one: &TaskAgent,
    other: &TaskAgent,
    level: ConflictLevel,
    file: &ConflictFile,
) -> Option<String> {
    let (task, path) = (&one.task, &file.path);
    let fits = match level {
        ConflictLevel::Cleared => {
            return Some(format!("[{task}] {path}: no longer collides with task {}", other.task));
        }
        ConflictLevel::Escalated => return None,
        ConflictLevel::Additive if are_related(one, other) => return None,
        ConflictLevel::Additive => Mergeability::Yes,
        ConflictLevel::Overlap => Mergeability::Unknown,
        ConflictLevel::Conflict => {
            Mergeability::No { own: file.your_lines.clone(), others: file.their_lines.clone() }
        }
    };
    Some(format!("[{task}] {path}: task {} changes it too, {}", other.task, fits.shown()))
}

/// Whether one task depends on the other, or both on a third.
pub(super) fn are_related(one: &TaskAgent, other: &TaskAgent) -> bool {
    one.after.contains(&other.task)
        || other.after.contains(&one.task)
        || one.after.intersection(&other.after).next().is_some()
}

#[cfg(test)]
mod tests {
    use paw_core::AgentId;

    use super::*;
    use crate::tasks::TaskId;

    fn agent(task: &str, after: &[&str]) -> TaskAgent {
        let id = |task: &str| TaskId::new(task).unwrap();
        let after = after.iter().map(|task| id(task)).collect();
        TaskAgent { task: id(task), agent: AgentId::new(format!("task-{task}")).unwrap(), after }
    }

    #[test]
    fn conflict_message_names_tasks_lines_and_mergeability() {
        let mut file = ConflictFile::path("a.py");
        (file.your_lines, file.their_lines) = (vec![LineRange(1, 1)], vec![LineRange(2, 4), LineRange(9, 9)]);
        let message = |level| describe_in_flight(&agent("1", &[]), &agent("2", &[]), level, &file);
        let conflict = "[1] a.py: task 2 changes it too, and line 1 and lines 2-4, 9 do not merge";
        assert_eq!(message(ConflictLevel::Conflict).as_deref(), Some(conflict));
        assert_eq!(
            message(ConflictLevel::Additive).as_deref(),
            Some("[1] a.py: task 2 changes it too, and both changes merge")
        );
        assert_eq!(
            message(ConflictLevel::Cleared).as_deref(),
            Some("[1] a.py: no longer collides with task 2")
        );
        assert_eq!(message(ConflictLevel::Escalated), None);
        for (one, other) in [(&[][..], &["1"][..]), (&["3"], &["3"])] {
            assert_eq!(
                describe_in_flight(&agent("1", one), &agent("2", other), ConflictLevel::Additive, &file),
                None
            );
        }
    }
}
