//! Commit messages from the project's template, with git trailers.

use paw_core::text;

use crate::tasks::{ItemId, TagName, TaskId};

/// Longer subjects are cut at a word boundary.
const LONGEST_SUBJECT: usize = 100;
/// The trailer with the finished subtask.
pub const SUBTASK_TRAILER: &str = "Subtask";

/// The commit message of a subtask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMessage<'a> {
    pub template: &'a str,
    pub kind: &'a str,
    pub scope: &'a str,
    pub task: &'a TaskId,
    pub subtask: &'a ItemId,
    pub title: &'a str,
    pub tag: &'a TagName,
    /// The number of tests that failed first and then passed.
    pub proven: usize,
    pub passed: usize,
    pub co_author: Option<&'a str>,
}

impl CommitMessage<'_> {
    pub fn subject(&self) -> String {
        let title = one_line(self.title);
        let suffix = format!(" (task {})", self.subtask);
        let short = |room: usize| cut(&lower_first(&title), room);
        let filled = |title: &str| self.fill(title, &suffix);
        let whole = filled(&lower_first(&title));
        let over = whole.chars().count().saturating_sub(LONGEST_SUBJECT);
        if over == 0 { whole } else { filled(&short(title.chars().count().saturating_sub(over))) }
    }

    fn fill(&self, title: &str, suffix: &str) -> String {
        let index = match self.subtask {
            ItemId::Task(id) => id.as_str(),
            ItemId::Subtask(_, id) => id.as_str(),
        };
        // A template with the subtask id needs no suffix.
        let template = one_line(self.template);
        let named = template.contains("{subtaskIndex}") || template.contains("{subtaskId}");
        let message = if named { title.to_owned() } else { format!("{title}{suffix}") };
        let (subtask, scope) = (self.subtask.to_string(), one_line(self.scope));
        let mut filled = template;
        for (token, value) in [
            ("{type}", self.kind),
            ("{scope}", scope.as_str()),
            ("{taskId}", self.task.as_str()),
            ("{id}", self.task.as_str()),
            ("{subtaskIndex}", index),
            ("{subtaskId}", subtask.as_str()),
            ("{tag}", self.tag.as_str()),
            ("{description}", message.as_str()),
            ("{msg}", message.as_str()),
        ] {
            filled = filled.replace(token, value);
        }
        filled
    }

    /// The whole message. The last paragraph contains only trailers, otherwise git does not parse them.
    pub fn text(&self) -> String {
        let mut lines = vec![
            format!("Task: {}", self.task),
            format!("{SUBTASK_TRAILER}: {}", self.subtask),
            format!("Tag: {}", one_line(self.tag.as_str())),
            format!("Tests: {} proven, {} passing", self.proven, self.passed),
        ];
        lines.extend(self.co_author.map(|author| format!("Co-authored-by: {}", one_line(author))));
        format!("{}\n\n{}\n", self.subject(), lines.join("\n"))
    }
}

fn one_line(words: &str) -> String {
    text::line(words).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `Add schema` begins a sentence; `API key` does not.
fn lower_first(title: &str) -> String {
    let mut chars = title.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), second) if second.is_none_or(|second| !second.is_uppercase()) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => title.to_owned(),
    }
}

/// As many words as fit.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(room.saturating_sub(1)).collect();
    let whole = beginning.rsplit_once(' ').map_or(beginning.as_str(), |(whole, _)| whole);
    format!("{whole}…")
}

/// The subtask in a trailer's value.
pub fn finished_subtask(trailer: &str) -> Option<ItemId> {
    trailer.lines().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subject(template: &str, title: &str) -> String {
        written(template, title).0
    }

    /// The subject, and the whole message.
    fn written(template: &str, title: &str) -> (String, String) {
        let (task, tag) = (TaskId::new("42").unwrap(), TagName::new("analytics").unwrap());
        let message = CommitMessage {
            template,
            kind: "feat",
            scope: "metrics",
            task: &task,
            subtask: &"42.1".parse().unwrap(),
            title,
            tag: &tag,
            proven: 3,
            passed: 120,
            co_author: Some("A <a@b>"),
        };
        (message.subject(), message.text())
    }

    #[test]
    fn commit_subject_follows_the_template() {
        let of = |template| subject(template, "Add metrics schema");
        assert_eq!(of("{type}({scope}): {msg}"), "feat(metrics): add metrics schema (task 42.1)");
        assert_eq!(
            of("{type}({scope}): {description} (Task {taskId}.{subtaskIndex})"),
            "feat(metrics): add metrics schema (Task 42.1)"
        );
        assert_eq!(subject("{msg}", "API keys"), "API keys (task 42.1)");
    }

    #[test]
    fn commit_subject_is_one_short_line() {
        let line =
            subject("{type}({scope}): {msg}", &format!("Add\n\nTask: 1\u{1b}[31m {}", "word ".repeat(60)));
        assert!(line.chars().count() <= LONGEST_SUBJECT && line.ends_with("… (task 42.1)"), "{line}");
        assert!(!line.contains('\n'));
    }

    #[test]
    fn last_paragraph_of_a_commit_message_is_only_trailers() {
        let (_, text) = written("{type}({scope}): {msg}", "Add metrics schema");
        insta::assert_snapshot!(text, @"
        feat(metrics): add metrics schema (task 42.1)

        Task: 42
        Subtask: 42.1
        Tag: analytics
        Tests: 3 proven, 120 passing
        Co-authored-by: A <a@b>
        ");
        assert_eq!(finished_subtask("42.1\n"), Some("42.1".parse().unwrap()));
        assert_eq!(finished_subtask(""), None);
    }

    proptest! {
        #[test]
        fn every_title_gives_a_single_line_subject(title in "\\PC{0,200}|[\\s\\S]{0,60}") {
            let line = subject("{type}({scope}): {msg}", &title);
            prop_assert!(!line.chars().any(char::is_control));
        }
    }
}
