//! The branch name of a task, from the project's pattern.

use paw_core::text::strip_terminal_codes;
use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport};

use crate::tasks::tag::dashed;
use crate::tasks::{TagName, TaskId};

/// Longer slugs are cut at a word boundary.
const LONGEST_SLUG: usize = 40;

/// A title as part of a branch name: lower case, words joined by dashes; letters of any language are kept.
pub fn slug(title: &str) -> String {
    let whole = dashed(&strip_terminal_codes(title), char::is_alphanumeric);
    if whole.chars().count() <= LONGEST_SLUG {
        return whole;
    }
    let mut slug = String::new();
    for word in whole.split('-') {
        let length = slug.chars().count() + usize::from(!slug.is_empty()) + word.chars().count();
        if length > LONGEST_SLUG {
            break;
        }
        slug.push_str(if slug.is_empty() { "" } else { "-" });
        slug.push_str(word);
    }
    if slug.is_empty() { whole.chars().take(LONGEST_SLUG).collect() } else { slug }
}

/// A branch name, and the preferred one if that clashes with an existing branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchChoice {
    pub branch: BranchName,
    pub instead_of: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the branch pattern '{pattern}' gives '{name}', which git cannot create")]
pub struct BranchNameError {
    pattern: String,
    name: String,
}

impl Diagnostic for BranchNameError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self)
            .hint("change git.branchPattern in .taskmaster/config.json")
    }
}

/// Chooses the first valid name: from the pattern, then two fallbacks for a branch with the tag's name.
pub fn choose_branch(
    pattern: &str,
    tag: &TagName,
    task: &TaskId,
    title: &str,
    existing: &[BranchName],
) -> Result<BranchChoice, BranchNameError> {
    let filled = |pattern: &str| fill(pattern, tag, task, title);
    let preferred = filled(pattern);
    for (at, candidate) in
        [pattern, "task/{tag}-{id}-{slug}", "task-{tag}-{id}-{slug}"].into_iter().enumerate()
    {
        let name = filled(candidate);
        let Ok(branch) = BranchName::new(&name) else { continue };
        if !existing.iter().any(|other| excludes(other.as_str(), &name)) {
            return Ok(BranchChoice { branch, instead_of: (at > 0).then_some(preferred) });
        }
    }
    Err(BranchNameError { pattern: pattern.to_owned(), name: preferred })
}

fn fill(pattern: &str, tag: &TagName, task: &TaskId, title: &str) -> String {
    // A tag from the file may contain any character.
    let tag = dashed(tag.as_str(), |c| c.is_alphanumeric() || c == '_');
    let (slug, id) = (slug(title), task.as_str());
    let mut name = pattern.to_owned();
    for (token, value) in [
        ("{tag}", tag.as_str()),
        ("{id}", id),
        ("{taskId}", id),
        ("{slug}", slug.as_str()),
        ("{description}", slug.as_str()),
    ] {
        name = name.replace(token, value);
    }
    // A title without letters leaves a dash.
    let parts = name.split('/').map(|part| part.trim_matches('-')).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("/")
}

/// git stores branches as files: `a` and `a/b` cannot both exist.
fn excludes(other: &str, name: &str) -> bool {
    let below = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
    below(name, other) || below(other, name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn picked(pattern: &str, tag: &str, title: &str, existing: &[&str]) -> BranchChoice {
        let existing: Vec<_> = existing.iter().map(|name| BranchName::new(*name).unwrap()).collect();
        choose_branch(pattern, &TagName::new(tag).unwrap(), &TaskId::new("42").unwrap(), title, &existing)
            .unwrap()
    }

    #[test]
    fn slug_is_at_most_forty_characters_of_whole_words() {
        assert_eq!(slug("User metrics tracking"), "user-metrics-tracking");
        assert_eq!(slug("  Fix: the (very) Big `bug`! "), "fix-the-very-big-bug");
        assert_eq!(
            slug("Add a collection endpoint for all user metrics events"),
            "add-a-collection-endpoint-for-all-user"
        );
        assert_eq!(slug(&"x".repeat(60)), "x".repeat(40));
        assert_eq!(slug("Überblick 概要"), "überblick-概要");
        assert_eq!(slug("!!!"), "");
        assert_eq!(slug("User \u{1b}[31mmetrics\u{1b}[0m\u{1b}]0;evil\u{7} now"), "user-metrics-now");
        assert_eq!(slug("a\u{9b}1;2mb \u{1b}Pq;x\u{1b}\\c \u{1b}(Bd \u{1b}]never ends"), "ab-c-d-never-ends");
        assert_eq!(slug("\u{1b}"), "");
    }

    #[test]
    fn branch_name_follows_the_pattern() {
        let name = |pattern| picked(pattern, "analytics", "User metrics", &["main"]).branch.to_string();
        assert_eq!(name("{tag}/task-{id}-{slug}"), "analytics/task-42-user-metrics");
        assert_eq!(name("task-{taskId}"), "task-42");
        assert_eq!(picked("{tag}/task-{id}-{slug}", "a", "!!!", &[]).branch.as_str(), "a/task-42");
    }

    #[test]
    fn branch_name_avoids_a_branch_with_the_tags_name() {
        let found = picked("{tag}/task-{id}-{slug}", "master", "User metrics", &["master"]);
        assert_eq!(found.branch.as_str(), "task/master-42-user-metrics");
        assert_eq!(found.instead_of.as_deref(), Some("master/task-42-user-metrics"));
        let found = picked("{tag}/task-{id}-{slug}", "master", "x", &["master", "task"]);
        assert_eq!(found.branch.as_str(), "task-master-42-x");
        let found = picked("{tag}", "a", "x", &["a/b"]);
        assert_eq!(found.branch.as_str(), "task/a-42-x");
    }

    #[test]
    fn invalid_branch_pattern_uses_the_fallback() {
        assert_eq!(picked("{tag}..{id}~", "a", "x", &[]).branch.as_str(), "task/a-42-x");
    }

    proptest! {
        #[test]
        fn every_title_gives_a_branch(title in "\\PC{0,80}", tag in "[A-Za-z0-9_-]{1,20}") {
            let slug = slug(&title);
            prop_assert!(slug.chars().count() <= LONGEST_SLUG && !slug.starts_with('-') && !slug.ends_with('-'));
            picked("{tag}/task-{id}-{slug}", &tag, &title, &["main"]);
        }
    }
}
