//! Starts a session as planned: receipt, worktrees, identities, hooks and panes. If a step fails, the steps before it are undone.
//! After a kill, the receipt names every worktree that may exist, so `start` completes the session and `purge` removes it.

mod briefings;
mod broker;
mod error;
mod exclude_rules;
pub(crate) mod rollback;
pub(crate) mod setup;
pub(crate) mod unfinished;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use paw_broker::hooks::{self, HookSetup};
use paw_core::config::PawConfig;
use paw_core::{AgentId, BranchName, PawError, Receipt};
use paw_host::git::Repo;
use paw_host::locks::{ExcludeLock, SessionLock};
use paw_host::tmux::Tmux;
use paw_worktree::{Preparation, WorktreeCreation, Worktrees, crash, moved};

pub use briefings::{BriefingContext, InstalledBriefings};
pub use broker::{BrokerReservation, PaneTokens};
pub use error::LaunchError;
use rollback::{Rollback, RollbackStep};

use crate::cli_hooks;
use crate::logs;
use crate::panes::{ConversationMode, PaneBuilder, SessionWindow};
use crate::plan::SessionPlan;
use crate::receipts::Receipts;
use crate::session_process;

/// The stores and programs that starting, recovering and resuming a session need.
#[derive(Debug, Clone, Copy)]
pub struct LaunchServices<'a> {
    pub worktrees: &'a Worktrees,
    pub receipts: &'a Receipts,
    pub tmux: &'a Tmux,
    /// The git-paw executable.
    pub program: &'a Path,
}

/// Progress of a start, reported while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchProgress {
    Worktrees {
        made: usize,
        of: usize,
    },
    /// A line printed by a worktree's setup command.
    Setup {
        branch: String,
        line: String,
    },
}

/// Options of a start that are not part of its plan.
#[derive(Debug, Clone, Copy)]
pub struct LaunchOptions<'a> {
    pub config: &'a PawConfig,
    /// The user's git-paw configuration directory.
    pub config_dir: &'a Path,
    /// Files to copy and approved commands to run in new worktrees.
    pub preparation: &'a Preparation,
    pub lock: &'a SessionLock,
    pub now: Timestamp,
}

/// A session with running panes.
#[derive(Debug)]
pub struct LaunchedSession {
    pub receipt: Receipt,
    /// Notes to show to the user.
    pub notes: Vec<String>,
}

/// How long a command waits for another one that changes the session.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// A shorter wait needs no explanation.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Locks this repository against other commands that change its session, from the search for a session until the change is
/// complete. Waits for the one that holds the lock; `on_wait` is called if that takes a moment.
pub fn lock(repo: &Repo, on_wait: impl FnOnce()) -> Result<SessionLock, LaunchError> {
    let lock = SessionLock::wait(&repo.common_dir, LOCK_TIMEOUT, LOCK_PATIENCE, on_wait)?;
    lock.ok_or(LaunchError::Busy)
}

/// Starts the session. If a step fails, undoes the steps before it.
pub fn launch(
    services: LaunchServices<'_>,
    plan: &SessionPlan,
    options: LaunchOptions<'_>,
    on_progress: &(dyn Fn(LaunchProgress) + Sync),
) -> Result<LaunchedSession, LaunchError> {
    let mut rollback = Rollback::new(services, &plan.repo);
    let built = build(services, plan, options, on_progress, &mut rollback);
    if built.is_err() {
        rollback.run();
    }
    built
}

fn build(
    services: LaunchServices<'_>,
    plan: &SessionPlan,
    options: LaunchOptions<'_>,
    on_progress: &(dyn Fn(LaunchProgress) + Sync),
    rollback: &mut Rollback<'_>,
) -> Result<LaunchedSession, LaunchError> {
    let broker = plan
        .broker
        .as_ref()
        .map(|_| BrokerReservation::reserve(&plan.repo, &options.config.broker))
        .transpose()?;
    let mut receipt = plan.receipt(options.now);
    receipt.broker_port = broker.as_ref().map(BrokerReservation::port);
    receipt.worktrees.iter_mut().for_each(|agent| agent.unfinished = true);
    rollback.add(RollbackStep::Receipt(receipt.session_name.clone()));
    services.receipts.save(&receipt, &services.receipts.lock()?)?;
    crash::point("start:recorded");
    let made = make_worktrees(services, plan, on_progress, rollback)?;
    crash::point("start:worktrees-made");
    let mut notes: Vec<String> = made.iter().flat_map(|one| one.notes.iter().cloned()).collect();
    notes.extend(setup::prepare(services.worktrees, plan, &made, options.preparation, on_progress));
    for (agent, made) in receipt.worktrees.iter_mut().zip(&made) {
        unfinished::finish(agent, made);
    }
    if exclude_rules::add(&plan.repo, &ExcludeLock::wait(&plan.repo.common_dir)?)? {
        rollback.add(RollbackStep::ExcludeRules);
    }
    let spec = |branch: &BranchName| {
        plan.agents.iter().find(|agent| agent.branch == *branch).and_then(|agent| agent.spec.clone())
    };
    let briefings = BriefingContext {
        repo: &plan.repo,
        config: options.config,
        config_dir: options.config_dir,
        spec: &spec,
    };
    rollback.add(RollbackStep::Briefings(receipt.clone()));
    notes.extend(install_briefings(&briefings, &mut receipt, |_, _| true)?);
    services.receipts.save(&receipt, &services.receipts.lock()?)?;
    crash::point("start:receipt-saved");

    let tokens = match &broker {
        Some(broker) => {
            rollback.add(RollbackStep::Tokens(receipt.clone()));
            install_hooks(services, &receipt, plan.guard, rollback)?;
            notes.extend(cli_hooks::install_all(&plan.repo, &receipt, services.program));
            broker.mint(&receipt, options.now)?
        }
        None => PaneTokens::default(),
    };
    drop(broker);
    let receipt = start_process(services, &plan.repo, receipt, options.lock, rollback)?;
    notes.extend(open(services, &receipt, &tokens, (ConversationMode::New, &[]), rollback)?);
    Ok(LaunchedSession { receipt, notes })
}

