//! Worktrees: list, make, remove.

use paw_core::PawError;
use paw_worktree::Worktrees;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::super::sets::ToolSet;
use super::super::tool::{Effect, Tool};
use super::Nothing;
use crate::command::worktree::{create, list, remove};
use crate::context::Context;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            ToolSet::Worktrees,
            "worktree_list",
            Effect::Reads,
            "The worktrees of this repository: name, branch, path and status of each.",
            |_: Nothing, context| {
                let args = list::ListArgs { all: false, json: true };
                list::answer(&args, &open(context)?, context)
            },
        ),
        Tool::new(
            ToolSet::Worktrees,
            "worktree_create",
            Effect::Adds,
            "Make a worktree for a branch, in one step or not at all. Answers its path.",
            make,
        ),
        Tool::new(
            ToolSet::Worktrees,
            "worktree_remove",
            Effect::Changes,
            "Remove a worktree. One with changes or running programs stays; its branch stays in any case.",
            take_away,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Make {
    /// The branch to check out
    branch: String,
    /// Make the branch, at the commit that is checked out in the repository
    #[serde(default)]
    new: bool,
    /// Name of the worktree; without it, the last part of the branch
    name: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TakeAway {
    /// Its id or its name
    worktree: String,
}

fn open(context: &Context) -> Result<Worktrees, PawError> {
    Ok(Worktrees::open(context.dirs.data_dir())?)
}

fn make(args: Make, context: &Context) -> Result<Value, PawError> {
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

fn take_away(args: TakeAway, context: &Context) -> Result<Value, PawError> {
    let args = remove::RemoveArgs {
        worktree: args.worktree,
        force: false,
        delete_branch: false,
        include_ignored: false,
        json: true,
    };
    remove::answer(&args, &open(context)?, context)
}
