//! Adds an agent to a running session.

use paw_broker::SessionId;
use paw_broker::hooks::{self, HookSetup};
use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_core::config::LayoutMode;
use paw_core::paths::PawDir;
use paw_core::{AgentId, AgentReceipt, BranchName, PawError, Receipt, SessionStatus};
use paw_host::tmux::{Batch, TmuxCommand};
use paw_worktree::crash;

use super::window::TmuxWindow;
use super::{LifecycleError, Session};
use crate::cli_hooks;
use crate::launch::rollback::{Rollback, RollbackStep};
use crate::launch::{
    self, BriefingContext, LaunchOptions, LaunchProgress, LaunchServices, setup, unfinished,
};
use crate::layout::{Layout, TopRow};
use crate::logs;
use crate::panes::{self, ConversationMode, PaneBuilder};
use crate::plan::SessionPlan;
use crate::specs;

/// An agent that was added to a session.
#[derive(Debug)]
pub struct AddedAgent {
    pub agent: AgentReceipt,
    pub id: AgentId,
    /// Notes to show to the user.
    pub notes: Vec<String>,
}

impl Session {
    /// Adds the plan's agent to this session: worktree, briefing, hooks, identity and pane. If a step fails, undoes the
    /// steps before it. The boot prompt is delivered when the CLI is ready; in a paused session, after the pause.
    pub fn add_agent(
        &self,
        services: LaunchServices<'_>,
        plan: &SessionPlan,
        options: LaunchOptions<'_>,
        on_progress: &(dyn Fn(LaunchProgress) + Sync),
    ) -> Result<AddedAgent, LifecycleError> {
        let (status, window) = self.state()?;
        let Some(window) = window.filter(|_| status != SessionStatus::Stopped) else {
            return Err(LifecycleError::NotRunning { session: self.receipt.session_name.clone(), status });
        };
        let mut rollback = Rollback::new(services, &self.repo);
        let added = self.build_agent(services, plan, options, on_progress, &window, &mut rollback);
        if added.is_err() {
            rollback.run();
        }
        added
    }

    /// Checks whether an agent on this branch can be added, before anything is created.
    pub fn require_room_for(&self, branch: &BranchName) -> Result<(), LifecycleError> {
        let is_remote = self.receipt.remote_agents().iter().any(|agent| agent.branch == *branch);
        if is_remote || self.receipt.find_agent(branch).is_some() {
            return Err(LifecycleError::AgentExists(branch.clone()));
        }
        let top = TopRow::of(self.receipt.mode, self.receipt.has_broker());
        let room = Layout::new(self.receipt.layout, top, self.receipt.worktrees.len() + 1);
        room.map(drop).map_err(|error| LifecycleError::Launch(error.into()))
    }

    fn build_agent(
        &self,
        services: LaunchServices<'_>,
        plan: &SessionPlan,
        options: LaunchOptions<'_>,
        on_progress: &(dyn Fn(LaunchProgress) + Sync),
        window: &TmuxWindow,
        rollback: &mut Rollback<'_>,
    ) -> Result<AddedAgent, LifecycleError> {
        let (mut receipt, id) = self.with_agent(plan, options)?;
        let now = receipt.session_name.clone();
        rollback.add(RollbackStep::ReceiptBefore { before: Box::new(self.receipt.clone()), now });
        self.change(|stored| stored.worktrees.extend(receipt.worktrees.last().cloned()))?;
        crash::point("add:recorded");
        let made = launch::make_worktrees(services, plan, on_progress, rollback)?;
        crash::point("add:worktree-made");
        let mut notes: Vec<String> = made.iter().flat_map(|one| one.notes.iter().cloned()).collect();
        notes.extend(setup::prepare(services.worktrees, plan, &made, options.preparation, on_progress));
        if let (Some(agent), Some(made)) = (receipt.worktrees.last_mut(), made.first()) {
            unfinished::finish(agent, made);
        }
        notes.extend(self.brief_new_agent(plan, options, &mut receipt)?);
        let Some(agent) = receipt.worktrees.last().cloned() else {
            return Err(PawError::SessionError("the plan has no agent".to_owned()).into());
        };
        if receipt.has_broker() {
            rollback.add(RollbackStep::Hooks(vec![agent.worktree_path.clone()]));
            hooks::install(&HookSetup {
                worktree: agent.worktree_path.clone(),
                agent: id.clone(),
                guard: plan.guard.then(|| agent.branch.clone()),
                program: services.program.to_path_buf(),
            })?;
            notes.extend(cli_hooks::install(&self.repo, &agent, &id, services.program));
        }
        self.change(|stored| {
            stored.worktrees.retain(|other| other.branch != agent.branch);
            stored.worktrees.push(agent.clone());
        })?;
        let new = (ConversationMode::New, [].as_slice());
        notes.extend(self.open_pane(services, (&receipt, window), &id, new)?);
        self.rearrange_panes();
        Ok(AddedAgent { agent, id, notes })
    }