/// Writes the briefings and queues boot prompts for new agents. Returns warnings.
pub(crate) fn install_briefings(
    briefings: &BriefingContext<'_>,
    receipt: &mut Receipt,
    is_new: impl Fn(&AgentId, &str) -> bool,
) -> Result<Vec<String>, LaunchError> {
    let briefed = briefings.install(receipt)?;
    let ids = receipt.agent_ids();
    for ((agent, id), prompt) in receipt.worktrees.iter_mut().zip(&ids).zip(briefed.agents) {
        agent.boot_prompt = prompt.or(agent.boot_prompt.take());
        if is_new(id, &agent.cli) {
            agent.queue_boot_prompt();
        }
    }
    if let Some(supervisor) = &mut receipt.supervisor {
        supervisor.boot_prompt = briefed.supervisor.or(supervisor.boot_prompt.take());
        if is_new(&AgentId::supervisor(), &supervisor.cli) {
            supervisor.queue_boot_prompt();
        }
    }
    Ok(briefed.warnings)
}

pub(crate) fn make_worktrees(
    services: LaunchServices<'_>,
    plan: &SessionPlan,
    on_progress: &(dyn Fn(LaunchProgress) + Sync),
    rollback: &mut Rollback<'_>,
) -> Result<Vec<WorktreeCreation>, LaunchError> {
    let (wanted, count) = (plan.worktrees(), AtomicUsize::new(0));
    let on_made = || {
        let made = count.fetch_add(1, Ordering::Relaxed) + 1;
        on_progress(LaunchProgress::Worktrees { made, of: wanted.len() });
    };
    let answers = services.worktrees.create_worktrees_with_progress(&plan.repo.root, &wanted, &on_made)?;
    let (mut made, mut refused) = (Vec::new(), Vec::new());
    for (answer, agent) in answers.into_iter().zip(&plan.agents) {
        match answer {
            Ok(one) => {
                rollback.add(RollbackStep::Worktree(one.clone()));
                made.push(one);
            }
            Err(error) => refused.push((agent.branch.clone(), error)),
        }
    }
    if !refused.is_empty() {
        return Err(LaunchError::Worktrees(refused));
    }
    for (one, agent) in made.iter().zip(&plan.agents) {
        moved::restore(&plan.repo, &one.path, &agent.branch).map_err(PawError::from)?;
    }
    Ok(made)
}

pub(crate) fn install_hooks(
    services: LaunchServices<'_>,
    receipt: &Receipt,
    guard: bool,
    rollback: &mut Rollback<'_>,
) -> Result<(), LaunchError> {
    let setups: Vec<_> = receipt
        .worktrees
        .iter()
        .zip(receipt.agent_ids())
        .map(|(agent, id)| HookSetup {
            worktree: agent.worktree_path.clone(),
            agent: id,
            guard: guard.then(|| agent.branch.clone()),
            program: services.program.to_path_buf(),
        })
        .collect();
    rollback.add(RollbackStep::Hooks(setups.iter().map(|setup| setup.worktree.clone()).collect()));
    Ok(hooks::install_all(&setups)?)
}

/// Starts the session's process. Returns the receipt with the port it uses.
pub(crate) fn start_process(
    services: LaunchServices<'_>,
    repo: &Repo,
    receipt: Receipt,
    lock: &SessionLock,
    rollback: &mut Rollback<'_>,
) -> Result<Receipt, LaunchError> {
    rollback.add(RollbackStep::Process);
    session_process::start(repo, services.program, &receipt, lock)?;
    crash::point("start:process-started");
    Ok(services.receipts.load(&receipt.session_name)?.unwrap_or(receipt))
}

/// Builds the window in one tmux call. Returns warnings.
pub(crate) fn open(
    services: LaunchServices<'_>,
    receipt: &Receipt,
    tokens: &PaneTokens,
    (conversation, fresh): (ConversationMode, &[AgentId]),
    rollback: &mut Rollback<'_>,
) -> Result<Vec<String>, LaunchError> {
    let token = |agent: &_| tokens.of(agent);
    let builder = PaneBuilder { program: services.program, token: &token, conversation, fresh };
    let mut window = SessionWindow::of(receipt, builder)?;
    let notes = logs::prepare_paths(receipt, window.panes.iter_mut().map(|pane| &mut pane.log))?;
    let batch = window.batch();
    rollback.add(RollbackStep::Session(receipt.clone()));
    crash::point("start:panes-next");
    services.tmux.run_batch(&batch)?;
    crash::point("start:panes-made");
    Ok(notes)
}
