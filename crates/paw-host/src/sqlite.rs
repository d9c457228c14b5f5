//! Opens and migrates our SQLite databases. Safe for concurrent processes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::files::{self, FileError};

/// A database that cannot be opened or migrated.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    #[error("cannot open {}: {source}", path.display())]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error("{} was written by a newer git-paw (schema {found}, this one knows {known})", path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("cannot migrate {} to schema {version}: {source}", path.display())]
    Migrate { path: PathBuf, version: u32, source: rusqlite::Error },
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for SqliteError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::Internal, self);
        match self {
            Self::Newer { .. } => {
                report.hint("update git-paw, or move the file away to start with an empty one")
            }
            Self::Open { .. } | Self::Migrate { .. } => report,
            Self::File(error) => error.report(),
        }
    }
}

/// What a committed write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A crash of the process.
    Process,
    /// Also a power cut; every commit waits for the disk.
    Power,
}

/// How long to wait while another process is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens or creates the database at `path` and migrates it to the newest schema.
///
/// `migrations` has one script per schema version, oldest first. A released script must never change.
pub fn open(path: &Path, migrations: &[&str], durability: Durability) -> Result<Connection, SqliteError> {
    if let Some(dir) = path.parent() {
        files::create_dir(dir)?;
    }
    let opening = |source| SqliteError::Open { path: path.to_path_buf(), source };
    let mut connection = Connection::open(path).map_err(opening)?;
    prepare(&connection, durability).map_err(opening)?;
    migrate(&mut connection, path, migrations)?;
    Ok(connection)
}

fn prepare(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // If two processes switch to WAL for the first time, one fails with "busy" at once. The mode is set by then.
    let mode = |connection: &Connection| {
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))
    };
    mode(connection).or_else(|_| mode(connection))?;
    set_durability(connection, durability)?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Changes what the following commits survive.
pub fn set_durability(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let synchronous = match durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)
}

fn migrate(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), SqliteError> {
    let path = || path.to_path_buf();
    let version = schema_version(connection).map_err(|source| SqliteError::Open { path: path(), source })?;
    let known = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
    if version > known {
        return Err(SqliteError::Newer { path: path(), found: version, known });
    }
    for (version, script) in (1..).zip(migrations).skip(version as usize) {
        run_migration(connection, version, script).map_err(|source| SqliteError::Migrate {
            path: path(),
            version,
            source,
        })?;
    }
    Ok(())
}

/// Runs one script and sets the version in one transaction. Another process may have done so already.
fn run_migration(connection: &mut Connection, version: u32, script: &str) -> rusqlite::Result<()> {
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
    if schema_version(&transaction)? < version {
        transaction.execute_batch(script)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    transaction.commit()
}

fn schema_version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);";
    const TWO: &str = "ALTER TABLE a ADD COLUMN y INTEGER;";

    fn count(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM a", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn migrations_run_in_order_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/db");
        open(&path, &[ONE], Durability::Process).unwrap();
        let connection = open(&path, &[ONE, TWO], Durability::Power).unwrap();
        assert_eq!((count(&connection), schema_version(&connection).unwrap()), (1, 2));
        let text = |pragma| connection.query_row(pragma, [], |row| row.get::<_, String>(0)).unwrap();
        let number = |pragma| connection.query_row(pragma, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(text("PRAGMA journal_mode"), "wal");
        assert_eq!((number("PRAGMA synchronous"), number("PRAGMA foreign_keys")), (2, 1));
    }

    #[test]
    fn opening_a_newer_schema_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        open(&path, &[ONE, TWO], Durability::Process).unwrap();
        let error = open(&path, &[ONE], Durability::Process).unwrap_err().to_string();
        assert!(error.contains("newer git-paw (schema 2, this one knows 1)"), "{error}");
    }

    #[test]
    fn a_failed_migration_leaves_the_schema_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        open(&path, &[ONE], Durability::Process).unwrap();
        let broken = "CREATE TABLE b (x); CREATE TABLE a (x);";
        assert!(matches!(
            open(&path, &[ONE, broken], Durability::Process),
            Err(SqliteError::Migrate { version: 2, .. })
        ));
        let connection = open(&path, &[ONE], Durability::Process).unwrap();
        let tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
        assert_eq!(connection.query_row(tables, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    }

    #[test]
    fn concurrent_opens_migrate_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| open(&path, &[ONE, TWO], Durability::Process).unwrap());
            }
        });
        assert_eq!(count(&open(&path, &[ONE, TWO], Durability::Process).unwrap()), 1);
    }

    #[test]
    fn opening_a_file_that_is_not_a_database_names_it_in_the_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        files::write_atomic(&path, &[b'x'; 4096], files::Access::Usual).unwrap();
        let error = open(&path, &[ONE], Durability::Process).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
    }
}
