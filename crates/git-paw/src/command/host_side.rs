//! What the hub of a session runs on a host, over ssh.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use paw_cluster::clone;
use paw_cluster::link::{self, HostActions};
use paw_cluster::relocate::{self, ArrivingAgent};
use paw_cluster::remote::PrepareRequest;
use paw_cluster::request::{ClusterAction, ClusterRequest};
use paw_cluster::snapshot;
use paw_core::paths::PawDir;
use paw_core::{AgentId, BranchName, PawError};
use paw_host::git::Repo;
use paw_host::process::exec_program;
use paw_host::{clock, files};
use paw_session::lifecycle::Session;
use paw_session::lifecycle::purge::PurgeProgress;
use paw_session::lifecycle::remove::RemoveAgentOptions;
use paw_supervisor::merge::MergeLock;
use paw_supervisor::prompt_reply::{PendingPrompt, PromptReply};
use paw_supervisor::unattended::AttendantLock;
use paw_worktree::{Worktrees, advance, moved, rescue};
use serde_json::json;

use crate::context::Context;
use crate::remote_worktrees::{RebaseObstacle, RebasedBranch, rebased_ref};

/// Why a branch moved, in its reflog.
const REBASE_REFLOG: &str = "git paw merge: rebased onto the main branch of the hub";

/// The host's part of a session on several machines
#[derive(Debug, Args)]
pub(crate) struct HostSideArgs {
    #[command(subcommand)]
    action: HostSideAction,
}

#[derive(Debug, Subcommand)]
enum HostSideAction {
    /// Create the clone of a repository
    Prepare,
    /// Keep the invitation to a session
    Invite,
    /// Keep how the hub looks after the agents here
    Supervise,
    /// Stay connected to the hub
    Link,
    /// Approve the prompt of an agent for the hub
    Approve(HostApproveArgs),
    /// Stop an agent and store its work for a move
    Take(HostTakeArgs),
    /// Learn what an agent that comes here has read
    Expect(HostExpectArgs),
    /// Move a branch and its worktree to its rebased commit
    Rebase(HostRebaseArgs),
    /// Receive commits of the hub, in the place of 'git receive-pack'
    Receive,
    /// Remove an agent, if it is here
    Remove(HostRemoveArgs),
    /// Remove the session of the clone
    Purge(HostPurgeArgs),
}

/// Remove an agent, if it is here
#[derive(Debug, Args)]
struct HostRemoveArgs {
    agent: AgentId,
    #[arg(long)]
    keep_worktree: bool,
    /// Remove a worktree with uncommitted changes, too
    #[arg(long)]
    force: bool,
}

/// Move a branch and its worktree to its rebased commit; without commits, say whether that is possible now
#[derive(Debug, Args)]
struct HostRebaseArgs {
    branch: BranchName,
    #[arg(long, requires = "to")]
    from: Option<String>,
    #[arg(long, requires = "from")]
    to: Option<String>,
}

/// Remove the session of the clone
#[derive(Debug, Args)]
struct HostPurgeArgs {
    /// Remove worktrees with uncommitted changes, too
    #[arg(long)]
    force: bool,
}

/// Approve the prompt of an agent for the hub
#[derive(Debug, Args)]
struct HostApproveArgs {
    agent: String,
    /// Who approves it on the hub
    #[arg(long)]
    by: AgentId,
}

/// Stop an agent and store its work for a move
#[derive(Debug, Args)]
struct HostTakeArgs {
    agent: String,
}

/// Learn what an agent that comes here has read
#[derive(Debug, Args)]
struct HostExpectArgs {
    agent: String,
}

pub(crate) fn run(args: &HostSideArgs, context: &Context) -> Result<(), PawError> {
    context.require_user("act for another machine")?;
    match &args.action {
        HostSideAction::Prepare => {
            let request: PrepareRequest = serde_json::from_slice(&read_input()?).map_err(|error| {
                PawError::ConfigError(format!("not a request to prepare a clone: {error}"))
            })?;
            let prepared = clone::prepare(context.dirs.data(), &context.receipts(), &request)?;
            let answer = serde_json::to_string(&prepared).unwrap_or_default();
            context.output.say(&answer)
        }
        HostSideAction::Invite => Ok(clone::accept(&context.require_repo()?.common_dir, &read_input()?)?),
        HostSideAction::Supervise => {
            let session = context.require_session()?;
            Ok(clone::supervise(&session.receipts, &session.receipt.session_name, &read_input()?)?)
        }
        HostSideAction::Approve(args) => {
            let session = context.require_session()?;
            let prompt = PendingPrompt::find(&session, &args.agent, clock::now())?;
            prompt.reply(&session, PromptReply::Approve, &args.by, clock::now())?;
            context.output.say(&json!({"agent": prompt.agent(), "approved": prompt.text()}).to_string())
        }
        HostSideAction::Link => {
            let repo = context.require_repo()?;
            let actions = HostActions {
                take: || AttendantLock::take(&repo.common_dir).ok().flatten(),
                supervise: |said: &str| supervise(said, context),
            };
            let input = io::BufReader::new(io::stdin());
            link::serve(&PawDir::of(&repo.common_dir), input, io::stdout().lock(), &actions)
        }
        HostSideAction::Take(args) => {
            let _lock = context.lock_session(&context.require_repo()?)?;
            let taken = relocate::take(&context.require_session()?, &args.agent)?;
            context.output.say(&serde_json::to_string(&taken).unwrap_or_default())
        }
        HostSideAction::Expect(args) => {
            let arriving: ArrivingAgent = serde_json::from_slice(&read_input()?).map_err(|error| {
                PawError::ConfigError(format!("not a description of an agent that comes here: {error}"))
            })?;
            Ok(relocate::expect(&context.require_repo()?, &AgentId::new(&args.agent)?, &arriving)?)
        }
        HostSideAction::Rebase(args) => rebase(args, context),
        HostSideAction::Receive => {
            let root = context.require_repo()?.root;
            let failed = exec_program(OsStr::new("git"), [OsStr::new("receive-pack"), root.as_os_str()]);
            Err(PawError::SessionError(format!("cannot run git receive-pack: {failed}")))
        }
        HostSideAction::Remove(args) => remove(args, context),
        HostSideAction::Purge(args) => purge(args.force, context),
    }
}

