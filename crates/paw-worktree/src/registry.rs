//! The registry: worktrees with their status, and the conversations that belong to them.
//!
//! One SQLite file, shared by commands and the daemon. Nothing here runs git.

mod conversation;

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use paw_core::BranchName;
use paw_host::sqlite::{self, Durability};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

pub use conversation::{Conversation, ConversationStatus};

use crate::error::WorktreeError;
use crate::id::WorktreeId;
use crate::setup::{SetupOutcome, SetupStatus};

pub(crate) const MIGRATIONS: [&str; 2] = [include_str!("registry/1.sql"), include_str!("registry/2.sql")];

/// The status of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeStatus {
    /// A process is creating it, or died while doing so.
    Creating,
    Active,
    /// Its directory is missing.
    Stale,
    /// Its directory exists, but git does not link it to this worktree. The message says what to do.
    Broken,
    /// A process is removing it, or died while doing so.
    Removing,
}

impl WorktreeStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Active => "active",
            Self::Stale => "stale",
            Self::Broken => "broken",
            Self::Removing => "removing",
        }
    }

    /// The schema allows no other values.
    fn stored(text: &str) -> Self {
        match text {
            "creating" => Self::Creating,
            "stale" => Self::Stale,
            "broken" => Self::Broken,
            "removing" => Self::Removing,
            _ => Self::Active,
        }
    }
}

impl fmt::Display for WorktreeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A worktree in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedWorktree {
    pub id: WorktreeId,
    pub name: String,
    pub path: PathBuf,
    /// The main checkout, or the bare repository.
    pub repo: PathBuf,
    /// The git directory that all worktrees of the repository share.
    pub common_dir: PathBuf,
    pub branch: BranchName,
    pub status: WorktreeStatus,
    /// What is wrong with a stale or broken worktree.
    pub message: Option<String>,
    /// The branch was created with this worktree.
    pub created_branch: bool,
    /// The commit of the branch when the worktree was created.
    pub start: String,
    /// Git's admin directory for it, `<common_dir>/worktrees/<name>`.
    pub admin_dir: Option<PathBuf>,
    /// The topmost directory that was created for it.
    pub topmost_made: PathBuf,
    pub setup: SetupOutcome,
    /// Created by plain git and adopted later.
    pub adopted: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The registry file. Clones share one connection.
#[derive(Debug, Clone)]
pub struct Registry {
    connection: Arc<Mutex<Connection>>,
}

const COLUMNS: &str = "id, name, path, repo, common_dir, branch, status, message, created_branch, start, admin_dir, \
                       topmost_made, setup_status, setup_error, adopted, created_at, updated_at";

impl Registry {
    pub fn open(file: &Path) -> Result<Self, WorktreeError> {
        let connection = sqlite::open(file, &MIGRATIONS, Durability::Process)?;
        // A checkpoint waits for the disk, so not every process runs one on exit. The first reader reads the whole log, so
        // the log stays short.
        connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "wal_autocheckpoint", 64)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a change that has to survive a power cut, because files are created or deleted next.
    fn write_durably<T>(
        &self,
        change: impl FnOnce(&mut Connection) -> Result<T, WorktreeError>,
    ) -> Result<T, WorktreeError> {
        let mut connection = self.lock();
        sqlite::set_durability(&connection, Durability::Power)?;
        let changed = change(&mut connection);
        sqlite::set_durability(&connection, Durability::Process)?;
        changed
    }

    /// Inserts a row. Replaces a stale or broken row with the same path.
    pub(crate) fn insert(&self, row: &ManagedWorktree) -> Result<(), WorktreeError> {
        self.write_durably(|connection| insert(connection, row))
    }

    /// Deletes the row of a path, unless an operation on it is unfinished.
    pub(crate) fn delete_finished(&self, path: &Path) -> Result<(), WorktreeError> {
        let sql = "DELETE FROM worktrees WHERE path = ?1 AND status NOT IN ('creating', 'removing')";
        self.lock().execute(sql, [path.as_os_str().as_bytes()])?;
        Ok(())
    }

