//! `git paw replay`

use std::io;
use std::path::Path;

use clap::{ArgGroup, Args};
use paw_core::PawError;
use paw_host::process::{self, Command};
use paw_session::logs::{self, KeptEscapes, RepoLogs};
use paw_session::trust::is_user_only;
use serde_json::json;

use crate::context::Context;

/// Show the log of an agent's pane
///
/// Shows the newest session's log without escape sequences; on a terminal, in less. Logs are written if [logging] enabled
/// is true.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("what").required(true).args(["branch", "list"])),
    after_help = "Examples:
  git paw replay --list
  git paw replay feat/add-auth
  git paw replay feat/add-auth --color
  git paw replay feat/add-auth --session paw-myproject"
)]
pub(crate) struct ReplayArgs {
    /// The agent's branch or a unique prefix of it, or the name of a log file
    pub(crate) branch: Option<String>,
    /// List the available logs
    #[arg(long)]
    pub(crate) list: bool,
    /// KeptEscapes colors
    #[arg(long)]
    pub(crate) color: bool,
    /// The session of the log [default: the newest one]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Print the list as one JSON document
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &ReplayArgs, context: &Context) -> Result<(), PawError> {
    let repo = context.require_repo()?;
    // The same configuration that the session used.
    let config = context.load_config()?.without(is_user_only).resolve()?;
    let logging = config.logging.unwrap_or_default();
    let logs = RepoLogs::load(&logs::log_dir(&repo.root, &logging.log_dir))?;
    let session = args.session.as_deref();
    match &args.branch {
        Some(branch) => {
            let keep = if args.color { KeptEscapes::Colour } else { KeptEscapes::None };
            show(&logs.require(branch, session)?.path, keep, context)
        }
        None => list(&logs, session, context),
    }
}

fn list(logs: &RepoLogs, session: Option<&str>, context: &Context) -> Result<(), PawError> {
    let chosen = match session {
        Some(_) => std::slice::from_ref(logs.require_session(session)?),
        None => &logs.sessions,
    };
    let all = chosen.iter().flat_map(|session| session.logs.iter().map(move |log| (session, log)));
    if context.output.wants_json() {
        let row = |(session, log): (&logs::SessionLogs, &logs::PaneLog)| {
            json!({
                "session": session.session,
                "branch": log.owner.to_string(),
                "path": log.path.to_string_lossy(),
                "bytes": log.bytes,
                "modified": log.modified.to_string(),
            })
        };
        return context.output.document(&json!({"logs": all.map(row).collect::<Vec<_>>()}));
    }
    let rows: Vec<_> = all
        .map(|(session, log)| {
            let when = log.modified.strftime("%Y-%m-%d %H:%M").to_string();
            [
                session.session.clone(),
                log.owner.to_string(),
                format!("{} KiB", log.bytes.div_ceil(1024)),
                when,
            ]
        })
        .collect();
    if rows.is_empty() {
        return context.output.say("No logs.");
    }
    context.output.table(["SESSION", "BRANCH", "SIZE", "LAST WRITTEN (UTC)"], rows)
}

/// On a terminal, runs `less` on a temporary file: a log may be larger than memory.
fn show(log: &Path, keep: KeptEscapes, context: &Context) -> Result<(), PawError> {
    let pager = process::find_program("less", &context.search_path);
    let Some(pager) = pager.filter(|_| io::IsTerminal::is_terminal(&io::stdout())) else {
        logs::copy(log, keep, &mut io::stdout().lock())?;
        return Ok(());
    };
    let failed = |error: io::Error| PawError::internal(format!("cannot prepare the log: {error}"));
    let mut text = tempfile::NamedTempFile::new().map_err(failed)?;
    logs::copy(log, keep, &mut text)?;
    let less = Command::new(pager).args(["-R", "--"]).arg(text.path());
    less.inherit()?;
    Ok(())
}
