//! The worktree of a task: found, or made at the base branch, with what it depends on merged into it.

use std::path::{Path, PathBuf};

use paw_core::config::WorktreePlacement;
use paw_core::{BranchName, PawError};
use paw_host::git::Repo;
use paw_host::process::shell_quote;
use paw_worktree::session::directory;
use paw_worktree::{CreatedWorktree, Preparation, SessionWorktree, Worktrees};

use super::ending::{Ending, TaskState};
use super::{BuiltOn, FleetPlan, PlannedTask, Standing, build_on};
use crate::work::Site;
use crate::work::seen::keep_out_of_git;

/// Where worktrees are made, and what makes them ready.
#[derive(Debug)]
pub struct Places<'a> {
    site: &'a Site,
    /// The project, seen from a worktree's root.
    inside: PathBuf,
    placement: WorktreePlacement,
    preparation: Preparation,
    worktrees: Worktrees,
}

/// Where each task would be done. One that is done already has no place.
pub fn directories(site: &Site, plan: &FleetPlan, placement: WorktreePlacement) -> Vec<Option<PathBuf>> {
    let of = |task: &PlannedTask| match &task.standing {
        Standing::Done => None,
        Standing::Finished { worktree } => worktree.clone(),
        Standing::Unfinished { worktree } | Standing::Begun { worktree: Some(worktree) } => {
            Some(worktree.clone())
        }
        Standing::Begun { worktree: None } | Standing::New => {
            Some(directory(&site.repo, &task.branch, placement))
        }
    };
    plan.tasks.iter().map(of).collect()
}

impl<'a> Places<'a> {
    pub fn new(
        site: &'a Site,
        placement: WorktreePlacement,
        preparation: Preparation,
        worktrees: Worktrees,
    ) -> Self {
        let inside = site.project.root.strip_prefix(&site.top).unwrap_or(Path::new("")).to_path_buf();
        Self { site, inside, placement, preparation, worktrees }
    }

    /// The root of the task's worktree, found or made. `say` is told what is worth knowing.
    pub(super) fn take(
        &self,
        task: &PlannedTask,
        plan: &FleetPlan,
        say: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, PawError> {
        match &task.standing {
            Standing::Unfinished { worktree } | Standing::Begun { worktree: Some(worktree) } => {
                Ok(worktree.clone())
            }
            Standing::New => {
                let git = self.site.repo.git();
                let reference = task.branch.full_ref();
                if !git.create_ref(&reference, &plan.commit)? {
                    return Err(PawError::BranchError(format!("branch {} was made meanwhile", task.branch)));
                }
                self.make(&task.branch, say).inspect_err(|_| {
                    // Nothing is on it yet.
                    let _ = git.delete_ref(&reference, &plan.commit);
                })
            }
            Standing::Begun { worktree: None } | Standing::Done | Standing::Finished { .. } => {
                self.make(&task.branch, say)
            }
        }
    }

    fn make(&self, branch: &BranchName, say: &mut dyn FnMut(&str)) -> Result<PathBuf, PawError> {
        let repo: &Repo = &self.site.repo;
        let wanted = SessionWorktree { placement: self.placement, ..SessionWorktree::new(branch.clone()) };
        let made = self.worktrees.create_worktree(&repo.root, &wanted)?;
        made.notes.iter().for_each(|note| say(&format!("warning: {note}")));
        let row = self.worktrees.registry().find(&made.id)?;
        if let Some(worktree) = row.filter(|_| !made.resumed) {
            let created = CreatedWorktree { worktree, repo: repo.clone(), notes: Vec::new() };
            let prepared =
                self.worktrees.prepare(&created, &self.preparation, |line| say(&format!("  {line}")))?;
            prepared.notes.iter().for_each(|note| say(&format!("warning: {note}")));
            if let Some(problem) = prepared.setup.problem() {
                say(&format!("warning: {problem}"));
            }
        }
        Ok(made.path)
    }

    /// Where the project is in the worktree at `top`.
    pub(super) fn inside(&self, top: &Path) -> PathBuf {
        top.join(&self.inside)
    }

    /// The project in the worktree at `top`, with our own files hidden from git.
    pub(super) fn project(&self, top: &Path) -> Result<Site, PawError> {
        let repo = Repo::discover(top)?;
        let site = Site::find(repo, &self.inside(top), &self.site.search_path)?;
        keep_out_of_git(&site)?;
        Ok(site)
    }
}

/// Merges what the task depends on. What stands in the way is how the task ends.
pub(super) fn build_on_others(
    task: &PlannedTask,
    plan: &FleetPlan,
    project: &Site,
) -> Result<Option<Ending>, PawError> {
    let others = plan.tasks.iter().filter(|other| task.member.after.contains(&other.member.task));
    let branches: Vec<BranchName> =
        others.filter(|other| other.standing != Standing::Done).map(|other| other.branch.clone()).collect();
    Ok(match build_on(&project.top, &project.project, &plan.tag, &branches)? {
        BuiltOn::Ready => None,
        BuiltOn::Conflict { branch, files } => {
            let what = branch.map_or("a merge".to_owned(), |branch| format!("the merge of {branch}"));
            let why = if files.is_empty() { "is not committed".into() } else { conflict(&files) };
            let top = shell_quote(project.top.as_os_str());
            let words = format!("{what} {why} (cd {top}, settle it, git commit; then this command again)");
            Some(Ending::of(TaskState::Paused, words))
        }
    })
}

fn conflict(files: &[String]) -> String {
    format!("has a conflict in {}", files.join(", "))
}
