//! `git paw autopilot tui`: a navigator on the left, the pane in which runs happen on the right, in tmux.
//!
//! - `own_session`: outside of tmux, the session they live in
//! - `navigator`: the process on the left; `executor_pane`: the pane on the right, and what is typed there
//! - `picture`: what the project's files say now; `log_line`: a line of a run's log; `follow`: looking again when they change

mod executor_pane;
mod follow;
mod log_line;
mod navigator;
mod own_session;
mod picture;

use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;
use paw_autopilot::work::Site;
use paw_core::{ErrorCode, PawError};
use paw_host::process::shell_quote;
use paw_host::tmux::Tmux;

use crate::context::Context;
use executor_pane::ExecutorPane;
use picture::Reader;

/// Choose tasks on the left, watch them being done on the right, in tmux
///
/// Inside tmux this splits the current window; outside it is a session of its own, which goes on when you detach. Keys: ↑ ↓
/// choose a task, Enter shows its subtasks, ← → choose a tag, s starts the chosen task in the pane on the right, p pauses or
/// resumes the run, q leaves. A run that goes on is said.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw autopilot tui
  git paw autopilot tui --tag analytics
  git paw autopilot tui -- --executor claude --no-push")]
pub(crate) struct TuiArgs {
    /// Which list of tasks is shown first
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// This is the left pane of a session of our own
    #[arg(long, hide = true)]
    in_session: bool,
    /// What every run started here is given: --executor, --no-confirm, --budget, …
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

pub(crate) fn run(args: &TuiArgs, context: &Context) -> Result<(), PawError> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(PawError::new(ErrorCode::FailedPrecondition, "the navigator needs a terminal")
            .hint("git paw tasks list and git paw autopilot status say the same without one"));
    }
    if args.options.iter().any(|option| option.contains(char::is_control)) {
        return Err(PawError::ConfigError("options with control characters cannot be typed".to_owned()));
    }
    let site = Site::find(context.require_repo()?, &context.cwd, &context.search_path)?;
    let Some(own_pane) = own_pane() else {
        let config = context.load_config()?.resolve()?;
        let tmux = Tmux::on_socket(config.tmux.socket);
        return own_session::attach(&tmux, &site, args, context);
    };
    // The server this pane is in, whichever that is.
    let tmux = Tmux::default();
    tmux.require_minimum()?;
    let pane = ExecutorPane::new(tmux, own_pane, &site, args, context)?;
    let reader = Reader::new(site, args.tag.clone());
    navigator::run(pane, reader, args.in_session, context)
}

/// The pane this process runs in, inside tmux.
fn own_pane() -> Option<String> {
    let inside = env::var_os("TMUX").is_some_and(|server| !server.is_empty());
    env::var("TMUX_PANE").ok().filter(|pane| inside && pane.starts_with('%'))
}

/// `git paw` where git would find this very program, else its path.
fn called(program: &Path, search_path: &OsStr) -> String {
    let found = env::split_paths(search_path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join("git-paw"))
        .find(|file| file.is_file());
    let same = |file: PathBuf| file.canonicalize().ok() == program.canonicalize().ok();
    if found.is_some_and(same) { "git paw".to_owned() } else { shell_quote(program.as_os_str()) }
}
