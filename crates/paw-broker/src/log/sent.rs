//! The ids of recent messages, so that a message that is sent again is stored once. Only messages of senders that retry have
//! an id.

use paw_core::AgentId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::SendId;

/// Ids of messages that are older by this many messages are dropped: their senders no longer retry.
const KEPT: i64 = 1 << 17;
/// How many sequence numbers lie between two cleanups.
const CLEANUP: i64 = 1 << 14;

pub(super) fn find(connection: &Connection, sender: &AgentId, id: &SendId) -> rusqlite::Result<Option<i64>> {
    let mut find = connection.prepare_cached("SELECT seq FROM sent WHERE sender = ?1 AND id = ?2")?;
    find.query_row([sender.as_str(), id.as_str()], |row| row.get(0)).optional()
}

pub(super) fn save(connection: &Connection, sender: &AgentId, id: &SendId, seq: i64) -> rusqlite::Result<()> {
    let mut save = connection.prepare_cached("INSERT INTO sent VALUES (?1, ?2, ?3)")?;
    save.execute(params![sender.as_str(), id.as_str(), seq])?;
    if seq % CLEANUP == 0 { prune(connection, seq) } else { Ok(()) }
}

pub(super) fn prune(connection: &Connection, head: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM sent WHERE seq <= ?1", [head - KEPT]).map(drop)
}
