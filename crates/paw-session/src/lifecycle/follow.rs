//! Windows of a session that show its agents on other machines.

use std::path::Path;

use paw_core::receipt::RemoteAgentReceipt;
use paw_host::process::shell_quote;
use paw_host::tmux::TmuxCommand;

use super::{LifecycleError, Session};

/// The window option with the id of the agent that a window follows.
const FOLLOWS: &str = "@paw_follows";

/// The hidden command that shows the pane of an agent on another machine, and connects again.
pub const FOLLOW_COMMAND: &str = "__follow";

impl Session {
    /// Opens a window for every agent on another machine that has none. Each ends with its agent.
    pub fn follow_remote_agents(&self, program: &Path) -> Result<(), LifecycleError> {
        let agents = self.receipt.remote_agents().iter().filter(|agent| !agent.unfinished);
        let mut agents = agents.peekable();
        let Some(window) = self.find_window()?.filter(|_| agents.peek().is_some()) else { return Ok(()) };
        let format = format!("#{{{FOLLOWS}}}");
        let list = TmuxCommand::new("list-windows").args(["-t", &window.session, "-F", &format]);
        let followed = self.tmux.run(&list)?;
        let is_followed =
            |agent: &&RemoteAgentReceipt| followed.lines().any(|id| id == agent.agent_id.as_str());
        for agent in agents.filter(|agent| !is_followed(agent)) {
            let (program, dir) = (shell_quote(program.as_os_str()), self.repo.root.display().to_string());
            let command = format!("exec {program} {FOLLOW_COMMAND} {}", agent.agent_id);
            let name = format!("{}@{}", agent.branch, agent.host);
            let place = ["-d", "-P", "-F", "#{window_id}", "-t", &window.session, "-n", &name, "-c", &dir];
            let opened = self.tmux.run(&TmuxCommand::new("new-window").args(place).args([&command]))?;
            let mark = ["-w", "-t", opened.trim(), FOLLOWS, agent.agent_id.as_str()];
            self.tmux.run(&TmuxCommand::new("set-option").args(mark))?;
        }
        Ok(())
    }
}
