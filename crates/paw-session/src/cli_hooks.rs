//! Installs hooks of AI CLIs in worktrees and removes them. The hooks report what an agent does. The same settings file gets
//! rules for what the CLI may do without asking.
//!
//! Hooks are optional: if they cannot be installed, git paw reads the agent's screen and warns the user. The files are never
//! committed, and nothing is written through a symbolic link, because the repository could contain one.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use paw_agent::cli::{self, Cli};
use paw_agent::hooks::install::Plugin;
use paw_agent::hooks::notes::HookNotes;
use paw_agent::hooks::settings::{self, SettingsError};
use paw_agent::hooks::{HookEnvironment, HookInstall};
use paw_core::{AgentId, AgentReceipt, Receipt};
use paw_host::files::{self, Access, FileError};
use paw_host::git::{GitError, Repo};
use paw_host::locks::ExcludeLock;

use crate::briefing::{exclude, is_tracked};

/// Why hooks were not installed or removed.
#[derive(Debug, thiserror::Error)]
enum CliHookError {
    #[error("git tracks the file, so the hooks would be committed")]
    Tracked,
    #[error("its path contains a symbolic link")]
    Link,
    #[error("{0} is already set")]
    VariableTaken(&'static str),
    #[error("the path of git paw is not UTF-8")]
    ProgramName,
    #[error("[clis.{cli}] settings_path must be a file in the worktree, such as .{cli}/settings.json")]
    Outside { cli: String },
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot delete earlier hook reports: {0}")]
    Notes(io::Error),
}

/// Installs hooks in the worktrees of all agents whose CLI supports them. Returns warnings.
pub fn install_all(repo: &Repo, receipt: &Receipt, program: &Path) -> Vec<String> {
    // Its hooks are on its command line; only a plugin is a file. An earlier supervisor may have left reports.
    let supervisor = receipt.supervisor.iter().filter_map(|supervisor| {
        let forgotten =
            HookNotes::of(&repo.common_dir).forget(&AgentId::supervisor()).map_err(CliHookError::Notes);
        let installed = forgotten.and_then(|()| match plugin(cli::descriptor(&supervisor.cli)) {
            Some(plugin) => install_plugin(&plugin, &repo.common_dir, &HookEnvironment::load(program)),
            None => Ok(()),
        });
        Some(format!("no hooks for the supervisor: {}; git paw reads its screen instead", installed.err()?))
    });
    let agents = receipt.worktrees.iter().zip(receipt.agent_ids());
    supervisor.chain(agents.filter_map(|(agent, id)| install(repo, agent, &id, program))).collect()
}

/// Installs hooks in the worktree of an agent that is about to start, and deletes its earlier reports. Returns a warning if
/// that fails.
pub fn install(repo: &Repo, agent: &AgentReceipt, id: &AgentId, program: &Path) -> Option<String> {
    let forgotten = HookNotes::of(&repo.common_dir).forget(id).map_err(CliHookError::Notes);
    let file = settings_file(agent);
    let installed = forgotten.and_then(|()| {
        if let Some(plugin) = plugin(cli::descriptor(&agent.cli)) {
            install_plugin(&plugin, &repo.common_dir, &HookEnvironment::load(program))?;
        }
        match &file {
            Ok(Some(file)) => install_settings(repo, agent, file, program),
            Ok(None) => Ok(()),
            Err(cli) => Err(CliHookError::Outside { cli: cli.clone() }),
        }
    });
    let error = installed.err()?;
    let file = file.ok().flatten().unwrap_or_else(|| agent.worktree_path.clone());
    Some(format!("no hooks in {}: {error}; git paw reads the agent's screen instead", file.display()))
}

fn plugin(cli: &Cli) -> Option<Plugin> {
    match cli.hooks?.install {
        HookInstall::Plugin(plugin) => Some(plugin),
        HookInstall::SettingsFile { .. } | HookInstall::Arguments { .. } => None,
    }
}

/// Installs the plugin that all agents of a repository share.
fn install_plugin(
    plugin: &Plugin,
    common_dir: &Path,
    environment: &HookEnvironment,
) -> Result<(), CliHookError> {
    if (environment.is_set)(plugin.variable) {
        return Err(CliHookError::VariableTaken(plugin.variable));
    }
    let text = (plugin.text)(&environment.program).ok_or(CliHookError::ProgramName)?;
    Ok(files::write_atomic(&plugin.path(common_dir), text.as_bytes(), Access::Usual)?)
}

/// Removes a plugin when no agent uses it.
fn remove_plugin(plugin: &Plugin, common_dir: &Path) -> Result<(), FileError> {
    let path = plugin.path(common_dir);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FileError { action: "remove", path, source })
        }
        _ => Ok(()),
    }
}

