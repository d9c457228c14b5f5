//! `git paw worktree create`

use std::path::PathBuf;

use clap::Args;
use paw_core::PawError;
use paw_core::text::{self, plural};
use paw_host::config;
use paw_host::git::Repo;
use paw_worktree::setup::SetupStatus;
use paw_worktree::{CreateRequest, CreateStep, Preparation, PreparedWorktree, Worktrees, check};
use serde_json::Value;

use super::view;
use crate::approval::{self, Consent};
use crate::context::Context;
use crate::output::Style;

/// Create a worktree for a branch
///
/// Checks everything first, and undoes all steps if one fails. Copies the ignored files named by worktree.copy, then runs
/// worktree.setup_commands and .git-paw/worktree-setup.sh. The repository's own commands need your approval once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw worktree create feature/auth
  git paw worktree create feature/new-thing --new
  git paw worktree create feature/auth --name auth-work --json")]
pub(crate) struct CreateArgs {
    pub(crate) branch: String,
    /// Create the branch at the repository's current commit
    #[arg(long, short = 'b')]
    pub(crate) new: bool,
    /// Name of the worktree [default: the last part of the branch]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Directory of the worktree [default: <repository>-<name> next to the repository]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// The repository [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// Do not run the setup
    #[arg(long)]
    pub(crate) no_setup: bool,
    /// Approve the repository's own commands without asking
    #[arg(long, conflicts_with = "no_setup")]
    pub(crate) trust: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run(args: &CreateArgs, worktrees: &Worktrees, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(args, worktrees, context)?);
    }
    print(&create(args, worktrees, context)?, context)
}

/// The answer for programs.
pub(crate) fn answer(args: &CreateArgs, worktrees: &Worktrees, context: &Context) -> Result<Value, PawError> {
    Ok(view::prepared(&create(args, worktrees, context)?))
}

fn create(args: &CreateArgs, worktrees: &Worktrees, context: &Context) -> Result<PreparedWorktree, PawError> {
    let request = CreateRequest {
        repo_path: context.cwd.join(args.repo.as_deref().unwrap_or(&context.cwd)),
        branch: args.branch.clone(),
        name: args.name.clone(),
        path: args.path.as_ref().map(|path| context.cwd.join(path)),
        create_branch: args.new,
    };
    check::check_arguments(&request)?;
    let preparation = prepare(args, &request, context)?;
    let created = worktrees.create(&request, &mut |step| {
        context.output.progress(match step {
            CreateStep::CheckingOut => "checking out",
            CreateStep::FillingSubmodules => "updating submodules",
            CreateStep::Rebasing => "rebasing",
        });
    })?;
    let note = |line: &str| context.output.note(&context.output.paint_note(Style::Dim, &format!("  {line}")));
    let prepared = worktrees.prepare(&created, &preparation, note)?;
    let setup = prepared.setup.problem().map(|problem| problem.to_string());
    for line in created.notes.iter().chain(&prepared.notes).chain(&setup) {
        context.output.warn(line);
    }
    Ok(prepared)
}

/// The approved copy and setup steps. Outside a repository there are none; creating the worktree reports that.
fn prepare(args: &CreateArgs, request: &CreateRequest, context: &Context) -> Result<Preparation, PawError> {
    let Ok(repo) = Repo::discover(&request.repo_path) else { return Ok(Preparation::default()) };
    let layers = config::load_layers(Some(&repo.root), None)?;
    for warning in layers.warnings() {
        context.output.warn(&warning.to_string());
    }
    let config = layers.resolve()?;
    let consent = if args.no_setup { Consent::Never } else { Consent::of_flag(args.trust) };
    approval::preparation(&layers, &config, &repo, consent, context)
}

fn print(prepared: &PreparedWorktree, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let row = &prepared.worktree;
    output.say(&format!("created {} on {}: {}", row.name, row.branch, row.path.display()))?;
    let copy = &prepared.copy;
    if copy.files > 0 {
        output.say(&format!("copied {}", plural(copy.files, "ignored file")))?;
    }
    for (path, reason) in &copy.skipped {
        output.warn(&format!("not copied: {}: {reason}", text::path(path)));
    }
    if prepared.setup.status == SetupStatus::Success {
        output.say("setup done")?;
    }
    Ok(())
}
