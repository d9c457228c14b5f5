//! The tmux window of a run: created, found by its mark, removed.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use paw_core::PawError;
use paw_host::process::MARK_VARIABLE;
use paw_host::tmux::{Batch, Tmux, TmuxCommand, TmuxError};

/// The pane option with the project of the pane's run.
const PROJECT: &str = "@paw_autopilot";

/// Variables of the current terminal, which do not apply to another one.
const OF_THE_TERMINAL: [&str; 10] =
    ["TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "COLORTERM", "COLUMNS", "LINES", "PWD", "OLDPWD", "SHLVL"];

pub(super) struct WindowSpec<'a> {
    /// A tmux target.
    pub(super) session: &'a str,
    pub(super) project: &'a Path,
    pub(super) name: &'a str,
    /// The mark of the pane's process.
    pub(super) mark: &'a str,
    pub(super) command: Vec<OsString>,
}

/// Creates the window in the background and removes one that an earlier run left. Returns the pane's id.
pub(super) fn make(tmux: &Tmux, wanted: &WindowSpec<'_>) -> Result<String, PawError> {
    let project = wanted.project.display().to_string();
    remove_all(tmux, wanted.session, wanted.project);
    let new = TmuxCommand::new("new-window")
        .args(["-d", "-P", "-F", "#{pane_id}", "-t", wanted.session, "-n", wanted.name, "-c"])
        .arg(wanted.project)
        .args(environment(wanted.mark))
        .args(wanted.command.iter().cloned());
    // The environment contains secrets; a batch does not show them in `ps`.
    let output = tmux.run_batch(&Batch::from_iter([new]))?;
    let pane = output.trim().to_owned();
    if !pane.starts_with('%') {
        return Err(TmuxError::Unexpected(output).into());
    }
    let option =
        |name: &str, value: &str| TmuxCommand::new("set-option").args(["-p", "-t", &pane, name, value]);
    // Keeps the output readable after the process has ended.
    tmux.run_batch(&Batch::from_iter([option("remain-on-exit", "on"), option(PROJECT, &project)]))?;
    Ok(pane)
}

/// The environment of this process; the tmux server has the one it was started with.
fn environment(mark: &str) -> Vec<OsString> {
    let ours = |name: &OsStr| !OF_THE_TERMINAL.iter().any(|other| name == *other) && name != MARK_VARIABLE;
    let joined = |name: &OsStr, value: &OsStr| {
        let mut pair = name.to_os_string();
        pair.push("=");
        pair.push(value);
        pair
    };
    let mark = joined(MARK_VARIABLE.as_ref(), mark.as_ref());
    let variables = std::env::vars_os().filter(|(name, _)| ours(name));
    let pairs = variables.map(|(name, value)| joined(&name, &value)).chain([mark]);
    pairs.flat_map(|pair| [OsString::from("-e"), pair]).collect()
}

/// Whether its process is running.
pub(super) fn is_alive(tmux: &Tmux, pane: &str) -> bool {
    let ask = TmuxCommand::new("display-message").args(["-p", "-t", pane, "#{pane_dead}"]);
    tmux.run(&ask).is_ok_and(|output| output.trim() == "0")
}

/// Whether the pane exists, with or without a process.
pub(super) fn exists(tmux: &Tmux, pane: &str) -> bool {
    let ask = TmuxCommand::new("display-message").args(["-p", "-t", pane, "#{pane_id}"]);
    tmux.run(&ask).is_ok_and(|output| output.trim() == pane)
}

/// Removes all panes of a project.
pub(super) fn remove_all(tmux: &Tmux, session: &str, project: &Path) {
    let project = project.display().to_string();
    let known = tmux.target_panes_with(session, PROJECT).unwrap_or_default();
    for (pane, _) in known.iter().filter(|(_, whose)| *whose == project) {
        remove(tmux, pane);
    }
}

/// Ignores a pane that no longer exists.
pub(super) fn remove(tmux: &Tmux, pane: &str) {
    let _ = tmux.run(&TmuxCommand::new("kill-pane").args(["-t", pane]));
}
