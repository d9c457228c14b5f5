//! Restores agents of a running session whose panes are gone: closed, killed, or never opened because `add` was killed.

use paw_agent::cli;
use paw_agent::resume::can_resume;
use paw_broker::hooks::{self, HookSetup};
use paw_core::{AgentId, PawError, Receipt, SessionMode};
use paw_host::tmux::TmuxCommand;

use super::{LifecycleError, Session};
use crate::cli_hooks;
use crate::conversations;
use crate::launch::rollback::Rollback;
use crate::launch::{self, LaunchServices, LaunchedSession, unfinished};
use crate::panes::ConversationMode;
use crate::recover::{self, RecoveryContext};

impl Session {
    /// The agents, and the supervisor, that have no pane or one whose program has ended.
    pub fn find_agents_without_pane(&self) -> Result<Vec<AgentId>, LifecycleError> {
        let Some(window) = self.find_window()? else { return Ok(Vec::new()) };
        let has_pane = |id: &AgentId| window.find_pane(id.as_str()).is_some_and(|pane| !pane.dead);
        let is_supervised = self.receipt.mode == SessionMode::Supervisor && self.receipt.supervisor.is_some();
        let supervisor = is_supervised.then(AgentId::supervisor);
        Ok(supervisor.into_iter().chain(self.receipt.agent_ids()).filter(|id| !has_pane(id)).collect())
    }

    /// Opens their panes again. Worktrees that are missing are created, and every CLI that can resumes its conversation.
    pub fn restore_agents(
        &self,
        services: LaunchServices<'_>,
        missing: &[AgentId],
        context: RecoveryContext<'_>,
    ) -> Result<LaunchedSession, LifecycleError> {
        let mut rollback = Rollback::new(services, context.repo);
        let restored = self.build_agents(services, missing, context, &mut rollback);
        if restored.is_err() {
            rollback.run();
        }
        restored
    }

    fn build_agents(
        &self,
        services: LaunchServices<'_>,
        missing: &[AgentId],
        context: RecoveryContext<'_>,
        rollback: &mut Rollback<'_>,
    ) -> Result<LaunchedSession, LifecycleError> {
        let mut receipt = self.receipt.clone();
        unfinished::record_created_branches(services.worktrees, &mut receipt)?;
        let mut notes = recover::restore_worktrees(services, &mut receipt, context, rollback)?;
        let fresh = conversations::record(&context.repo.common_dir, &mut receipt);
        let is_new = |id: &AgentId, name: &str| {
            missing.contains(id) && (fresh.contains(id) || !can_resume(cli::descriptor(name)))
        };
        notes.extend(launch::install_briefings(&context.briefings, &mut receipt, is_new)?);
        receipt.worktrees.iter_mut().for_each(|agent| agent.unfinished = false);
        self.change(|stored| {
            stored.worktrees.clone_from(&receipt.worktrees);
            stored.supervisor.clone_from(&receipt.supervisor);
        })?;
        for id in missing {
            notes.extend(self.restore_agent(services, &receipt, id, (&fresh, context.guard))?);
        }
        self.rearrange_panes();
        Ok(LaunchedSession { receipt, notes })
    }

    fn restore_agent(
        &self,
        services: LaunchServices<'_>,
        receipt: &Receipt,
        id: &AgentId,
        (fresh, guard): (&[AgentId], bool),
    ) -> Result<Vec<String>, LifecycleError> {
        let mut agents = receipt.worktrees.iter().zip(receipt.agent_ids());
        let agent = agents.find(|(_, of)| of == id).map(|(agent, _)| agent);
        let mut notes = Vec::new();
        // The supervisor has no hooks.
        if let Some(agent) = agent.filter(|_| receipt.has_broker()) {
            hooks::install(&HookSetup {
                worktree: agent.worktree_path.clone(),
                agent: id.clone(),
                guard: guard.then(|| agent.branch.clone()),
                program: services.program.to_path_buf(),
            })?;
            notes.extend(cli_hooks::install(&self.repo, agent, id, services.program));
        }
        // Each new pane changes the window.
        let window = self.find_window()?;
        let window = window.ok_or_else(|| PawError::TmuxError("the session has ended".to_owned()))?;
        notes.extend(self.open_pane(services, (receipt, &window), id, (ConversationMode::Resumed, fresh))?);
        if let Some(dead) = window.find_pane(id.as_str()) {
            self.tmux.run(&TmuxCommand::new("kill-pane").args(["-t", &dead.id]))?;
        }
        Ok(notes)
    }
}
