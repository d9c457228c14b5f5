//! Hooks of AI CLIs, which report what their agents are doing: put into each worktree, removed with the session. The same
//! settings file gets rules for what the CLI may let an agent do without asking.
//!
//! Hooks are optional: where they cannot be installed the agent's screen is read, and the user is told the reason. The files
//! are never part of a commit, and nothing is written through a symbolic link that a repository could contain.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use paw_agent::cli::{self, Cli};
use paw_agent::hooks::install::Plugin;
use paw_agent::hooks::notes::Notes;
use paw_agent::hooks::settings::{self, SettingsError};
use paw_agent::hooks::{HookEnvironment, Install};
use paw_core::{AgentId, AgentReceipt, Receipt};
use paw_host::files::{self, Access, FileError};
use paw_host::git::{GitError, Repo};
use paw_host::locks::ExcludeLock;

use crate::briefing::{exclude, is_tracked};

/// Hooks that could not be put in or taken out.
#[derive(Debug, thiserror::Error)]
enum HookError {
    #[error("git tracks it, and it would become part of a commit")]
    Tracked,
    #[error("there is a link in the way")]
    Link,
    #[error("you have set {0} yourself")]
    VariableTaken(&'static str),
    #[error("the path of git paw is no text")]
    ProgramName,
    #[error("[clis.{cli}] settings_path has to be a file in the worktree, such as .{cli}/settings.json")]
    Outside { cli: String },
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot forget what was told before: {0}")]
    Notes(io::Error),
}

/// Puts hooks into the worktrees of all agents whose CLI has some. Returns what the user should know.
pub fn install_all(repo: &Repo, receipt: &Receipt, program: &Path) -> Vec<String> {
    // A supervisor gets none, but hooks of its user's own may have told of an earlier one.
    let supervisor = receipt.supervisor.iter().filter_map(|_| {
        let error =
            Notes::of(&repo.common_dir).forget(&AgentId::supervisor()).map_err(HookError::Notes).err()?;
        Some(error.to_string())
    });
    let agents = receipt.worktrees.iter().zip(receipt.agent_ids());
    supervisor.chain(agents.filter_map(|(agent, id)| install(repo, agent, &id, program))).collect()
}

/// Puts hooks into the worktree of an agent that is about to be started. What it reported before is dropped.
pub fn install(repo: &Repo, agent: &AgentReceipt, id: &AgentId, program: &Path) -> Option<String> {
    let forgotten = Notes::of(&repo.common_dir).forget(id).map_err(HookError::Notes);
    let file = settings_file(agent);
    let installed = forgotten.and_then(|()| {
        if let Some(plugin) = plugin(cli::descriptor(&agent.cli)) {
            put_plugin(&plugin, &repo.common_dir, &HookEnvironment::load(program))?;
        }
        match &file {
            Ok(Some(file)) => put(repo, agent, file, program),
            Ok(None) => Ok(()),
            Err(cli) => Err(HookError::Outside { cli: cli.clone() }),
        }
    });
    let error = installed.err()?;
    let file = file.ok().flatten().unwrap_or_else(|| agent.worktree_path.clone());
    Some(format!("no hooks in {}: {error}; what the agent does is read from its screen", file.display()))
}

fn plugin(cli: &Cli) -> Option<Plugin> {
    match cli.hooks?.install {
        Install::Plugin(plugin) => Some(plugin),
        Install::SettingsFile { .. } | Install::Arguments { .. } => None,
    }
}

/// One plugin serves all agents of a repository.
fn put_plugin(plugin: &Plugin, common_dir: &Path, environment: &HookEnvironment) -> Result<(), HookError> {
    if (environment.is_set)(plugin.variable) {
        return Err(HookError::VariableTaken(plugin.variable));
    }
    let text = (plugin.text)(&environment.program).ok_or(HookError::ProgramName)?;
    Ok(files::write_atomic(&plugin.path(common_dir), text.as_bytes(), Access::Usual)?)
}

/// Removes a plugin, once no agent is left that could use it.
fn remove_plugin(plugin: &Plugin, common_dir: &Path) -> Result<(), FileError> {
    let path = plugin.path(common_dir);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FileError { action: "remove", path, source })
        }
        _ => Ok(()),
    }
}

