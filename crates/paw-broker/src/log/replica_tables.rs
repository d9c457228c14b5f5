//! Replication in the database.

use std::collections::HashMap;

use paw_core::HostName;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::replica::{
    LogEpoch, Origin, ReplicaState, ReplicatedMessage, StreamCursor, StreamId, StreamPosition, StreamProgress,
};
use super::sqlite::{signed, unsigned};

/// Whether the session of the stream was purged.
pub(super) fn is_purged(connection: &Connection, stream: &StreamId) -> rusqlite::Result<bool> {
    let query = "SELECT count(*) FROM purged_stream WHERE id = ?1";
    connection.query_row(query, [stream.as_str()], |row| row.get::<_, bool>(0))
}

/// The stream that a session has joined.
pub(super) fn find_stream(connection: &Connection, session: i64) -> rusqlite::Result<Option<String>> {
    let mut query = connection.prepare_cached("SELECT stream FROM replica WHERE session = ?1")?;
    query.query_row([session], |row| row.get(0)).optional()
}

pub(super) fn join(connection: &Connection, session: i64, stream: &StreamId) -> rusqlite::Result<()> {
    let insert = "INSERT INTO replica (session, stream) VALUES (?1, ?2)";
    connection.execute(insert, params![session, stream.as_str()]).map(drop)
}

/// Starts an epoch after `head`. The first one covers all older messages; those without a message are dropped.
pub(super) fn begin_epoch(connection: &Connection, head: i64) -> rusqlite::Result<()> {
    let is_first = connection.query_row("SELECT count(*) FROM epoch", [], |row| row.get::<_, i64>(0))? == 0;
    let first_seq = if is_first { 1 } else { head + 1 };
    connection.execute("DELETE FROM epoch WHERE first_seq >= ?1", [first_seq])?;
    let insert = "INSERT INTO epoch (first_seq, id) VALUES (?1, ?2)";
    connection.execute(insert, params![first_seq, LogEpoch::random().as_str()]).map(drop)
}

pub(super) fn load(connection: &Connection, session: i64) -> rusqlite::Result<ReplicaState> {
    let mut epochs = connection.prepare("SELECT first_seq, id FROM epoch ORDER BY first_seq")?;
    let epochs = epochs.query_map([], |row| Ok((unsigned(row.get(0)?), epoch(row, 1)?)))?;
    let mut origins = connection.prepare("SELECT host, epoch, last_seq FROM origin WHERE session = ?1")?;
    let origins = origins.query_map([session], |row| {
        let host = HostName::new(row.get::<_, String>(0)?).map_err(|error| damage(0, error.into()))?;
        Ok((Origin { host, epoch: epoch(row, 1)? }, unsigned(row.get(2)?)))
    })?;
    let query = "SELECT incarnation, seq, digest, own_seq, sent, roster FROM replica WHERE session = ?1";
    let (position, roster) = connection.query_row(query, [session], |row| {
        let incarnation: Option<String> = row.get(0)?;
        let (seq, digest) = (unsigned(row.get(1)?), row.get(2)?);
        let cursor = incarnation.map(|incarnation| StreamCursor { incarnation, seq, digest });
        let (own_seq, sent) = (unsigned(row.get(3)?), unsigned(row.get(4)?));
        Ok((StreamPosition { cursor, own_seq, sent }, row.get(5)?))
    })?;
    Ok(ReplicaState {
        epochs: epochs.collect::<rusqlite::Result<_>>()?,
        origins: origins.collect::<rusqlite::Result<_>>()?,
        position,
        roster,
    })
}

/// Stores the messages after `head`, and the position behind them.
pub(super) fn append(
    connection: &Connection,
    session: i64,
    head: i64,
    progress: &StreamProgress,
) -> rusqlite::Result<()> {
    // Messages of one origin follow each other.
    let runs = || progress.messages.chunk_by(|one, next| one.origin == next.origin);
    let stored = runs().filter_map(|run| {
        let newest = run.iter().map(|message| message.seq).max()?;
        Some((&run.first()?.origin, newest))
    });
    let mut newest: HashMap<&Origin, u64> = HashMap::new();
    for (origin, seq) in stored.chain(progress.origins.iter().map(|(origin, seq)| (origin, *seq))) {
        let known = newest.entry(origin).or_default();
        *known = seq.max(*known);
    }
    let mut rows = HashMap::with_capacity(newest.len());
    for (origin, seq) in newest {
        rows.insert(origin, save_origin(connection, session, origin, seq)?);
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO message (seq, session, at, sender, audience, body, origin, origin_seq)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let mut seq = head;
    for run in runs() {
        let origin = run.first().and_then(|message| rows.get(&message.origin));
        for ReplicatedMessage { draft, seq: origin_seq, .. } in run {
            seq += 1;
            insert.execute(params![
                seq,
                session,
                draft.at.as_microsecond(),
                draft.sender.as_str(),
                draft.audience.as_column(),
                &*draft.body,
                origin,
                signed(*origin_seq),
            ])?;
        }
    }
    let StreamPosition { cursor, own_seq, sent } = &progress.position;
    let mut update = connection.prepare_cached(
        "UPDATE replica SET incarnation = ?2, seq = ?3, digest = ?4, own_seq = ?5, sent = ?6,
             roster = coalesce(?7, roster)
         WHERE session = ?1",
    )?;
    update.execute(params![
        session,
        cursor.as_ref().map(|cursor| &cursor.incarnation),
        cursor.as_ref().map_or(0, |cursor| signed(cursor.seq)),
        cursor.as_ref().map_or("", |cursor| &cursor.digest),
        signed(*own_seq),
        signed(*sent),
        progress.roster,
    ])?;
    Ok(())
}

/// Returns the origin's row. Its newest sequence number never goes back.
fn save_origin(connection: &Connection, session: i64, origin: &Origin, seq: u64) -> rusqlite::Result<i64> {
    let mut save = connection.prepare_cached(
        "INSERT INTO origin (session, host, epoch, last_seq) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (session, host, epoch) DO UPDATE SET last_seq = max(last_seq, ?4)
         RETURNING id",
    )?;
    let values = params![session, origin.host.as_str(), origin.epoch.as_str(), signed(seq)];
    save.query_row(values, |row| row.get(0))
}

/// Own messages of a purged session are unknown from here on, so that they are taken back from the stream.
pub(super) fn readmit(connection: &Connection, stream: &StreamId) -> rusqlite::Result<()> {
    if connection.execute("DELETE FROM purged_stream WHERE id = ?1", [stream.as_str()])? > 0 {
        connection.execute("DELETE FROM epoch WHERE NOT EXISTS (SELECT 1 FROM replica)", [])?;
    }
    Ok(())
}

/// Nothing of the session comes back: its stream is remembered.
pub(super) fn purge(connection: &Connection, session: i64) -> rusqlite::Result<()> {
    let mark = "INSERT OR IGNORE INTO purged_stream SELECT stream FROM replica WHERE session = ?1";
    connection.execute(mark, [session])?;
    connection.execute("DELETE FROM replica WHERE session = ?1", [session])?;
    connection.execute("DELETE FROM origin WHERE session = ?1", [session]).map(drop)
}

fn epoch(row: &Row<'_>, column: usize) -> rusqlite::Result<LogEpoch> {
    LogEpoch::try_from(row.get::<_, String>(column)?).map_err(|error| damage(column, error.into()))
}

fn damage(column: usize, error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error)
}
