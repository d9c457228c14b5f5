//! The tools, one file per set. Each calls the code of the command of the same name.

mod autopilot;
mod coordination;
mod gates;
mod project;
mod session;
mod specs;
mod tasks;
mod worktrees;

use schemars::JsonSchema;
use serde::Deserialize;

use super::tool::Tool;

/// All tools, in the order of the list.
pub(super) fn all() -> Vec<Tool> {
    [
        autopilot::tools(),
        tasks::tools(),
        coordination::tools(),
        worktrees::tools(),
        session::tools(),
        specs::tools(),
        gates::tools(),
        project::tools(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// For tools without arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}
