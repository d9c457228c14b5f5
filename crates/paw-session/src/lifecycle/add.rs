//! One agent more, while the others go on.

use paw_broker::SessionId;
use paw_broker::hooks::{self, HookSetup};
use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_core::paths::PawDir;
use paw_core::{AgentId, AgentReceipt, BranchName, PawError, Receipt, SessionStatus};
use paw_host::tmux::{Batch, TmuxCommand};
use paw_worktree::WorktreeCreation;

use super::window::Seen;
use super::{LifecycleError, Session};
use crate::cli_hooks;
use crate::delivery;
use crate::launch::undo::{Step, Undo};
use crate::launch::{self, Briefs, Doors, Progress, Wishes, setup};
use crate::layout::{Layout, Top};
use crate::logs;
use crate::panes::{self, Conversation, Making};
use crate::plan::Plan;
use crate::specs;

/// An agent that has joined a session.
#[derive(Debug)]
pub struct Added {
    pub agent: AgentReceipt,
    pub id: AgentId,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Session {
    /// Makes the one agent of a plan a part of this session: worktree, briefing, hooks, identity, pane; all of it or
    /// nothing. What it is to do is handed over as soon as its CLI listens; in a paused session, after the pause.
    pub fn add_agent(
        &self,
        doors: Doors<'_>,
        plan: &Plan,
        wishes: Wishes<'_>,
        on_progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Added, LifecycleError> {
        let (status, seen) = self.state()?;
        let Some(seen) = seen.filter(|_| status != SessionStatus::Stopped) else {
            return Err(LifecycleError::NotRunning { session: self.receipt.session_name.clone(), status });
        };
        let mut undo = Undo::new(doors, &self.repo);
        let added = self.join(doors, plan, wishes, on_progress, &seen, &mut undo);
        if added.is_err() {
            undo.roll_back();
        }
        added
    }

    /// What can be told to be wrong before anything is made.
    pub fn require_room_for(&self, branch: &BranchName) -> Result<(), LifecycleError> {
        if self.receipt.find_agent(branch).is_some() {
            return Err(LifecycleError::AlreadyThere(branch.clone()));
        }
        let top = Top::of(self.receipt.mode, self.receipt.has_broker());
        let room = Layout::new(top, self.receipt.worktrees.len() + 1);
        room.map(drop).map_err(|error| LifecycleError::Launch(error.into()))
    }

    fn join(
        &self,
        doors: Doors<'_>,
        plan: &Plan,
        wishes: Wishes<'_>,
        on_progress: &(dyn Fn(Progress) + Sync),
        seen: &Seen,
        undo: &mut Undo<'_>,
    ) -> Result<Added, LifecycleError> {
        let made = launch::make_worktrees(doors, plan, on_progress, undo)?;
        let mut notes: Vec<String> = made.iter().flat_map(|one| one.notes.iter().cloned()).collect();
        notes.extend(setup::prepare(doors.worktrees, plan, &made, wishes.preparation, on_progress));
        let (mut receipt, id) = self.with_agent(plan, &made, wishes)?;
        notes.extend(self.brief_newcomer(plan, wishes, &mut receipt)?);
        let Some(agent) = receipt.worktrees.last().cloned() else {
            return Err(PawError::SessionError("the plan has no agent".to_owned()).into());
        };
        if receipt.has_broker() {
            undo.add(Step::Hooks(vec![agent.worktree_path.clone()]));
            hooks::install(&HookSetup {
                worktree: agent.worktree_path.clone(),
                agent: id.clone(),
                guard: plan.guard.then(|| agent.branch.clone()),
                program: doors.program.to_path_buf(),
            })?;
            notes.extend(cli_hooks::install(&self.repo, &agent, &id, doors.program));
        }
        let now = receipt.session_name.clone();
        undo.add(Step::ReceiptBefore { before: Box::new(self.receipt.clone()), now });
        self.change(|receipt| receipt.worktrees.push(agent.clone()))?;
        notes.extend(self.open_pane(doors, &receipt, &agent, &id, seen)?);
        self.arrange();
        Ok(Added { agent, id, notes })
    }

    /// The receipt with the new agent in it, and the agent's id, which nobody else has.
    fn with_agent(
        &self,
        plan: &Plan,
        made: &[WorktreeCreation],
        wishes: Wishes<'_>,
    ) -> Result<(Receipt, AgentId), LifecycleError> {
        let mut receipt = self.receipt.clone();
        let taken = receipt.agent_ids();
        let (Some(mut agent), Some(made)) = (plan.receipt(wishes.now).worktrees.pop(), made.first()) else {
            return Err(PawError::SessionError("the plan has no agent".to_owned()).into());
        };
        let id = AgentId::for_branch(&agent.branch, |id| taken.contains(id));
        agent.agent_id = Some(id.clone());
        agent.worktree_path.clone_from(&made.path);
        agent.branch_created = made.branch_created;
        receipt.worktrees.push(agent);
        Ok((receipt, id))
    }

    /// Everybody learns of the new one; only the new one is spoken to.
    fn brief_newcomer(
        &self,
        plan: &Plan,
        wishes: Wishes<'_>,
        receipt: &mut Receipt,
    ) -> Result<Vec<String>, LifecycleError> {
        let others = specs::find_assigned(&self.receipt, &self.repo.root, wishes.config);
        let spec = |branch: &BranchName| {
            let new = plan.agents.iter().find(|agent| agent.branch == *branch);
            let other = || others.iter().find(|spec| spec.branch == *branch).cloned();
            new.map_or_else(other, |agent| agent.spec.clone())
        };
        let briefs =
            Briefs { repo: &self.repo, config: wishes.config, config_dir: wishes.config_dir, spec: &spec };
        let mut briefed = briefs.install(receipt)?;
        if let Some(agent) = receipt.worktrees.last_mut() {
            agent.boot_prompt = briefed.agents.pop().flatten();
            agent.pending_boot_prompt.clone_from(&agent.boot_prompt);
        }
        Ok(briefed.warnings)
    }

    /// Makes the pane behind the last one, which is where the last agent belongs. Returns what was odd.
    fn open_pane(
        &self,
        doors: Doors<'_>,
        receipt: &Receipt,
        agent: &AgentReceipt,
        id: &AgentId,
        seen: &Seen,
    ) -> Result<Vec<String>, LifecycleError> {
        let Some(last) = seen.panes.iter().rfind(|pane| pane.mark.is_some()) else {
            return Err(PawError::TmuxError("no pane of the session is left".to_owned()).into());
        };
        let token = if receipt.has_broker() { Some(self.mint(id)?) } else { None };
        let token = |_: &AgentId| token.clone();
        let making =
            Making { program: doors.program, token: &token, conversation: Conversation::New, fresh: &[] };
        let mut pane = making.agent(receipt, agent, id);
        let notes = logs::make_way(receipt, [&mut pane.log])?;
        let target = last.next_place();
        let mut batch = Batch::default();
        let mut push = |command| batch.push(command);
        // The last pane may be too small to be split; the rows are put in order afterwards.
        push(TmuxCommand::new("select-layout").args(["-t", &last.id, "tiled"]));
        push(panes::split(&last.id, &pane));
        push(panes::mark(&target, &pane.mark));
        push(panes::title(&target, &pane.title));
        panes::type_and_log(&target, &pane, &mut push);
        if self.receipt.status == SessionStatus::Active
            && let Some(deliver) = delivery::in_background(receipt, doors.receipts, doors.program)
        {
            push(deliver);
        }
        self.tmux.run_batch(&batch)?;
        Ok(notes)
    }

    /// A token for the new agent alone; those of the others stay good.
    fn mint(&self, agent: &AgentId) -> Result<String, LifecycleError> {
        let dir = PawDir::of(&self.repo.common_dir);
        let log = log::open(&dir.log())?;
        let session = SessionId::new(&self.receipt.session_id());
        let token = Keyring::new(&log, dir.path()).mint(&session, agent)?;
        Ok(token.reveal().to_owned())
    }
}
