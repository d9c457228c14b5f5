//! Which logs there are, and which one somebody means.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{LogsError, Whose};

/// One pane's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    pub whose: Whose,
    pub path: PathBuf,
    pub bytes: u64,
    pub modified: Timestamp,
}

/// The logs of one session, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLogs {
    pub session: String,
    pub logs: Vec<Log>,
}

impl SessionLogs {
    /// When something was last written to one of them.
    pub fn modified(&self) -> Option<Timestamp> {
        self.logs.iter().map(|log| log.modified).max()
    }

    pub fn bytes(&self) -> u64 {
        self.logs.iter().map(|log| log.bytes).sum()
    }

    /// By its branch, by the name of its file, or by that name without `.log`; in this order.
    pub fn find(&self, wanted: &str) -> Option<&Log> {
        let named = |name: fn(&Whose) -> String| self.logs.iter().find(|log| name(&log.whose) == wanted);
        let branch = |log: &&Log| matches!(&log.whose, Whose::Agent(branch) if branch.as_str() == wanted);
        // A name that was cut can still be computed from the whole branch.
        let computed = || {
            let whose = Whose::Agent(wanted.parse().ok()?);
            self.logs.iter().find(|log| log.whose.stem() == whose.stem())
        };
        self.logs
            .iter()
            .find(branch)
            .or_else(|| named(ToString::to_string))
            .or_else(|| named(Whose::file_name))
            .or_else(|| named(|whose| whose.stem().into_owned()))
            .or_else(computed)
    }
}

/// All logs of a repository, the session that wrote last first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Logs {
    pub dir: PathBuf,
    pub sessions: Vec<SessionLogs>,
}

impl Logs {
    /// Everything below the directory. One that does not exist has none; links are not followed.
    pub fn load(dir: &Path) -> Result<Self, LogsError> {
        let mut sessions = Vec::new();
        for path in entries(dir)? {
            if let Some(session) = name_of(&path)
                && fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir())
            {
                let mut logs: Vec<_> = entries(&path)?.into_iter().filter_map(log).collect();
                logs.sort_by(|one, other| one.whose.cmp(&other.whose));
                sessions.push(SessionLogs { session, logs });
            }
        }
        sessions.retain(|session| !session.logs.is_empty());
        sessions.sort_by(|one, other| {
            other.modified().cmp(&one.modified()).then_with(|| one.session.cmp(&other.session))
        });
        Ok(Self { dir: dir.to_path_buf(), sessions })
    }

    /// The session of that name, or the one that wrote last.
    pub fn require_session(&self, wanted: Option<&str>) -> Result<&SessionLogs, LogsError> {
        let Some(newest) = self.sessions.first() else { return Err(LogsError::None(self.dir.clone())) };
        let Some(wanted) = wanted else { return Ok(newest) };
        self.sessions.iter().find(|session| session.session == wanted).ok_or_else(|| LogsError::NoSession {
            wanted: wanted.to_owned(),
            known: self.sessions.iter().map(|known| known.session.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    pub fn require(&self, wanted: &str, session: Option<&str>) -> Result<&Log, LogsError> {
        let session = self.require_session(session)?;
        session.find(wanted).ok_or_else(|| LogsError::NoLog {
            wanted: wanted.to_owned(),
            session: session.session.clone(),
            known: session.logs.iter().map(|log| log.whose.to_string()).collect::<Vec<_>>().join(", "),
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

/// A name that is not UTF-8 is none of ours.
fn name_of(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_owned)
}

fn log(path: PathBuf) -> Option<Log> {
    let whose = Whose::of_file_name(&name_of(&path)?)?;
    let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok())?;
    Some(Log { whose, path, bytes: metadata.len(), modified })
}
