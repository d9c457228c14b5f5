//! The log of one machine: a SQLite database that several processes may write to at once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use paw_core::config::Synchronous;
use paw_core::{AgentId, HostName};
use paw_host::sqlite::Durability;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

use super::database::Database;
use super::{
    Appended, LogEntry, LogError, MessageDraft, MessageLog, NewestSeq, PageLimit, ReadMark, ReplicaState,
    SessionId, StreamId, StreamProgress, inbox, read_marks, replica_tables, sent, tokens,
};
use crate::identity::TokenHash;
use crate::route::Audience;

pub(super) const COLUMNS: &str = "seq, at, sender, audience, body, origin";

/// Messages in `<git-common-dir>/paw/broker.db`.
#[derive(Debug)]
pub(super) struct SqliteLog {
    database: Database,
    /// The database's row of each session. Row numbers are never reused.
    sessions: Mutex<HashMap<SessionId, SessionRow>>,
}

#[derive(Debug, Clone, Copy)]
struct SessionRow {
    number: i64,
    /// The session has no message before it.
    first_seq: i64,
}

impl SqliteLog {
    pub(super) fn open(path: &Path, synchronous: Synchronous) -> Result<Self, LogError> {
        let durability = match synchronous {
            Synchronous::Normal => Durability::Process,
            Synchronous::Full => Durability::Power,
        };
        Ok(Self { database: Database::open(path, durability)?, sessions: Mutex::default() })
    }

