//! A session that was there before: looked up, taken up again after a pause, built again after everything else.

use jiff::Timestamp;
use paw_agent::cli;
use paw_agent::resume::can_resume;
use paw_core::config::{BrokerConfig, WorktreePlacement};
use paw_core::receipt::FORMAT;
use paw_core::{AgentId, AgentReceipt, Receipt, SessionName, SessionStatus};
use paw_host::git::Repo;
use paw_host::tmux::{Batch, TmuxCommand, session_target};
use paw_worktree::SessionWorktree;

use crate::cli_hooks;
use crate::conversations;
use crate::delivery;
use crate::launch::undo::{Step, Undo};
use crate::launch::{self, Briefs, Broker, Doors, LaunchError, Launched, Tokens};
use crate::panes::{self, Conversation, DASHBOARD, MARK, Making, SUPERVISOR};

/// The sessions that tmux has: their names and what they say they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Living(Vec<(String, String)>);

impl Living {
    pub fn load(doors: Doors<'_>) -> Result<Self, LaunchError> {
        Ok(Self(doors.tmux.sessions(panes::SESSION_MARK)?))
    }

    pub fn has_name(&self, name: &SessionName) -> bool {
        self.0.iter().any(|(living, _)| living == name.as_str())
    }

    /// Whether this very session lives. One of another version does not say what it is; its name has to do.
    pub fn has(&self, receipt: &Receipt) -> bool {
        self.is_marked(receipt) || (receipt.format == 0 && self.has_name(&receipt.session_name))
    }

    /// Whether this very session lives, and says so itself.
    pub fn is_marked(&self, receipt: &Receipt) -> bool {
        let this = |(name, mark): &(String, String)| {
            name == receipt.session_name.as_str() && *mark == receipt.session_id()
        };
        self.0.iter().any(this)
    }

    pub fn names(&self) -> Vec<SessionName> {
        self.0.iter().filter_map(|(name, _)| SessionName::new(name.as_str()).ok()).collect()
    }

    /// What a session that was found is good for.
    pub fn status(&self, receipt: &Receipt) -> SessionStatus {
        receipt.effective_status(|_| self.has(receipt))
    }
}

/// Starts what a pause has ended: the session's own process. Its agents never stopped.
pub fn resume(doors: Doors<'_>, receipt: &Receipt) -> Result<Receipt, LaunchError> {
    let mut batch = Batch::default();
    if receipt.has_broker() {
        let token = |_: &_| None;
        let making =
            Making { program: doors.program, token: &token, conversation: Conversation::New, fresh: &[] };
        let dashboard = making.dashboard(receipt);
        let marked = doors.tmux.panes_with(&receipt.session_name, MARK)?;
        let find = |mark: &str| marked.iter().find(|(_, found)| found == mark).map(|(id, _)| id.clone());
        let id = match find(DASHBOARD) {
            Some(id) => {
                // A shell that somebody has typed half a line into would not understand ours.
                batch.push(TmuxCommand::new("respawn-pane").args(["-k", "-t", &id]));
                id
            }
            None => split_dashboard(doors, receipt, find(SUPERVISOR))?,
        };
        batch.push(panes::mark(&id, &dashboard.mark));
        batch.push(panes::title(&id, &dashboard.title));
        panes::type_and_log(&id, &dashboard, &mut |command| batch.push(command));
    }
    let active = |receipt: &mut Receipt| {
        receipt.status = SessionStatus::Active;
        receipt.clone()
    };
    let updated = doors.receipts.update(&receipt.session_name, &doors.receipts.lock()?, active)?;
    let receipt = updated.unwrap_or_else(|| receipt.clone());
    batch_with_delivery(doors, &receipt, &mut batch);
    if !batch.commands().is_empty() {
        doors.tmux.run_batch(&batch)?;
    }
    Ok(receipt)
}

fn batch_with_delivery(doors: Doors<'_>, receipt: &Receipt, batch: &mut Batch) {
    if let Some(deliver) = delivery::in_background(receipt, doors.receipts, doors.program) {
        batch.push(deliver);
    }
}

/// A place for the dashboard where there is none any more: beside the supervisor, or above everybody.
fn split_dashboard(
    doors: Doors<'_>,
    receipt: &Receipt,
    supervisor: Option<String>,
) -> Result<String, LaunchError> {
    let split = TmuxCommand::new("split-window").args(["-d", "-P", "-F", "#{pane_id}"]);
    let split = match supervisor {
        Some(supervisor) => split.args(["-h", "-l", "50%", "-t", &supervisor]),
        None => split.args(["-v", "-b", "-f", "-l", "40%", "-t", &session_target(&receipt.session_name)]),
    };
    Ok(doors.tmux.run(&split)?.trim().to_owned())
}

/// What a recovery needs to know besides the receipt.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    pub repo: &'a Repo,
    /// How brokers are run here; where this one listened, its receipt says.
    pub broker: &'a BrokerConfig,
    pub placement: WorktreePlacement,
    pub guard: bool,
    pub briefs: Briefs<'a>,
    pub living: &'a Living,
    pub now: Timestamp,
}

