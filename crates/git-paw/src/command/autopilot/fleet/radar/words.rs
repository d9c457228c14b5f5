//! A collision in words.

use paw_broker::radar::{FileFacts, Level, LineRange};
use serde_json::{Value, json};

use super::super::super::words::line;
use super::Sailor;

/// A file that two have changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Collision {
    pub(super) task: String,
    /// Another task, or an agent of the session.
    pub(super) other: String,
    pub(super) path: String,
    pub(super) fits: Fits,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fits {
    /// git says it does not merge.
    No {
        own: Vec<LineRange>,
        others: Vec<LineRange>,
    },
    Unknown,
    Yes,
}

impl Collision {
    pub(in super::super) fn shown(&self) -> String {
        let (task, other, path) = (&self.task, &self.other, line(&self.path));
        format!("{path}: task {task} and {other} change it, {}", self.fits.shown())
    }

    pub(in super::super) fn document(&self) -> Value {
        let (own, others) = match &self.fits {
            Fits::No { own, others } => (own.as_slice(), others.as_slice()),
            Fits::Unknown | Fits::Yes => (&[][..], &[][..]),
        };
        let merges = match self.fits {
            Fits::No { .. } => Some(false),
            Fits::Yes => Some(true),
            Fits::Unknown => None,
        };
        json!({"task": self.task, "other": self.other, "path": self.path, "merges": merges,
            "lines": own, "otherLines": others})
    }
}

impl Fits {
    fn shown(&self) -> String {
        match self {
            Self::Yes => "and both changes merge".to_owned(),
            Self::Unknown => "and nobody can say whether that merges".to_owned(),
            Self::No { own, others } => match (lines(own), lines(others)) {
                (Some(own), Some(others)) => format!("and {own} and {others} do not merge"),
                _ => "and that does not merge".to_owned(),
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

/// While they work. What merges is no news where both build on the same work.
pub(super) fn in_flight(one: &Sailor, other: &Sailor, level: Level, file: &FileFacts) -> Option<String> {
    let (task, path) = (&one.task, line(&file.path));
    let fits = match level {
        Level::Cleared => {
            return Some(format!("[{task}] {path}: no longer collides with task {}", other.task));
        }
        Level::Escalated => return None,
        Level::Additive if are_related(one, other) => return None,
        Level::Additive => Fits::Yes,
        Level::Overlap => Fits::Unknown,
        Level::Conflict => Fits::No { own: file.your_lines.clone(), others: file.their_lines.clone() },
    };
    Some(format!("[{task}] {path}: task {} changes it too, {}", other.task, fits.shown()))
}

/// Whether one builds on the other, or both on a third.
pub(super) fn are_related(one: &Sailor, other: &Sailor) -> bool {
    one.after.contains(&other.task)
        || other.after.contains(&one.task)
        || one.after.intersection(&other.after).next().is_some()
}

#[cfg(test)]
mod tests {
    use paw_autopilot::tasks::TaskId;
    use paw_core::AgentId;

    use super::*;

    fn sailor(task: &str, after: &[&str]) -> Sailor {
        let id = |task: &str| TaskId::new(task).unwrap();
        let after = after.iter().map(|task| id(task)).collect();
        Sailor { task: id(task), agent: AgentId::new(format!("task-{task}")).unwrap(), after }
    }

    #[test]
    fn a_collision_says_who_where_and_whether_it_merges() {
        let mut file = FileFacts::path("a\u{1b}[31m.py");
        (file.your_lines, file.their_lines) = (vec![LineRange(1, 1)], vec![LineRange(2, 4), LineRange(9, 9)]);
        let said = |level| in_flight(&sailor("1", &[]), &sailor("2", &[]), level, &file);
        let conflict = "[1] a.py: task 2 changes it too, and line 1 and lines 2-4, 9 do not merge";
        assert_eq!(said(Level::Conflict).as_deref(), Some(conflict));
        assert_eq!(
            said(Level::Additive).as_deref(),
            Some("[1] a.py: task 2 changes it too, and both changes merge")
        );
        assert_eq!(said(Level::Cleared).as_deref(), Some("[1] a.py: no longer collides with task 2"));
        assert_eq!(said(Level::Escalated), None);
        for (one, other) in [(&[][..], &["1"][..]), (&["3"], &["3"])] {
            assert_eq!(in_flight(&sailor("1", one), &sailor("2", other), Level::Additive, &file), None);
        }
    }
}
