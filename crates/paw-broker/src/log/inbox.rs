//! Whose inbox a message belongs to, in the database.
//!
//! An index that is written with every message dirties a page for each agent that gets one. So the newest messages are not in
//! the index: it is written for many of them at once, in the transaction that stores the last one, and a reader searches the rest.

use paw_core::AgentId;
use rusqlite::{Connection, Row, params};

use super::sqlite::{COLUMNS, count, entry, page, signed, unsigned};
use super::{LogEntry, NewestSeq, PageLimit, read_marks};
use crate::route::Audience;

/// Messages that may be missing in the index.
const MOST_MISSING: i64 = 4096;

/// Adds messages to the index if many of those up to `head` are missing.
pub(super) fn index_if_due(connection: &Connection, head: i64) -> rusqlite::Result<()> {
    let indexed = load_indexed(connection)?;
    if head - indexed < MOST_MISSING {
        return Ok(());
    }
    let add = "INSERT INTO inbox SELECT session, audience, seq FROM message
        WHERE seq > ?1 AND audience IS NOT NULL ORDER BY session, audience, seq";
    connection.prepare_cached(add)?.execute([indexed])?;
    connection.prepare_cached("UPDATE indexed SET seq = ?1")?.execute([head]).map(drop)
}

fn load_indexed(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT seq FROM indexed")?.query_row([], |row| row.get(0))
}

/// The inbox of an agent after `since`: what the index has, then what it misses.
pub(super) fn load(
    connection: &Connection,
    session: i64,
    agent: &AgentId,
    since: u64,
    limit: PageLimit,
) -> rusqlite::Result<Vec<LogEntry>> {
    // The index must not change between the two queries.
    let snapshot = connection.unchecked_transaction()?;
    let indexed = load_indexed(&snapshot)?;
    let unread = if read_marks::has_any(&snapshot, agent)? { read_marks::IS_UNREAD } else { "true" };
    // Two ordered scans, merged: no sort, whatever the length of the log.
    let in_index = format!(
        "SELECT {COLUMNS} FROM (
             SELECT {COLUMNS}, origin_seq FROM inbox CROSS JOIN message USING (session, audience, seq)
             WHERE session = ?1 AND audience = ?2 AND seq > ?3
             UNION ALL
             SELECT {COLUMNS}, origin_seq FROM inbox CROSS JOIN message USING (session, audience, seq)
             WHERE session = ?1 AND audience = '*' AND seq > ?3 AND sender <> ?2
         ) AS message WHERE {unread} ORDER BY seq LIMIT ?4"
    );
    let missing = format!(
        "SELECT {COLUMNS} FROM message
         WHERE seq > ?3 AND +session = ?1 AND (audience = ?2 OR (audience = '*' AND sender <> ?2)) AND {unread}
         ORDER BY seq LIMIT ?4"
    );
    let mut in_index = snapshot.prepare_cached(&in_index)?;
    let mut missing = snapshot.prepare_cached(&missing)?;
    let (agent, most) = (agent.as_str(), count(limit));
    let newer = params![session, agent, signed(since), most];
    let newest = params![session, agent, signed(since).max(indexed), most];
    page(in_index.query_map(newer, entry)?.chain(missing.query_map(newest, entry)?), limit)
}

/// The newest message for each audience.
pub(super) fn newest(connection: &Connection, session: i64) -> rusqlite::Result<Vec<NewestSeq>> {
    // Jumps from audience to audience instead of scanning the whole index.
    let query = "
        WITH RECURSIVE each (audience) AS (
            SELECT min(audience) FROM inbox WHERE session = ?1
            UNION ALL
            SELECT (SELECT min(audience) FROM inbox WHERE session = ?1 AND audience > each.audience)
            FROM each WHERE each.audience IS NOT NULL
        ), newest (audience, seq) AS (
            SELECT audience, (SELECT max(seq) FROM inbox WHERE session = ?1 AND audience = each.audience)
            FROM each WHERE audience IS NOT NULL
            UNION ALL
            SELECT audience, seq FROM message
            WHERE seq > (SELECT seq FROM indexed) AND +session = ?1 AND audience IS NOT NULL
        )
        SELECT audience, max(seq) FROM newest GROUP BY audience";
    let mut query = connection.prepare_cached(query)?;
    let read = |row: &Row<'_>| {
        let audience = Audience::from_column(row.get_ref(0)?.as_str_or_null()?);
        Ok(NewestSeq { audience, seq: unsigned(row.get(1)?) })
    };
    query.query_map([session], read)?.collect()
}

