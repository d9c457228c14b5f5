//! The names that exist in this repository and on this machine. What cannot be read is not offered.

use clap::Arg;
use paw_agent::detect_clis;
use paw_autopilot::tasks::TaskProject;
use paw_core::PawError;
use paw_core::config::{PawConfig, SpecType};
use paw_host::config;
use paw_host::git::Repo;
use paw_session::lifecycle::Session;
use paw_session::specs;
use paw_worktree::rescue;

use super::CompletionWord;
use crate::command::help;
use crate::context::Context;

/// What the value of an argument names. Its name in the help says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Agent,
    AgentOrBranch,
    Branch,
    Worktree,
    Task,
    Spec,
    SpecFormat,
    Cli,
    Preset,
    /// A machine, or this one.
    Host,
    Rescue,
    Chapter,
    Files,
    /// Anything a person may write.
    Text,
}

impl ValueKind {
    /// Nothing for a name that is not listed here; a test fails on those.
    pub(super) fn find(argument: &Arg) -> Option<Self> {
        let name = argument.get_value_names().and_then(|names| names.first()).map(clap::builder::Str::as_str);
        Some(match name? {
            "AGENT" | "FROM" => Self::Agent,
            "AGENT|BRANCH" => Self::AgentOrBranch,
            "BRANCH" | "BRANCH,…" => Self::Branch,
            "WORKTREE" => Self::Worktree,
            "TASK" => Self::Task,
            "SPEC" | "SPEC,…" => Self::Spec,
            "FORMAT" => Self::SpecFormat,
            "CLI" => Self::Cli,
            "PRESET" => Self::Preset,
            "HOST" => Self::Host,
            "ID" => Self::Rescue,
            "COMMAND|CHAPTER" => Self::Chapter,
            "FILE" | "FILES" | "DIR" | "PATH" | "COMMIT|FILE" => Self::Files,
            "ADDRESS" | "ANSWER" | "COMMAND" | "COMMIT" | "ERRORS" | "GATE" | "ITEM" | "ITEM=REASON"
            | "KEY" | "LIMIT" | "LINES" | "MESSAGE" | "N" | "NAME" | "NAMES" | "NEEDS" | "OPTIONS"
            | "PHASE" | "PRIORITY" | "QUESTION" | "RE" | "RUNNER" | "SCOPE" | "SECONDS" | "SINCE" | "SSH"
            | "STATUS" | "SUMMARY" | "TAG" | "TEXT" | "TIME" | "TIMES" | "TITLE" | "TTL" | "WHAT"
            | "auto|RUNNER" => Self::Text,
            _ => return None,
        })
    }
}

/// The words of a kind. A later group is for those who typed something that is in no earlier one.
pub(super) fn load(kind: ValueKind, typed: &str, context: &Context) -> Vec<Vec<CompletionWord>> {
    match kind {
        ValueKind::Agent => agents(context),
        ValueKind::AgentOrBranch => {
            let mut groups = agents(context);
            groups.extend(branches(typed, context));
            groups
        }
        ValueKind::Branch => branches(typed, context),
        ValueKind::Worktree => worktrees(context),
        ValueKind::Task => vec![tasks(context).unwrap_or_default()],
        ValueKind::Spec => vec![specs(context).unwrap_or_default()],
        ValueKind::SpecFormat => {
            vec![SpecType::ALL.iter().map(|format| CompletionWord::new(format.as_str(), "")).collect()]
        }
        ValueKind::Cli => vec![clis(context)],
        ValueKind::Preset => vec![presets(context)],
        ValueKind::Host => vec![hosts(context)],
        ValueKind::Rescue => vec![rescues(context).unwrap_or_default()],
        ValueKind::Chapter | ValueKind::Files | ValueKind::Text => Vec::new(),
    }
}

pub(super) fn chapters() -> Vec<CompletionWord> {
    help::chapters().map(|(name, title)| CompletionWord::new(name, title)).collect()
}

/// Branches of the session's agents, then their ids.
fn agents(context: &Context) -> Vec<Vec<CompletionWord>> {
    let session = repo(context).and_then(|repo| Session::find(&repo, &context.receipts()).ok().flatten());
    let Some(session) = session else { return Vec::new() };
    let agents = session.receipt.worktrees.iter();
    let branches = agents.map(|agent| CompletionWord::new(agent.branch.as_str(), &agent.cli));
    let remote = session.receipt.remote_agents().iter();
    let remote = remote.map(|agent| CompletionWord::new(agent.branch.as_str(), &agent.cli));
    let branches = branches.chain(remote).collect();
    let ids = session.receipt.agent_ids();
    vec![branches, ids.iter().map(|id| CompletionWord::new(id.as_str(), "")).collect()]
}

