//! Starting a session as planned: worktrees, receipt, identities, hooks, panes; all of it or nothing.

mod brief;
mod broker;
mod error;
mod own_files;
pub(crate) mod setup;
pub(crate) mod undo;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use paw_broker::hooks::{self, HookSetup};
use paw_core::config::PawConfig;
use paw_core::{AgentId, BranchName, Receipt};
use paw_host::git::Repo;
use paw_host::locks::{ExcludeLock, SessionLock};
use paw_host::tmux::Tmux;
use paw_worktree::{Preparation, WorktreeCreation, Worktrees, crash};

pub use brief::{Briefed, Briefs};
pub use broker::{Broker, Tokens};
pub use error::LaunchError;
use undo::{Step, Undo};

use crate::cli_hooks;
use crate::delivery;
use crate::logs;
use crate::panes::{Conversation, Making, Window};
use crate::plan::Plan;
use crate::receipts::Receipts;

/// What a session is started, recovered and resumed through.
#[derive(Debug, Clone, Copy)]
pub struct Doors<'a> {
    pub worktrees: &'a Worktrees,
    pub receipts: &'a Receipts,
    pub tmux: &'a Tmux,
    /// Our own program.
    pub program: &'a Path,
}

/// How far a start has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Worktrees {
        made: usize,
        of: usize,
    },
    /// A line that a worktree's setup has printed.
    Setup {
        branch: String,
        line: String,
    },
}

/// What a start needs to know besides its plan.
#[derive(Debug, Clone, Copy)]
pub struct Wishes<'a> {
    pub config: &'a PawConfig,
    /// The user's own directory of git-paw.
    pub config_dir: &'a Path,
    /// What makes new worktrees ready, as far as it may run.
    pub preparation: &'a Preparation,
    pub now: Timestamp,
}

