//! What the hub tells its hosts while they are connected: whether its session is attended, and by which rules it looks after agents.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use paw_cluster::link::HubNews;
use paw_core::{PawError, SessionName};
use paw_host::config::repo_config_path;
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_host::trust::TrustStore;
use paw_session::Receipts;
use paw_supervisor::approval::load_hub_supervision;
use paw_supervisor::unattended::attendant_lock;

use super::ClusterContext;

/// When a file was written, and its size.
type FileStamp = Option<(SystemTime, u64)>;

/// The rules, and what they were read from. They are read again only when a file has changed.
struct RulesCache {
    repo: Repo,
    dirs: Dirs,
    receipts: Receipts,
    session: SessionName,
    files: [PathBuf; 4],
    known: Mutex<Option<(Vec<FileStamp>, String)>>,
}

/// The news of a session.
pub(super) fn news_of(context: &ClusterContext) -> HubNews {
    let (repo, dirs, receipts) = (context.repo.clone(), context.dirs.clone(), context.receipts.clone());
    let common_dir = repo.common_dir.clone();
    let files = [
        dirs.config_file(),
        repo_config_path(&repo.root),
        TrustStore::open(&dirs).path().to_path_buf(),
        receipts.dir().receipt(&context.session),
    ];
    let session = context.session.clone();
    let rules = RulesCache { repo, dirs, receipts, session, files, known: Mutex::default() };
    HubNews {
        is_attended: Arc::new(move || attendant_lock::is_held(&common_dir)),
        supervision: Arc::new(move || rules.load()),
    }
}

impl RulesCache {
    fn load(&self) -> Option<String> {
        let stamps: Vec<FileStamp> = self.files.iter().map(stamp).collect();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rules)) = known.as_ref().filter(|(read, _)| *read == stamps) {
            return Some(rules.clone());
        }
        match self.read() {
            Ok(Some(rules)) => {
                *known = Some((stamps, rules.clone()));
                Some(rules)
            }
            // The file may be in the middle of an edit: the hosts keep what they have.
            Ok(None) | Err(_) => None,
        }
    }

    fn read(&self) -> Result<Option<String>, PawError> {
        let Some(receipt) = self.receipts.load(&self.session)? else { return Ok(None) };
        let rules = load_hub_supervision(&receipt, &self.repo, &self.dirs)?;
        Ok(serde_json::to_string(&rules).ok())
    }
}

fn stamp(file: &PathBuf) -> FileStamp {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}
