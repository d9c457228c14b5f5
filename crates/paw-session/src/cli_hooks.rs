//! Hooks of AI CLIs, which tell us what their agents are doing: put into each worktree, taken out with the session. With
//! them, in the same file, what the CLI may let an agent do unasked (`rules`).
//!
//! They are a help, not a need: where they cannot be put the screen has to do, and the reason is said. The files are
//! never part of a commit, and nothing is written through a link that a repository could have laid.

mod opencode;
mod rules;

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use paw_agent::events::notes::Notes;
use paw_agent::events::settings::{self, SettingsError};
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

/// Puts hooks into the worktree of an agent that is about to be started. What it told before counts no more.
pub fn install(repo: &Repo, agent: &AgentReceipt, id: &AgentId, program: &Path) -> Option<String> {
    let forgotten = Notes::of(&repo.common_dir).forget(id).map_err(HookError::Notes);
    let file = settings_file(agent);
    let installed = forgotten.and_then(|()| {
        if agent.cli == "opencode" {
            opencode::put(&repo.common_dir, program)?;
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

/// An agent's line with the hooks that its CLI is told there: codex by words, opencode by its environment. codex asks its user about every hook it does
/// not know, so it gets ours only where hooks are something the user has asked for.
pub fn with_words(line: &str, cli: &str, program: &Path, common_dir: &Path) -> String {
    if cli == "opencode" {
        return opencode::with_plugin(line, common_dir);
    }
    let is_wanted = || std::env::home_dir().is_some_and(|home| codex_has_hooks(&home));
    match settings::words(cli, program).filter(|_| is_wanted()) {
        Some(words) => format!("{line} {words}"),
        None => line.to_owned(),
    }
}

/// The settings file of an agent's CLI: the configured one, else the usual one. A path that leads out of the worktree is an
/// error, with the name of the CLI.
fn settings_file(agent: &AgentReceipt) -> Result<Option<PathBuf>, String> {
    let Some(wish) = &agent.settings_path else {
        return Ok(settings::file(&agent.cli, &agent.worktree_path));
    };
    let inside = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
    if wish.components().all(inside) && wish.file_name().is_some() {
        Ok(Some(agent.worktree_path.join(wish)))
    } else {
        Err(agent.cli.clone())
    }
}

fn codex_has_hooks(home: &Path) -> bool {
    let text = files::load_text(&home.join(".codex/config.toml")).ok().flatten().unwrap_or_default();
    let config = text.parse::<toml::Table>().unwrap_or_default();
    let feature = config.get("features").and_then(|features| features.get("hooks"));
    feature.and_then(toml::Value::as_bool).unwrap_or(false)
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
    let with =
        if has_hooks_in_file(agent) { settings::with_hooks(&before, &agent.cli, program)? } else { before };
    let with = if takes_rules(agent) { rules::with_rules(&with)? } else { with };
    Ok(files::write_atomic(file, with.as_bytes(), Access::Usual)?)
}

fn has_hooks_in_file(agent: &AgentReceipt) -> bool {
    settings::file(&agent.cli, &agent.worktree_path).is_some()
}

/// claude's rules are written for claude, and for a CLI whose settings file somebody has named for them.
fn takes_rules(agent: &AgentReceipt) -> bool {
    agent.cli == "claude" || agent.settings_path.is_some()
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
    let mut without = if has_hooks_in_file(agent) {
        settings::without_hooks(&before, &agent.cli)?
    } else {
        Some(before.clone())
    };
    if takes_rules(agent) {
        without = without.map(|text| rules::without_rules(&text)).transpose()?.flatten();
    }
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
    let said = |error: FileError| error.to_string();
    let mut problems: Vec<String> = match ExcludeLock::wait(&repo.common_dir) {
        Ok(lock) => names.iter().filter_map(|name| exclude::show(name, &lock).err()).map(said).collect(),
        Err(error) => vec![said(error)],
    };
    problems.extend(opencode::take(&repo.common_dir).err().map(|error| error.to_string()));
    problems
}

/// A file as git names it.
fn name_in(worktree: &Path, file: &Path) -> String {
    file.strip_prefix(worktree).unwrap_or(file).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codex_gets_hooks_only_where_its_user_has_switched_them_on() {
        let home = tempfile::tempdir().unwrap();
        assert!(!codex_has_hooks(home.path()));
        for (text, on) in [
            ("[features]\nhooks = true\n", true),
            ("[features]\nhooks = false\n", false),
            ("hooks = true\n", false),
            ("[features]\nhooks = \"yes\"\n", false),
            ("[[[", false),
        ] {
            let file = home.path().join(".codex/config.toml");
            files::write_atomic(&file, text.as_bytes(), Access::Usual).unwrap();
            assert_eq!(codex_has_hooks(home.path()), on, "{text}");
        }
    }
}