    /// The rows of one repository, or all, oldest first.
    pub(crate) fn load_rows(&self, repo: Option<&Path>) -> Result<Vec<ManagedWorktree>, WorktreeError> {
        let connection = self.lock();
        let filter = if repo.is_some() { "WHERE repo = ?1" } else { "WHERE ?1 IS NULL" };
        let mut statement =
            connection.prepare_cached(&format!("SELECT {COLUMNS} FROM worktrees {filter} ORDER BY id"))?;
        let rows = statement.query_map([repo.map(|repo| repo.as_os_str().as_bytes())], worktree)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Rows with a creation or removal that is running or was interrupted.
    pub(crate) fn load_unfinished(&self) -> Result<Vec<ManagedWorktree>, WorktreeError> {
        let connection = self.lock();
        let sql =
            format!("SELECT {COLUMNS} FROM worktrees WHERE status IN ('creating', 'removing') ORDER BY id");
        let mut statement = connection.prepare_cached(&sql)?;
        Ok(statement.query_map([], worktree)?.collect::<Result<_, _>>()?)
    }

    pub fn find(&self, id: &WorktreeId) -> Result<Option<ManagedWorktree>, WorktreeError> {
        let sql = format!("SELECT {COLUMNS} FROM worktrees WHERE id = ?1");
        Ok(self.lock().query_row(&sql, [id.as_str()], worktree).optional()?)
    }

    /// Changes the status from `from` to `to`. Returns false if another process changed it first.
    pub(crate) fn change_status(
        &self,
        id: &WorktreeId,
        from: WorktreeStatus,
        to: WorktreeStatus,
        message: Option<&str>,
        now: Timestamp,
    ) -> Result<bool, WorktreeError> {
        let sql =
            "UPDATE worktrees SET status = ?3, message = ?4, updated_at = ?5 WHERE id = ?1 AND status = ?2";
        let values = params![id.as_str(), from.as_str(), to.as_str(), message, now.as_millisecond()];
        if to == WorktreeStatus::Removing {
            return self.write_durably(|connection| Ok(connection.execute(sql, values)? == 1));
        }
        Ok(self.lock().execute(sql, values)? == 1)
    }

    pub(crate) fn set_admin_dir(&self, id: &WorktreeId, dir: &Path) -> Result<(), WorktreeError> {
        let sql = "UPDATE worktrees SET admin_dir = ?2 WHERE id = ?1";
        self.lock().execute(sql, params![id.as_str(), dir.as_os_str().as_bytes()])?;
        Ok(())
    }

    pub(crate) fn set_path(&self, id: &WorktreeId, path: &Path) -> Result<(), WorktreeError> {
        let sql = "UPDATE OR IGNORE worktrees SET path = ?2 WHERE id = ?1";
        self.lock().execute(sql, params![id.as_str(), path.as_os_str().as_bytes()])?;
        Ok(())
    }

    pub(crate) fn set_setup(&self, id: &WorktreeId, setup: &SetupOutcome) -> Result<(), WorktreeError> {
        let sql = "UPDATE worktrees SET setup_status = ?2, setup_error = ?3 WHERE id = ?1";
        self.lock().execute(sql, params![id.as_str(), setup.status.as_str(), setup.error])?;
        Ok(())
    }

    /// Deletes a worktree and closes its conversations. Returns how many were open.
    pub(crate) fn delete(&self, id: &WorktreeId, now: Timestamp) -> Result<u32, WorktreeError> {
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let closed = conversation::close_all_of(&transaction, id, now)?;
        transaction.execute("DELETE FROM worktrees WHERE id = ?1", [id.as_str()])?;
        transaction.commit()?;
        Ok(closed)
    }

    /// Records the last switch in a repository, and returns the previous worktree.
    pub(crate) fn switch_to(&self, row: &ManagedWorktree) -> Result<Option<WorktreeId>, WorktreeError> {
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let repo = row.repo.as_os_str().as_bytes();
        let previous: Option<String> = transaction
            .query_row("SELECT worktree_id FROM switched WHERE repo = ?1", [repo], |row| row.get(0))
            .optional()?;
        transaction.execute(
            "INSERT INTO switched (repo, worktree_id) VALUES (?1, ?2) \
             ON CONFLICT (repo) DO UPDATE SET worktree_id = excluded.worktree_id",
            params![repo, row.id.as_str()],
        )?;
        transaction.commit()?;
        Ok(previous.map(WorktreeId::stored))
    }
}

fn insert(connection: &mut Connection, row: &ManagedWorktree) -> Result<(), WorktreeError> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let path = row.path.as_os_str().as_bytes();
    transaction.execute("DELETE FROM worktrees WHERE path = ?1 AND status IN ('stale', 'broken')", [path])?;
    let sql = format!(
        "INSERT INTO worktrees ({COLUMNS}) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17) \
         ON CONFLICT (path) DO NOTHING"
    );
    let inserted = transaction.execute(
        &sql,
        params![
            row.id.as_str(),
            row.name,
            path,
            row.repo.as_os_str().as_bytes(),
            row.common_dir.as_os_str().as_bytes(),
            row.branch.as_str(),
            row.status.as_str(),
            row.message,
            row.created_branch,
            row.start,
            row.admin_dir.as_ref().map(|dir| dir.as_os_str().as_bytes()),
            row.topmost_made.as_os_str().as_bytes(),
            row.setup.status.as_str(),
            row.setup.error,
            row.adopted,
            row.created_at.as_millisecond(),
            row.updated_at.as_millisecond(),
        ],
    )?;
    if inserted == 0 {
        return Err(WorktreeError::PathExists(row.path.clone()));
    }
    transaction.commit()?;
    Ok(())
}

/// Reads [`COLUMNS`] by position, which is faster than by name.
fn worktree(row: &Row<'_>) -> rusqlite::Result<ManagedWorktree> {
    let path = |bytes: Vec<u8>| PathBuf::from(OsStr::from_bytes(&bytes));
    let branch: String = row.get(5)?;
    let unreadable =
        |error| rusqlite::Error::FromSqlConversionFailure(5, rusqlite::types::Type::Text, Box::new(error));
    Ok(ManagedWorktree {
        id: WorktreeId::stored(row.get(0)?),
        name: row.get(1)?,
        path: path(row.get(2)?),
        repo: path(row.get(3)?),
        common_dir: path(row.get(4)?),
        branch: BranchName::new(branch).map_err(unreadable)?,
        status: WorktreeStatus::stored(&row.get::<_, String>(6)?),
        message: row.get(7)?,
        created_branch: row.get(8)?,
        start: row.get(9)?,
        admin_dir: row.get::<_, Option<Vec<u8>>>(10)?.map(path),
        topmost_made: path(row.get(11)?),
        setup: SetupOutcome { status: setup_status(&row.get::<_, String>(12)?), error: row.get(13)? },
        adopted: row.get(14)?,
        created_at: timestamp(row.get(15)?),
        updated_at: timestamp(row.get(16)?),
    })
}

fn timestamp(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

fn setup_status(word: &str) -> SetupStatus {
    match word {
        "success" => SetupStatus::Success,
        "failed" => SetupStatus::Failed,
        "timeout" => SetupStatus::Timeout,
        "untrusted" => SetupStatus::Untrusted,
        _ => SetupStatus::None,
    }
}
