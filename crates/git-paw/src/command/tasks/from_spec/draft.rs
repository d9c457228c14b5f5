//! Converts a spec to a task: its title, its text as details, its open tasks as subtasks. Pure.

use paw_core::text;
use paw_core::{ErrorCode, PawError};
use paw_session::specs::{SpecEntry, SpecFormat};

/// Separates the feature's context from the agent's own tasks in a prompt.
const YOUR_TASK: &str = "## Your Task";

/// The task of a spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskDraft {
    pub(super) title: String,
    pub(super) details: String,
    pub(super) subtasks: Vec<SubtaskDraft>,
}

/// An open task of a spec, with the lines below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubtaskDraft {
    pub(super) title: String,
    pub(super) details: String,
}

pub(super) fn draft(entries: &[SpecEntry]) -> Result<TaskDraft, PawError> {
    let nothing = || PawError::new(ErrorCode::FailedPrecondition, "the spec has no tasks");
    let first = entries.first().ok_or_else(nothing)?;
    // The text with the title, and the whole text.
    let (titled, text) = match first.kind {
        SpecFormat::Speckit => {
            let context = first.prompt.rsplit_once(YOUR_TASK).map_or("", |(context, _)| context);
            (context, context)
        }
        SpecFormat::Openspec => {
            let tasks =
                first.prompt.split_once("\n\n## Spec: ").map_or(first.prompt.as_str(), |(tasks, _)| tasks);
            (tasks, first.prompt.as_str())
        }
        SpecFormat::Markdown | SpecFormat::Superpowers => (first.prompt.as_str(), first.prompt.as_str()),
    };
    let lists: Vec<CheckedItems> = entries.iter().map(listed).collect();
    let done: usize = lists.iter().map(|list| list.done).sum();
    let subtasks: Vec<SubtaskDraft> = lists.into_iter().flat_map(|list| list.open).collect();
    if subtasks.is_empty() && done > 0 {
        return Err(PawError::new(
            ErrorCode::FailedPrecondition,
            format!("every task of spec '{}' is done", text::line(&first.unit)),
        ));
    }
    // A part of a feature is a different source than the whole feature.
    let part = if entries.len() > 1 || first.id == first.unit { &first.unit } else { &first.id };
    let details = format!("Spec: {} ({part})\n\n{}", first.path.display(), text.trim());
    let title = heading(titled).unwrap_or_else(|| title_from_name(&first.unit));
    Ok(TaskDraft { title, details, subtasks })
}

#[derive(Debug, Default, PartialEq, Eq)]
struct CheckedItems {
    open: Vec<SubtaskDraft>,
    done: usize,
}

/// The tasks of a spec, outside code blocks.
fn listed(entry: &SpecEntry) -> CheckedItems {
    match entry.kind {
        SpecFormat::Speckit => {
            let own = entry.prompt.rsplit_once(YOUR_TASK).map_or("", |(_, own)| own);
            let is_task = |rest: &str| {
                rest.strip_prefix('T').is_some_and(|id| id.starts_with(|c: char| c.is_ascii_digit()))
            };
            boxes(own, |rest| is_task(rest).then_some((true, rest)))
        }
        SpecFormat::Openspec | SpecFormat::Markdown | SpecFormat::Superpowers => {
            boxes(&entry.prompt, check_box)
        }
    }
}

fn check_box(rest: &str) -> Option<(bool, &str)> {
    if let Some(rest) = rest.strip_prefix("[ ] ") {
        return Some((true, rest));
    }
    let rest = rest.strip_prefix("[x] ").or_else(|| rest.strip_prefix("[X] "))?;
    Some((false, rest))
}

fn boxes(text: &str, item: impl Fn(&str) -> Option<(bool, &str)>) -> CheckedItems {
    let mut list = CheckedItems::default();
    // The indent of the current open task; deeper lines belong to it.
    let mut at: Option<usize> = None;
    for line in plain_lines(text) {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let bullet = ["- ", "* ", "+ "].iter().find_map(|mark| bare.strip_prefix(mark));
        match bullet.and_then(|rest| item(rest.trim_start())) {
            Some((true, words)) if !unnumbered(words).is_empty() => {
                at = Some(indent);
                list.open.push(SubtaskDraft { title: unnumbered(words).to_owned(), details: String::new() });
            }
            Some((open, _)) => {
                at = None;
                list.done += usize::from(!open);
            }
            None if bare.is_empty() => {}
            None if at.is_some_and(|at| indent > at) => {
                if let Some(item) = list.open.last_mut() {
                    let between = if item.details.is_empty() { "" } else { "\n" };
                    item.details = format!("{}{between}{}", item.details, bare.trim_end());
                }
            }
            None => at = None,
        }
    }
    list
}

/// The lines outside of code blocks.
fn plain_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    text.lines().filter(move |line| {
        let marker = ["```", "~~~"].into_iter().find(|marker| line.trim_start().starts_with(marker));
        match (fence, marker) {
            (None, Some(_)) => fence = marker,
            (Some(open), Some(marker)) if open == marker => fence = None,
            (None, None) => return true,
            (Some(_), _) => {}
        }
        false
    })
}

/// Removes the number: `1.1 Create the table` and `T001 [P] [US1] Create the table` become `Create the table`.
fn unnumbered(words: &str) -> &str {
    let words = words.trim();
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let digits = first.strip_prefix('T').unwrap_or(first).trim_end_matches(['.', ')', ':']);
    let number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let mut rest = if number { rest.trim() } else { words };
    let is_mark = |mark: &str| mark.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    while let Some((mark, more)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        if !is_mark(mark) {
            break;
        }
        rest = more.trim();
    }
    rest
}

/// The first level-one heading other than "Tasks" or "Todo".
fn heading(text: &str) -> Option<String> {
    let headings = plain_lines(text).filter_map(|line| line.strip_prefix("# "));
    let said = headings.map(|heading| {
        let words = heading.trim().trim_end_matches('#').trim();
        let kinds = ["Feature Specification:", "Implementation Plan:", "Tasks:", "Change:", "Spec:"];
        kinds.iter().find_map(|kind| words.strip_prefix(kind)).unwrap_or(words).trim().to_owned()
    });
    said.into_iter()
        .find(|words| !words.is_empty() && !matches!(words.to_lowercase().as_str(), "tasks" | "todo"))
}

/// Turns `add-two-factor-auth` into `Add two factor auth` and `001-photo-albums` into `Photo albums`.
fn title_from_name(name: &str) -> String {
    let bare = name.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '_');
    let words = if bare.is_empty() { name } else { bare }.replace(['-', '_', '/'], " ");
    let mut letters = words.trim().chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