/// Without a session there is nothing to look after yet: the next one gets it with its invitation.
fn supervise(said: &str, context: &Context) {
    let kept = context.find_session().and_then(|session| {
        let Some(session) = session else { return Ok(()) };
        Ok(clone::supervise(&session.receipts, &session.receipt.session_name, said.as_bytes())?)
    });
    if let Err(error) = kept {
        context.output.warn(&error.to_string());
    }
}

/// The commit was made and tested on the hub.
fn rebase(args: &HostRebaseArgs, context: &Context) -> Result<(), PawError> {
    let (repo, branch) = (context.require_repo()?, &args.branch);
    let answer = if let (Some(from), Some(to)) = (&args.from, &args.to) {
        let _one_at_a_time = MergeLock::take(&repo)?;
        rescue::store_commit(&repo, branch, from, "before rebase")?;
        let rebased = advance::move_branch(&repo, branch, (from, to), REBASE_REFLOG)?;
        repo.git().run(["update-ref", "-d", &rebased_ref(branch)])?;
        serde_json::to_string(&RebasedBranch { rebased })
    } else {
        let obstacle = advance::find_obstacle(&repo, branch)?;
        serde_json::to_string(&RebaseObstacle { obstacle })
    };
    context.output.say(&answer.unwrap_or_default())
}

/// A command of the hub that was killed, or a new disk, may have left nothing to remove. The session ends with its last agent.
fn remove(args: &HostRemoveArgs, context: &Context) -> Result<(), PawError> {
    let repo = context.require_repo()?;
    let is_last = |session: &Session| session.receipt.worktrees.len() == 1 && !args.keep_worktree;
    if context.find_session()?.as_ref().is_some_and(is_last) {
        drain(context)?;
    }
    let _lock = context.lock_session(&repo)?;
    let session = context.find_session()?.filter(|session| session.receipt.agent_ids().contains(&args.agent));
    let kept = match session {
        None => Vec::new(),
        Some(session) if is_last(&session) => purge_session(&repo, args.force, context)?,
        Some(session) => {
            let worktrees = Worktrees::open(context.dirs.data_dir())?;
            let options =
                RemoveAgentOptions { keep_worktree: args.keep_worktree, force: args.force, own_pane: None };
            session.remove_agent(&worktrees, args.agent.as_str(), options)?;
            Vec::new()
        }
    };
    context.output.say(&json!({"kept": kept}).to_string())
}

/// The user was asked on the hub.
fn purge(force: bool, context: &Context) -> Result<(), PawError> {
    let repo = context.require_repo()?;
    drain(context)?;
    let _lock = context.lock_session(&repo)?;
    let kept = purge_session(&repo, force, context)?;
    context.output.say(&json!({"kept": kept}).to_string())
}

/// Sends the last messages. The hub may have lost its own connection, so this is an attempt.
fn drain(context: &Context) -> Result<(), PawError> {
    if context.find_session()?.is_some_and(|session| session.receipt.cluster.is_some()) {
        let _ = context.answer_request(&ClusterRequest { cluster: ClusterAction::Drain });
    }
    Ok(())
}

/// Removes the session of the clone. Returns the worktrees with uncommitted changes that are left.
fn purge_session(repo: &Repo, force: bool, context: &Context) -> Result<Vec<PathBuf>, PawError> {
    let mut kept = Vec::new();
    let mut branches = Vec::new();
    if let Some(session) = context.find_session()? {
        branches.extend(session.receipt.worktrees.iter().map(|agent| agent.branch.clone()));
        let worktrees = Worktrees::open(context.dirs.data_dir())?;
        let mut say = |progress: PurgeProgress<'_>| {
            if let PurgeProgress::Kept { path, problem } = progress {
                context.output.warn(&format!("failed to remove worktree '{}': {problem}", path.display()));
            }
        };
        kept = session.purge(&worktrees, force, None, &mut say)?.kept;
    }
    if kept.is_empty() {
        branches.iter().try_for_each(|branch| moved::forget(repo, branch))?;
        snapshot::delete_all(repo)?;
        files::delete_file(&PawDir::of(&repo.common_dir).cluster_invitation())?;
    }
    Ok(kept)
}

fn read_input() -> Result<Vec<u8>, PawError> {
    let mut input = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut input);
    read.map_err(|error| PawError::internal(format!("cannot read standard input: {error}")))?;
    Ok(input)
}
