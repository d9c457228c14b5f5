//! Existing sessions: resumed after a pause, rebuilt after a stop or a crash.

use jiff::Timestamp;
use paw_agent::cli;
use paw_agent::resume::can_resume;
use paw_core::config::{BrokerConfig, LayoutMode, WorktreePlacement};
use paw_core::receipt::FORMAT;
use paw_core::{AgentId, AgentReceipt, Receipt, SessionName, SessionStatus};
use paw_host::git::Repo;
use paw_host::locks::SessionLock;
use paw_host::tmux::{Batch, Tmux, TmuxCommand, TmuxError, TmuxSession};
use paw_worktree::SessionWorktree;

use crate::cli_hooks;
use crate::conversations;
use crate::launch::rollback::{Rollback, RollbackStep};
use crate::launch::{
    self, BriefingContext, BrokerReservation, LaunchError, LaunchServices, LaunchedSession, PaneTokens,
    unfinished,
};
use crate::panes::{self, ConversationMode, DASHBOARD, MARK, PaneBuilder, SUPERVISOR};
use crate::session_process;

/// The sessions of the tmux server, each with our [`panes::SESSION_MARK`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunningSessions(Vec<TmuxSession>);

impl RunningSessions {
    pub fn load(tmux: &Tmux) -> Result<Self, TmuxError> {
        Ok(Self(tmux.sessions(panes::SESSION_MARK)?))
    }

    pub fn has_name(&self, name: &SessionName) -> bool {
        self.0.iter().any(|running| running.name == name.as_str())
    }

    /// The tmux session of a receipt. It is known by its mark, because users rename sessions; only sessions of receipt
    /// format 0, which have no mark, are found by name.
    pub fn find(&self, receipt: &Receipt) -> Option<&TmuxSession> {
        let by_name = || {
            let is_it = |running: &&TmuxSession| {
                running.value.is_empty() && running.name == receipt.session_name.as_str()
            };
            self.0.iter().find(is_it).filter(|_| receipt.format == 0)
        };
        self.find_marked(receipt).or_else(by_name)
    }

    /// The tmux session with the mark of a receipt.
    pub fn find_marked(&self, receipt: &Receipt) -> Option<&TmuxSession> {
        self.0.iter().find(|running| running.value == receipt.session_id())
    }

    pub fn names(&self) -> Vec<SessionName> {
        self.0.iter().filter_map(|running| SessionName::new(running.name.as_str()).ok()).collect()
    }

    /// The status of a receipt's session.
    pub fn status(&self, receipt: &Receipt) -> SessionStatus {
        receipt.effective_status(|_| self.find(receipt).is_some())
    }
}

/// Restarts the session's process, which a pause has ended, and its dashboard. The agents kept running.
pub fn resume(
    services: LaunchServices<'_>,
    repo: &Repo,
    receipt: &Receipt,
    lock: &SessionLock,
) -> Result<Receipt, LaunchError> {
    let set = |status: SessionStatus| {
        let change = |receipt: &mut Receipt| {
            receipt.status = status;
            receipt.clone()
        };
        services.receipts.update(&receipt.session_name, &services.receipts.lock()?, change)
    };
    let updated = set(SessionStatus::Active)?.unwrap_or_else(|| receipt.clone());
    if let Err(error) = session_process::start(repo, services.program, &updated, lock) {
        set(SessionStatus::Paused)?;
        return Err(error.into());
    }
    let receipt = services.receipts.load(&receipt.session_name)?.unwrap_or(updated);
    let mut batch = Batch::default();
    if receipt.has_broker() {
        show_dashboard(services, &receipt, &mut batch, DashboardPane::Restarted)?;
    }
    if !batch.commands().is_empty() {
        services.tmux.run_batch(&batch)?;
    }
    Ok(receipt)
}

/// Restarts what a running session has lost: its process, and the pane of its dashboard. Returns notes for the user.
pub fn complete(
    services: LaunchServices<'_>,
    repo: &Repo,
    receipt: &Receipt,
    lock: &SessionLock,
) -> Result<Vec<String>, LaunchError> {
    let notes = session_process::start_newest(repo, services.program, receipt, lock)?;
    let mut batch = Batch::default();
    if receipt.has_broker() {
        show_dashboard(services, receipt, &mut batch, DashboardPane::AsItIs)?;
    }
    if !batch.commands().is_empty() {
        services.tmux.run_batch(&batch)?;
    }
    Ok(notes)
}

