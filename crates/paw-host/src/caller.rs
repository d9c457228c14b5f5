//! Who runs this command: the user, or an agent. Decided here and nowhere else.
//!
//! A process that belongs to an agent's pane is that agent, whatever its own environment says. So is a process without a
//! terminal inside an agent's worktree. A process that gates, setup or tests have started acts for whoever wrote them, so it
//! is an agent without a name. Every other process is the user. Variables can only make a caller an agent, never the user.

use std::fmt;
use std::fs;
use std::path::Path;

use paw_core::paths::AGENT_FILE;
use paw_core::{AgentId, Diagnostic, ErrorCode, ErrorReport};

use crate::git::find_linked_admin_dir;
use crate::process::lineage::{Lineage, start_variable, working_directory};
use crate::tmux::{ServerPane, TmuxError, panes_of_server};

/// The id of the pane's agent, in the pane's environment.
pub const AGENT_VARIABLE: &str = "GIT_PAW_AGENT_ID";
/// The token of the pane's agent, in the pane's environment.
pub const TOKEN_VARIABLE: &str = "GIT_PAW_BROKER_TOKEN";
/// Set for gates, setup and tests. The process above them keeps it, even if they clear their environment.
pub const RUN_VARIABLE: &str = "GIT_PAW_RUN";
/// The pane option with the owner of the pane: an agent's id, or [`DASHBOARD`].
pub const PANE_OWNER: &str = "@paw_agent";
/// The owner of the dashboard's pane, which belongs to the user.
pub const DASHBOARD: &str = "dashboard";

/// Who runs this command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandCaller {
    User,
    Agent(CallingAgent),
}

/// An agent that runs this command. `Debug` does not show its token.
#[derive(Clone, PartialEq, Eq)]
pub struct CallingAgent {
    /// `None` if the id is not one that an agent can have.
    pub id: Option<AgentId>,
    /// From the environment of this process, else of the processes of its pane.
    pub token: Option<String>,
}

impl fmt::Debug for CallingAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallingAgent").field("id", &self.id).finish_non_exhaustive()
    }
}

/// It cannot be decided who runs this command.
#[derive(Debug, thiserror::Error)]
pub enum CallerError {
    #[error("cannot determine which pane this command runs in: {0}")]
    Tmux(#[from] TmuxError),
    #[error("cannot determine the caller: its terminal is in another process namespace")]
    CutOff,
}

impl Diagnostic for CallerError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::Tmux(_) => {
                report.hint("if the socket of tmux was deleted, 'pkill -USR1 tmux' creates it again")
            }
            Self::CutOff => report,
        }
    }
}

impl CommandCaller {
    /// Identifies the caller of this process. `worktree_agent` finds the agent that works in a directory, in addition to the
    /// mark that its worktree has.
    pub fn identify(worktree_agent: impl Fn(&Path) -> Option<AgentId>) -> Result<Self, CallerError> {
        let lineage = Lineage::load();
        let set = |value: &String| !value.trim().is_empty();
        let variable = |name| lineage.processes.iter().rev().find_map(|one| start_variable(one.pid, name));
        let token = || std::env::var(TOKEN_VARIABLE).ok().filter(set).or_else(|| variable(TOKEN_VARIABLE));
        let agent = |id: Option<AgentId>| Ok(Self::Agent(CallingAgent { id, token: token() }));
        // Of several, the process that is closest to the pane counts. An empty id is an agent's, too.
        if let Some(id) = variable(AGENT_VARIABLE) {
            return agent(agent_id(&id));
        }
        for server in &lineage.tmux_servers {
            if let Some(owner) = find_owner(&lineage, &panes_of_server(*server, PANE_OWNER)?) {
                return agent(agent_id(&owner));
            }
        }
        if variable(RUN_VARIABLE).is_some() {
            return Ok(Self::Agent(CallingAgent { id: None, token: None }));
        }
        if lineage.is_cut_off {
            return Err(CallerError::CutOff);
        }
        let mut directories = lineage.without_terminal().into_iter().filter_map(working_directory);
        match directories.find_map(|dir| find_mark(&dir).or_else(|| worktree_agent(&dir))) {
            Some(id) => agent(Some(id)),
            None => Ok(Self::User),
        }
    }

    pub fn is_user(&self) -> bool {
        *self == Self::User
    }
}

/// The operator is never an agent.
fn agent_id(text: &str) -> Option<AgentId> {
    AgentId::new(text).ok().filter(|id| id.as_str() != AgentId::OPERATOR)
}

/// The owner of the pane that a process belongs to, unless it is the user's.
fn find_owner(lineage: &Lineage, panes: &[ServerPane]) -> Option<String> {
    let is_ours = |pane: &&ServerPane| {
        let on_it = |terminal: &String| *terminal == pane.terminal;
        lineage.has(pane.pid) || lineage.processes.iter().any(|one| one.terminal.as_ref().is_some_and(on_it))
    };
    let owned = |pane: &&ServerPane| !pane.option.is_empty() && pane.option != DASHBOARD;
    panes.iter().filter(owned).find(is_ours).map(|pane| pane.option.clone())
}

/// The agent that the worktree of `dir` is marked with.
fn find_mark(dir: &Path) -> Option<AgentId> {
    let admin = dir.ancestors().find_map(find_linked_admin_dir)?;
    agent_id(fs::read_to_string(admin.join(AGENT_FILE)).ok()?.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::lineage::LineageProcess;

    fn lineage() -> Lineage {
        let process = |pid, parent, terminal: Option<&str>| LineageProcess {
            pid,
            parent,
            terminal: terminal.map(str::to_owned),
        };
        let processes =
            vec![process(9, 8, None), process(8, 7, Some("/dev/pts/9")), process(7, 2, Some("/dev/pts/1"))];
        Lineage { processes, tmux_servers: vec![2], is_cut_off: false }
    }

    fn pane(pid: u32, terminal: &str, owner: &str) -> ServerPane {
        ServerPane { pid, terminal: terminal.to_owned(), option: owner.to_owned() }
    }

    #[test]
    fn a_pane_is_found_by_its_process_or_by_its_terminal() {
        assert_eq!(find_owner(&lineage(), &[pane(7, "", "feat-a")]).as_deref(), Some("feat-a"));
        assert_eq!(find_owner(&lineage(), &[pane(5, "/dev/pts/1", "feat-a")]).as_deref(), Some("feat-a"));
        assert_eq!(find_owner(&lineage(), &[pane(5, "/dev/pts/2", "feat-a")]), None);
    }

    #[test]
    fn panes_of_the_dashboard_and_of_the_user_have_no_agent() {
        let panes =
            [pane(7, "/dev/pts/1", ""), pane(7, "/dev/pts/1", DASHBOARD), pane(4, "/dev/pts/2", "feat-a")];
        assert_eq!(find_owner(&lineage(), &panes), None);
    }

    #[test]
    fn no_agent_is_the_operator() {
        assert_eq!(agent_id("operator"), None);
        assert_eq!(agent_id(""), None);
        assert_eq!(agent_id("feat-a").unwrap().as_str(), "feat-a");
    }

    #[test]
    fn debug_does_not_reveal_the_token() {
        let agent = CallingAgent { id: agent_id("a"), token: Some("paw_secret".to_owned()) };
        assert!(!format!("{:?}", CommandCaller::Agent(agent)).contains("secret"));
    }
}
