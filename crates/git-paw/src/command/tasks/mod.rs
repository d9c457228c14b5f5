//! `git paw tasks`: the tasks in `.taskmaster/tasks/tasks.json`.

pub(crate) mod add;
pub(crate) mod expand;
mod from_spec;
pub(crate) mod list;
pub(crate) mod next;
pub(crate) mod set_status;
pub(crate) mod show;
mod view;

use clap::{Args, Subcommand};
use paw_autopilot::tasks::{TagName, TaskProject};
use paw_core::PawError;
use paw_host::git::Git;

use crate::context::Context;

/// List, show, choose and change tasks
///
/// Works on .taskmaster/tasks/tasks.json in this worktree. Other programs may write the file, too: git paw honours their
/// lock and changes nothing else in it. Without --tag the tag is TASKMASTER_TAG, else the branch's own, else the active one,
/// else the default one, else master.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw tasks list
  git paw tasks next
  git paw tasks set-status 42.1 done
  git paw tasks add \"Count what users do\" --priority high
  git paw tasks add --spec add-login --dry-run
  git paw tasks expand 42")]
pub(crate) struct TasksArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Next(next::NextArgs),
    SetStatus(set_status::SetStatusArgs),
    Add(add::AddArgs),
    Expand(expand::ExpandArgs),
}

/// The flags of every action.
#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// The tag (list of tasks)
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

impl TasksArgs {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.action {
            Action::List(args) => args.common.json,
            Action::Show(args) => args.common.json,
            Action::Next(args) => args.common.json,
            Action::SetStatus(args) => args.common.json,
            Action::Add(args) => args.common.json,
            Action::Expand(args) => args.common.json,
        }
    }
}

pub(crate) fn run(args: &TasksArgs, context: &Context) -> Result<(), PawError> {
    match &args.action {
        Action::List(args) => list::run(args, context),
        Action::Show(args) => show::run(args, context),
        Action::Next(args) => next::run(args, context),
        Action::SetStatus(args) => set_status::run(args, context),
        Action::Add(args) => add::run(args, context),
        Action::Expand(args) => expand::run(args, context),
    }
}

/// The project of this directory, and its tag. Without tasks, the project is the root of the worktree.
fn find_project(common: &TaskArgs, context: &Context) -> Result<(TaskProject, TagName), PawError> {
    let repo = context.require_repo()?;
    let top = repo.worktree.as_deref().unwrap_or(&repo.root);
    let cwd = context.cwd.canonicalize().unwrap_or_else(|_| context.cwd.clone());
    let project = TaskProject::find(&cwd, top).unwrap_or_else(|| TaskProject::at(top));
    let branch = Git::at(top).find_current_branch()?;
    let variable = std::env::var("TASKMASTER_TAG").ok();
    let branch = branch.as_ref().map(paw_core::BranchName::as_str);
    let tag = project.resolve_tag(common.tag.as_deref(), variable.as_deref(), branch)?;
    for warning in project.load_settings()?.warnings {
        context.output.warn(&format!("{}: {warning}", project.config_file().display()));
    }
    Ok((project, tag))
}