/// Builds a session again: missing worktrees, hooks, identities, panes with everything they had. Every CLI that can
/// goes on with its own conversation.
pub fn recover(
    doors: Doors<'_>,
    receipt: &Receipt,
    around: Circumstances<'_>,
) -> Result<Launched, LaunchError> {
    let mut undo = Undo::new(doors, around.repo);
    let built = rebuild(doors, receipt.clone(), around, &mut undo);
    if built.is_err() {
        undo.roll_back();
    }
    built
}

fn rebuild(
    doors: Doors<'_>,
    mut receipt: Receipt,
    around: Circumstances<'_>,
    undo: &mut Undo<'_>,
) -> Result<Launched, LaunchError> {
    let mut before = receipt.clone();
    if around.living.has(&receipt) {
        // What a stop has left half done.
        doors.tmux.kill_session(&receipt.session_name)?;
    }
    let broker = match (receipt.broker_port, &receipt.broker_bind) {
        (Some(port), bind) => {
            let bind = bind.clone().unwrap_or_else(|| around.broker.bind.clone());
            Some(Broker::reserve(around.repo, &BrokerConfig { port, bind, ..around.broker.clone() })?)
        }
        (None, _) => None,
    };
    let mut notes = find_worktrees(doors, &mut receipt, around, undo)?;
    for (agent, id) in receipt.agent_ids().into_iter().enumerate() {
        receipt.worktrees[agent].agent_id = Some(id);
    }
    let fresh = conversations::take_up(&around.repo.common_dir, &mut receipt);
    // A recovery that is taken back keeps what the notes have told; they are forgotten soon.
    for agent in &receipt.worktrees {
        if let Some(same) = before.worktrees.iter_mut().find(|same| same.branch == agent.branch) {
            same.conversation.clone_from(&agent.conversation);
        }
    }
    if let (Some(now), Some(same)) = (&receipt.supervisor, &mut before.supervisor) {
        same.conversation.clone_from(&now.conversation);
    }
    receipt.session_name = free_name(doors, &before, around.living)?;
    if receipt.session_name != before.session_name {
        receipt.original_id = Some(before.session_id());
    }
    receipt.format = FORMAT;
    receipt.status = SessionStatus::Active;
    receipt.broker_port = broker.as_ref().map(Broker::port);
    // A conversation that goes on knows what it was told.
    let is_new = |id: &AgentId, cli: &str| fresh.contains(id) || !can_resume(cli::descriptor(cli));
    notes.extend(launch::brief(&around.briefs, &mut receipt, is_new)?);
    undo.add(Step::ReceiptBefore { before: Box::new(before.clone()), now: receipt.session_name.clone() });
    doors.receipts.replace(&before.session_name, &receipt, &doors.receipts.lock()?)?;
    let tokens = match &broker {
        Some(broker) => {
            launch::install_hooks(doors, &receipt, around.guard, undo)?;
            notes.extend(cli_hooks::install_all(around.repo, &receipt, doors.program));
            broker.mint(&receipt, around.now)?
        }
        None => Tokens::default(),
    };
    drop(broker);
    notes.extend(launch::open(doors, &receipt, &tokens, (Conversation::Resumed, &fresh), undo)?);
    Ok(Launched { receipt, notes })
}

/// The session's own name, unless somebody else has a session of that name by now.
fn free_name(doors: Doors<'_>, before: &Receipt, living: &Living) -> Result<SessionName, LaunchError> {
    let receipts = doors.receipts.all()?;
    let ours = living.has(before);
    Ok(before.session_name.clone().first_free(|name| {
        if *name == before.session_name {
            living.has_name(name) && !ours
        } else {
            living.has_name(name) || receipts.has_name(name)
        }
    }))
}

/// Worktrees that are still there are used as they are; the others are made again.
fn find_worktrees(
    doors: Doors<'_>,
    receipt: &mut Receipt,
    around: Circumstances<'_>,
    undo: &mut Undo<'_>,
) -> Result<Vec<String>, LaunchError> {
    let listed = around.repo.git().worktrees().map_err(paw_core::PawError::from)?;
    let is_there = |agent: &AgentReceipt| {
        let path = agent.worktree_path.canonicalize().unwrap_or_else(|_| agent.worktree_path.clone());
        path.is_dir() && listed.iter().any(|one| one.path == path && one.prunable.is_none())
    };
    let mut missing: Vec<_> = receipt.worktrees.iter_mut().filter(|agent| !is_there(agent)).collect();
    let wanted: Vec<_> = missing
        .iter()
        .map(|agent| SessionWorktree {
            placement: around.placement,
            ..SessionWorktree::new(agent.branch.clone())
        })
        .collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let answers = doors.worktrees.create_worktrees(&around.repo.root, &wanted)?;
    let (mut notes, mut refused) = (Vec::new(), Vec::new());
    for (agent, answer) in missing.iter_mut().zip(answers) {
        match answer {
            Ok(made) => {
                if !made.resumed {
                    notes.push(format!("the worktree of {} was gone and was made again", agent.branch));
                }
                agent.worktree_path.clone_from(&made.path);
                agent.branch_created |= made.branch_created;
                notes.extend(made.notes.iter().cloned());
                undo.add(Step::Worktree(made));
            }
            Err(error) => refused.push((agent.branch.clone(), error)),
        }
    }
    if refused.is_empty() { Ok(notes) } else { Err(LaunchError::Worktrees(refused)) }
}
