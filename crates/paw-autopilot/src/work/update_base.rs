//! Fast-forwards the base branch to its remote before a run.

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::git::{Git, GitError};

use super::plan::find_remote;
use super::{ProjectContext, WorkError};

/// The result of the update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseUpdate {
    /// Already up to date.
    Already { base: String },
    /// Moved forward by this many commits.
    Forward { base: String, commits: usize },
}

/// Why the base branch was not updated.
#[derive(Debug, thiserror::Error)]
pub enum BaseUpdateError {
    #[error("there is no base branch to update")]
    NoBase,
    #[error("there is no remote to update {0} from")]
    NoRemote(String),
    #[error("{base} cannot be fetched from {remote}: {why}")]
    Fetch { base: String, remote: String, why: String },
    #[error("{base} has commits that {remote} does not have, so it cannot be fast-forwarded")]
    Diverged { base: String, remote: String },
    #[error("cannot fast-forward {base}: uncommitted changes in {place} would be overwritten: {why}")]
    Touches { base: String, place: String, why: String },
}

impl Diagnostic for BaseUpdateError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::NoBase => report.hint("git.pr.base in .taskmaster/config.json names one"),
            Self::NoRemote(_) => report.hint("omit --update-base"),
            Self::Fetch { .. } => report.hint("omit --update-base to start from the local branch"),
            Self::Diverged { base, .. } => {
                report.hint(format!("git rebase or git push {base}, or omit --update-base"))
            }
            Self::Touches { .. } => report.hint("commit or stash them first"),
        }
    }
}

impl ProjectContext {
    /// The configured base branch, else the default branch.
    pub fn find_base(&self) -> Result<Option<String>, WorkError> {
        match &self.settings.pull_request.base {
            Some(base) => Ok(Some(base.clone())),
            None => Ok(self.git.find_default_branch()?.map(|branch| branch.to_string())),
        }
    }
}

/// Fetches the base branch and fast-forwards it. A branch that only exists on the remote is just fetched.
pub fn update_base(context: &ProjectContext) -> Result<BaseUpdate, WorkError> {
    let git = &context.git;
    let base = context.find_base()?.ok_or(BaseUpdateError::NoBase)?;
    let remote = find_remote(context)?.ok_or_else(|| BaseUpdateError::NoRemote(base.clone()))?;
    let (local, there) = (format!("refs/heads/{base}"), format!("refs/remotes/{remote}/{base}"));
    let fetched = git.run(["fetch", "--quiet", &remote, &format!("+refs/heads/{base}:{there}")]);
    if let Err(error) = fetched {
        return Err(BaseUpdateError::Fetch { base, remote, why: error_text(error) }.into());
    }
    let Some(before) = git.find_object(&local, "commit")? else { return Ok(BaseUpdate::Already { base }) };
    if git.is_ancestor(&there, &local)? {
        return Ok(BaseUpdate::Already { base });
    }
    if !git.is_ancestor(&local, &there)? {
        return Err(BaseUpdateError::Diverged { base, remote }.into());
    }
    let commits =
        git.line(["rev-list", "--count", &format!("{local}..{there}")])?.parse().unwrap_or_default();
    let worktrees = git.worktrees()?;
    let out = worktrees.iter().find(|entry| entry.branch().is_some_and(|branch| branch.as_str() == base));
    match out.filter(|entry| entry.path.exists()) {
        Some(entry) => {
            // git refuses if uncommitted changes would be lost.
            if let Err(error) = Git::at(&entry.path).run(["merge", "--quiet", "--ff-only", &there]) {
                let place = entry.path.display().to_string();
                return Err(BaseUpdateError::Touches { base, place, why: error_text(error) }.into());
            }
        }
        None => {
            git.run(["update-ref", "-m", "autopilot: moved forward", &local, &there, &before])?;
        }
    }
    Ok(BaseUpdate::Forward { base, commits })
}

fn error_text(error: GitError) -> String {
    let words = match error {
        GitError::Failed { stderr, .. } if !stderr.trim().is_empty() => stderr,
        other => other.to_string(),
    };
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}