/// A session whose panes run.
#[derive(Debug)]
pub struct Launched {
    pub receipt: Receipt,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Keeps every other start of this repository out, from looking for a session until there is one.
pub fn lock(repo: &Repo) -> Result<SessionLock, LaunchError> {
    SessionLock::try_take(&repo.common_dir)?.ok_or(LaunchError::Busy)
}

/// Makes everything, or takes back what was made.
pub fn launch(
    doors: Doors<'_>,
    plan: &Plan,
    wishes: Wishes<'_>,
    on_progress: &(dyn Fn(Progress) + Sync),
) -> Result<Launched, LaunchError> {
    let mut undo = Undo::new(doors, &plan.repo);
    let built = build(doors, plan, wishes, on_progress, &mut undo);
    if built.is_err() {
        undo.roll_back();
    }
    built
}

fn build(
    doors: Doors<'_>,
    plan: &Plan,
    wishes: Wishes<'_>,
    on_progress: &(dyn Fn(Progress) + Sync),
    undo: &mut Undo<'_>,
) -> Result<Launched, LaunchError> {
    let broker =
        plan.broker.as_ref().map(|_| Broker::reserve(&plan.repo, &wishes.config.broker)).transpose()?;
    let made = make_worktrees(doors, plan, on_progress, undo)?;
    crash::point("start:worktrees-made");
    let mut notes: Vec<String> = made.iter().flat_map(|one| one.notes.iter().cloned()).collect();
    notes.extend(setup::prepare(doors.worktrees, plan, &made, wishes.preparation, on_progress));

    let mut receipt = plan.receipt(wishes.now);
    for (agent, made) in receipt.worktrees.iter_mut().zip(&made) {
        agent.worktree_path.clone_from(&made.path);
        agent.branch_created = made.branch_created;
    }
    receipt.broker_port = broker.as_ref().map(Broker::port);
    if own_files::hide(&plan.repo, &ExcludeLock::wait(&plan.repo.common_dir)?)? {
        undo.add(Step::Hidden);
    }
    let spec = |branch: &BranchName| {
        plan.agents.iter().find(|agent| agent.branch == *branch).and_then(|agent| agent.spec.clone())
    };
    let briefs =
        Briefs { repo: &plan.repo, config: wishes.config, config_dir: wishes.config_dir, spec: &spec };
    undo.add(Step::Briefings(receipt.clone()));
    notes.extend(brief(&briefs, &mut receipt, |_, _| true)?);
    undo.add(Step::Receipt(receipt.session_name.clone()));
    doors.receipts.save(&receipt, &doors.receipts.lock()?)?;
    crash::point("start:receipt-saved");

    let tokens = match &broker {
        Some(broker) => {
            undo.add(Step::Tokens(receipt.clone()));
            install_hooks(doors, &receipt, plan.guard, undo)?;
            notes.extend(cli_hooks::install_all(&plan.repo, &receipt, doors.program));
            broker.mint(&receipt, wishes.now)?
        }
        None => Tokens::default(),
    };
    drop(broker);
    notes.extend(open(doors, &receipt, &tokens, (Conversation::New, &[]), undo)?);
    Ok(Launched { receipt, notes })
}

/// Writes the briefings, and the first words to those who need some. Returns what was odd.
pub(crate) fn brief(
    briefs: &Briefs<'_>,
    receipt: &mut Receipt,
    is_new: impl Fn(&AgentId, &str) -> bool,
) -> Result<Vec<String>, LaunchError> {
    let briefed = briefs.install(receipt)?;
    let ids = receipt.agent_ids();
    for ((agent, id), prompt) in receipt.worktrees.iter_mut().zip(&ids).zip(briefed.agents) {
        agent.boot_prompt = prompt.or(agent.boot_prompt.take());
        if is_new(id, &agent.cli) {
            agent.pending_boot_prompt.clone_from(&agent.boot_prompt);
        }
    }
    if let Some(supervisor) = &mut receipt.supervisor {
        supervisor.boot_prompt = briefed.supervisor.or(supervisor.boot_prompt.take());
        if is_new(&AgentId::supervisor(), &supervisor.cli) {
            supervisor.pending_boot_prompt.clone_from(&supervisor.boot_prompt);
        }
    }
    Ok(briefed.warnings)
}

pub(crate) fn make_worktrees(
    doors: Doors<'_>,
    plan: &Plan,
    on_progress: &(dyn Fn(Progress) + Sync),
    undo: &mut Undo<'_>,
) -> Result<Vec<WorktreeCreation>, LaunchError> {
    let (wanted, count) = (plan.worktrees(), AtomicUsize::new(0));
    let on_made = || {
        let made = count.fetch_add(1, Ordering::Relaxed) + 1;
        on_progress(Progress::Worktrees { made, of: wanted.len() });
    };
    let answers = doors.worktrees.create_worktrees_watched(&plan.repo.root, &wanted, &on_made)?;
    let (mut made, mut refused) = (Vec::new(), Vec::new());
    for (answer, agent) in answers.into_iter().zip(&plan.agents) {
        match answer {
            Ok(one) => {
                undo.add(Step::Worktree(one.clone()));
                made.push(one);
            }
            Err(error) => refused.push((agent.branch.clone(), error)),
        }
    }
    if refused.is_empty() { Ok(made) } else { Err(LaunchError::Worktrees(refused)) }
}

pub(crate) fn install_hooks(
    doors: Doors<'_>,
    receipt: &Receipt,
    guard: bool,
    undo: &mut Undo<'_>,
) -> Result<(), LaunchError> {
    let setups: Vec<_> = receipt
        .worktrees
        .iter()
        .zip(receipt.agent_ids())
        .map(|(agent, id)| HookSetup {
            worktree: agent.worktree_path.clone(),
            agent: id,
            guard: guard.then(|| agent.branch.clone()),
            program: doors.program.to_path_buf(),
        })
        .collect();
    undo.add(Step::Hooks(setups.iter().map(|setup| setup.worktree.clone()).collect()));
    Ok(hooks::install_all(&setups)?)
}

/// Builds the window in one step, and has the agents told what they are to do as soon as they listen. Returns what was odd.
pub(crate) fn open(
    doors: Doors<'_>,
    receipt: &Receipt,
    tokens: &Tokens,
    (conversation, fresh): (Conversation, &[AgentId]),
    undo: &mut Undo<'_>,
) -> Result<Vec<String>, LaunchError> {
    let token = |agent: &_| tokens.of(agent);
    let making = Making { program: doors.program, token: &token, conversation, fresh };
    let mut window = Window::of(receipt, making)?;
    let notes = logs::make_way(receipt, window.panes.iter_mut().map(|pane| &mut pane.log))?;
    let mut batch = window.batch();
    if let Some(deliver) = delivery::in_background(receipt, doors.receipts, doors.program) {
        batch.push(deliver);
    }
    undo.add(Step::Session(receipt.clone()));
    crash::point("start:panes-next");
    doors.tmux.run_batch(&batch)?;
    crash::point("start:panes-made");
    Ok(notes)
}