/// Local branches, then those that only a remote has.
fn branches(typed: &str, context: &Context) -> Vec<Vec<CompletionWord>> {
    let Some(repo) = repo(context) else { return Vec::new() };
    let words = |branches: Vec<paw_core::BranchName>| {
        branches.iter().map(|branch| CompletionWord::new(branch.as_str(), "")).collect()
    };
    let git = repo.git();
    let local = git.local_branches().unwrap_or_default();
    let is_local = local.iter().any(|branch| branch.as_str().starts_with(typed));
    vec![words(if is_local { local } else { git.branches().unwrap_or_default() })]
}

/// Branches of worktrees, then the names of their directories.
fn worktrees(context: &Context) -> Vec<Vec<CompletionWord>> {
    let listed = repo(context).and_then(|repo| repo.git().worktrees().ok()).unwrap_or_default();
    let name = |path: &std::path::Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let linked = listed.iter().skip(1);
    let branches = linked.clone().filter_map(|entry| Some((entry.branch()?, name(&entry.path))));
    let branches = branches.map(|(branch, name)| CompletionWord::new(branch.as_str(), name));
    let main = CompletionWord::new("main", "the main checkout");
    let main = (!listed.is_empty()).then_some(main);
    vec![main.into_iter().chain(branches).collect()]
}

fn tasks(context: &Context) -> Option<Vec<CompletionWord>> {
    let repo = repo(context)?;
    let top = repo.worktree.as_deref().unwrap_or(&repo.root);
    let project = TaskProject::find(&context.cwd.canonicalize().ok()?, top)?;
    let variable = std::env::var("TASKMASTER_TAG").ok();
    let tag = project.resolve_tag(None, variable.as_deref(), None).ok()?;
    let file = project.load_tasks().ok()?;
    let mut words = Vec::new();
    for task in &file.tag(&tag)?.tasks {
        words.push(CompletionWord::new(task.item().to_string(), &task.title));
        let subtasks = task.subtasks.iter();
        words.extend(subtasks.map(|one| CompletionWord::new(one.item().to_string(), &one.title)));
    }
    Some(words)
}

fn specs(context: &Context) -> Option<Vec<CompletionWord>> {
    let (repo, config) = (repo(context)?, config(context)?);
    let scan = specs::scan(&repo.root, config.specs.as_ref(), None, &config.branch_prefix()).ok()?;
    let units = specs::units(&scan.entries);
    Some(units.iter().map(|unit| CompletionWord::new(&unit.name, "")).collect())
}

fn clis(context: &Context) -> Vec<CompletionWord> {
    let config = config(context).unwrap_or_default();
    let found = detect_clis(&config.clis, &context.search_path);
    found.clis.iter().map(|cli| CompletionWord::new(&cli.binary_name, &cli.display_name)).collect()
}

fn presets(context: &Context) -> Vec<CompletionWord> {
    let config = config(context).unwrap_or_default();
    let words = config.presets.iter();
    words.map(|(name, preset)| CompletionWord::new(name, preset.branches.join(", "))).collect()
}

fn hosts(context: &Context) -> Vec<CompletionWord> {
    let config = config(context).unwrap_or_default();
    let hosts = config.hosts.iter().map(|(name, host)| CompletionWord::new(name, host.ssh.as_str()));
    hosts.chain([CompletionWord::new("local", "this machine")]).collect()
}

fn rescues(context: &Context) -> Option<Vec<CompletionWord>> {
    let list = rescue::list(&repo(context)?).ok()?;
    Some(list.iter().map(|rescue| CompletionWord::new(rescue.id.as_str(), "")).collect())
}

fn repo(context: &Context) -> Option<Repo> {
    context.find_repo().ok().flatten()
}

/// Without warnings: the shell shows only words.
fn config(context: &Context) -> Option<PawConfig> {
    let load = || -> Result<PawConfig, PawError> {
        let repo = context.find_repo()?;
        config::load_layers(repo.as_ref().map(|repo| repo.root.as_path()), None)?.resolve()
    };
    load().ok()
}