/// What happens to a dashboard that has a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DashboardPane {
    AsItIs,
    Restarted,
}

fn show_dashboard(
    services: LaunchServices<'_>,
    receipt: &Receipt,
    batch: &mut Batch,
    existing: DashboardPane,
) -> Result<(), LaunchError> {
    let running = RunningSessions::load(services.tmux)?;
    let Some(target) = running.find(receipt).map(TmuxSession::target) else { return Ok(()) };
    let token = |_: &_| None;
    let builder = PaneBuilder {
        program: services.program,
        token: &token,
        conversation: ConversationMode::New,
        fresh: &[],
    };
    let dashboard = builder.dashboard(receipt);
    let marked = services.tmux.target_panes_with(&target, MARK)?;
    let find = |mark: &str| marked.iter().find(|(_, found)| found == mark).map(|(id, _)| id.clone());
    let id = match find(DASHBOARD) {
        Some(_) if existing == DashboardPane::AsItIs => return Ok(()),
        Some(id) => {
            // The pane's shell may have half-typed input, so the pane gets a new shell.
            batch.push(TmuxCommand::new("respawn-pane").args(["-k", "-t", &id]));
            id
        }
        None => split_dashboard(services, &target, receipt.layout, find(SUPERVISOR))?,
    };
    batch.push(panes::mark(&id, &dashboard.mark));
    panes::title(&id, &dashboard.title, &mut |command| batch.push(command));
    panes::type_and_log(&id, &dashboard, &mut |command| batch.push(command));
    Ok(())
}

/// Creates a pane for the dashboard if its pane was closed: next to the supervisor, or above all agents.
fn split_dashboard(
    services: LaunchServices<'_>,
    target: &str,
    layout: LayoutMode,
    supervisor: Option<String>,
) -> Result<String, LaunchError> {
    let new = |verb| TmuxCommand::new(verb).args(["-d", "-P", "-F", "#{pane_id}"]);
    let split = match (supervisor, layout) {
        (Some(supervisor), _) => new("split-window").args(["-h", "-l", "50%", "-t", &supervisor]),
        (None, LayoutMode::Grid) => new("split-window").args(["-v", "-b", "-f", "-l", "40%", "-t", target]),
        // At the lowest free index.
        (None, LayoutMode::Windows) => new("new-window").args(["-n", DASHBOARD, "-t", target]),
    };
    Ok(services.tmux.run(&split)?.trim().to_owned())
}

/// What a recovery needs in addition to the receipt.
#[derive(Debug, Clone, Copy)]
pub struct RecoveryContext<'a> {
    pub repo: &'a Repo,
    /// The broker settings. Address and port come from the receipt.
    pub broker: &'a BrokerConfig,
    pub placement: WorktreePlacement,
    pub guard: bool,
    pub briefings: BriefingContext<'a>,
    pub running: &'a RunningSessions,
    pub lock: &'a SessionLock,
    pub now: Timestamp,
}

/// Rebuilds a session: missing worktrees, hooks, identities and panes. Every CLI that supports it resumes its conversation.
pub fn recover(
    services: LaunchServices<'_>,
    receipt: &Receipt,
    context: RecoveryContext<'_>,
) -> Result<LaunchedSession, LaunchError> {
    let mut rollback = Rollback::new(services, context.repo);
    let built = rebuild(services, receipt.clone(), context, &mut rollback);
    if built.is_err() {
        rollback.run();
    }
    built
}

