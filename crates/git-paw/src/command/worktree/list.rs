//! `git paw worktree list`

use clap::Args;
use paw_core::PawError;
use paw_core::text;
use paw_host::clock;
use paw_screen::age;
use paw_worktree::{
    Checkout, CheckoutKind, CheckoutState, WorktreeError, WorktreeListing, WorktreeStatus, Worktrees,
    checkout,
};
use serde_json::{Value, json};

use super::view;
use crate::context::Context;

/// List the worktrees of this repository
///
/// CHANGES counts files that are not committed, untracked ones included. COMMITS are those that only this branch (+) or
/// only the default branch (-) has. Worktrees created with plain git are listed as unmanaged; `git paw worktree adopt`
/// registers them. Outside a repository, or with --all, lists the worktrees of every repository. The test checkouts of
/// verify and merge are listed only with --json, with their kind.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw worktree list
  git paw worktree list --ids
  git paw worktree list --all --json")]
pub(crate) struct ListArgs {
    /// List the worktrees of every repository
    #[arg(long)]
    pub(crate) all: bool,
    /// Show ids, too
    #[arg(long)]
    pub(crate) ids: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run(args: &ListArgs, worktrees: &Worktrees, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(args, worktrees, context)?);
    }
    print(args, &load(args, worktrees, context)?, context)
}

/// The answer for programs.
pub(crate) fn answer(args: &ListArgs, worktrees: &Worktrees, context: &Context) -> Result<Value, PawError> {
    let listing = load(args, worktrees, context)?;
    let managed = listing.worktrees.iter().map(view::managed);
    let unmanaged = listing.unmanaged.iter().map(view::unmanaged);
    let mut all: Vec<Value> = managed.chain(unmanaged).collect();
    let Some(main) = listing.checkouts().into_iter().find(|one| one.kind == CheckoutKind::Main) else {
        return Ok(json!({"worktrees": all}));
    };
    let checkouts = listing.checkouts();
    let states = checkout::load_states(&main.path, &checkouts);
    // The main checkout comes first.
    let mut states = states.iter();
    let mut main = view::checkout(&main);
    view::add_state(&mut main, states.next());
    for value in &mut all {
        view::add_state(value, states.next());
    }
    Ok(json!({"worktrees": all, "main": main}))
}

fn load(args: &ListArgs, worktrees: &Worktrees, context: &Context) -> Result<WorktreeListing, PawError> {
    match worktrees.list(if args.all { None } else { Some(&context.cwd) }) {
        Err(WorktreeError::NotARepository(_)) => Ok(worktrees.list(None)?),
        listing => Ok(listing?),
    }
}

fn print(args: &ListArgs, listing: &WorktreeListing, context: &Context) -> Result<(), PawError> {
    let checkouts = listing.checkouts();
    if listing.is_empty() && listing.main.is_none() {
        return context.output.say("no worktrees (create one with 'git paw worktree create <branch>')");
    }
    let states = listing.main.as_ref().map(|main| checkout::load_states(&main.path, &checkouts));
    let states = states.unwrap_or_else(|| vec![CheckoutState::default(); checkouts.len()]);
    let here = context.find_repo()?.and_then(|repo| repo.worktree);
    let rows = checkouts.iter().zip(&states).map(|(checkout, state)| {
        let mark = if here.as_ref() == Some(&checkout.path) { "*" } else { " " };
        let [name, branch] = [text::line(&checkout.name).into_owned(), branch_of(checkout)];
        let (changes, commits, path) = (changes(*state), commits(*state), text::path(&checkout.path));
        [format!("{mark} {name}"), branch, status(checkout), changes, commits, age(checkout), path]
    });
    let rows: Vec<_> = rows.collect();
    if args.ids {
        let with_id = |(row, checkout): ([String; 7], &Checkout)| {
            let [name, branch, kind, changes, commits, age, path] = row;
            [name, branch, kind, changes, commits, age, id(checkout), path]
        };
        let titles = ["  NAME", "BRANCH", "STATUS", "CHANGES", "COMMITS", "AGE", "ID", "PATH"];
        context.output.table(titles, rows.into_iter().zip(&checkouts).map(with_id).collect())?;
    } else {
        context.output.table(["  NAME", "BRANCH", "STATUS", "CHANGES", "COMMITS", "AGE", "PATH"], rows)?;
    }
    for row in listing.worktrees.iter().filter(|row| row.status == WorktreeStatus::Broken) {
        if let Some(message) = &row.message {
            context.output.warn(&format!("{}: {message}", row.name));
        }
    }
    Ok(())
}

fn branch_of(checkout: &Checkout) -> String {
    checkout.branch.as_ref().map_or_else(|| "(no branch)".to_owned(), ToString::to_string)
}

fn status(checkout: &Checkout) -> String {
    match &checkout.kind {
        CheckoutKind::Main => "main checkout".to_owned(),
        CheckoutKind::Managed { status, .. } => status.to_string(),
        CheckoutKind::Unmanaged { missing: true } => WorktreeStatus::Stale.to_string(),
        CheckoutKind::Unmanaged { missing: false } => "unmanaged".to_owned(),
    }
}

fn changes(state: CheckoutState) -> String {
    match state.changed {
        None => "?".to_owned(),
        Some(0) => "-".to_owned(),
        Some(files) => files.to_string(),
    }
}

fn commits(state: CheckoutState) -> String {
    match state.compared {
        None => "?".to_owned(),
        Some(compared) if compared.ahead == 0 && compared.behind == 0 => "-".to_owned(),
        Some(compared) => format!("+{} -{}", compared.ahead, compared.behind),
    }
}

fn age(checkout: &Checkout) -> String {
    match &checkout.kind {
        CheckoutKind::Managed { created_at, .. } => age::text(*created_at, clock::now()),
        CheckoutKind::Main | CheckoutKind::Unmanaged { .. } => "-".to_owned(),
    }
}

fn id(checkout: &Checkout) -> String {
    match &checkout.kind {
        CheckoutKind::Managed { id, .. } => id.to_string(),
        CheckoutKind::Main | CheckoutKind::Unmanaged { .. } => "-".to_owned(),
    }
}
