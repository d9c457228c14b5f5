//! What an agent has read, in the database.
//!
//! Numbers of one log mean nothing in another, and each log has the messages of different hosts in another order. An agent that
//! moves therefore takes along the last message that it has read of each host: messages of one host have the same order
//! everywhere.

use std::collections::BTreeMap;

use paw_core::{AgentId, HostName};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use super::LogEpoch;
use super::sqlite::{signed, unsigned};

/// The last message of a host that an agent has read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadMark {
    pub host: HostName,
    pub epoch: LogEpoch,
    pub seq: u64,
}

/// In place of a host's name: the messages of this log itself.
const LOCAL: &str = "";

/// The part of a query that leaves out what the agent `?2` has read on other hosts. `message` is a row of the session `?1` with
/// its origin. An epoch whose messages have not arrived yet comes after all that have, unless its id is older.
pub(super) const IS_UNREAD: &str = "
    NOT EXISTS (
        SELECT 1 FROM read_mark AS mark
        WHERE mark.agent = ?2 AND mark.host = '' AND message.origin IS NULL AND message.seq <= mark.seq
    ) AND NOT EXISTS (
        SELECT 1 FROM origin JOIN read_mark AS mark ON mark.agent = ?2 AND mark.host = origin.host
        LEFT JOIN origin AS marked
            ON marked.session = ?1 AND marked.host = mark.host AND marked.epoch = mark.epoch
        WHERE origin.id = message.origin AND (
            origin.id < marked.id
            OR (origin.id = marked.id AND message.origin_seq <= mark.seq)
            OR (marked.id IS NULL AND origin.epoch < mark.epoch)
        )
    )";

/// The agent was shown its messages up to this number.
pub(super) fn note(connection: &Connection, session: i64, agent: &AgentId, seq: u64) -> rusqlite::Result<()> {
    let save = "INSERT INTO last_read VALUES (?1, ?2, ?3)
        ON CONFLICT (session, agent) DO UPDATE SET seq = ?3 WHERE seq < ?3";
    connection.prepare_cached(save)?.execute(params![session, agent.as_str(), signed(seq)]).map(drop)
}

/// What an agent has read, here and on the machines where it was before. `own` is the name of this host.
pub(super) fn load(
    connection: &Connection,
    session: i64,
    agent: &AgentId,
    own: &HostName,
) -> rusqlite::Result<Vec<ReadMark>> {
    let query = "SELECT seq FROM last_read WHERE session = ?1 AND agent = ?2";
    let last = connection.query_row(query, params![session, agent.as_str()], |row| row.get::<_, i64>(0));
    let last = last.optional()?.unwrap_or_default();
    let mut marks = BTreeMap::new();
    let mut query = connection.prepare(
        "SELECT origin.host, origin.epoch, max(message.origin_seq)
         FROM message JOIN origin ON origin.id = message.origin
         WHERE message.session = ?1 AND message.seq <= ?2 GROUP BY origin.id ORDER BY origin.id",
    )?;
    for mark in query.query_map([session, last], mark)? {
        let mark = mark?;
        marks.insert(mark.host.clone(), mark);
    }
    let query = "SELECT max(seq) FROM message WHERE session = ?1 AND seq <= ?2 AND origin IS NULL";
    let local: Option<i64> = connection.query_row(query, [session, last], |row| row.get(0))?;
    if let Some(seq) = local {
        let query = "SELECT ?2, id, ?1 FROM epoch WHERE first_seq <= ?1 ORDER BY first_seq DESC LIMIT 1";
        let found = connection.query_row(query, params![seq, own.as_str()], mark).optional()?;
        if let Some(found) = found {
            marks.insert(own.clone(), found);
        }
    }
    let mut query =
        connection.prepare("SELECT host, epoch, seq FROM read_mark WHERE agent = ?1 AND host <> ''")?;
    for before in query.query_map([agent.as_str()], mark)? {
        let before = before?;
        match marks.get(&before.host) {
            Some(here) if !is_before(connection, session, here, &before)? => {}
            _ => _ = marks.insert(before.host.clone(), before),
        }
    }
    Ok(marks.into_values().collect())
}

/// Whether `first` is before `second`, of the same host.
fn is_before(
    connection: &Connection,
    session: i64,
    first: &ReadMark,
    second: &ReadMark,
) -> rusqlite::Result<bool> {
    if first.epoch == second.epoch {
        return Ok(first.seq < second.seq);
    }
    let query = "SELECT id FROM origin WHERE session = ?1 AND host = ?2 AND epoch = ?3";
    let place = |mark: &ReadMark| {
        let values = params![session, mark.host.as_str(), mark.epoch.as_str()];
        connection.query_row(query, values, |row| row.get::<_, i64>(0)).optional()
    };
    Ok(match (place(first)?, place(second)?) {
        (Some(first), Some(second)) => first < second,
        _ => first.epoch < second.epoch,
    })
}

/// An agent that comes to this host has read these messages. `own` is the name of this host.
pub(super) fn save(
    connection: &Connection,
    agent: &AgentId,
    own: &HostName,
    marks: &[ReadMark],
) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM read_mark WHERE agent = ?1", [agent.as_str()])?;
    let mut insert = connection.prepare("INSERT OR REPLACE INTO read_mark VALUES (?1, ?2, ?3, ?4)")?;
    for mark in marks {
        let epoch = mark.epoch.as_str();
        insert.execute(params![agent.as_str(), mark.host.as_str(), epoch, signed(mark.seq)])?;
        if mark.host == *own
            && let Some(end) = end_of(connection, &mark.epoch)?
        {
            insert.execute(params![agent.as_str(), LOCAL, epoch, signed(mark.seq).min(end)])?;
        }
    }
    Ok(())
}

/// The last number that an epoch of this log can have. `None` if the log has no such epoch.
fn end_of(connection: &Connection, epoch: &LogEpoch) -> rusqlite::Result<Option<i64>> {
    let query = "SELECT coalesce((SELECT min(next.first_seq) - 1 FROM epoch AS next
            WHERE next.first_seq > epoch.first_seq), 9223372036854775807)
        FROM epoch WHERE id = ?1";
    connection.query_row(query, [epoch.as_str()], |row| row.get(0)).optional()
}

pub(super) fn has_any(connection: &Connection, agent: &AgentId) -> rusqlite::Result<bool> {
    let mut query = connection.prepare_cached("SELECT 1 FROM read_mark WHERE agent = ?1")?;
    query.exists([agent.as_str()])
}

/// The agents that have come from another host.
pub(super) fn agents(connection: &Connection) -> rusqlite::Result<Vec<AgentId>> {
    let mut query = connection.prepare_cached("SELECT DISTINCT agent FROM read_mark")?;
    let agents = query.query_map([], |row| Ok(AgentId::new(row.get_ref(0)?.as_str()?).ok()))?;
    agents.filter_map(Result::transpose).collect()
}

/// The agent is gone; another one with its name starts from the beginning.
pub(super) fn delete(connection: &Connection, agent: &AgentId) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM read_mark WHERE agent = ?1", [agent.as_str()])?;
    connection.execute("DELETE FROM last_read WHERE agent = ?1", [agent.as_str()]).map(drop)
}

fn mark(row: &Row<'_>) -> rusqlite::Result<ReadMark> {
    let damage = |column: usize, error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error)
    };
    Ok(ReadMark {
        host: HostName::new(row.get::<_, String>(0)?).map_err(|error| damage(0, error.into()))?,
        epoch: LogEpoch::try_from(row.get::<_, String>(1)?).map_err(|error| damage(1, error.into()))?,
        seq: unsigned(row.get(2)?),
    })
}
