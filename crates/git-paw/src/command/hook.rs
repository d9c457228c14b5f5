//! What the hooks of an AI CLI run: takes in what the CLI reports, and answers an approval that is harmless.
//!
//! The CLI waits for it, so nothing here blocks. If anything fails, the hook gives no answer and the CLI asks the user.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use paw_agent::cli::{self, Cli};
use paw_agent::hooks::notes::{Answer, Breach, Note, Notes};
use paw_agent::hooks::{Deed, What};
use paw_core::paths::PawDir;
use paw_core::{AgentId, PawError, Receipt};
use paw_host::clock;
use paw_host::config;
use paw_host::git::{Repo, admin_dir_named_in};
use paw_supervisor::approval::log::VerdictLog;
use paw_supervisor::approval::{self, Verdict};
use paw_supervisor::role;
use paw_supervisor::tower::verdict;
use serde_json::Value;

use crate::context::Context;

/// A record is not read beyond this, nor waited for longer.
const LONGEST: u64 = 16 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Whose hook it is
    #[arg(long)]
    cli: String,
}

pub(crate) fn run(args: &HookArgs, context: &Context) -> Result<(), PawError> {
    match receive(cli::descriptor(&args.cli), context) {
        Ok(Some(decision)) => context.output.document(&decision),
        Ok(None) => Ok(()),
        Err(problem) => {
            tracing::debug!(target: "paw::hook", "{problem}");
            Ok(())
        }
    }
}

/// Takes in one record. Returns what is to be said to the CLI, if anything is.
fn receive(cli: &Cli, context: &Context) -> Result<Option<Value>, PawError> {
    let record = read_record()?;
    let mut note = Note::new(clock::now(), cli.name, &record);
    let event = note.event()?;
    let breach = role::find_breach(&event.what, &record);
    if breach.is_none()
        && !matches!(event.what, What::ApprovalAsked { .. })
        && let (Some(agent), Some(common_dir)) = (said_agent(), find_common_dir(&context.cwd))
    {
        // Most records say only what an agent does: no git and no receipt is needed to write them down.
        Notes::of(&common_dir).append(&agent, &note).map_err(not_kept)?;
        return Ok(None);
    }
    let repo = context.require_repo()?;
    let Some(receipt) = context.receipts().find_for_repo(&repo.root)? else { return Ok(None) };
    let Some(agent) = find_agent(&receipt, &repo) else { return Ok(None) };
    // A CLI that cannot be answered here is answered on its screen.
    if let What::ApprovalAsked { deed, .. } = &event.what
        && cli.is_answerable()
        && *deed != Deed::Question
    {
        let asked = Asked { deed, cwd: record["cwd"].as_str().map(PathBuf::from), agent: &agent };
        note.answer = asked.judge(&receipt, &repo, note.at, context).unwrap_or_else(|problem| {
            tracing::debug!(target: "paw::hook", "{problem}");
            None
        });
    }
    let refusal = breach.and_then(|breach| gate(&mut note, cli, &event.what, breach, &repo));
    Notes::of(&repo.common_dir).append(&agent, &note).map_err(not_kept)?;
    if refusal.is_some() {
        return Ok(refusal);
    }
    let allow = cli.hooks.and_then(|hooks| hooks.allow);
    Ok(note.answer.filter(|answer| answer.allowed).and(allow).map(|allow| allow()))
}

/// Notes a command that is not the agent's job, and returns the answer that refuses it, where the configuration says so.
fn gate(note: &mut Note, cli: &Cli, event: &What, breach: String, repo: &Repo) -> Option<Value> {
    let layers = config::load_layers(Some(&repo.root), None).ok()?;
    let answer = role::answer(layers.resolve().ok()?.opsx.role_gating, cli);
    let refuse = cli.hooks.and_then(|hooks| hooks.refuse).filter(|_| answer == role::Answer::Refuse);
    let refusal = refuse.map(|refuse| refuse(event, &role::reason(&breach)));
    if answer != role::Answer::Nothing {
        note.breach = Some(Breach { command: breach, refused: refusal.is_some() });
    }
    refusal
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn not_kept(error: io::Error) -> PawError {
    PawError::internal(format!("cannot keep the record: {error}"))
}

/// The record on standard input, if it comes at once.
fn read_record() -> Result<Value, PawError> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().take(LONGEST).read_to_end(&mut bytes);
        let _ = sender.send(read.map(|_| bytes));
    });
    let late = |_| PawError::internal("no record came on standard input");
    let bytes = receiver.recv_timeout(PATIENCE).map_err(late)?;
    let bytes = bytes.map_err(|error| PawError::internal(format!("cannot read the record: {error}")))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| PawError::internal(format!("the record is not JSON: {error}")))
}

/// What the pane's environment says.
fn said_agent() -> Option<AgentId> {
    std::env::var("GIT_PAW_AGENT_ID").ok().and_then(|id| AgentId::new(id).ok())
}

/// The common directory of the linked worktree that `dir` is in.
fn find_common_dir(dir: &Path) -> Option<PathBuf> {
    let admin = dir.ancestors().find_map(admin_dir_named_in)?;
    let common_dir = admin.parent().filter(|above| above.ends_with("worktrees"))?.parent()?;
    PawDir::of(common_dir).path().is_dir().then(|| common_dir.to_path_buf())
}

/// Whose record it is: what the pane's environment says, else whose worktree this is.
fn find_agent(receipt: &Receipt, repo: &Repo) -> Option<AgentId> {
    let ids = receipt.agent_ids();
    if let Some(said) = said_agent().filter(|said| ids.contains(said)) {
        return Some(said);
    }
    let here = repo.worktree.as_deref()?;
    let is_here = |path: &Path| path == here || path.canonicalize().is_ok_and(|path| path == here);
    ids.into_iter().zip(&receipt.worktrees).find(|(_, agent)| is_here(&agent.worktree_path)).map(|(id, _)| id)
}

/// An approval that an agent asks for.
struct Asked<'a> {
    deed: &'a Deed,
    /// Where its shell is.
    cwd: Option<PathBuf>,
    agent: &'a AgentId,
}

impl Asked<'_> {
    /// Judges it, and writes the verdict down; what cannot be written down is not allowed. Nothing where
    /// approvals are not answered.
    fn judge(
        &self,
        receipt: &Receipt,
        repo: &Repo,
        at: Timestamp,
        context: &Context,
    ) -> Result<Option<Answer>, PawError> {
        let worktree = repo.worktree.as_deref().unwrap_or(&context.cwd);
        let (configured, mut place) = approval::gather_in(repo, worktree, &context.dirs)?;
        if !verdict::is_answering(receipt, &repo.common_dir, &configured.rules) {
            return Ok(None);
        }
        let ask = self.deed.ask();
        let said = match &self.cwd {
            Some(cwd) => {
                place.cwd.clone_from(cwd);
                verdict::weigh(&ask, &configured.rules, &place)
            }
            None => Verdict::Ask { reason: "the CLI does not say where its shell is".to_owned() },
        };
        verdict::record(&VerdictLog::of(&repo.common_dir), receipt, self.agent, &ask, &said, at)?;
        Ok(Some(Answer { allowed: said.is_allow(), reason: said.reason().to_owned() }))
    }
}
