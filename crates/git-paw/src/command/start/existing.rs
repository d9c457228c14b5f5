//! A session that is there already: attached to, resumed, or built again.

use paw_core::config::PawConfig;
use paw_core::{BranchName, PawError, Receipt, SessionMode, SessionStatus, SupervisorReceipt};
use paw_host::clock;
use paw_host::locks::WorktreesLock;
use paw_session::launch::{Briefs, Doors};
use paw_session::lifecycle::Session;
use paw_session::recover::{self, Circumstances, Living};
use paw_session::specs;

use super::Surroundings;
use super::show::State;
use crate::approval;
use crate::context::Context;

/// The receipt of a session whose repository may have been moved since: then everything that knows its old place is
/// told the new one.
pub(super) fn come_along(session: Session, context: &Context) -> Result<Receipt, PawError> {
    let Session { repo, receipt, receipts, moved_from, .. } = session;
    let Some(before) = moved_from else { return Ok(receipt) };
    context.output.note(&format!("this repository was at {}: its session comes along", before.display()));
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

/// Brings a session to life, whatever it needs for that.
pub(super) fn take_up(
    doors: Doors<'_>,
    receipt: Receipt,
    site: &Surroundings,
    living: &Living,
    context: &Context,
) -> Result<(Receipt, State), PawError> {
    match living.status(&receipt) {
        SessionStatus::Active => Ok((receipt, State::Running)),
        SessionStatus::Paused => Ok((recover::resume(doors, &receipt)?, State::Resumed)),
        SessionStatus::Stopped => {
            Ok((build_again(doors, receipt, site, living, context)?, State::BuiltAgain))
        }
    }
}

fn build_again(
    doors: Doors<'_>,
    receipt: Receipt,
    site: &Surroundings,
    living: &Living,
    context: &Context,
) -> Result<Receipt, PawError> {
    let config = &approval::session_config(&site.layers, &site.repo, site.consent, context)?;
    let specs = specs::find_assigned(&receipt, &site.repo.root, config);
    let spec = |branch: &BranchName| specs.iter().find(|spec| spec.branch == *branch).cloned();
    let supervisor = config.supervisor.clone().unwrap_or_default();
    let around = Circumstances {
        repo: &site.repo,
        broker: &config.broker,
        placement: config.worktree_placement(),
        guard: receipt.is_looked_after() && supervisor.strict_branch_guard,
        briefs: Briefs { repo: &site.repo, config, config_dir: context.dirs.config_dir(), spec: &spec },
        living,
        now: clock::now(),
    };
    let recovered = recover::recover(doors, &with_supervisor(receipt, config), around)?;
    for note in &recovered.notes {
        context.output.warn(note);
    }
    Ok(recovered.receipt)
}

/// Receipts of other versions do not say which CLI supervised.
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
