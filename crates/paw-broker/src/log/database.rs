//! The SQLite database of the log: its schema, one connection for writing and a pool for reading.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use paw_host::sqlite::{self, Durability};
use rusqlite::Connection;

use super::LogError;

/// `purged` holds the newest sequence number that a purge deleted, so that it is not reused. `sent` holds the ids of recent
/// messages that have one; an index on all messages would cost two thirds of the publish rate.
/// A message with an `origin` came from another host. `purged_stream` holds the streams of purged sessions. `last_read` is
/// what an agent was shown here, `read_mark` what it had read before it came from another host. `inbox` is the index of messages
/// by audience, as far as `indexed` says.
pub(super) const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
    INSERT INTO head VALUES (1, 0);
    CREATE TABLE session (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
        first_seq INTEGER NOT NULL, used INTEGER NOT NULL
    );
    CREATE TABLE message (
        seq INTEGER PRIMARY KEY, session INTEGER NOT NULL, at INTEGER NOT NULL,
        sender TEXT NOT NULL, audience TEXT, body TEXT NOT NULL
    );
    CREATE INDEX inbox ON message (session, audience) WHERE audience IS NOT NULL;
    CREATE TABLE snapshot (session INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE TABLE token (
        session TEXT NOT NULL, agent TEXT NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (session, agent)
    ) WITHOUT ROWID;
",
    "ALTER TABLE head RENAME TO purged;",
    "
    CREATE TABLE sent (
        sender TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (sender, id)
    ) WITHOUT ROWID;
",
    "
    ALTER TABLE message ADD COLUMN origin INTEGER;
    ALTER TABLE message ADD COLUMN origin_seq INTEGER;
    CREATE TABLE epoch (first_seq INTEGER PRIMARY KEY, id TEXT NOT NULL);
    CREATE TABLE origin (
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, host TEXT NOT NULL, epoch TEXT NOT NULL,
        last_seq INTEGER NOT NULL, UNIQUE (session, host, epoch)
    );
    CREATE TABLE replica (
        session INTEGER PRIMARY KEY, stream TEXT NOT NULL, incarnation TEXT, seq INTEGER NOT NULL DEFAULT 0,
        digest TEXT NOT NULL DEFAULT '', own_seq INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL DEFAULT 0,
        roster TEXT
    );
    CREATE TABLE purged_stream (id TEXT PRIMARY KEY) WITHOUT ROWID;
",
    "
    CREATE TABLE last_read (
        session INTEGER NOT NULL, agent TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (session, agent)
    ) WITHOUT ROWID;
    CREATE TABLE read_mark (
        agent TEXT NOT NULL, host TEXT NOT NULL, epoch TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (agent, host)
    ) WITHOUT ROWID;
",
    "
    DROP INDEX inbox;
    CREATE TABLE inbox (
        session INTEGER NOT NULL, audience TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (session, audience, seq)
    ) WITHOUT ROWID;
    INSERT INTO inbox SELECT session, audience, seq FROM message
        WHERE audience IS NOT NULL ORDER BY session, audience, seq;
    CREATE TABLE indexed (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
    INSERT INTO indexed SELECT 1, coalesce(max(seq), 0) FROM message;
",
];

/// Connections in the read pool. More readers wait.
const READERS: usize = 4;

/// Length and time of change of the database and its journal.
pub(super) type FileStates = Vec<(u64, std::time::SystemTime)>;

pub(super) fn find_changes(path: &Path) -> Option<FileStates> {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    [path.as_os_str(), &journal]
        .into_iter()
        .map(|file| {
            std::fs::metadata(file).ok().and_then(|found| Some((found.len(), found.modified().ok()?)))
        })
        .collect()
}

#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    durability: Durability,
    writer: Mutex<Connection>,
    readers: Mutex<Readers>,
    returned: Condvar,
}

#[derive(Debug)]
struct Readers {
    idle: Vec<Connection>,
    open: usize,
}

impl Database {
    pub(super) fn open(path: &Path, durability: Durability) -> Result<Self, LogError> {
        let writer = sqlite::open(path, MIGRATIONS, durability)?;
        // Enough for all statements of the hot paths.
        writer.set_prepared_statement_cache_capacity(32);
        Ok(Self {
            path: path.to_path_buf(),
            durability,
            writer: Mutex::new(writer),
            readers: Mutex::new(Readers { idle: Vec::new(), open: 0 }),
            returned: Condvar::new(),
        })
    }

    pub(super) fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `read` on a connection of the pool, so that readers never wait for the writer.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LogError> {
        let connection = self.take_reader()?;
        let result = read(&connection);
        self.put_back(Some(connection));
        Ok(result?)
    }

    fn take_reader(&self) -> Result<Connection, LogError> {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(connection) = readers.idle.pop() {
                return Ok(connection);
            }
            if readers.open < READERS {
                readers.open += 1;
                break;
            }
            readers = self.returned.wait(readers).unwrap_or_else(PoisonError::into_inner);
        }
        drop(readers);
        match sqlite::open(&self.path, MIGRATIONS, self.durability) {
            Ok(connection) => Ok(connection),
            Err(error) => {
                self.put_back(None);
                Err(error.into())
            }
        }
    }

    fn put_back(&self, connection: Option<Connection>) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        match connection {
            Some(connection) => readers.idle.push(connection),
            None => readers.open -= 1,
        }
        self.returned.notify_one();
    }
}
