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
    #[error("{} is damaged: {source}", path.display())]
    Damaged { path: PathBuf, source: rusqlite::Error },
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
            Self::Damaged { .. } => report.hint(REPAIR),
            Self::Open { .. } | Self::Migrate { .. } => report,
            Self::File(error) => error.report(),
        }
    }
}

/// The hint of every error about a damaged file.
pub const REPAIR: &str = "run 'git paw doctor --repair' to set it aside and rebuild what can be rebuilt";

/// Whether an error means that a database is damaged. Our statements never change, so a statement that SQLite cannot
/// prepare, or a value of the wrong type, is damage, too.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::{Error, ErrorCode};
    match error {
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::Utf8Error(..)
        | Error::InvalidColumnType(..)
        | Error::SqlInputError { .. } => true,
        error => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
        ),
    }
}

/// Checks a database for damage. Returns what is wrong with it; nothing if it is missing. Reads the whole file.
pub fn find_damage(path: &Path, migrations: &[&str]) -> Option<String> {
    /// No release skips this many schemas.
    const PLAUSIBLE: usize = 1000;
    if !path.exists() {
        return None;
    }
    let check = || -> rusqlite::Result<Option<String>> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let version = schema_version(&connection)?;
        if version as usize > migrations.len() + PLAUSIBLE {
            return Ok(Some(format!("it has schema {version}")));
        }
        let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        Ok((found != "ok").then_some(found))
    };
    match check() {
        Ok(found) => found,
        Err(error) if is_damage(&error) => Some(error.to_string()),
        // Another problem, such as a missing permission, is reported by the command that opens it.
        Err(_) => None,
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
    let opening = |source| cannot_open(path, source);
    let mut connection = Connection::open(path).map_err(opening)?;
    prepare(&connection, durability).map_err(opening)?;
    migrate(&mut connection, path, migrations)?;
    Ok(connection)
}

fn cannot_open(path: &Path, source: rusqlite::Error) -> SqliteError {
    let path = path.to_path_buf();
    if is_damage(&source) {
        SqliteError::Damaged { path, source }
    } else {
        SqliteError::Open { path, source }
    }
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
    let version = schema_version(connection).map_err(|source| cannot_open(&path(), source))?;
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