/// The settings file of an agent's CLI: the configured or the default one. If the path leaves the worktree, fails with the
/// name of the CLI.
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

fn install_settings(
    repo: &Repo,
    agent: &AgentReceipt,
    file: &Path,
    program: &Path,
) -> Result<(), CliHookError> {
    let name = name_in(&agent.worktree_path, file);
    if is_tracked(&agent.worktree_path, &name)? {
        return Err(CliHookError::Tracked);
    }
    files::require_no_link(&agent.worktree_path, file).map_err(|_| CliHookError::Link)?;
    // The rule comes first, so that git never lists the file.
    exclude::add_rule(&name, &ExcludeLock::wait(&repo.common_dir)?)?;
    let before = files::load_text(file)?.unwrap_or_default();
    let cli = cli::descriptor(&agent.cli);
    let hooked = if has_hooks_in_file(cli) { settings::with_hooks(&before, cli, program)? } else { before };
    let with = settings::with_rules(&hooked)?;
    Ok(files::write_atomic(file, with.as_bytes(), Access::Usual)?)
}

/// A CLI with a configured settings file gets our permission rules there, even if it does not support hooks.
fn has_hooks_in_file(cli: &Cli) -> bool {
    settings::file(cli, Path::new("")).is_some()
}

/// Removes our hooks from an agent's worktree and keeps the rest of the settings file. Returns a warning if that fails.
pub fn remove(repo: &Repo, agent: &AgentReceipt) -> Option<String> {
    let notes = HookNotes::of(&repo.common_dir);
    let forgotten =
        agent.agent_id.as_ref().map_or(Ok(()), |id| notes.forget(id)).map_err(CliHookError::Notes);
    let file = settings_file(agent).ok().flatten()?;
    let error = forgotten.and_then(|()| remove_settings(agent, &file)).err()?;
    Some(format!("cannot remove hooks from {}: {error}", file.display()))
}

fn remove_settings(agent: &AgentReceipt, file: &Path) -> Result<(), CliHookError> {
    files::require_no_link(&agent.worktree_path, file).map_err(|_| CliHookError::Link)?;
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
            // Fails unless the directory is empty.
            let _ = file.parent().map(fs::remove_dir);
            Ok(())
        }
    }
}

/// Removes the exclude rules and plugins that all agents share, after the last agent was removed.
pub fn remove_shared(repo: &Repo, receipt: &Receipt) -> Vec<String> {
    let names: std::collections::BTreeSet<String> = receipt
        .worktrees
        .iter()
        .filter_map(|agent| Some(name_in(&agent.worktree_path, &settings_file(agent).ok().flatten()?)))
        .collect();
    let mut problems: Vec<String> = match ExcludeLock::wait(&repo.common_dir) {
        Ok(lock) => names
            .iter()
            .filter_map(|name| exclude::remove_rule(name, &lock).err())
            .map(|e| e.to_string())
            .collect(),
        Err(error) => vec![error.to_string()],
    };
    let plugins = cli::ALL.iter().filter_map(plugin);
    let removed = plugins.filter_map(|plugin| remove_plugin(&plugin, &repo.common_dir).err());
    problems.extend(removed.map(|error| error.to_string()));
    problems
}

/// The path of a file relative to its worktree.
fn name_in(worktree: &Path, file: &Path) -> String {
    file.strip_prefix(worktree).unwrap_or(file).to_string_lossy().into_owned()
}
