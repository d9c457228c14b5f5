//! Brings back an existing session: attaches to it, resumes it, or rebuilds it.

use paw_core::config::PawConfig;
use paw_core::{BranchName, PawError, Receipt, SessionMode, SessionStatus, SupervisorReceipt};
use paw_host::clock;
use paw_host::locks::{SessionLock, WorktreesLock};
use paw_session::launch::{BriefingContext, LaunchServices, LaunchedSession};
use paw_session::lifecycle::Session;
use paw_session::recover::{self, RecoveryContext, RunningSessions};
use paw_session::specs;

use super::StartContext;
use super::show::StartOutcome;
use crate::approval;
use crate::context::Context;

/// The receipt of a session. If its repository has moved, the paths in git and in the receipt are updated.
pub(super) fn follow_moved_repo(session: Session, context: &Context) -> Result<Receipt, PawError> {
    let Session { repo, receipt, receipts, moved_from, .. } = session;
    let Some(before) = moved_from else { return Ok(receipt) };
    context
        .output
        .note(&format!("this repository was at {}: updating the paths of its session", before.display()));
    repo.git().repair_worktrees(&WorktreesLock::wait(&repo.common_dir)?)?;
    let moved = |receipt: &mut Receipt| {
        receipt.repo_path.clone_from(&repo.root);
        for path in [&mut receipt.log_dir, &mut receipt.broker_log_path].into_iter().flatten() {
            if let Ok(rest) = path.strip_prefix(&before) {
                *path = repo.root.join(rest);
            }
        }
        receipt.clone()
    };
    let updated = receipts.update(&receipt.session_name, &receipts.lock()?, moved)?;
    updated.ok_or_else(|| {
        PawError::SessionError(format!("session '{}' was removed by another command", receipt.session_name))
    })
}

/// Attaches to, completes, resumes or rebuilds a session.
pub(super) fn bring_back(
    services: LaunchServices<'_>,
    receipt: Receipt,
    site: &StartContext,
    (running, lock): (&RunningSessions, &SessionLock),
    context: &Context,
) -> Result<(Receipt, StartOutcome), PawError> {
    match running.status(&receipt) {
        SessionStatus::Active => {
            for note in recover::complete(services, &site.repo, &receipt, lock)? {
                context.output.note(&note);
            }
            let receipt = restore_agents(services, receipt, site, (running, lock), context)?;
            Ok((receipt, StartOutcome::Running))
        }
        SessionStatus::Paused => {
            Ok((recover::resume(services, &site.repo, &receipt, lock)?, StartOutcome::Resumed))
        }
        SessionStatus::Stopped => {
            Ok((rebuild(services, receipt, site, (running, lock), context)?, StartOutcome::Rebuilt))
        }
    }
}

/// Opens the panes of agents that have none, because they were closed or killed.
fn restore_agents(
    services: LaunchServices<'_>,
    receipt: Receipt,
    site: &StartContext,
    locked: (&RunningSessions, &SessionLock),
    context: &Context,
) -> Result<Receipt, PawError> {
    let session = Session {
        repo: site.repo.clone(),
        receipts: services.receipts.clone(),
        tmux: services.tmux.clone(),
        moved_from: None,
        receipt,
    };
    let missing = session.find_agents_without_pane()?;
    if missing.is_empty() {
        return Ok(session.receipt);
    }
    for agent in &missing {
        context.output.note(&format!("restoring {agent}: its pane was closed"));
    }
    with_recovery(&session.receipt, site, locked, context, |_, around| {
        Ok(session.restore_agents(services, &missing, around)?)
    })
}

fn rebuild(
    services: LaunchServices<'_>,
    receipt: Receipt,
    site: &StartContext,
    locked: (&RunningSessions, &SessionLock),
    context: &Context,
) -> Result<Receipt, PawError> {
    with_recovery(&receipt.clone(), site, locked, context, |config, around| {
        Ok(recover::recover(services, &with_supervisor(receipt, config), around)?)
    })
}

/// Calls `act` with what a recovery needs, and prints its notes.
fn with_recovery(
    receipt: &Receipt,
    site: &StartContext,
    (running, lock): (&RunningSessions, &SessionLock),
    context: &Context,
    act: impl FnOnce(&PawConfig, RecoveryContext<'_>) -> Result<LaunchedSession, PawError>,
) -> Result<Receipt, PawError> {
    let mut config = approval::session_config(&site.layers, &site.repo, site.consent, context)?;
    if let Some(hub) = receipt.hub_supervision() {
        config.supervisor = Some(hub.config.clone());
    }
    let config = &config;
    let specs = specs::find_assigned(receipt, &site.repo.root, config);
    let spec = |branch: &BranchName| specs.iter().find(|spec| spec.branch == *branch).cloned();
    let supervisor = config.supervisor.clone().unwrap_or_default();
    let around = RecoveryContext {
        repo: &site.repo,
        broker: &config.broker,
        placement: config.worktree_placement(),
        guard: receipt.is_looked_after() && supervisor.strict_branch_guard,
        briefings: BriefingContext {
            repo: &site.repo,
            config,
            config_dir: context.dirs.config_dir(),
            spec: &spec,
        },
        running,
        lock,
        now: clock::now(),
    };
    let recovered = act(config, around)?;
    for note in &recovered.notes {
        context.output.warn(note);
    }
    Ok(recovered.receipt)
}

/// Receipts of other versions lack the supervisor's CLI.
fn with_supervisor(mut receipt: Receipt, config: &PawConfig) -> Receipt {
    if receipt.mode == SessionMode::Supervisor && receipt.supervisor.is_none() {
        let configured = config.supervisor.as_ref().and_then(|supervisor| supervisor.cli.clone());
        let cli = configured
            .or_else(|| config.default_cli.clone())
            .unwrap_or_else(|| paw_agent::cli::DEFAULT.to_owned());
        receipt.supervisor = Some(SupervisorReceipt { cli, ..SupervisorReceipt::default() });
    }
    receipt
}
