//! `git paw worktree switch`

use clap::Args;
use paw_core::{PawError, text};
use paw_worktree::{Checkout, SwitchedCheckout, WorktreeError, Worktrees};
use serde_json::json;

use super::view;
use crate::context::Context;
use crate::prompt::{PromptQuestion, Prompter as _, TerminalPrompter};

/// Print the directory of a worktree, or change to it
///
/// A program cannot change its shell's directory. With `eval "$(git paw shell-init bash)"` in your shell's startup file, this
/// command changes to the worktree.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw worktree switch feat/auth
  git paw worktree switch main           (the main checkout)
  git paw worktree switch -              (where you were before)
  git paw worktree switch                (choose from a list)
  cd \"$(git paw worktree switch auth)\"")]
pub(super) struct SwitchArgs {
    /// Its branch, name, id or a unique prefix; `main`: the main checkout, `-`: the previous one
    #[arg(allow_hyphen_values = true)]
    worktree: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &SwitchArgs, worktrees: &Worktrees, context: &Context) -> Result<(), PawError> {
    let name = match &args.worktree {
        Some(name) => name.clone(),
        None => pick(worktrees, context)?,
    };
    let switched = match worktrees.switch_checkout(&name, &context.cwd) {
        // Outside of a repository, names and ids of all of them are known.
        Err(WorktreeError::NotARepository(_)) => {
            let switched = worktrees.switch(&name, None)?;
            return print_managed(&switched, context);
        }
        switched => switched?,
    };
    if context.output.wants_json() {
        return context.output.document(&document(&switched));
    }
    context.output.say_path(&switched.checkout.path)
}

fn print_managed(switched: &paw_worktree::SwitchedWorktree, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        let previous = switched.previous_worktree_id.as_ref().map(paw_worktree::WorktreeId::as_str);
        let worktree = view::managed(&switched.worktree);
        return context.output.document(&json!({"worktree": worktree, "previous_worktree_id": previous}));
    }
    context.output.say_path(&switched.worktree.path)
}

fn document(switched: &SwitchedCheckout) -> serde_json::Value {
    let worktree = match &switched.managed {
        Some(row) => view::managed(row),
        None => view::checkout(&switched.checkout),
    };
    let previous = switched.previous_worktree_id.as_ref().map(paw_worktree::WorktreeId::as_str);
    json!({"worktree": worktree, "previous_worktree_id": previous})
}

/// Asks for one of the other checkouts.
fn pick(worktrees: &Worktrees, context: &Context) -> Result<String, PawError> {
    let here = context.require_repo()?.worktree;
    let all = worktrees.list(Some(&context.cwd))?.checkouts();
    let offered: Vec<_> = all
        .iter()
        .filter(|checkout| checkout.is_present() && Some(&checkout.path) != here.as_ref())
        .collect();
    if offered.is_empty() {
        return Err(PawError::SessionError("there is no other worktree".to_owned())
            .hint("create one with 'git paw worktree create <branch>'"));
    }
    let width = offered.iter().map(|one| text::width(&one.shown_name())).max().unwrap_or_default();
    let row = |checkout: &&Checkout| {
        let name = text::reveal(&checkout.shown_name());
        format!("{name:width$}  {}", text::path(&checkout.path))
    };
    let rows: Vec<_> = offered.iter().map(row).collect();
    let question = PromptQuestion {
        text: "Worktree",
        instead: "name it: git paw worktree switch <branch> ('git paw worktree list' lists them)",
    };
    let picked = TerminalPrompter.pick_one(&question, &rows, 0)?;
    offered.get(picked).map(|checkout| checkout.key()).ok_or(PawError::UserCancelled)
}