/// The settings file of an agent's CLI: the configured one, else the usual one. A path that leads out of the worktree is an
/// error, with the name of the CLI.
fn settings_file(agent: &AgentReceipt) -> Result<Option<PathBuf>, String> {
    let Some(configured) = &agent.settings_path else {
        return Ok(settings::file(cli::descriptor(&agent.cli), &agent.worktree_path));
    };
    let inside = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
    if configured.components().all(inside) && configured.file_name().is_some() {
        Ok(Some(agent.worktree_path.join(configured)))
    } else {
        Err(agent.cli.clone())
    }
}

fn put(repo: &Repo, agent: &AgentReceipt, file: &Path, program: &Path) -> Result<(), HookError> {
    let name = name_in(&agent.worktree_path, file);
    if is_tracked(&agent.worktree_path, &name)? {
        return Err(HookError::Tracked);
    }
    files::require_no_link(&agent.worktree_path, file).map_err(|_| HookError::Link)?;
    // First of all: git must never see it.
    exclude::hide(&name, &ExcludeLock::wait(&repo.common_dir)?)?;
    let before = files::load_text(file)?.unwrap_or_default();
    let cli = cli::descriptor(&agent.cli);
    let hooked = if has_hooks_in_file(cli) { settings::with_hooks(&before, cli, program)? } else { before };
    let with = settings::with_rules(&hooked)?;
    Ok(files::write_atomic(file, with.as_bytes(), Access::Usual)?)
}

/// A CLI whose settings file the user has configured gets our permission rules there, even where it has no hooks.
fn has_hooks_in_file(cli: &Cli) -> bool {
    settings::file(cli, Path::new("")).is_some()
}

/// Takes our hooks out of an agent's worktree and leaves the rest of their file. Returns what the user should know.
pub fn remove(repo: &Repo, agent: &AgentReceipt) -> Option<String> {
    let notes = Notes::of(&repo.common_dir);
    let forgotten = agent.agent_id.as_ref().map_or(Ok(()), |id| notes.forget(id)).map_err(HookError::Notes);
    let file = settings_file(agent).ok().flatten()?;
    let error = forgotten.and_then(|()| take(agent, &file)).err()?;
    Some(format!("hooks are left in {}: {error}", file.display()))
}

fn take(agent: &AgentReceipt, file: &Path) -> Result<(), HookError> {
    files::require_no_link(&agent.worktree_path, file).map_err(|_| HookError::Link)?;
    let Some(before) = files::load_text(file)? else { return Ok(()) };
    let cli = cli::descriptor(&agent.cli);
    let without =
        if has_hooks_in_file(cli) { settings::without_hooks(&before, cli)? } else { Some(before.clone()) };
    let without = without.map(|text| settings::without_rules(&text)).transpose()?.flatten();
    match without {
        Some(after) if after == before => Ok(()),
        Some(after) => Ok(files::write_atomic(file, after.as_bytes(), Access::Usual)?),
        None => {
            let gone = fs::remove_file(file);
            gone.map_err(|source| FileError { action: "remove", path: file.to_path_buf(), source })?;
            // Only if nothing else is in it.
            let _ = file.parent().map(fs::remove_dir);
            Ok(())
        }
    }
}

/// Lets git see files of those names again, and takes away what all agents shared, once no agent of a session is left.
pub fn show_again(repo: &Repo, receipt: &Receipt) -> Vec<String> {
    let names: std::collections::BTreeSet<String> = receipt
        .worktrees
        .iter()
        .filter_map(|agent| Some(name_in(&agent.worktree_path, &settings_file(agent).ok().flatten()?)))
        .collect();
    let mut problems: Vec<String> = match ExcludeLock::wait(&repo.common_dir) {
        Ok(lock) => {
            names.iter().filter_map(|name| exclude::show(name, &lock).err()).map(|e| e.to_string()).collect()
        }
        Err(error) => vec![error.to_string()],
    };
    let plugins = cli::ALL.iter().filter_map(plugin);
    let removed = plugins.filter_map(|plugin| remove_plugin(&plugin, &repo.common_dir).err());
    problems.extend(removed.map(|error| error.to_string()));
    problems
}

/// A file as git names it.
fn name_in(worktree: &Path, file: &Path) -> String {
    file.strip_prefix(worktree).unwrap_or(file).to_string_lossy().into_owned()
}
