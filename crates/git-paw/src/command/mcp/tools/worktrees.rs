//! Lists, creates and removes worktrees.

use paw_core::PawError;
use paw_worktree::Worktrees;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::super::tool::{Effect, Tool};
use super::super::tool_sets::ToolSet;
use super::NoArguments;
use crate::command::worktree::{create, list, remove};
use crate::context::Context;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            ToolSet::Worktrees,
            "worktree_list",
            Effect::Reads,
            "List the worktrees of this repository with name, branch, path and status.",
            |_: NoArguments, context| {
                let args = list::ListArgs { all: false, ids: true, json: true };
                list::answer(&args, &open(context)?, context)
            },
        ),
        Tool::new(
            ToolSet::Worktrees,
            "worktree_create",
            Effect::Adds,
            "Create a worktree for a branch; if it fails, nothing is left behind. Returns its path.",
            create_worktree,
        ),
        Tool::new(
            ToolSet::Worktrees,
            "worktree_remove",
            Effect::Changes,
            "Remove a worktree. Fails if it has changes or running programs. The branch is always kept.",
            remove_worktree,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateWorktree {
    /// The branch to check out
    branch: String,
    /// Create the branch at the repository's current commit
    #[serde(default)]
    new: bool,
    /// Name of the worktree (default: the last part of the branch)
    name: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RemoveWorktree {
    /// Id or name of the worktree
    worktree: String,
}

fn open(context: &Context) -> Result<Worktrees, PawError> {
    Ok(Worktrees::open(context.dirs.data_dir())?)
}

fn create_worktree(args: CreateWorktree, context: &Context) -> Result<Value, PawError> {
    let args = create::CreateArgs {
        branch: args.branch,
        new: args.new,
        name: args.name,
        path: None,
        repo: None,
        no_setup: false,
        trust: false,
        json: true,
    };
    create::answer(&args, &open(context)?, context)
}

fn remove_worktree(args: RemoveWorktree, context: &Context) -> Result<Value, PawError> {
    let args = remove::RemoveArgs {
        worktree: args.worktree,
        force: false,
        delete_branch: false,
        include_ignored: false,
        json: true,
    };
    remove::answer(&args, &open(context)?, context)
}
