//! One commit per subtask: the proven changes and the subtask's status, on the run's branch.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::{Git, GitError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::head::current_head;
use super::snapshot::is_run_file;
use super::{ActiveRun, WorkError};
use crate::engine::{RunEvent, RunStage, StepOutcome};
use crate::evidence::FileChange;
use crate::message::CommitMessage;
use crate::scope::scope;
use crate::tasks::{ItemId, TaskStatus};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskCommit {
    pub sha: String,
    /// The first line of the message.
    pub subject: String,
    pub subtask: ItemId,
}

/// A commit that git or a hook refused. The run is paused; files are unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRefusal {
    pub why: String,
}

impl ActiveRun {
    /// Commits the current subtask. A proof is not stored, so after a restart the tests run again.
    pub fn commit(
        &mut self,
        message: Option<&str>,
    ) -> Result<Result<SubtaskCommit, CommitRefusal>, WorkError> {
        let (mut now, mut tree) = self.take_tree()?;
        let spoilt =
            matches!(self.run.stage, RunStage::Commit { .. }) && self.tested_tree.as_ref() != Some(&tree);
        if spoilt || (self.notes.proven && matches!(self.run.stage, RunStage::Green { .. })) {
            self.run = self.run.checkpoint();
            self.complete()?;
            if !matches!(self.run.stage, RunStage::Commit { .. }) {
                return Err(WorkError::NotProven(self.notes.objections.clone()));
            }
            now = self.tested.clone().unwrap_or(now);
            tree = self.tested_tree.clone().unwrap_or(tree);
        }
        let RunStage::Commit { step, red, green } = self.run.stage.clone() else {
            return Err(match &self.run.stage {
                RunStage::Paused { reason, .. } => WorkError::Paused(reason.to_string()),
                other => WorkError::NotNow { wanted: "commit", stage: other.name() },
            });
        };
        self.require_unmoved_head()?;
        let item = self.run.steps[step].id.clone();
        let changes = self.notes.before.changes_until(&now);
        let text = self.message(step, green.proven().len(), green.passed(), message, &changes);
        self.finish_statuses(step)?;
        let made = self.paths(&changes).map_err(|error| error.to_string());
        let made = made.and_then(|paths| self.commit_with_record(&paths, &text));
        self.notes.committing = None;
        let made = match made {
            Ok(()) => self.verify_commit(&tree, &red)?,
            refused => refused,
        };
        let (branch, sha) = current_head(&self.context.git)?;
        let subject = text.lines().next().unwrap_or_default().to_owned();
        if let Err(why) = made {
            self.set_status(&item, &TaskStatus::InProgress)?;
            self.log("commit", json!({"subtask": item.to_string(), "status": "error", "error": why}))?;
            // Ctrl+C reaches git and its hooks, too.
            self.check_pause()?;
            self.apply(RunEvent::CommitRefused { why: why.clone() })?;
            return Ok(Err(CommitRefusal { why }));
        }
        self.notes.proven_tests.extend(green.proven().iter().cloned());
        if let Some(green) = self.notes.green.take() {
            self.set_baseline(green)?;
        }
        self.apply(RunEvent::Committed { branch, sha: sha.clone() })?;
        self.dir.add_commit(&sha)?;
        let short: String = sha.chars().take(7).collect();
        self.log(
            "commit",
            json!({"subtask": item.to_string(), "status": "ok", "sha": short, "message": subject}),
        )?;
        self.take_guard()?;
        self.begin_step()?;
        Ok(Ok(SubtaskCommit { sha, subject, subtask: item }))
    }

    /// Records what is about to be committed, so that a resumed run recognises the commit after a crash.
    fn commit_with_record(&mut self, paths: &[PathBuf], message: &str) -> Result<(), String> {
        stage(&self.context.git, paths)?;
        let pending = PendingCommit::of_index(&self.context.git, paths).map_err(|error| error.to_string())?;
        self.notes.committing = Some(pending);
        self.save().map_err(|error| error.to_string())?;
        commit_staged(&self.context.git, paths, message)
    }

