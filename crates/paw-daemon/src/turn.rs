//! A message on its way: from the claim on its conversation, over the CLI that answers it, to the last event.
//!
//! One turn at a time per conversation. However a turn ends, its process is gone with everything it had started before
//! the conversation is free again.

mod running;
mod stream;

use std::sync::Arc;

use paw_agent::cli;
use paw_agent::headless::{self, Turn};
use paw_core::AgentId;
use paw_host::clock;
use paw_host::process::ProcessError;
use paw_worktree::{Conversation, ConversationStatus, ManagedWorktree, WorktreeError};

pub(crate) use running::{Turns, Why};
pub(crate) use stream::TurnStream;

use crate::shared::Shared;
use crate::status::Refusal;
use running::Claim;

/// The variable that tells a program it runs for an agent, which may not approve anything.
const AGENT: &str = "GIT_PAW_AGENT_ID";

/// Starts the CLI in the conversation's worktree, or says why not. Blocks; nothing has been started when it fails.
pub(crate) fn begin(shared: &Arc<Shared>, id: &str, message: &str) -> Result<TurnStream, Refusal> {
    if message.trim().is_empty() {
        return Err(Refusal::EmptyMessage);
    }
    let registry = shared.worktrees.registry();
    let talk = registry.require_conversation(id)?;
    let closed = || Refusal::Closed(talk.id.clone());
    let worktree =
        talk.worktree.clone().filter(|_| talk.status != ConversationStatus::Closed).ok_or_else(closed)?;
    let claim = Claim::take(shared, &talk.id, &worktree).ok_or_else(|| Refusal::InTurn(talk.id.clone()))?;
    if !registry.set_conversation_status(&talk.id, ConversationStatus::Active, clock::now())? {
        return Err(closed());
    }
    let row = shared.worktrees.require_usable(worktree.as_str(), None).map_err(|error| match error {
        WorktreeError::DirectoryMissing { path } => Refusal::NoDirectory { cli: spoken(&talk.cli), path },
        other => other.into(),
    })?;
    let running = start(shared, &talk, &row, message)?;
    tracing::info!(
        "conversation {} in {}: {} runs as {}",
        talk.id,
        row.path.display(),
        talk.cli,
        running.pid()
    );
    Ok(stream::follow(shared, claim, running, headless::listener(cli::descriptor(&talk.cli))))
}

fn start(
    shared: &Shared,
    talk: &Conversation,
    row: &ManagedWorktree,
    message: &str,
) -> Result<paw_host::process::RunningCommand, Refusal> {
    let cli = shared.require_cli(&talk.cli)?;
    let turn = Turn { message, resume: talk.cli_session.as_deref(), model: talk.model.as_deref() };
    let command = headless::command(cli::descriptor(&talk.cli), &cli.path, &row.path, turn)
        .env(AGENT, AgentId::slug(&row.branch).as_str());
    command.start(talk.id.as_str()).map_err(|error| match error {
        ProcessError::NoDirectory { dir, .. } => Refusal::NoDirectory { cli: spoken(&talk.cli), path: dir },
        other => other.into(),
    })
}

/// What people call a CLI in a sentence.
fn spoken(cli: &str) -> String {
    cli::find(cli).map_or(cli, |known| known.short_name).to_owned()
}
