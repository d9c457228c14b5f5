//! The tools, a file per set. Each calls what the command of the same name calls.

mod autopilot;
mod coordination;
mod gates;
mod session;
mod specs;
mod tasks;
mod worktrees;

use schemars::JsonSchema;
use serde::Deserialize;

use super::tool::Tool;

/// Every tool there is, in the order they are listed.
pub(super) fn all() -> Vec<Tool> {
    [
        autopilot::tools(),
        tasks::tools(),
        coordination::tools(),
        worktrees::tools(),
        session::tools(),
        specs::tools(),
        gates::tools(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// For tools that take nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}