    /// Paths that would be committed, relative to the worktree's root.
    pub fn paths_to_commit(&self) -> Result<Vec<PathBuf>, WorkError> {
        self.paths(&self.changes()?)
    }

    fn paths(&self, changes: &[FileChange]) -> Result<Vec<PathBuf>, WorkError> {
        let mut paths: Vec<PathBuf> = changes.iter().map(|change| change.path.clone()).collect();
        paths.extend(self.own_files()?);
        paths.retain(|path| !is_run_file(path));
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// The diff of everything that would be committed, new files included.
    pub fn diff(&self) -> Result<String, WorkError> {
        let paths = self.paths_to_commit()?;
        let git = &self.context.git;
        let list: Vec<u8> =
            paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        // With intent-to-add, the diff shows new files without staging their content.
        let args = ["add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let noted = git.command(args).env("GIT_LITERAL_PATHSPECS", "1").input(list).capture()?;
        let diff = git.run(["diff", "HEAD", "--no-color", "--no-ext-diff"])?;
        if noted.exit.success() {
            Ok(String::from_utf8_lossy(&diff).into_owned())
        } else {
            Err(WorkError::Commit(String::from_utf8_lossy(&noted.stderr).trim().to_owned()))
        }
    }

    /// The subject line of the current subtask's commit.
    pub fn subject(&self) -> Result<String, WorkError> {
        let Some(step) = self.run.stage.step() else {
            return Err(WorkError::NotNow { wanted: "commit", stage: self.run.stage.name() });
        };
        let text = self.message(step, 0, 0, None, &self.changes()?);
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    fn message(
        &self,
        step: usize,
        proven: usize,
        passed: usize,
        custom: Option<&str>,
        changes: &[FileChange],
    ) -> String {
        let (settings, order) = (&self.context.settings, &self.run.request);
        let paths: Vec<PathBuf> = changes.iter().map(|change| change.path.clone()).collect();
        let scope =
            scope(self.notes.options.commit_scope.as_deref(), &self.context.rules, &paths, &order.tag);
        let message = CommitMessage {
            template: &settings.commit_template,
            kind: &settings.commit_type,
            scope: &scope,
            task: &order.task,
            subtask: &self.run.steps[step].id,
            title: &self.run.steps[step].title,
            tag: &order.tag,
            proven,
            passed,
            co_author: settings.co_author.as_deref(),
        };
        let text = message.text();
        match custom.map(str::trim).filter(|custom| !custom.is_empty()) {
            // Keep our trailers: a resumed run finds its commits by them.
            Some(custom) => {
                let trailers = text.split_once("\n\n").map(|(_, trailers)| trailers).unwrap_or_default();
                format!("{custom}\n\n{trailers}")
            }
            None => text,
        }
    }

    /// Marks the subtask as done. The last commit marks the task as done, or as in review if a pull request follows.
    fn finish_statuses(&self, step: usize) -> Result<(), WorkError> {
        // Subtasks that needed no commit wait for the next one that is proven.
        let waiting = self.run.steps.iter().filter(|step| step.outcome == StepOutcome::AlreadyImplemented);
        for done in waiting.chain([&self.run.steps[step]]) {
            self.set_status(&done.id, &TaskStatus::Done)?;
        }
        let last = self
            .run
            .steps
            .iter()
            .enumerate()
            .all(|(at, other)| at == step || other.outcome != StepOutcome::Open);
        if last && self.run.request.push && self.run.request.pull_request {
            self.set_status(&ItemId::Task(self.run.request.task.clone()), &TaskStatus::Review)?;
        }
        Ok(())
    }

    /// tasks.json unless it is ignored; state.json only if it is tracked.
    fn own_files(&self) -> Result<Vec<PathBuf>, WorkError> {
        let entries = self.context.git.status()?;
        let changed = |path: &PathBuf, untracked: bool| {
            entries.iter().any(|entry| {
                entry.path == *path && (untracked || entry.change != paw_host::git::Change::Untracked)
            })
        };
        let project = &self.context.project;
        let files = [(project.tasks_file(), true), (project.state_file(), false)];
        let relative = files.into_iter().filter_map(|(file, untracked)| {
            file.strip_prefix(&self.context.top).ok().map(|path| (path.to_path_buf(), untracked))
        });
        Ok(relative.filter(|(path, untracked)| changed(path, *untracked)).map(|(path, _)| path).collect())
    }
}

/// Stages and commits exactly these paths; hooks run as usual. Returns git's message if it fails.
pub(super) fn commit_paths(git: &Git, paths: &[PathBuf], message: &str) -> Result<(), String> {
    stage(git, paths)?;
    commit_staged(git, paths, message)
}

fn stage(git: &Git, paths: &[PathBuf]) -> Result<(), String> {
    run(git, &["add", "--all"], paths)
}

fn commit_staged(git: &Git, paths: &[PathBuf], message: &str) -> Result<(), String> {
    run(git, &["commit", "--quiet", "--only", "--message", message], paths)
}

fn run(git: &Git, args: &[&str], paths: &[PathBuf]) -> Result<(), String> {
    let list: Vec<u8> = paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    let from_input = ["--pathspec-from-file=-", "--pathspec-file-nul"];
    let command = git.command(args.iter().copied().chain(from_input));
    let output = command.env("GIT_LITERAL_PATHSPECS", "1").input(list).capture();
    let output = output.map_err(|error| error.to_string())?;
    if output.exit.success() {
        return Ok(());
    }
    let words =
        [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
    let words = words.into_iter().find(|words| !words.is_empty());
    Err(words.unwrap_or_else(|| format!("git {} {}", args[0], output.exit)))
}

/// The content of a pending commit: mode, object and path of each file, stored before the commit. After a crash, a
/// commit is ours only if its content matches; its message could be copied.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct PendingCommit(BTreeSet<String>);

impl PendingCommit {
    /// Staged changes of these paths.
    pub(super) fn of_index(git: &Git, paths: &[PathBuf]) -> Result<Self, GitError> {
        let options = ["--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "HEAD"];
        let listing = git.plumb(None, ["diff-index"].into_iter().chain(options))?;
        Ok(parse_listing(&listing, |path| paths.iter().any(|known| known == path)))
    }

    /// Changes in the last commit.
    pub(super) fn of_last_commit(git: &Git) -> Result<Self, GitError> {
        let options = ["-r", "--raw", "-z", "--no-abbrev", "--no-renames", "HEAD^", "HEAD"];
        let listing = git.plumb(None, ["diff-tree"].into_iter().chain(options))?;
        Ok(parse_listing(&listing, |_| true))
    }
}

/// `:oldmode newmode oldoid newoid letter`, then the path.
fn parse_listing(listing: &[u8], wanted: impl Fn(&Path) -> bool) -> PendingCommit {
    let mut fields = listing.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut files = BTreeSet::new();
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        let mut words = facts.split(' ');
        if let (Some(mode), Some(oid)) = (words.nth(1), words.nth(1))
            && wanted(Path::new(path.as_ref()))
        {
            files.insert(format!("{mode} {oid} {path}"));
        }
    }
    PendingCommit(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_listing_is_parsed_with_spaces_and_filtered_by_path() {
        let listing = b":100644 100755 aa bb M\0a b\0:000000 100644 00 cc A\0c\0:100644 000000 dd 00 D\0d\0";
        let all = parse_listing(listing, |_| true);
        let lines = ["000000 00 d", "100644 cc c", "100755 bb a b"];
        assert_eq!(all.0.iter().map(String::as_str).collect::<Vec<_>>(), lines);
        assert_eq!(parse_listing(listing, |path| path == Path::new("c")).0.len(), 1);
        assert_eq!(parse_listing(b"", |_| true), PendingCommit::default());
    }
}
