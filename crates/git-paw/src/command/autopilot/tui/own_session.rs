//! The tmux session of navigator and executor pane, if the command is run outside tmux.

use paw_autopilot::work::ProjectContext;
use paw_core::{PawError, ProjectName, SessionName};
use paw_host::tmux::{Batch, Tmux, TmuxCommand, session_target};

use super::TuiArgs;
use super::executor_pane::NAVIGATOR;
use crate::context::Context;

/// The session option that holds the project's path.
const PROJECT: &str = "@paw_autopilot";

/// Attaches to the project's session, and creates it if there is none.
pub(super) fn attach(
    tmux: &Tmux,
    site: &ProjectContext,
    args: &TuiArgs,
    context: &Context,
) -> Result<(), PawError> {
    tmux.require_minimum()?;
    let project = site.project.root.display().to_string();
    let sessions = tmux.sessions(PROJECT)?;
    let known = sessions.iter().find(|session| session.value == project);
    let session = if let Some(session) = known.and_then(|known| SessionName::new(known.name.as_str()).ok()) {
        restore_navigator(tmux, &session, site, args)?;
        session
    } else {
        let name = format!("autopilot-{}", ProjectName::from_path(&site.project.root));
        let taken = |name: &SessionName| sessions.iter().any(|taken| taken.name == name.as_str());
        let session = SessionName::for_project(&ProjectName::from_path(name.as_ref())).first_free(taken);
        tmux.run_batch(&new_session(&session, &project, site, args)?)?;
        session
    };
    tmux.attach(&session)?;
    if tmux.has_session(&session)? {
        context.output.say(&format!(
            "tmux session '{session}' keeps running; open it again with 'git paw autopilot tui'"
        ))?;
    }
    Ok(())
}

fn new_session(
    session: &SessionName,
    project: &str,
    site: &ProjectContext,
    args: &TuiArgs,
) -> Result<Batch, PawError> {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((120, 40));
    let make = TmuxCommand::new("new-session")
        .args(["-d", "-s", session.as_str(), "-x", &columns.to_string(), "-y", &rows.to_string(), "-c"])
        .arg(&site.project.root)
        .args(navigator(args)?);
    let mark = TmuxCommand::new("set-option").args(["-t", &session_target(session), PROJECT, project]);
    Ok([make, mark].into_iter().collect())
}

/// Starts the navigator again if it was closed while a run continued.
fn restore_navigator(
    tmux: &Tmux,
    session: &SessionName,
    site: &ProjectContext,
    args: &TuiArgs,
) -> Result<(), PawError> {
    let panes = tmux.panes_with(session, NAVIGATOR)?;
    if panes.iter().any(|(_, mark)| !mark.is_empty()) {
        return Ok(());
    }
    let Some((pane, _)) = panes.first() else { return Ok(()) };
    let split = TmuxCommand::new("split-window")
        .args(["-h", "-b", "-l", "40%", "-t", pane, "-c"])
        .arg(&site.project.root)
        .args(navigator(args)?);
    tmux.run(&split)?;
    Ok(())
}

/// The command of the process on the left, which runs without a shell.
fn navigator(args: &TuiArgs) -> Result<Vec<std::ffi::OsString>, PawError> {
    let program = paw_host::process::own_program()?;
    let mut words = vec![program.into_os_string()];
    words.extend(["autopilot", "tui", "--in-session"].map(Into::into));
    if let Some(tag) = &args.tag {
        words.push(format!("--tag={tag}").into());
    }
    if !args.options.is_empty() {
        words.push("--".into());
        words.extend(args.options.iter().map(Into::into));
    }
    Ok(words)
}
