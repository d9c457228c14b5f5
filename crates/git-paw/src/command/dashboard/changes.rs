//! Reads the work of an agent for the dashboard: the list of files, then the patch of one file at a time.

use std::sync::mpsc::{self as channel, Receiver, Sender};
use std::{io, thread};

use paw_core::{AgentId, PawError};
use paw_screen::dashboard::{ChangedFile, DashboardUpdate, WorkChanges};
use paw_screen::text::Text;
use paw_session::lifecycle::Session;
use paw_worktree::{FileChange, FileChangeKind, WorkDiff};
use tokio::sync::mpsc;

/// Longer patches are cut.
const MOST_LINES: usize = 50_000;

#[derive(Debug)]
pub(super) enum ChangesRequest {
    Files(AgentId),
    Patch(AgentId, ChangedFile),
}

/// Reads on a thread of its own, because a large worktree takes a while.
pub(super) fn start(
    session: Option<Session>,
    updates: mpsc::Sender<DashboardUpdate>,
) -> io::Result<Sender<ChangesRequest>> {
    let (sender, requests) = channel::channel();
    thread::Builder::new().name("paw-changes".into()).spawn(move || {
        if let Some(session) = session {
            serve(&session, &requests, &updates);
        }
    })?;
    Ok(sender)
}

fn serve(session: &Session, requests: &Receiver<ChangesRequest>, updates: &mpsc::Sender<DashboardUpdate>) {
    let mut read: Option<(AgentId, WorkDiff)> = None;
    while let Ok(request) = requests.recv() {
        // Only the latest request is still of interest.
        let update = match requests.try_iter().last().unwrap_or(request) {
            ChangesRequest::Files(agent) => match load(session, &agent) {
                Ok((diff, changes)) => {
                    read = Some((agent.clone(), diff));
                    DashboardUpdate::Changes { agent, found: Ok(changes) }
                }
                Err(error) => DashboardUpdate::Changes { agent, found: Err(Text::line(&error.to_string())) },
            },
            ChangesRequest::Patch(agent, file) => {
                let Some((_, diff)) = read.as_ref().filter(|(of, _)| *of == agent) else { continue };
                let lines = patch(diff, &agent, &file);
                let path = file.path.to_string_lossy().into_owned();
                DashboardUpdate::Patch { agent, path, lines }
            }
        };
        if updates.blocking_send(update).is_err() {
            return;
        }
    }
}

fn load(session: &Session, agent: &AgentId) -> Result<(WorkDiff, WorkChanges), PawError> {
    let session = session.reload()?;
    let session = session.ok_or_else(|| PawError::SessionError("the session was removed".to_owned()))?;
    let worktree = session.receipt.find_named(agent.as_str())?.0.worktree_path.clone();
    let diff = WorkDiff::take(&session.repo, &worktree)?;
    let files = diff.files()?.into_iter().map(changed_file).collect();
    let changes = WorkChanges { base: diff.base().to_owned(), committed: diff.is_committed(), files };
    Ok((diff, changes))
}

fn changed_file(file: FileChange) -> ChangedFile {
    let kind = match file.kind {
        FileChangeKind::Added => 'A',
        FileChangeKind::Deleted => 'D',
        FileChangeKind::Modified => 'M',
        FileChangeKind::Renamed => 'R',
    };
    ChangedFile { path: file.path, old_path: file.old_path, kind, added: file.added, removed: file.removed }
}

/// The patch of one file, without the lines that name it.
fn patch(diff: &WorkDiff, agent: &AgentId, file: &ChangedFile) -> Vec<String> {
    let paths: Vec<_> = file.old_path.iter().chain([&file.path]).cloned().collect();
    let patch = match diff.patch(&[], &paths) {
        Ok(patch) => patch,
        Err(error) => return vec![error.to_string()],
    };
    let patch = String::from_utf8_lossy(&patch);
    let names = ["diff --git ", "index ", "--- ", "+++ "];
    let mut in_hunk = false;
    let mut lines = patch.lines().filter(|line| {
        in_hunk |= line.starts_with("@@");
        in_hunk || !names.iter().any(|name| line.starts_with(name))
    });
    let mut kept: Vec<String> = lines.by_ref().take(MOST_LINES).map(str::to_owned).collect();
    let left = lines.count();
    if left > 0 {
        kept.push(format!("… {left} more lines: git paw diff {agent} -- {}", file.path.display()));
    }
    kept
}

#[cfg(test)]
mod tests {
    use paw_host::git::Repo;
    use paw_testkit::Sandbox;

    use super::*;

    #[test]
    fn the_patch_of_a_file_has_its_hunks_only_and_a_large_one_is_cut() {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.git(["switch", "--quiet", "--create", "feat/x"]);
        let long = "line\n".repeat(MOST_LINES + 10);
        repo.write("long.txt", &long);
        repo.write("README.md", "--- not a name\n");
        let diff = WorkDiff::take(&Repo::discover(&repo.root).unwrap(), &repo.root).unwrap();
        let agent = AgentId::new("feat-x").unwrap();
        let files: Vec<_> = diff.files().unwrap().into_iter().map(changed_file).collect();
        assert_eq!(files.iter().map(|file| file.kind).collect::<String>(), "MA");
        let small = patch(&diff, &agent, &files[0]);
        assert!(
            small[0].starts_with("@@") && small.iter().any(|line| line == "+--- not a name"),
            "{small:?}"
        );
        let large = patch(&diff, &agent, &files[1]);
        let last = large.last().unwrap();
        assert!(last.starts_with("… ") && last.ends_with("git paw diff feat-x -- long.txt"), "{last}");
        assert_eq!(large.len(), MOST_LINES + 1);
    }
}
