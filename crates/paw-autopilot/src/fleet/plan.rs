//! What would be done with several tasks: the branch of each, and how far it is already. Changes nothing.
//!
//! Worktrees begin at the base branch, so its list of tasks and its settings are read, not those of the checkout at hand.

use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{self, Git};

use super::{FleetError, Member, members};
use crate::artifacts::run_dir::find_latest;
use crate::branch::pick;
use crate::tasks::project::require_tag;
use crate::tasks::{Settings, Status, TagName, TaskFile, TaskId, TaskProject};
use crate::work::head::head;
use crate::work::{Site, WorkError};

#[derive(Debug, Clone)]
pub struct FleetPlan {
    pub tag: TagName,
    /// The branch that worktrees begin at, and its commit.
    pub base: String,
    pub commit: String,
    /// None before what it depends on.
    pub tasks: Vec<PlannedTask>,
    /// The list of tasks at hand is not the one of the base branch.
    pub differs: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTask {
    pub member: Member,
    pub branch: BranchName,
    pub standing: Standing,
}

/// How far a task is before anything is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The base branch has it.
    Done,
    /// Its branch has all of it.
    Finished {
        worktree: Option<PathBuf>,
    },
    /// A run stands still in this worktree.
    Unfinished {
        worktree: PathBuf,
    },
    /// There is a branch, and perhaps a worktree.
    Begun {
        worktree: Option<PathBuf>,
    },
    New,
}

impl Standing {
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done | Self::Finished { .. })
    }
}

pub fn plan(site: &Site, tag: Option<&str>, wished: &[String]) -> Result<FleetPlan, FleetError> {
    let git = &site.git;
    let (base, commit) = base(site)?;
    let (current, _) = head(git)?;
    let variable = std::env::var("TASKMASTER_TAG").ok();
    let on = current.as_ref().map(BranchName::as_str);
    let tag = site.project.resolve_tag(tag, variable.as_deref(), on)?;
    let file = relative(site, &site.project.tasks_file());
    let Some(text) = text_at(git, &commit, &file)? else {
        return Err(FleetError::NoTasks { file: file.display().to_string(), base });
    };
    let tasks = TaskFile::parse(&text).map_err(|problem| FleetError::Unreadable {
        file: file.display().to_string(),
        base: base.clone(),
        problem: problem.to_string(),
    })?;
    let settings = settings(site, &base, &commit)?;
    if !settings.enabled {
        return Err(WorkError::Off.into());
    }
    let members = members(require_tag(&tasks, &tag)?, wished)?;
    let existing = git.local_branches().map_err(WorkError::from)?;
    let worktrees = git.worktrees().map_err(WorkError::from)?;
    let mut planned: Vec<PlannedTask> = Vec::new();
    for member in members {
        let picked = pick(&settings.branch_pattern, &tag, &member.task, &member.title, &existing);
        let branch = picked.map_err(WorkError::from)?.branch;
        if let Some(other) = planned.iter().find(|other| other.branch == branch) {
            let (one, other) = (other.member.task.clone(), member.task);
            return Err(FleetError::SameBranch { one, other, branch: branch.to_string() });
        }
        let standing = match (member.done, existing.contains(&branch)) {
            (true, _) => Standing::Done,
            (false, false) => Standing::New,
            (false, true) => standing(site, &tag, &member.task, &branch, &worktrees, &file)?,
        };
        planned.push(PlannedTask { member, branch, standing });
    }
    let here = paw_host::files::load_text(&site.project.tasks_file()).map_err(WorkError::from)?;
    Ok(FleetPlan { tag, base, commit, tasks: planned, differs: here.as_deref() != Some(&text) })
}

/// Where pull requests go to, else the default branch: here, else as the remote had it.
fn base(site: &Site) -> Result<(String, String), FleetError> {
    let git = &site.git;
    let base = site.find_base()?.ok_or(FleetError::NoBase)?;
    for place in ["refs/heads", "refs/remotes/origin"] {
        let found = git.find_object(&format!("{place}/{base}"), "commit").map_err(WorkError::from)?;
        if let Some(commit) = found {
            return Ok((base, commit));
        }
    }
    Err(FleetError::NoSuchBase(base))
}

fn settings(site: &Site, base: &str, commit: &str) -> Result<Settings, FleetError> {
    let file = relative(site, &site.project.config_file());
    let Some(text) = text_at(&site.git, commit, &file)? else { return Ok(Settings::default()) };
    Settings::parse(&text).map_err(|problem| FleetError::Unreadable {
        file: file.display().to_string(),
        base: base.to_owned(),
        problem: problem.to_string(),
    })
}

fn relative(site: &Site, file: &Path) -> PathBuf {
    file.strip_prefix(&site.top).unwrap_or(file).to_path_buf()
}

fn text_at(git: &Git, commit: &str, file: &Path) -> Result<Option<String>, FleetError> {
    let said = git.output(["cat-file", "blob", &format!("{commit}:{}", file.display())]);
    let said = said.map_err(WorkError::from)?;
    Ok(said.exit.success().then(|| String::from_utf8_lossy(&said.stdout).into_owned()))
}

/// Whether a run of the task stands still in a project.
pub fn find_unfinished(project: &TaskProject, task: &TaskId) -> Result<bool, WorkError> {
    let Some(dir) = find_latest(project) else { return Ok(false) };
    let stored = dir.load_checkpoint()?;
    Ok(stored.is_some_and(|stored| stored.run.order.task == *task && !stored.run.is_over()))
}

/// How far the branch of a task is: a run that stands still goes on, else its own list of tasks says it.
fn standing(
    site: &Site,
    tag: &TagName,
    task: &TaskId,
    branch: &BranchName,
    worktrees: &[git::Worktree],
    file: &Path,
) -> Result<Standing, FleetError> {
    let has_it = |entry: &&git::Worktree| entry.branch() == Some(branch) && entry.path.exists();
    let worktree = worktrees.iter().find(has_it).map(|entry| entry.path.clone());
    if let Some(worktree) = &worktree {
        let project = TaskProject::at(worktree.join(relative(site, &site.project.root)));
        if find_unfinished(&project, task)? {
            return Ok(Standing::Unfinished { worktree: worktree.clone() });
        }
    }
    let text = text_at(&site.git, &branch.full_ref(), file)?.unwrap_or_default();
    let status =
        TaskFile::parse(&text).ok().and_then(|tasks| Some(tasks.tag(tag)?.find_task(task)?.status.clone()));
    Ok(match status {
        Some(Status::Done | Status::Review) => Standing::Finished { worktree },
        _ => Standing::Begun { worktree },
    })
}
