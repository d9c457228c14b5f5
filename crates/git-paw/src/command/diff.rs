//! `git paw diff`

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;
use paw_core::text::{plural, short_commit};
use paw_core::{ErrorCode, PawError, text};
use paw_host::files::{self, Access};
use paw_host::process::Command;
use paw_worktree::{FileChange, FileChangeKind, WorkDiff};
use serde::Serialize;

use crate::context::Context;
use crate::output::Style;
use crate::remote::SnapshotSource;

/// Show an agent's work: its changes since the branch left the default branch
///
/// Committed, uncommitted and untracked changes together. Reading them changes nothing in the worktree and runs no program
/// that the repository configures. Without a name, shows the work in the current worktree.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw diff feat/auth
  git paw diff auth --stat
  git paw diff feat/auth -- src/login.rs | git apply")]
pub(crate) struct DiffArgs {
    /// The agent, by its branch, id or a unique prefix
    agent: Option<String>,
    /// Only list the files, with the number of changed lines
    #[arg(long)]
    stat: bool,
    /// Only these files and directories
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print the list of files as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Serialize)]
struct DiffAnswer<'a> {
    /// Missing for the snapshot of a worktree on another machine.
    worktree: Option<&'a Path>,
    base: &'a str,
    committed: bool,
    files: &'a [FileChange],
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<&'a SnapshotSource>,
}

/// Where the work comes from.
enum WorkPlace {
    Worktree(PathBuf),
    /// Of an agent whose machine cannot be reached.
    Snapshot(SnapshotSource),
}

pub(crate) fn run(args: &DiffArgs, context: &Context) -> Result<(), PawError> {
    if let Some(name) = &args.agent
        && let Some((session, agent)) = context.find_remote(name)?
    {
        if let Some(last) = context.find_last_work(&session, &agent)? {
            return show(args, &last.work, &WorkPlace::Snapshot(last.source), context);
        }
        let flags = [(args.stat, "--stat"), (args.json, "--json")];
        let flags = flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag.to_owned());
        let paths = args.paths.iter().map(|path| path.display().to_string());
        let paths = (!args.paths.is_empty()).then(|| "--".to_owned()).into_iter().chain(paths);
        let args = ["diff".to_owned(), agent.agent_id.to_string()].into_iter();
        let args: Vec<_> = args.chain(flags).chain(paths).collect();
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        if context.output.wants_json() {
            return context.output.document(&context.ask_remote(&session.receipt, &agent.host, &args)?);
        }
        return context.forward_checked(&session.receipt, &agent.host, &args);
    }
    let repo = context.require_repo()?;
    let worktree = match &args.agent {
        Some(name) => context.require_session()?.receipt.find_named(name)?.0.worktree_path.clone(),
        None => repo.worktree.clone().ok_or_else(no_agent)?,
    };
    let work = WorkDiff::take(&repo, &worktree)?;
    show(args, &work, &WorkPlace::Worktree(worktree), context)
}

fn show(args: &DiffArgs, work: &WorkDiff, place: &WorkPlace, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    if output.wants_json() || args.stat {
        let files = selected(work.files()?, &args.paths);
        if output.wants_json() {
            let (base, committed) = (work.base(), work.is_committed());
            let (worktree, snapshot) = match place {
                WorkPlace::Worktree(path) => (Some(path.as_path()), None),
                WorkPlace::Snapshot(source) => (None, Some(source)),
            };
            let files = files.as_slice();
            return output.document(&DiffAnswer { worktree, base, committed, files, snapshot });
        }
        return list(work, &files, context);
    }
    let patch = work.patch(&[], &args.paths)?;
    if !io::stdout().is_terminal() {
        return output.write(&patch);
    }
    if patch.is_empty() {
        return output.say(&format!("no changes since {}", short_commit(work.base())));
    }
    page(&coloured(&String::from_utf8_lossy(&patch), context))
}

fn no_agent() -> PawError {
    PawError::new(ErrorCode::InvalidArgument, "no agent was named")
        .hint("name one: git paw diff <agent> ('git paw status' lists them)")
}

fn selected(mut files: Vec<FileChange>, paths: &[PathBuf]) -> Vec<FileChange> {
    files.retain(|file| paths.is_empty() || paths.iter().any(|path| file.path.starts_with(path)));
    files
}

fn list(work: &WorkDiff, files: &[FileChange], context: &Context) -> Result<(), PawError> {
    let sum = |of: fn(&FileChange) -> Option<u64>| files.iter().filter_map(of).sum::<u64>();
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    let state = if work.is_committed() { "all committed" } else { "partly uncommitted" };
    let number =
        |count: Option<u64>, sign| count.map_or_else(|| "bin".to_owned(), |count| format!("{sign}{count}"));
    let row = |file: &FileChange| {
        let path = file.path.display().to_string();
        let path = file.old_path.as_ref().map_or(path.clone(), |old| format!("{} → {path}", old.display()));
        [kind(file.kind).to_owned(), number(file.added, '+'), number(file.removed, '-'), path]
    };
    if !files.is_empty() {
        context.output.table(["CHANGE", "ADDED", "REMOVED", "FILE"], files.iter().map(row).collect())?;
    }
    let count = plural(files.len(), "file");
    context.output.say(&format!("{count}, +{added} -{removed} since {}, {state}", short_commit(work.base())))
}

fn kind(kind: FileChangeKind) -> &'static str {
    match kind {
        FileChangeKind::Added => "added",
        FileChangeKind::Deleted => "deleted",
        FileChangeKind::Modified => "modified",
        FileChangeKind::Renamed => "renamed",
    }
}

/// The patch with our own colours; control characters in it are made visible.
fn coloured(patch: &str, context: &Context) -> String {
    let mut in_hunk = false;
    let paint = |line: &str| {
        in_hunk = if line.starts_with("diff --git ") { false } else { in_hunk || line.starts_with("@@") };
        let style = match line.chars().next() {
            Some('@') => Some(Style::Dim),
            Some('+') if in_hunk => Some(Style::Success),
            Some('-') if in_hunk => Some(Style::Error),
            _ if !in_hunk => Some(Style::Bold),
            _ => None,
        };
        let line = text::line(line);
        style.map_or_else(|| line.to_string(), |style| context.output.paint(style, &line)) + "\n"
    };
    patch.lines().map(paint).collect()
}

/// Shows the text in the user's pager.
fn page(text: &str) -> Result<(), PawError> {
    let dir = tempfile::tempdir().map_err(|error| PawError::internal(format!("cannot page: {error}")))?;
    let file = dir.path().join("diff");
    files::write_atomic(&file, text.as_bytes(), Access::Private)?;
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let pager = ["GIT_PAGER", "PAGER"].into_iter().find_map(set).unwrap_or_else(|| "less".to_owned());
    let line = format!("{pager} <\"$1\"");
    let command = Command::new("sh").args(["-c", &line, "pager"]).arg(&file);
    let command = if set("LESS").is_none() { command.env("LESS", "FRX") } else { command };
    // Leaving the pager early is not an error.
    command.inherit()?;
    Ok(())
}
