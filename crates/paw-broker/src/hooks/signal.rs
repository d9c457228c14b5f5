//! The message about a new commit, with data that git paw reads from git.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_core::AgentId;
use paw_core::paths::{AGENT_FILE, BRANCH_FILE};
use paw_host::files::load_text;
use paw_host::git::{Git, GitError};
use serde_json::Value;

use super::install::HookError;
use crate::message::{ArtifactMessage, FeedbackMessage, Message};

/// The most files and bytes of JSON in a message. Above this, the message also has the total. The broker's limit is twice
/// that size.
const MAX_FILES: usize = 2_000;
const MAX_BYTES: usize = 128 << 10;

/// A new commit of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitSignal {
    pub agent: AgentId,
    pub commit: String,
    pub branch: Option<String>,
    /// The branch that the branch guard allows, if it is on.
    pub guarded: Option<String>,
    /// The files it changed relative to its first parent. All of its files for a root commit.
    pub files: Vec<PathBuf>,
}

impl CommitSignal {
    /// Reads what `commit` changed in the worktree at `dir`. `None` if the worktree has no agent.
    pub fn find(dir: &Path, commit: &str) -> Result<Option<Self>, HookError> {
        let git = Git::at(dir);
        let admin = git.run(["rev-parse", "--absolute-git-dir"])?;
        let admin = PathBuf::from(OsStr::from_bytes(admin.strip_suffix(b"\n").unwrap_or(&admin)));
        let marker = load_text(&admin.join(AGENT_FILE))?;
        let Some(agent) = marker.and_then(|marker| AgentId::new(marker.trim_end()).ok()) else {
            return Ok(None);
        };
        let Some(commit) = git.find_object(commit, "commit")? else { return Ok(None) };
        let branch = git.find_current_branch()?.map(String::from);
        let guarded = load_text(&admin.join(BRANCH_FILE))?;
        let guarded = guarded.map(|line| line.trim_end().trim_start_matches("refs/heads/").to_owned());
        let files = changed_files(&git, &commit)?;
        Ok(Some(Self { agent, commit, branch, guarded, files }))
    }

    /// The feedback to an agent that committed on another branch than its own. The guard refuses such a commit, but a CLI that
    /// disables hooks disables the guard, too.
    pub fn stray_feedback(&self) -> Option<Message> {
        let (branch, own) = (self.branch.as_ref()?, self.guarded.as_ref()?);
        let error = format!(
            "[branch guard] this worktree belongs to {own}, but {branch} is checked out: your last commit is on {branch}. Switch \
             back to {own} and bring the commit there"
        );
        let feedback = || FeedbackMessage::new(self.agent.clone(), AgentId::supervisor(), vec![error]).into();
        (branch != own).then(feedback)
    }

    pub fn to_message(&self) -> Message {
        let mut artifact = ArtifactMessage::new(self.agent.clone(), ArtifactMessage::COMMITTED);
        artifact.modified_files = self.named_files();
        let extra = &mut artifact.extra.payload;
        extra.insert("commit".into(), self.commit.clone().into());
        if let Some(branch) = &self.branch {
            extra.insert("branch".into(), branch.clone().into());
        }
        if self.files.len() > artifact.modified_files.len() {
            extra.insert("modified_files_total".into(), self.files.len().into());
        }
        artifact.into()
    }

    fn named_files(&self) -> Vec<String> {
        let mut left = MAX_BYTES;
        let names = self.files.iter().take(MAX_FILES).map(|file| file.to_string_lossy().into_owned());
        let fits = |name: &String| {
            let size = Value::from(name.as_str()).to_string().len();
            left.checked_sub(size).inspect(|rest| left = *rest).is_some()
        };
        names.take_while(fits).collect()
    }
}

fn changed_files(git: &Git, commit: &str) -> Result<Vec<PathBuf>, GitError> {
    let plain = ["diff-tree", "-r", "-z", "--name-only", "--no-renames"].map(str::to_owned);
    let which = match git.find_object(&format!("{commit}^1"), "commit")? {
        Some(parent) => vec![parent, commit.to_owned()],
        None => vec!["--root".to_owned(), "--no-commit-id".to_owned(), commit.to_owned()],
    };
    let listing = git.plumb(None, plain.into_iter().chain(which))?;
    let names = listing.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}