    fn find_session(&self, session: &SessionId) -> Result<Option<SessionRow>, LogError> {
        if let Some(known) = self.sessions().get(session) {
            return Ok(Some(*known));
        }
        let found = self.database.read(|connection| find(connection, session))?;
        if let Some(found) = found {
            self.sessions().insert(session.clone(), found);
        }
        Ok(found)
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, SessionRow>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find(connection: &Connection, session: &SessionId) -> rusqlite::Result<Option<SessionRow>> {
    let mut statement = connection.prepare_cached("SELECT id, first_seq FROM session WHERE name = ?1")?;
    let read = |row: &Row<'_>| Ok(SessionRow { number: row.get(0)?, first_seq: row.get(1)? });
    statement.query_row([session.as_str()], read).optional()
}

fn find_or_insert_session(connection: &Connection, session: &SessionId) -> rusqlite::Result<SessionRow> {
    if let Some(found) = find(connection, session)? {
        return Ok(found);
    }
    let insert = "INSERT INTO session (name, first_seq, used) VALUES (?1, ?2, 0)";
    connection.execute(insert, params![session.as_str(), head(connection)? + 1])?;
    find(connection, session)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

fn insert(
    connection: &Connection,
    session: &SessionId,
    drafts: &[MessageDraft],
) -> rusqlite::Result<Appended> {
    let SessionRow { number, .. } = find_or_insert_session(connection, session)?;
    let head = head(connection)?;
    let (mut seq, mut known) = (head, Vec::new());
    let insert =
        "INSERT INTO message (seq, session, at, sender, audience, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = connection.prepare_cached(insert)?;
    for (index, draft) in drafts.iter().enumerate() {
        if let Some(id) = &draft.id {
            if let Some(stored) = sent::find(connection, &draft.sender, id)? {
                known.push((index, unsigned(stored)));
                continue;
            }
            sent::save(connection, &draft.sender, id, seq + 1)?;
        }
        seq += 1;
        insert.execute(params![
            seq,
            number,
            draft.at.as_microsecond(),
            draft.sender.as_str(),
            draft.audience.as_column(),
            &*draft.body
        ])?;
    }
    inbox::index_if_due(connection, seq)?;
    Ok(Appended { first: unsigned(head) + 1, known })
}

impl MessageLog for SqliteLog {
    fn begin(&self, session: &SessionId, now: Timestamp) -> Result<(), LogError> {
        let mut connection = self.database.writer();
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate)?;
        find_or_insert_session(&transaction, session)?;
        sent::prune(&transaction, head(&transaction)?)?;
        let used = "UPDATE session SET used = ?2 WHERE name = ?1";
        transaction.execute(used, params![session.as_str(), now.as_microsecond()])?;
        transaction.commit()?;
        Ok(())
    }

    fn current_session(&self) -> Result<Option<SessionId>, LogError> {
        self.database.read(|connection| {
            let query = "SELECT name FROM session ORDER BY used DESC, id DESC LIMIT 1";
            connection.query_row(query, [], |row| Ok(SessionId::new(row.get_ref(0)?.as_str()?))).optional()
        })
    }

    fn append(&self, session: &SessionId, drafts: &[MessageDraft]) -> Result<Appended, LogError> {
        let connection = self.database.writer();
        // The hottest path: all of its statements are prepared once.
        let run = |sql: &str| connection.prepare_cached(sql)?.execute([]);
        run("BEGIN IMMEDIATE")?;
        let done = insert(&connection, session, drafts).and_then(|first| run("COMMIT").map(|_| first));
        if done.is_err() {
            // SQLite may have rolled back already.
            let _ = run("ROLLBACK");
        }
        Ok(done?)
    }

    fn inbox(
        &self,
        session: &SessionId,
        agent: &AgentId,
        since: u64,
        limit: PageLimit,
    ) -> Result<Vec<LogEntry>, LogError> {
        let Some(SessionRow { number, .. }) = self.find_session(session)? else { return Ok(Vec::new()) };
        self.database.read(|connection| inbox::load(connection, number, agent, since, limit))
    }

    fn note_read(&self, session: &SessionId, agent: &AgentId, seq: u64) -> Result<(), LogError> {
        let Some(SessionRow { number, .. }) = self.find_session(session)? else { return Ok(()) };
        Ok(read_marks::note(&self.database.writer(), number, agent, seq)?)
    }

    fn load_read_marks(
        &self,
        session: &SessionId,
        agent: &AgentId,
        own: &HostName,
    ) -> Result<Vec<ReadMark>, LogError> {
        let Some(SessionRow { number, .. }) = self.find_session(session)? else { return Ok(Vec::new()) };
        self.database.read(|connection| read_marks::load(connection, number, agent, own))
    }

    fn save_read_marks(&self, agent: &AgentId, own: &HostName, marks: &[ReadMark]) -> Result<(), LogError> {
        let mut connection = self.database.writer();
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate)?;
        read_marks::save(&transaction, agent, own, marks)?;
        Ok(transaction.commit()?)
    }

    fn load_moved_agents(&self) -> Result<Vec<AgentId>, LogError> {
        self.database.read(read_marks::agents)
    }

    fn history(&self, session: &SessionId, since: u64, limit: PageLimit) -> Result<Vec<LogEntry>, LogError> {
        let Some(SessionRow { number, first_seq }) = self.find_session(session)? else {
            return Ok(Vec::new());
        };
        let since = signed(since).max(first_seq - 1);
        let query =
            format!("SELECT {COLUMNS} FROM message WHERE seq > ?2 AND +session = ?1 ORDER BY seq LIMIT ?3");
        self.database.read(|connection| {
            let mut statement = connection.prepare_cached(&query)?;
            let rows = statement.query_map(params![number, since, count(limit)], entry)?;
            page(rows, limit)
        })
    }

    fn head(&self) -> Result<u64, LogError> {
        Ok(unsigned(self.database.read(head)?))
    }

    fn newest(&self, session: &SessionId) -> Result<Vec<NewestSeq>, LogError> {
        let Some(SessionRow { number, .. }) = self.find_session(session)? else { return Ok(Vec::new()) };
        self.database.read(|connection| inbox::newest(connection, number))
    }

    fn load_snapshot(&self, session: &SessionId) -> Result<Option<(u64, String)>, LogError> {
        let Some(SessionRow { number, .. }) = self.find_session(session)? else { return Ok(None) };
        self.database.read(|connection| {
            let query = "SELECT seq, body FROM snapshot WHERE session = ?1";
            connection.query_row(query, [number], |row| Ok((unsigned(row.get(0)?), row.get(1)?))).optional()
        })
    }

    fn save_snapshot(&self, session: &SessionId, seq: u64, body: &str) -> Result<(), LogError> {
        let Some(SessionRow { number, .. }) = self.find_session(session)? else { return Ok(()) };
        let save = "INSERT INTO snapshot VALUES (?1, ?2, ?3)
            ON CONFLICT (session) DO UPDATE SET seq = ?2, body = ?3 WHERE seq < ?2";
        self.database.writer().prepare_cached(save)?.execute(params![number, signed(seq), body])?;
        Ok(())
    }

    fn save_token(
        &self,
        session: Option<&SessionId>,
        agent: &AgentId,
        hash: TokenHash,
    ) -> Result<(), LogError> {
        Ok(tokens::save(&self.database.writer(), session, agent, hash)?)
    }

    fn delete_token(&self, session: &SessionId, agent: &AgentId) -> Result<(), LogError> {
        let connection = self.database.writer();
        tokens::delete(&connection, session, agent)?;
        Ok(read_marks::delete(&connection, agent)?)
    }

    fn load_tokens(&self, session: &SessionId) -> Result<Vec<(AgentId, TokenHash)>, LogError> {
        self.database.read(|connection| tokens::load(connection, session))
    }

    fn restore(&self, messages: &[(SessionId, LogEntry)], head: u64) -> Result<(), LogError> {
        let mut connection = self.database.writer();
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate)?;
        let insert =
            "INSERT INTO message (seq, session, at, sender, audience, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        for (session, entry) in messages {
            let SessionRow { number, .. } = find_or_insert_session(&transaction, session)?;
            transaction.prepare_cached(insert)?.execute(params![
                signed(entry.seq),
                number,
                entry.at.as_microsecond(),
                entry.sender.as_str(),
                entry.audience.as_column(),
                &*entry.body
            ])?;
            let used = "UPDATE session SET used = ?2, first_seq = min(first_seq, ?3) WHERE id = ?1";
            transaction.prepare_cached(used)?.execute(params![
                number,
                entry.at.as_microsecond(),
                signed(entry.seq)
            ])?;
        }
        transaction.execute("UPDATE purged SET seq = max(seq, ?1)", [signed(head)])?;
        inbox::index_if_due(&transaction, self::head(&transaction)?)?;
        transaction.commit()?;
        Ok(())
    }

    fn join_stream(&self, session: &SessionId, stream: &StreamId) -> Result<ReplicaState, LogError> {
        let mut connection = self.database.writer();
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate)?;
        if replica_tables::is_purged(&transaction, stream)? {
            return Err(LogError::Purged);
        }
        let SessionRow { number, .. } = find_or_insert_session(&transaction, session)?;
        match replica_tables::find_stream(&transaction, number)? {
            None => replica_tables::join(&transaction, number, stream)?,
            Some(joined) if joined == stream.as_str() => {}
            Some(joined) => {
                return Err(LogError::Failed(format!("the session is replicated by the stream {joined}")));
            }
        }
        replica_tables::begin_epoch(&transaction, head(&transaction)?)?;
        let state = replica_tables::load(&transaction, number)?;
        transaction.commit()?;
        Ok(state)
    }

    fn append_replicated(
        &self,
        session: &SessionId,
        stream: &StreamId,
        progress: &StreamProgress,
    ) -> Result<u64, LogError> {
        let mut connection = self.database.writer();
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate)?;
        // A session that is purged and started again under the same id has joined another stream.
        let joined = find(&transaction, session)?.map(|found| found.number);
        let Some(number) = joined else { return Err(LogError::Purged) };
        if replica_tables::find_stream(&transaction, number)?.as_deref() != Some(stream.as_str()) {
            return Err(LogError::Purged);
        }
        let head = head(&transaction)?;
        replica_tables::append(&transaction, number, head, progress)?;
        inbox::index_if_due(&transaction, self::head(&transaction)?)?;
        transaction.commit()?;
        Ok(unsigned(head) + 1)
    }

    fn readmit_stream(&self, stream: &StreamId) -> Result<(), LogError> {
        let mut connection = self.database.writer();
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate)?;
        replica_tables::readmit(&transaction, stream)?;
        Ok(transaction.commit()?)
    }

    fn purge(&self, session: &SessionId) -> Result<(), LogError> {
        let mut connection = self.database.writer();
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate)?;
        if let Some(SessionRow { number, first_seq }) = find(&transaction, session)? {
            transaction.execute("UPDATE purged SET seq = ?1", [head(&transaction)?])?;
            let delete = "DELETE FROM message WHERE seq >= ?2 AND +session = ?1";
            transaction.execute(delete, [number, first_seq])?;
            inbox::purge(&transaction, number)?;
            transaction.execute("DELETE FROM snapshot WHERE session = ?1", [number])?;
            replica_tables::purge(&transaction, number)?;
            transaction.execute("DELETE FROM last_read WHERE session = ?1", [number])?;
            transaction.execute("DELETE FROM session WHERE id = ?1", [number])?;
        }
        transaction.execute("DELETE FROM token WHERE session = ?1", [session.as_str()])?;
        transaction.commit()?;
        self.sessions().remove(session);
        Ok(())
    }
}

