//! `git paw autopilot tui`: a navigator on the left, the pane in which runs happen on the right, in tmux.
//!
//! - `own_session`: the tmux session, if the command is run outside tmux
//! - `navigator`: the process on the left; `executor_pane`: the pane on the right, and the commands typed into it
//! - `project_reader`: the state of the project's files; `log_line`: a line of a run's log; `file_watch`: reads again on
//!   changes

mod executor_pane;
mod file_watch;
mod log_line;
mod navigator;
mod own_session;
mod project_reader;

use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;
use paw_autopilot::work::ProjectContext;
use paw_core::{ErrorCode, PawError};
use paw_host::process::shell_quote;
use paw_host::tmux::Tmux;

use crate::context::Context;
use executor_pane::ExecutorPane;
use project_reader::ProjectReader;

/// Choose tasks and watch their runs side by side in tmux
///
/// Inside tmux this splits the current window; outside it starts its own session, which keeps running when you detach. Keys:
/// ↑ ↓ choose a task, Enter shows its subtasks, ← → choose a tag, s starts the chosen task in the pane on the right, p pauses
/// or resumes the run, q quits. If a run is still in progress, git paw reports it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw autopilot tui
  git paw autopilot tui --tag analytics
  git paw autopilot tui -- --executor claude --no-push")]
pub(crate) struct TuiArgs {
    /// The tag (list of tasks) to show first
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Set in the left pane of our own session
    #[arg(long, hide = true)]
    in_session: bool,
    /// Options for every run started here: --executor, --no-confirm, --budget, …
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

pub(crate) fn run(args: &TuiArgs, context: &Context) -> Result<(), PawError> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(PawError::new(
            ErrorCode::FailedPrecondition,
            "cannot start the navigator: stdin or stdout is not a terminal",
        )
        .hint("use 'git paw tasks list' and 'git paw autopilot status' instead"));
    }
    if args.options.iter().any(|option| option.contains(char::is_control)) {
        return Err(PawError::ConfigError("options must not contain control characters".to_owned()));
    }
    let site = ProjectContext::find(context.require_repo()?, &context.cwd, &context.search_path)?;
    let Some(own_pane) = own_pane() else {
        let config = context.load_config()?.resolve()?;
        let tmux = Tmux::on_socket(config.tmux.socket);
        return own_session::attach(&tmux, &site, args, context);
    };
    // The tmux server of this pane.
    let tmux = Tmux::default();
    tmux.require_minimum()?;
    let pane = ExecutorPane::new(tmux, own_pane, &site, args, context)?;
    let reader = ProjectReader::new(site, args.tag.clone());
    navigator::run(pane, reader, args.in_session, context)
}

/// The tmux pane of this process.
fn own_pane() -> Option<String> {
    let inside = env::var_os("TMUX").is_some_and(|server| !server.is_empty());
    env::var("TMUX_PANE").ok().filter(|pane| inside && pane.starts_with('%'))
}

/// `git paw` if that runs this program, else its path.
fn command_name(program: &Path, search_path: &OsStr) -> String {
    let found = env::split_paths(search_path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join("git-paw"))
        .find(|file| file.is_file());
    let same = |file: PathBuf| file.canonicalize().ok() == program.canonicalize().ok();
    if found.is_some_and(same) { "git paw".to_owned() } else { shell_quote(program.as_os_str()) }
}