fn rebuild(
    services: LaunchServices<'_>,
    mut receipt: Receipt,
    context: RecoveryContext<'_>,
    rollback: &mut Rollback<'_>,
) -> Result<LaunchedSession, LaunchError> {
    let mut before = receipt.clone();
    if let Some(running) = context.running.find(&receipt) {
        // An interrupted stop can leave the tmux session running.
        services.tmux.kill_target(&running.target())?;
    }
    // It survives the end of tmux.
    session_process::end(context.repo);
    let broker = match (receipt.broker_port, &receipt.broker_bind) {
        (Some(port), bind) => {
            let bind = bind.clone().unwrap_or_else(|| context.broker.bind.clone());
            Some(BrokerReservation::reserve(
                context.repo,
                &BrokerConfig { port, bind, ..context.broker.clone() },
            )?)
        }
        (None, _) => None,
    };
    unfinished::record_created_branches(services.worktrees, &mut receipt)?;
    let mut notes = restore_worktrees(services, &mut receipt, context, rollback)?;
    for (agent, id) in receipt.agent_ids().into_iter().enumerate() {
        receipt.worktrees[agent].unfinished = false;
        receipt.worktrees[agent].agent_id = Some(id);
    }
    let fresh = conversations::record(&context.repo.common_dir, &mut receipt);
    // Also kept if the recovery fails, because the next start discards the CLIs' notes.
    for agent in &receipt.worktrees {
        if let Some(same) = before.worktrees.iter_mut().find(|same| same.branch == agent.branch) {
            same.conversation.clone_from(&agent.conversation);
        }
    }
    if let (Some(now), Some(same)) = (&receipt.supervisor, &mut before.supervisor) {
        same.conversation.clone_from(&now.conversation);
    }
    receipt.session_name = free_name(services, &before, context.running)?;
    if receipt.session_name != before.session_name {
        receipt.original_id = Some(before.session_id());
    }
    receipt.format = FORMAT;
    receipt.status = SessionStatus::Active;
    receipt.broker_port = broker.as_ref().map(BrokerReservation::port);
    // A resumed conversation already has its prompt.
    let is_new = |id: &AgentId, cli: &str| fresh.contains(id) || !can_resume(cli::descriptor(cli));
    notes.extend(launch::install_briefings(&context.briefings, &mut receipt, is_new)?);
    rollback.add(RollbackStep::ReceiptBefore {
        before: Box::new(before.clone()),
        now: receipt.session_name.clone(),
    });
    services.receipts.replace(&before.session_name, &receipt, &services.receipts.lock()?)?;
    let tokens = match &broker {
        Some(broker) => {
            launch::install_hooks(services, &receipt, context.guard, rollback)?;
            notes.extend(cli_hooks::install_all(context.repo, &receipt, services.program));
            broker.mint(&receipt, context.now)?
        }
        None => PaneTokens::default(),
    };
    drop(broker);
    receipt = launch::start_process(services, context.repo, receipt, context.lock, rollback)?;
    notes.extend(launch::open(services, &receipt, &tokens, (ConversationMode::Resumed, &fresh), rollback)?);
    Ok(LaunchedSession { receipt, notes })
}

/// The session's name, or the next free one if another tmux session has taken it.
fn free_name(
    services: LaunchServices<'_>,
    before: &Receipt,
    running: &RunningSessions,
) -> Result<SessionName, LaunchError> {
    let receipts = services.receipts.all()?;
    let ours = running.find(before).is_some();
    Ok(before.session_name.clone().first_free(|name| {
        if *name == before.session_name {
            running.has_name(name) && !ours
        } else {
            running.has_name(name) || receipts.has_name(name)
        }
    }))
}

/// Keeps existing worktrees as they are and creates missing ones.
pub(crate) fn restore_worktrees(
    services: LaunchServices<'_>,
    receipt: &mut Receipt,
    context: RecoveryContext<'_>,
    rollback: &mut Rollback<'_>,
) -> Result<Vec<String>, LaunchError> {
    let listed = context.repo.git().worktrees().map_err(paw_core::PawError::from)?;
    let is_there = |agent: &AgentReceipt| {
        let path = agent.worktree_path.canonicalize().unwrap_or_else(|_| agent.worktree_path.clone());
        path.is_dir() && listed.iter().any(|one| one.path == path && one.prunable.is_none())
    };
    let mut missing: Vec<_> = receipt.worktrees.iter_mut().filter(|agent| !is_there(agent)).collect();
    let wanted: Vec<_> = missing
        .iter()
        .map(|agent| SessionWorktree {
            placement: context.placement,
            ..SessionWorktree::new(agent.branch.clone())
        })
        .collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let answers = services.worktrees.create_worktrees(&context.repo.root, &wanted)?;
    let (mut notes, mut refused) = (Vec::new(), Vec::new());
    for (agent, answer) in missing.iter_mut().zip(answers) {
        match answer {
            Ok(made) => {
                if !made.resumed {
                    notes.push(format!("created the missing worktree of {} again", agent.branch));
                }
                unfinished::finish(agent, &made);
                notes.extend(made.notes.iter().cloned());
                rollback.add(RollbackStep::Worktree(made));
            }
            Err(error) => refused.push((agent.branch.clone(), error)),
        }
    }
    if refused.is_empty() { Ok(notes) } else { Err(LaunchError::Worktrees(refused)) }
}