fn head(connection: &Connection) -> rusqlite::Result<i64> {
    let newest = "SELECT max(coalesce((SELECT max(seq) FROM message), 0), (SELECT seq FROM purged))";
    connection.prepare_cached(newest)?.query_row([], |row| row.get(0))
}

pub(super) fn entry(row: &Row<'_>) -> rusqlite::Result<LogEntry> {
    let text = |column: usize| row.get_ref(column).and_then(|value| Ok(value.as_str()?));
    let unreadable = |column: usize, error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error)
    };
    Ok(LogEntry {
        seq: unsigned(row.get(0)?),
        at: Timestamp::from_microsecond(row.get(1)?).map_err(|error| unreadable(1, error.into()))?,
        sender: AgentId::new(text(2)?).map_err(|error| unreadable(2, error.into()))?,
        audience: Audience::from_column(row.get_ref(3)?.as_str_or_null()?),
        body: text(4)?.into(),
        is_replicated: row.get::<_, Option<i64>>(5)?.is_some(),
    })
}

/// Stops at the page's limit of bytes. The query itself limits the number of messages.
pub(super) fn page(
    rows: impl Iterator<Item = rusqlite::Result<LogEntry>>,
    limit: PageLimit,
) -> rusqlite::Result<Vec<LogEntry>> {
    let (mut entries, mut size) = (Vec::new(), 0_usize);
    for entry in rows {
        let entry = entry?;
        if !limit.admits(entries.len(), size, entry.body.len()) {
            break;
        }
        size += entry.body.len();
        entries.push(entry);
    }
    Ok(entries)
}

