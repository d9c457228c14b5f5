//! The session of a repository.

use super::super::sets::ToolSet::Session;
use super::super::tool::{Effect, Tool};
use super::Nothing;
use crate::command::status;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new(
        Session,
        "session_status",
        Effect::Reads,
        "The session of this repository: whether it runs, its broker, its supervisor, and every agent with its worktree.",
        |_: Nothing, context| status::answer(context),
    )]
}
