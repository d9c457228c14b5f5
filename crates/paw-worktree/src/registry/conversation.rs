//! Conversations: headless turns of a CLI in one worktree.

use std::fmt;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{Registry, timestamp};
use crate::error::WorktreeError;
use crate::id::{ConversationId, WorktreeId};

/// The status of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationStatus {
    /// Waiting for the next message.
    Idle,
    /// A turn is running.
    Active,
    /// Closed by its client, or because its worktree was removed.
    Closed,
}

impl ConversationStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Active => "active",
            Self::Closed => "closed",
        }
    }

    fn stored(text: &str) -> Self {
        match text {
            "idle" => Self::Idle,
            "active" => Self::Active,
            _ => Self::Closed,
        }
    }
}

impl fmt::Display for ConversationStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub id: ConversationId,
    /// None after the worktree was removed, which closes the conversation.
    pub worktree: Option<WorktreeId>,
    pub cli: String,
    /// The model it was started with, if one was requested.
    pub model: Option<String>,
    /// The CLI's own session id, for resuming.
    pub cli_session: Option<String>,
    pub status: ConversationStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

const COLUMNS: &str = "id, worktree_id, cli, cli_session, status, created_at, updated_at, model";

impl Registry {
    /// Starts a conversation in a worktree, idle until its first message.
    pub fn start_conversation(
        &self,
        worktree: &WorktreeId,
        cli: &str,
        model: Option<&str>,
        now: Timestamp,
    ) -> Result<Conversation, WorktreeError> {
        let id = ConversationId::generate();
        let sql = "INSERT INTO conversations (id, worktree_id, cli, status, created_at, updated_at, model) \
                   SELECT ?1, id, ?3, 'idle', ?4, ?4, ?5 FROM worktrees WHERE id = ?2";
        let values = params![id.as_str(), worktree.as_str(), cli, now.as_millisecond(), model];
        if self.lock().execute(sql, values)? == 0 {
            return Err(WorktreeError::Unknown(worktree.to_string()));
        }
        self.require_conversation(id.as_str())
    }

    pub fn require_conversation(&self, id: &str) -> Result<Conversation, WorktreeError> {
        let sql = format!("SELECT {COLUMNS} FROM conversations WHERE id = ?1");
        let found = self.lock().query_row(&sql, [id], conversation).optional()?;
        found.ok_or_else(|| WorktreeError::UnknownConversation(id.to_owned()))
    }

    /// The conversations of one worktree, or all, oldest first.
    pub fn conversations(&self, worktree: Option<&WorktreeId>) -> Result<Vec<Conversation>, WorktreeError> {
        let connection = self.lock();
        let filter = if worktree.is_some() { "WHERE worktree_id = ?1" } else { "WHERE ?1 IS NULL" };
        let mut statement = connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM conversations {filter} ORDER BY id"))?;
        let rows = statement.query_map([worktree.map(WorktreeId::as_str)], conversation)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Changes the status, unless the conversation is closed. Returns whether it did.
    pub fn set_conversation_status(
        &self,
        id: &ConversationId,
        status: ConversationStatus,
        now: Timestamp,
    ) -> Result<bool, WorktreeError> {
        let sql =
            "UPDATE conversations SET status = ?2, updated_at = ?3 WHERE id = ?1 AND status <> 'closed'";
        Ok(self.lock().execute(sql, params![id.as_str(), status.as_str(), now.as_millisecond()])? == 1)
    }

    pub fn set_cli_session(
        &self,
        id: &ConversationId,
        session: &str,
        now: Timestamp,
    ) -> Result<(), WorktreeError> {
        let sql = "UPDATE conversations SET cli_session = ?2, updated_at = ?3 WHERE id = ?1";
        self.lock().execute(sql, params![id.as_str(), session, now.as_millisecond()])?;
        Ok(())
    }

    /// Marks active conversations as idle, because no turn survives a restart. Only for the process that runs turns.
    /// Returns how many there were.
    pub fn interrupt_conversations(&self, now: Timestamp) -> Result<usize, WorktreeError> {
        let sql = "UPDATE conversations SET status = 'idle', updated_at = ?1 WHERE status = 'active'";
        Ok(self.lock().execute(sql, [now.as_millisecond()])?)
    }
}

pub(super) fn close_all_of(
    connection: &Connection,
    worktree: &WorktreeId,
    now: Timestamp,
) -> rusqlite::Result<u32> {
    let sql = "UPDATE conversations SET status = 'closed', updated_at = ?2 WHERE worktree_id = ?1 AND status <> 'closed'";
    let closed = connection.execute(sql, params![worktree.as_str(), now.as_millisecond()])?;
    Ok(u32::try_from(closed).unwrap_or(u32::MAX))
}

fn conversation(row: &Row<'_>) -> rusqlite::Result<Conversation> {
    Ok(Conversation {
        id: ConversationId::stored(row.get(0)?),
        worktree: row.get::<_, Option<String>>(1)?.map(WorktreeId::stored),
        cli: row.get(2)?,
        cli_session: row.get(3)?,
        status: ConversationStatus::stored(&row.get::<_, String>(4)?),
        created_at: timestamp(row.get(5)?),
        updated_at: timestamp(row.get(6)?),
        model: row.get(7)?,
    })
}
