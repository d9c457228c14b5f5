//! Turns: one message, the CLI that answers it, and the stream of its events.
//!
//! A conversation runs one turn at a time. When a turn ends, its whole process tree is ended before the conversation
//! accepts another message.

mod registry;
mod stream;

use std::sync::Arc;

use paw_agent::cli;
use paw_agent::headless::{self, Turn};
use paw_core::AgentId;
use paw_host::clock;
use paw_host::process::ProcessError;
use paw_worktree::{Conversation, ConversationStatus, ManagedWorktree, WorktreeError};

pub(crate) use registry::{TurnEndReason, Turns};
pub(crate) use stream::TurnStream;

use crate::shared::Shared;
use crate::status::CallError;
use registry::TurnGuard;

/// Marks a program as run by an agent, which may not approve anything.
const AGENT: &str = "GIT_PAW_AGENT_ID";

/// Starts the CLI in the conversation's worktree. Blocks. On failure nothing was started.
pub(crate) fn begin(shared: &Arc<Shared>, id: &str, message: &str) -> Result<TurnStream, CallError> {
    if message.trim().is_empty() {
        return Err(CallError::EmptyMessage);
    }
    let registry = shared.worktrees.registry();
    let conversation = registry.require_conversation(id)?;
    let closed = || CallError::Closed(conversation.id.clone());
    let worktree = conversation
        .worktree
        .clone()
        .filter(|_| conversation.status != ConversationStatus::Closed)
        .ok_or_else(closed)?;
    let guard = TurnGuard::take(shared, &conversation.id, &worktree)
        .ok_or_else(|| CallError::InTurn(conversation.id.clone()))?;
    if !registry.set_conversation_status(&conversation.id, ConversationStatus::Active, clock::now())? {
        return Err(closed());
    }
    let row = shared.worktrees.require_usable(worktree.as_str(), None).map_err(|error| match error {
        WorktreeError::DirectoryMissing { path } => {
            CallError::NoDirectory { cli: display_name(&conversation.cli), path }
        }
        other => other.into(),
    })?;
    let running = start(shared, &conversation, &row, message)?;
    tracing::info!(
        "conversation {} in {}: started {} with pid {}",
        conversation.id,
        row.path.display(),
        conversation.cli,
        running.pid()
    );
    Ok(stream::follow(shared, guard, running, headless::listener(cli::descriptor(&conversation.cli))))
}

fn start(
    shared: &Shared,
    conversation: &Conversation,
    row: &ManagedWorktree,
    message: &str,
) -> Result<paw_host::process::RunningCommand, CallError> {
    let cli = shared.require_cli(&conversation.cli)?;
    let turn =
        Turn { message, resume: conversation.cli_session.as_deref(), model: conversation.model.as_deref() };
    let command = headless::command(cli::descriptor(&conversation.cli), &cli.path, &row.path, turn)
        .env(AGENT, AgentId::slug(&row.branch).as_str());
    command.start(conversation.id.as_str()).map_err(|error| match error {
        ProcessError::NoDirectory { dir, .. } => {
            CallError::NoDirectory { cli: display_name(&conversation.cli), path: dir }
        }
        other => other.into(),
    })
}

/// The name of a CLI in messages.
fn display_name(cli: &str) -> String {
    cli::find(cli).map_or(cli, |known| known.short_name).to_owned()
}
