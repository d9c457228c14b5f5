//! Whether the scan of a worktree causes a status message. Pure.

use std::path::PathBuf;
use std::time::Duration;

use paw_core::AgentId;
use paw_host::git::WorktreeSnapshot;
use serde::{Deserialize, Serialize};

use crate::message::{Message, StatusMessage, StatusSource};

/// The most files in a status. Above this, the status also has the total.
const MAX_FILES: usize = 5_000;

const GONE: &str = "gone";

/// The last status of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastStatus {
    pub(super) changed: Vec<PathBuf>,
    pub(super) clean: bool,
    tree: String,
    head: Option<String>,
    at: Duration,
}

impl LastStatus {
    pub(super) fn new(taken: &WorktreeSnapshot, at: Duration) -> Self {
        let (changed, clean) = (taken.changed.clone(), taken.clean);
        Self { changed, clean, tree: taken.tree.clone(), head: taken.head.clone(), at }
    }
}

/// Whether to send a status. The first scan of a clean worktree sends none. After that, a change of the list of files is
/// sent at once; further edits of the same files are sent after a commit or after `republish_after`, unless it is zero.
pub(super) fn is_news(
    last: Option<&LastStatus>,
    taken: &WorktreeSnapshot,
    now: Duration,
    republish_after: Duration,
) -> bool {
    let Some(last) = last else { return !taken.changed.is_empty() };
    if last.changed != taken.changed {
        return true;
    }
    let edited = last.tree != taken.tree;
    let due = last.head != taken.head || now.saturating_sub(last.at) >= republish_after;
    edited && due && !republish_after.is_zero()
}

/// The status of an agent that changed these files. `clean`: all of them are committed.
pub(super) fn status(
    agent: &AgentId,
    cli: Option<&str>,
    (changed, clean): (&[PathBuf], bool),
    note: Option<&str>,
) -> Message {
    let word = if clean && !changed.is_empty() { "committed" } else { "working" };
    let mut status = StatusMessage::new(agent.clone(), word);
    // JSON is UTF-8: other names get replacement characters.
    let files = changed.iter().take(MAX_FILES).map(|path| path.to_string_lossy().into_owned()).collect();
    status.modified_files = Some(files);
    status.cli = cli.map(str::to_owned);
    status.message = note.map(str::to_owned);
    status.set_source(StatusSource::Watcher);
    if changed.len() > MAX_FILES {
        status.extra.payload.insert("modified_files_total".into(), changed.len().into());
    }
    status.into()
}

/// The last status of an agent that left: its worktree or the agent was removed.
pub fn gone_message(agent: &AgentId) -> Message {
    let mut status = StatusMessage::new(agent.clone(), GONE);
    status.modified_files = Some(Vec::new());
    status.message = Some("left the session".to_owned());
    status.set_source(StatusSource::Watcher);
    status.into()
}

/// What happened to the snapshot of an agent's work, which other machines fetch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotNote {
    Commit(String),
    /// Why there is none.
    Problem(String),
}

impl SnapshotNote {
    const FIELD: &str = "snapshot";

    /// A status that announces it. Without a snapshot, only the names of the files are known.
    pub fn to_message(&self, agent: &AgentId, files: &[String]) -> Message {
        let mut status = StatusMessage::new(agent.clone(), "working");
        if let Self::Problem(problem) = self {
            status.modified_files = Some(files.iter().take(MAX_FILES).cloned().collect());
            status.message = Some(problem.clone());
        }
        status.set_source(StatusSource::Watcher);
        let note = serde_json::to_value(self).unwrap_or_default();
        status.extra.payload.insert(Self::FIELD.to_owned(), note);
        status.into()
    }

    /// The note in a status of a watcher.
    pub fn find(message: &Message) -> Option<Self> {
        let Message::Status(status) = message else { return None };
        let note = status.extra.payload.get(Self::FIELD)?;
        Self::deserialize(note).ok().filter(|_| status.source() == Some(StatusSource::Watcher))
    }
}

/// Whether a message is a [`gone_message`].
pub fn is_gone_message(message: &Message) -> bool {
    let Message::Status(status) = message else { return false };
    status.status == GONE && status.source() == Some(StatusSource::Watcher)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_mins(1);

    fn taken(files: &[&str], tree: &str, head: &str) -> WorktreeSnapshot {
        WorktreeSnapshot {
            work: "w".into(),
            tree: tree.into(),
            head: Some(head.into()),
            clean: false,
            changed: files.iter().map(PathBuf::from).collect(),
            left_out: Vec::new(),
            emptied_dirs: Vec::new(),
        }
    }

    fn after(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_clean_worktree_sends_no_first_status_but_one_when_it_becomes_clean_again() {
        assert!(!is_news(None, &taken(&[], "t", "h"), after(0), TTL));
        assert!(is_news(None, &taken(&["a"], "t", "h"), after(0), TTL));
        let last = LastStatus::new(&taken(&["a"], "t", "h"), after(0));
        assert!(is_news(Some(&last), &taken(&[], "u", "h"), after(1), TTL));
    }

    #[test]
    fn edits_of_the_same_files_are_sent_again_only_after_a_while() {
        let last = LastStatus::new(&taken(&["a"], "t", "h"), after(0));
        assert!(!is_news(Some(&last), &taken(&["a"], "u", "h"), after(59), TTL));
        assert!(is_news(Some(&last), &taken(&["a"], "u", "h"), after(60), TTL));
        assert!(!is_news(Some(&last), &taken(&["a"], "t", "h"), after(600), TTL), "nothing was edited");
        assert!(!is_news(Some(&last), &taken(&["a"], "u", "h"), after(600), Duration::ZERO));
    }

    #[test]
    fn an_edit_after_a_commit_is_sent_at_once() {
        let last = LastStatus::new(&taken(&["a"], "t", "h"), after(0));
        assert!(!is_news(Some(&last), &taken(&["a"], "t", "h2"), after(1), TTL), "a commit is not an edit");
        assert!(is_news(Some(&last), &taken(&["a"], "u", "h2"), after(2), TTL));
    }

    #[test]
    fn status_is_committed_if_all_changed_files_are_committed() {
        let agent = AgentId::new("feat-a").unwrap();
        let word = |files: &[&str], clean| {
            let files: Vec<_> = files.iter().map(PathBuf::from).collect();
            match status(&agent, None, (&files, clean), None) {
                Message::Status(status) => status.status,
                other => panic!("{other}"),
            }
        };
        assert_eq!((word(&["a"], true), word(&["a"], false)), ("committed".into(), "working".into()));
        assert_eq!(word(&[], true), "working", "the branch has no changes");
    }

    #[test]
    fn status_has_a_limited_list_of_files_and_their_total() {
        let many: Vec<PathBuf> = (0..=MAX_FILES).map(|number| number.to_string().into()).collect();
        let agent = AgentId::new("feat-a").unwrap();
        let Message::Status(status) = status(&agent, Some("claude"), (&many, false), None) else { panic!() };
        assert_eq!(status.files().len(), MAX_FILES);
        assert_eq!(status.extra.payload["modified_files_total"], MAX_FILES + 1);
        assert_eq!(status.extra.payload["source"], "watcher");
    }
}