pub(super) fn purge(connection: &Connection, session: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM inbox WHERE session = ?1", [session]).map(drop)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;
    use paw_host::sqlite::{self, Durability};

    use super::*;
    use crate::log::database::MIGRATIONS;
    use crate::log::{self, MessageDraft, MessageLog, SessionId};
    use crate::message::{ArtifactMessage, FeedbackMessage, Message};

    const AGENTS: [&str; 4] = ["a", "b", "c", "supervisor"];

    fn id(text: &str) -> AgentId {
        AgentId::new(text).unwrap()
    }

    /// Messages for one agent, for everyone else, and for the supervisor, in a fixed disorder.
    fn drafts(from: usize, count: usize) -> Vec<MessageDraft> {
        let message = |number: usize| -> Message {
            let (sender, other) = (AGENTS[number % 3], AGENTS[number * 7 % 3]);
            match number % 5 {
                0 => ArtifactMessage::new(id(sender), "done").into(),
                _ => FeedbackMessage::new(id(other), id(sender), vec![number.to_string()]).into(),
            }
        };
        (from..from + count).map(|number| MessageDraft::new(message(number), Timestamp::UNIX_EPOCH)).collect()
    }

    fn everything(log: &dyn MessageLog, session: &SessionId) -> Vec<LogEntry> {
        log.history(session, 0, PageLimit { messages: usize::MAX, bytes: usize::MAX }).unwrap()
    }

    /// Compares the index with a search of the whole log.
    fn check(log: &dyn MessageLog, session: &SessionId) {
        let all = everything(log, session);
        let head = log.head().unwrap();
        let mut newest: BTreeMap<Option<String>, u64> = BTreeMap::new();
        for entry in all.iter().filter(|entry| entry.audience != Audience::None) {
            newest.insert(entry.audience.as_column().map(ToString::to_string), entry.seq);
        }
        let found = log.newest(session).unwrap();
        let found = found.iter().map(|one| (one.audience.as_column().map(ToString::to_string), one.seq));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), newest);
        for agent in AGENTS.map(id) {
            let due: Vec<u64> = all
                .iter()
                .filter(|entry| entry.audience.reaches(&agent, &entry.sender))
                .map(|entry| entry.seq)
                .collect();
            for since in [0, 1, MOST_MISSING.unsigned_abs() - 1, head / 2, head.saturating_sub(3), head] {
                for messages in [1, 50, 100_000] {
                    let page = log.inbox(session, &agent, since, PageLimit { messages, bytes: 1 << 30 });
                    let page: Vec<u64> = page.unwrap().iter().map(|entry| entry.seq).collect();
                    let due: Vec<u64> =
                        due.iter().copied().filter(|seq| *seq > since).take(messages).collect();
                    assert_eq!(page, due, "{agent} after {since}, at most {messages}");
                }
            }
        }
    }

    #[test]
    fn an_inbox_is_complete_whatever_part_of_it_is_in_the_index() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let (log, other) = (log::open(&path).unwrap(), log::open(&path).unwrap());
        let (session, second) = (SessionId::new("s"), SessionId::new("t"));
        let most = usize::try_from(MOST_MISSING).unwrap();
        let mut written = 0;
        for count in [1, most - 2, 1, 1, 700, most, 3, 2 * most, 5] {
            log.append(&session, &drafts(written, count)).unwrap();
            other.append(&second, &drafts(written, 7)).unwrap();
            written += count;
            check(&*log, &session);
            check(&*other, &second);
        }
        log.purge(&session).unwrap();
        check(&*log, &session);
        check(&*log, &second);
        log.append(&session, &drafts(0, most)).unwrap();
        check(&*log, &session);
    }

    #[test]
    fn a_log_of_an_older_version_gets_the_index() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let before = MIGRATIONS.iter().position(|sql| sql.contains("CREATE TABLE inbox")).unwrap();
        let old = sqlite::open(&path, &MIGRATIONS[..before], Durability::Process).unwrap();
        old.execute("INSERT INTO session VALUES (1, 's', 1, 0)", []).unwrap();
        for (seq, draft) in (1..).zip(drafts(0, 500)) {
            let insert = "INSERT INTO message (seq, session, at, sender, audience, body) VALUES (?1, 1, 0, ?2, ?3, ?4)";
            let audience = draft.audience.as_column();
            old.execute(insert, params![seq, draft.sender.as_str(), audience, &*draft.body]).unwrap();
        }
        drop(old);
        let (log, session) = (log::open(&path).unwrap(), SessionId::new("s"));
        assert_eq!(everything(&*log, &session).len(), 500);
        check(&*log, &session);
        log.append(&session, &drafts(500, 10)).unwrap();
        check(&*log, &session);
    }
}
