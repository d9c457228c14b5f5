//! Lists logs and finds one by name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::receipt::find_agent;

use super::append::earlier_part;
use super::{LogOwner, LogsError};

/// The log of one pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneLog {
    pub owner: LogOwner,
    pub path: PathBuf,
    /// Of both parts.
    pub bytes: u64,
    pub modified: Timestamp,
}

/// The logs of one session, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLogs {
    pub session: String,
    pub logs: Vec<PaneLog>,
}

impl SessionLogs {
    /// The time of the last write to any of them.
    pub fn modified(&self) -> Option<Timestamp> {
        self.logs.iter().map(|log| log.modified).max()
    }

    pub fn bytes(&self) -> u64 {
        self.logs.iter().map(|log| log.bytes).sum()
    }

    /// Finds a log by its branch, its file name, its file name without `.log`, or a prefix that only it starts with, in this
    /// order.
    pub fn find(&self, wanted: &str) -> Option<&PaneLog> {
        let named = |name: fn(&LogOwner) -> String| self.logs.iter().find(|log| name(&log.owner) == wanted);
        let branch =
            |log: &&PaneLog| matches!(&log.owner, LogOwner::Agent(branch) if branch.as_str() == wanted);
        // A truncated name is found by truncating the wanted branch.
        let computed = || {
            let owner = LogOwner::Agent(wanted.parse().ok()?);
            self.logs.iter().find(|log| log.owner.stem() == owner.stem())
        };
        self.logs
            .iter()
            .find(branch)
            .or_else(|| named(ToString::to_string))
            .or_else(|| named(LogOwner::file_name))
            .or_else(|| named(|owner| owner.stem().into_owned()))
            .or_else(computed)
            .or_else(|| self.find_by_prefix(wanted))
    }

    fn find_by_prefix(&self, wanted: &str) -> Option<&PaneLog> {
        let names: Vec<_> = self.logs.iter().map(|log| log.owner.to_string()).collect();
        let ids: Vec<_> = names.iter().map(|name| name.replace('/', "-")).collect();
        let pairs: Vec<_> = ids.iter().zip(&names).map(|(id, name)| (id.as_str(), name.as_str())).collect();
        find_agent(wanted, &pairs).ok().and_then(|index| self.logs.get(index))
    }
}

/// All logs of a repository, the most recently written session first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepoLogs {
    pub dir: PathBuf,
    pub sessions: Vec<SessionLogs>,
}

impl RepoLogs {
    /// Lists the directory, without following links. A missing directory has no logs.
    pub fn load(dir: &Path) -> Result<Self, LogsError> {
        let mut sessions = Vec::new();
        for path in entries(dir)? {
            if let Some(session) = name_of(&path)
                && fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir())
            {
                let mut logs: Vec<_> = entries(&path)?.into_iter().filter_map(log).collect();
                logs.sort_by(|one, other| one.owner.cmp(&other.owner));
                sessions.push(SessionLogs { session, logs });
            }
        }
        sessions.retain(|session| !session.logs.is_empty());
        sessions.sort_by(|one, other| {
            other.modified().cmp(&one.modified()).then_with(|| one.session.cmp(&other.session))
        });
        Ok(Self { dir: dir.to_path_buf(), sessions })
    }

    /// The session of that name, or the most recently written one.
    pub fn require_session(&self, wanted: Option<&str>) -> Result<&SessionLogs, LogsError> {
        let Some(newest) = self.sessions.first() else { return Err(LogsError::None(self.dir.clone())) };
        let Some(wanted) = wanted else { return Ok(newest) };
        self.sessions.iter().find(|session| session.session == wanted).ok_or_else(|| LogsError::NoSession {
            wanted: wanted.to_owned(),
            known: self.sessions.iter().map(|known| known.session.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    pub fn require(&self, wanted: &str, session: Option<&str>) -> Result<&PaneLog, LogsError> {
        let session = self.require_session(session)?;
        session.find(wanted).ok_or_else(|| LogsError::NoLog {
            wanted: wanted.to_owned(),
            session: session.session.clone(),
            known: session.logs.iter().map(|log| log.owner.to_string()).collect::<Vec<_>>().join(", "),
        })
    }
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, LogsError> {
    match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(LogsError::when("list", dir)(error)),
        Ok(entries) => {
            let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
            let mut paths = paths.map_err(LogsError::when("list", dir))?;
            paths.sort();
            Ok(paths)
        }
    }
}

/// git paw writes only UTF-8 names, so others are ignored.
fn name_of(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_owned)
}

fn log(path: PathBuf) -> Option<PaneLog> {
    let owner = LogOwner::of_file_name(&name_of(&path)?)?;
    let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok())?;
    let earlier = fs::symlink_metadata(earlier_part(&path)).map_or(0, |earlier| earlier.len());
    Some(PaneLog { owner, path, bytes: metadata.len() + earlier, modified })
}
