//! Plans several tasks: the branch and progress of each. Changes nothing.
//!
//! Worktrees start at the base branch, so tasks.json and the settings are read from there, not from the current
//! checkout.

use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{self, Git};

use super::{FleetError, FleetMember, ordered_members};
use crate::artifacts::run_dir::find_latest;
use crate::branch::choose_branch;
use crate::tasks::project::require_tag;
use crate::tasks::{ProjectSettings, TagName, TaskFile, TaskId, TaskProject, TaskStatus};
use crate::work::head::current_head;
use crate::work::{ProjectContext, WorkError};

#[derive(Debug, Clone)]
pub struct FleetPlan {
    pub tag: TagName,
    /// The base branch of new worktrees, and its commit.
    pub base: String,
    pub commit: String,
    /// Dependencies first.
    pub tasks: Vec<PlannedTask>,
    /// tasks.json in the current checkout differs from the base branch.
    pub differs: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTask {
    pub member: FleetMember,
    pub branch: BranchName,
    pub progress: TaskProgress,
}

/// The progress of a task before the fleet starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskProgress {
    /// Done on the base branch.
    Done,
    /// Finished on its own branch.
    Finished {
        worktree: Option<PathBuf>,
    },
    /// A paused run exists in this worktree.
    Unfinished {
        worktree: PathBuf,
    },
    /// The branch exists, and perhaps a worktree.
    Begun {
        worktree: Option<PathBuf>,
    },
    New,
}

impl TaskProgress {
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done | Self::Finished { .. })
    }
}

pub fn plan(
    context: &ProjectContext,
    tag: Option<&str>,
    requested: &[String],
) -> Result<FleetPlan, FleetError> {
    let git = &context.git;
    let (base, commit) = base(context)?;
    let (current, _) = current_head(git)?;
    let variable = std::env::var("TASKMASTER_TAG").ok();
    let on = current.as_ref().map(BranchName::as_str);
    let tag = context.project.resolve_tag(tag, variable.as_deref(), on)?;
    let file = relative(context, &context.project.tasks_file());
    let Some(text) = text_at(git, &commit, &file)? else {
        return Err(FleetError::NoTasks { file: file.display().to_string(), base });
    };
    let tasks = TaskFile::parse(&text).map_err(|problem| FleetError::Unreadable {
        file: file.display().to_string(),
        base: base.clone(),
        problem: problem.to_string(),
    })?;
    let settings = settings(context, &base, &commit)?;
    if !settings.enabled {
        return Err(WorkError::Off.into());
    }
    let members = ordered_members(require_tag(&tasks, &tag)?, requested)?;
    let existing = git.local_branches().map_err(WorkError::from)?;
    let worktrees = git.worktrees().map_err(WorkError::from)?;
    let mut planned: Vec<PlannedTask> = Vec::new();
    for member in members {
        let picked = choose_branch(&settings.branch_pattern, &tag, &member.task, &member.title, &existing);
        let branch = picked.map_err(WorkError::from)?.branch;
        if let Some(other) = planned.iter().find(|other| other.branch == branch) {
            let (one, other) = (other.member.task.clone(), member.task);
            return Err(FleetError::SameBranch { one, other, branch: branch.to_string() });
        }
        let progress = match (member.done, existing.contains(&branch)) {
            (true, _) => TaskProgress::Done,
            (false, false) => TaskProgress::New,
            (false, true) => find_progress(context, &tag, &member.task, &branch, &worktrees, &file)?,
        };
        planned.push(PlannedTask { member, branch, progress });
    }
    let here = paw_host::files::load_text(&context.project.tasks_file()).map_err(WorkError::from)?;
    Ok(FleetPlan { tag, base, commit, tasks: planned, differs: here.as_deref() != Some(&text) })
}

/// The configured base branch, else the default branch; local, else from origin.
fn base(context: &ProjectContext) -> Result<(String, String), FleetError> {
    let git = &context.git;
    let base = context.find_base()?.ok_or(FleetError::NoBase)?;
    for place in ["refs/heads", "refs/remotes/origin"] {
        let found = git.find_object(&format!("{place}/{base}"), "commit").map_err(WorkError::from)?;
        if let Some(commit) = found {
            return Ok((base, commit));
        }
    }
    Err(FleetError::NoSuchBase(base))
}

fn settings(context: &ProjectContext, base: &str, commit: &str) -> Result<ProjectSettings, FleetError> {
    let file = relative(context, &context.project.config_file());
    let Some(text) = text_at(&context.git, commit, &file)? else { return Ok(ProjectSettings::default()) };
    ProjectSettings::parse(&text).map_err(|problem| FleetError::Unreadable {
        file: file.display().to_string(),
        base: base.to_owned(),
        problem: problem.to_string(),
    })
}

fn relative(context: &ProjectContext, file: &Path) -> PathBuf {
    file.strip_prefix(&context.top).unwrap_or(file).to_path_buf()
}

fn text_at(git: &Git, commit: &str, file: &Path) -> Result<Option<String>, FleetError> {
    let output = git.output(["cat-file", "blob", &format!("{commit}:{}", file.display())]);
    let output = output.map_err(WorkError::from)?;
    Ok(output.exit.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// Whether the project has an unfinished run of the task.
pub fn find_unfinished(project: &TaskProject, task: &TaskId) -> Result<bool, WorkError> {
    let Some(dir) = find_latest(project) else { return Ok(false) };
    let stored = dir.load_checkpoint()?;
    Ok(stored.is_some_and(|stored| stored.run.request.task == *task && !stored.run.is_over()))
}

/// The progress on the task's branch: an unfinished run, else the status in the branch's own tasks.json.
fn find_progress(
    context: &ProjectContext,
    tag: &TagName,
    task: &TaskId,
    branch: &BranchName,
    worktrees: &[git::GitWorktree],
    file: &Path,
) -> Result<TaskProgress, FleetError> {
    let has_it = |entry: &&git::GitWorktree| entry.branch() == Some(branch) && entry.path.exists();
    let worktree = worktrees.iter().find(has_it).map(|entry| entry.path.clone());
    if let Some(worktree) = &worktree {
        let project = TaskProject::at(worktree.join(relative(context, &context.project.root)));
        if find_unfinished(&project, task)? {
            return Ok(TaskProgress::Unfinished { worktree: worktree.clone() });
        }
    }
    let text = text_at(&context.git, &branch.full_ref(), file)?.unwrap_or_default();
    let status =
        TaskFile::parse(&text).ok().and_then(|tasks| Some(tasks.tag(tag)?.find_task(task)?.status.clone()));
    Ok(match status {
        Some(TaskStatus::Done | TaskStatus::Review) => TaskProgress::Finished { worktree },
        _ => TaskProgress::Begun { worktree },
    })
}
