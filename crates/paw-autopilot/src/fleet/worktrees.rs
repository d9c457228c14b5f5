//! The worktree of a task: an existing one, or a new one at the base branch with its dependencies merged.

use std::path::{Path, PathBuf};

use paw_core::config::WorktreePlacement;
use paw_core::{BranchName, PawError};
use paw_host::git::Repo;
use paw_host::process::shell_quote;
use paw_worktree::session::directory;
use paw_worktree::{CreatedWorktree, Preparation, SessionWorktree, Worktrees};

use super::outcome::{TaskOutcome, TaskState};
use super::{DependencyMerge, FleetPlan, PlannedTask, TaskProgress, merge_dependencies};
use crate::work::ProjectContext;
use crate::work::snapshot::write_gitignores;

/// Creates and prepares worktrees.
#[derive(Debug)]
pub struct FleetWorktrees<'a> {
    context: &'a ProjectContext,
    /// The project's path inside a worktree.
    inside: PathBuf,
    placement: WorktreePlacement,
    preparation: Preparation,
    worktrees: Worktrees,
}

/// The directory of each task. A task that is already done has none.
pub fn planned_directories(
    context: &ProjectContext,
    plan: &FleetPlan,
    placement: WorktreePlacement,
) -> Vec<Option<PathBuf>> {
    let of = |task: &PlannedTask| match &task.progress {
        TaskProgress::Done => None,
        TaskProgress::Finished { worktree } => worktree.clone(),
        TaskProgress::Unfinished { worktree } | TaskProgress::Begun { worktree: Some(worktree) } => {
            Some(worktree.clone())
        }
        TaskProgress::Begun { worktree: None } | TaskProgress::New => {
            Some(directory(&context.repo, &task.branch, placement))
        }
    };
    plan.tasks.iter().map(of).collect()
}

impl<'a> FleetWorktrees<'a> {
    pub fn new(
        context: &'a ProjectContext,
        placement: WorktreePlacement,
        preparation: Preparation,
        worktrees: Worktrees,
    ) -> Self {
        let inside = context.project.root.strip_prefix(&context.top).unwrap_or(Path::new("")).to_path_buf();
        Self { context, inside, placement, preparation, worktrees }
    }

    /// Returns the root of the task's worktree, and creates it if needed. `say` receives notes and warnings.
    pub(super) fn find_or_create(
        &self,
        task: &PlannedTask,
        plan: &FleetPlan,
        say: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, PawError> {
        match &task.progress {
            TaskProgress::Unfinished { worktree } | TaskProgress::Begun { worktree: Some(worktree) } => {
                Ok(worktree.clone())
            }
            TaskProgress::New => {
                let git = self.context.repo.git();
                let reference = task.branch.full_ref();
                if !git.create_ref(&reference, &plan.commit)? {
                    return Err(PawError::BranchError(format!(
                        "branch {} was created meanwhile",
                        task.branch
                    )));
                }
                self.create(&task.branch, say).inspect_err(|_| {
                    // The branch has no commits of its own yet.
                    let _ = git.delete_ref(&reference, &plan.commit);
                })
            }
            TaskProgress::Begun { worktree: None } | TaskProgress::Done | TaskProgress::Finished { .. } => {
                self.create(&task.branch, say)
            }
        }
    }

    fn create(&self, branch: &BranchName, say: &mut dyn FnMut(&str)) -> Result<PathBuf, PawError> {
        let repo: &Repo = &self.context.repo;
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

    /// The project's directory in the worktree at `top`.
    pub(super) fn inside(&self, top: &Path) -> PathBuf {
        top.join(&self.inside)
    }

    /// Opens the project in the worktree at `top` and hides the run's own files from git.
    pub(super) fn project(&self, top: &Path) -> Result<ProjectContext, PawError> {
        let repo = Repo::discover(top)?;
        let context = ProjectContext::find(repo, &self.inside(top), &self.context.search_path)?;
        write_gitignores(&context)?;
        Ok(context)
    }
}

/// Merges the branches the task depends on. Returns an outcome if a conflict blocks the task.
pub(super) fn merge_dependencies_of(
    task: &PlannedTask,
    plan: &FleetPlan,
    project: &ProjectContext,
) -> Result<Option<TaskOutcome>, PawError> {
    let others = plan.tasks.iter().filter(|other| task.member.after.contains(&other.member.task));
    let branches: Vec<BranchName> = others
        .filter(|other| other.progress != TaskProgress::Done)
        .map(|other| other.branch.clone())
        .collect();
    Ok(match merge_dependencies(&project.top, &project.project, &plan.tag, &branches)? {
        DependencyMerge::Ready => None,
        DependencyMerge::Conflict { branch, files } => {
            let what = branch.map_or("a merge".to_owned(), |branch| format!("the merge of {branch}"));
            let why = if files.is_empty() { "is not committed".into() } else { conflict(&files) };
            let top = shell_quote(project.top.as_os_str());
            let words =
                format!("{what} {why} (cd {top}, resolve it, git commit, then run this command again)");
            Some(TaskOutcome::of(TaskState::Paused, words))
        }
    })
}

fn conflict(files: &[String]) -> String {
    format!("has a conflict in {}", files.join(", "))
}
