//! The command that an AI CLI's hooks run: records the CLI's events and answers harmless approval requests.
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
use paw_agent::hooks::notes::{HookAnswer, HookNote, HookNotes, RoleViolation};
use paw_agent::hooks::{HookEventKind, ToolAction};
use paw_core::paths::PawDir;
use paw_core::{AgentId, PawError, Receipt};
use paw_host::caller::CommandCaller;
use paw_host::clock;
use paw_host::config;
use paw_host::git::{Repo, find_linked_admin_dir};
use paw_supervisor::approval::log::VerdictLog;
use paw_supervisor::approval::{self, ApprovalVerdict};
use paw_supervisor::monitor::verdict;
use paw_supervisor::role_gating;
use serde_json::Value;

use crate::context::Context;

/// Limits on the record's size and on the wait for it.
const MAX_RECORD_BYTES: u64 = 16 * 1024 * 1024;
const READ_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The CLI that runs the hook
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

/// Processes one record. Returns the answer for the CLI, if there is one.
fn receive(cli: &Cli, context: &Context) -> Result<Option<Value>, PawError> {
    let record = read_record()?;
    let mut note = HookNote::new(clock::now(), cli.name, &record);
    let event = note.event()?;
    let breach = role_gating::find_breach(&event.kind, &record);
    if breach.is_none()
        && !matches!(event.kind, HookEventKind::ApprovalRequested { .. })
        && let (Some(agent), Some(common_dir)) = (calling_agent(context), find_common_dir(&context.cwd))
    {
        // Most records only report activity: writing them needs neither git nor the receipt.
        HookNotes::of(&common_dir).append(&agent, &note).map_err(cannot_write)?;
        return Ok(None);
    }
    let repo = context.require_repo()?;
    let Some(receipt) = context.receipts().find_for_repo(&repo.root)? else { return Ok(None) };
    let Some((agent, worktree)) = find_agent(&receipt, &repo, context) else { return Ok(None) };
    // A CLI that takes no answer from hooks is answered in its pane.
    if let HookEventKind::ApprovalRequested { action, .. } = &event.kind
        && cli.is_answerable()
        && *action != ToolAction::Question
    {
        let asked = ApprovalRequest {
            action,
            cwd: record["cwd"].as_str().map(PathBuf::from),
            agent: &agent,
            worktree: &worktree,
        };
        note.answer = asked.judge(&receipt, &repo, note.at, context).unwrap_or_else(|problem| {
            tracing::debug!(target: "paw::hook", "{problem}");
            None
        });
    }
    let refusal = breach.and_then(|breach| gate(&mut note, cli, &event.kind, breach, &repo));
    HookNotes::of(&repo.common_dir).append(&agent, &note).map_err(cannot_write)?;
    if refusal.is_some() {
        return Ok(refusal);
    }
    let allow = cli.hooks.and_then(|hooks| hooks.allow);
    Ok(note.answer.filter(|answer| answer.allowed).and(allow).map(|allow| allow()))
}

/// Records a command outside the agent's role, and returns the refusal if the configuration asks for it.
fn gate(note: &mut HookNote, cli: &Cli, event: &HookEventKind, breach: String, repo: &Repo) -> Option<Value> {
    let layers = config::load_layers(Some(&repo.root), None).ok()?;
    let answer = role_gating::action(layers.resolve().ok()?.opsx.role_gating, cli);
    let refuse =
        cli.hooks.and_then(|hooks| hooks.refuse).filter(|_| answer == role_gating::RoleAction::Refuse);
    let refusal = refuse.map(|refuse| refuse(event, &role_gating::breach_reason(&breach)));
    if answer != role_gating::RoleAction::Ignore {
        note.violation = Some(RoleViolation { command: breach, refused: refusal.is_some() });
    }
    refusal
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn cannot_write(error: io::Error) -> PawError {
    PawError::internal(format!("cannot write the record: {error}"))
}

/// Reads the record from standard input within the timeout.
fn read_record() -> Result<Value, PawError> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().take(MAX_RECORD_BYTES).read_to_end(&mut bytes);
        let _ = sender.send(read.map(|_| bytes));
    });
    let late = |_| PawError::internal("no record on standard input");
    let bytes = receiver.recv_timeout(READ_TIMEOUT).map_err(late)?;
    let bytes = bytes.map_err(|error| PawError::internal(format!("cannot read the record: {error}")))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| PawError::internal(format!("the record is not JSON: {error}")))
}