    /// The receipt with the new agent, which has no worktree yet, and the agent's unique id.
    fn with_agent(
        &self,
        plan: &SessionPlan,
        options: LaunchOptions<'_>,
    ) -> Result<(Receipt, AgentId), LifecycleError> {
        let mut receipt = self.receipt.clone();
        let mut taken = receipt.agent_ids();
        taken.extend(receipt.remote_agents().iter().map(|agent| agent.agent_id.clone()));
        let Some(mut agent) = plan.receipt(options.now).worktrees.pop() else {
            return Err(PawError::SessionError("the plan has no agent".to_owned()).into());
        };
        let id = AgentId::for_branch(&agent.branch, |id| taken.contains(id));
        agent.agent_id = Some(id.clone());
        agent.unfinished = true;
        receipt.worktrees.push(agent);
        Ok((receipt, id))
    }

    /// Updates every agent's briefing, but sends a boot prompt only to the new agent.
    fn brief_new_agent(
        &self,
        plan: &SessionPlan,
        options: LaunchOptions<'_>,
        receipt: &mut Receipt,
    ) -> Result<Vec<String>, LifecycleError> {
        let others = specs::find_assigned(&self.receipt, &self.repo.root, options.config);
        let spec = |branch: &BranchName| {
            let new = plan.agents.iter().find(|agent| agent.branch == *branch);
            let other = || others.iter().find(|spec| spec.branch == *branch).cloned();
            new.map_or_else(other, |agent| agent.spec.clone())
        };
        let briefings = BriefingContext {
            repo: &self.repo,
            config: options.config,
            config_dir: options.config_dir,
            spec: &spec,
        };
        let mut briefed = briefings.install(receipt)?;
        if let Some(agent) = receipt.worktrees.last_mut() {
            agent.boot_prompt = briefed.agents.pop().flatten();
            agent.queue_boot_prompt();
        }
        Ok(briefed.warnings)
    }

    /// Creates an agent's pane after the last one, or the supervisor's before the first one. Returns warnings.
    pub(super) fn open_pane(
        &self,
        services: LaunchServices<'_>,
        (receipt, window): (&Receipt, &TmuxWindow),
        id: &AgentId,
        (conversation, fresh): (ConversationMode, &[AgentId]),
    ) -> Result<Vec<String>, LifecycleError> {
        let is_first = id.as_str() == AgentId::SUPERVISOR;
        let mut marked = window.panes.iter().filter(|pane| pane.mark.is_some());
        let neighbor = if is_first { marked.next() } else { marked.next_back() };
        let neighbor = neighbor.ok_or_else(|| PawError::TmuxError("the session has no panes".to_owned()))?;
        let token = if receipt.has_broker() { Some(self.mint(id)?) } else { None };
        let token = |_: &AgentId| token.clone();
        let builder = PaneBuilder { program: services.program, token: &token, conversation, fresh };
        let pane = builder.find(receipt, id);
        let mut pane = pane.ok_or_else(|| PawError::SessionError(format!("{id} is not in the session")))?;
        let notes = logs::prepare_paths(receipt, [&mut pane.log])?;
        let mut batch = Batch::default();
        let mut push = |command| batch.push(command);
        let target = match receipt.layout {
            LayoutMode::Windows if !is_first => {
                let target = window.next_window();
                panes::new_window(&target, &pane, receipt.borders, &mut push);
                target
            }
            LayoutMode::Grid | LayoutMode::Windows => {
                // The neighbor may be too small to split. The layout is restored afterwards.
                push(TmuxCommand::new("select-layout").args(["-t", &neighbor.id, "tiled"]));
                let split = panes::split(&neighbor.id, &pane);
                push(if is_first { split.args(["-b"]) } else { split });
                if is_first { neighbor.target() } else { neighbor.next_target() }
            }
        };
        push(panes::mark(&target, &pane.mark));
        panes::title(&target, &pane.title, &mut push);
        panes::type_and_log(&target, &pane, &mut push);
        self.tmux.run_batch(&batch)?;
        Ok(notes)
    }

    /// Creates the new agent's token. The other agents' tokens stay valid.
    fn mint(&self, agent: &AgentId) -> Result<String, LifecycleError> {
        let dir = PawDir::of(&self.repo.common_dir);
        let log = log::open(&dir.log())?;
        let session = SessionId::new(&self.receipt.session_id());
        let token = Keyring::new(&log, dir.path()).mint(&session, agent)?;
        Ok(token.reveal().to_owned())
    }
}
