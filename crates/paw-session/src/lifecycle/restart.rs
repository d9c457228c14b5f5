//! Starts an agent's CLI again after it has exited, in the shell that is left in its pane.

use std::path::Path;
use std::thread;
use std::time::Duration;

use paw_agent::cli;
use paw_agent::hooks::notes::HookNotes;
use paw_agent::resume::can_resume;
use paw_core::{AgentId, PawError};
use paw_host::clock::Stopwatch;
use paw_host::files::FileError;
use paw_host::locks::SessionLock;
use paw_host::tmux::{Batch, TmuxCommand};

use super::{LifecycleError, Session};
use crate::conversations;
use crate::panes::{ConversationMode, PaneBuilder};

/// How long a shell may take to start the CLI.
const START_LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Session {
    /// Types the agent's command into its shell. The CLI resumes its conversation; one that would forget its first prompt gets
    /// it again. Returns the agent's id.
    pub fn restart_agent(
        &self,
        program: &Path,
        name: &str,
        _lock: &SessionLock,
    ) -> Result<AgentId, LifecycleError> {
        let (agent, id) = self.require_agent(name)?;
        let pane = self.require_shell(&id)?;
        let mut receipt = self.receipt.clone();
        let fresh = conversations::record(&self.repo.common_dir, &mut receipt);
        let recorded = receipt.find_named(id.as_str()).map_err(PawError::from)?.0.conversation.clone();
        let forgets = fresh.contains(&id) || !can_resume(cli::descriptor(&agent.cli));
        self.change(|stored| {
            if let Some(stored) = stored.worktrees.iter_mut().find(|one| one.branch == agent.branch) {
                stored.conversation = recorded;
                if forgets {
                    stored.queue_boot_prompt();
                }
            }
        })?;
        // They would tell what the CLI did before it exited.
        HookNotes::of(&self.repo.common_dir).forget(&id).map_err(|source| FileError {
            action: "remove",
            path: self.repo.common_dir.clone(),
            source,
        })?;
        // The shell still has the agent's environment.
        let conversation = ConversationMode::Resumed;
        let builder = PaneBuilder { program, token: &|_| None, conversation, fresh: &fresh };
        let line = builder.find(&receipt, &id).map(|pane| pane.line()).unwrap_or_default();
        // What was typed into the shell and not sent is deleted.
        let keys = [vec!["C-u"], vec![line.as_str(), "Enter"]];
        let type_keys = |keys: Vec<&str>| TmuxCommand::new("send-keys").args(["-t", &pane]).args(keys);
        self.tmux.run_batch(&Batch::from_iter(keys.map(type_keys)))?;
        // A second restart must not type into the CLI that the first one starts.
        let watch = Stopwatch::start();
        while watch.elapsed() < START_LIMIT && self.require_shell(&id).is_ok() {
            thread::sleep(POLL_INTERVAL);
        }
        Ok(id)
    }

    /// The agent's pane, in which only a shell is running.
    fn require_shell(&self, id: &AgentId) -> Result<String, LifecycleError> {
        let window = self.find_window()?;
        let pane = window.as_ref().and_then(|window| window.find_pane(id.as_str()));
        match pane {
            Some(pane) if !pane.dead && pane.is_idle() => Ok(pane.id.clone()),
            Some(pane) if !pane.dead => Err(LifecycleError::StillRunning(id.clone())),
            _ => Err(LifecycleError::NoPane(id.clone())),
        }
    }
}