/// The agent that runs the CLI.
fn calling_agent(context: &Context) -> Option<AgentId> {
    match context.caller() {
        Ok(CommandCaller::Agent(agent)) => agent.id.clone(),
        Ok(CommandCaller::User) | Err(_) => None,
    }
}

/// The common directory of the linked worktree that `dir` is in.
fn find_common_dir(dir: &Path) -> Option<PathBuf> {
    let admin = dir.ancestors().find_map(find_linked_admin_dir)?;
    let common_dir = admin.parent().filter(|above| above.ends_with("worktrees"))?.parent()?;
    PawDir::of(common_dir).path().is_dir().then(|| common_dir.to_path_buf())
}

/// The agent of the record and its worktree as in the receipt: the agent that runs the CLI, else the one that works here.
fn find_agent(receipt: &Receipt, repo: &Repo, context: &Context) -> Option<(AgentId, PathBuf)> {
    let worktrees = receipt.worktrees.iter().map(|agent| real(&agent.worktree_path));
    let mut agents = receipt.agent_ids().into_iter().zip(worktrees);
    match calling_agent(context) {
        Some(caller) if caller.as_str() == AgentId::SUPERVISOR => {
            receipt.supervisor.as_ref().map(|_| (caller, real(&receipt.repo_path)))
        }
        Some(caller) => agents.find(|(id, _)| *id == caller),
        None => agents.find(|(_, worktree)| repo.worktree.as_deref() == Some(worktree)),
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// An approval that an agent requests.
struct ApprovalRequest<'a> {
    action: &'a ToolAction,
    /// The directory of the agent's shell.
    cwd: Option<PathBuf>,
    agent: &'a AgentId,
    /// The only directory that the agent may change, wherever its shell and its hooks run.
    worktree: &'a Path,
}

impl ApprovalRequest<'_> {
    /// Returns the verdict after recording it; an unrecorded command is not allowed. `None` if approvals are not
    /// answered in this session.
    fn judge(
        &self,
        receipt: &Receipt,
        repo: &Repo,
        at: Timestamp,
        context: &Context,
    ) -> Result<Option<HookAnswer>, PawError> {
        let own = Repo { worktree: Some(self.worktree.to_path_buf()), ..repo.clone() };
        let (configured, mut place) = approval::load_rules_in(&own, self.worktree, &context.dirs)?;
        let configured = configured.in_session(receipt);
        let is_supervisor = self.agent.as_str() == AgentId::SUPERVISOR;
        if !is_supervisor && !verdict::is_answering(receipt, &repo.common_dir, &configured.rules) {
            return Ok(None);
        }
        let ask = self.action.approval_request();
        let said = match &self.cwd {
            _ if is_supervisor => {
                verdict::judge_supervisor_ask(&ask, &configured, &mut place, self.cwd.clone())
            }
            Some(cwd) => {
                place.cwd.clone_from(cwd);
                verdict::judge_ask(&ask, &configured.rules, &place)
            }
            None => {
                ApprovalVerdict::Ask { reason: "the CLI does not report its shell's directory".to_owned() }
            }
        };
        verdict::record(&VerdictLog::of(&repo.common_dir), receipt, self.agent, &ask, &said, at)?;
        Ok(Some(HookAnswer { allowed: said.is_allow(), reason: said.reason().to_owned() }))
    }
}
