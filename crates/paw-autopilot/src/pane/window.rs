//! The window of a run in a session: made, found again by its mark, and removed.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use paw_core::{PawError, SessionName};
use paw_host::process::MARK_VARIABLE;
use paw_host::tmux::{Batch, Tmux, TmuxCommand, TmuxError, session_target};

/// The pane option that says which project's run a pane belongs to.
const PROJECT: &str = "@paw_autopilot";

/// What belongs to the terminal that this process runs on, and not to another.
const OF_THE_TERMINAL: [&str; 10] =
    ["TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "COLORTERM", "COLUMNS", "LINES", "PWD", "OLDPWD", "SHLVL"];

pub(super) struct WindowSpec<'a> {
    pub(super) session: &'a SessionName,
    pub(super) project: &'a Path,
    pub(super) name: &'a str,
    /// What the pane's process carries.
    pub(super) mark: &'a str,
    pub(super) command: Vec<OsString>,
}

/// Makes it, in the place of one that an earlier run has left. Whoever looks at the session goes on looking at what they
/// look at. Returns the pane's id.
pub(super) fn make(tmux: &Tmux, wanted: &WindowSpec<'_>) -> Result<String, PawError> {
    let project = wanted.project.display().to_string();
    remove_all(tmux, wanted.session, wanted.project);
    let new = TmuxCommand::new("new-window")
        .args([
            "-d",
            "-P",
            "-F",
            "#{pane_id}",
            "-t",
            &session_target(wanted.session),
            "-n",
            wanted.name,
            "-c",
        ])
        .arg(wanted.project)
        .args(environment(wanted.mark))
        .args(wanted.command.iter().cloned());
    // The environment holds secrets, which a batch does not show to `ps`.
    let said = tmux.run_batch(&Batch::from_iter([new]))?;
    let pane = said.trim().to_owned();
    if !pane.starts_with('%') {
        return Err(TmuxError::Unexpected(said).into());
    }
    let option =
        |name: &str, value: &str| TmuxCommand::new("set-option").args(["-p", "-t", &pane, name, value]);
    // What it has said can be read after it has ended.
    tmux.run_batch(&Batch::from_iter([option("remain-on-exit", "on"), option(PROJECT, &project)]))?;
    Ok(pane)
}

/// The user's environment as this process has it: a tmux server has the one it was started with.
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

/// Whether something still runs in it.
pub(super) fn is_alive(tmux: &Tmux, pane: &str) -> bool {
    let ask = TmuxCommand::new("display-message").args(["-p", "-t", pane, "#{pane_dead}"]);
    tmux.run(&ask).is_ok_and(|said| said.trim() == "0")
}

/// Whether it is there, be it that nothing runs in it.
pub(super) fn exists(tmux: &Tmux, pane: &str) -> bool {
    let ask = TmuxCommand::new("display-message").args(["-p", "-t", pane, "#{pane_id}"]);
    tmux.run(&ask).is_ok_and(|said| said.trim() == pane)
}

/// Every one of a project.
pub(super) fn remove_all(tmux: &Tmux, session: &SessionName, project: &Path) {
    let project = project.display().to_string();
    let known = tmux.panes_with(session, PROJECT).unwrap_or_default();
    for (pane, _) in known.iter().filter(|(_, whose)| *whose == project) {
        remove(tmux, pane);
    }
}

/// One that is gone already is fine.
pub(super) fn remove(tmux: &Tmux, pane: &str) {
    let _ = tmux.run(&TmuxCommand::new("kill-pane").args(["-t", pane]));
}
