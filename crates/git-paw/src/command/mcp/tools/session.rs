//! The session of a repository.

use super::super::tool::{Effect, Tool};
use super::super::tool_sets::ToolSet::Session;
use super::NoArguments;
use crate::command::status;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new(
        Session,
        "session_status",
        Effect::Reads,
        "Return the session of this repository: its status, broker, supervisor, and every agent with its worktree.",
        |_: NoArguments, context| status::answer(context),
    )]
}