pub(super) fn count(limit: PageLimit) -> i64 {
    i64::try_from(limit.messages.max(1)).unwrap_or(i64::MAX)
}

pub(super) fn signed(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// Sequence numbers are always positive.
pub(super) fn unsigned(seq: i64) -> u64 {
    u64::try_from(seq).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ArtifactMessage;

    #[test]
    fn append_fails_on_a_full_disk_and_leaves_the_log_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let log = SqliteLog::open(&dir.path().join("db"), Synchronous::Normal).unwrap();
        let session = SessionId::new("s");
        let draft = |bytes: usize| {
            let artifact = ArtifactMessage::new(AgentId::new("a").unwrap(), "x".repeat(bytes));
            MessageDraft::new(artifact.into(), Timestamp::UNIX_EPOCH)
        };
        assert_eq!(log.append(&session, &[draft(10)]).unwrap().first, 1);
        let most = |pages: u32| log.database.writer().pragma_update(None, "max_page_count", pages).unwrap();
        most(20);
        let error = log.append(&session, &[draft(10), draft(100_000)]).unwrap_err();
        assert!(matches!(error, LogError::Full), "{error}");
        assert_eq!(log.head().unwrap(), 1);
        assert_eq!(log.history(&session, 0, PageLimit::DEFAULT).unwrap().len(), 1);
        most(1_000_000);
        assert_eq!(log.append(&session, &[draft(100_000)]).unwrap().first, 2);
    }
}
