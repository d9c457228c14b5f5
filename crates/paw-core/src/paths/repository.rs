//! Files of a repository, below git's common directory: shared by its worktrees, untouched by `git clean`.

use std::path::{Path, PathBuf};

use crate::{AgentId, HostName};

/// In the admin directory of a linked worktree: the agent that works there.
pub const AGENT_FILE: &str = "paw-agent";
/// Next to it: the only branch that the agent may commit to.
pub const BRANCH_FILE: &str = "paw-branch";

/// `<git-common-dir>/paw/` and its neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PawDir(PathBuf);

impl PawDir {
    pub fn of(common_dir: &Path) -> Self {
        Self(common_dir.join("paw"))
    }

    /// The directory itself.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The message log.
    pub fn log(&self) -> PathBuf {
        self.0.join("broker.db")
    }

    /// The address of the running broker.
    pub fn endpoint(&self) -> PathBuf {
        self.0.join("endpoint.json")
    }

    /// Held by the running broker.
    pub fn broker_lock(&self) -> PathBuf {
        self.0.join("broker.lock")
    }

    /// The log of the session's process.
    pub fn session_log(&self) -> PathBuf {
        self.0.join("session.log")
    }

    /// The checkout that the user switched away from.
    pub fn previous_checkout(&self) -> PathBuf {
        self.0.join("previous-checkout")
    }

    /// Exists if the user was told that agents could exchange messages.
    pub fn messages_mentioned(&self) -> PathBuf {
        self.0.join("messages-mentioned")
    }

    /// Where the page of the session is served.
    pub fn web_page(&self) -> PathBuf {
        self.0.join("web.json")
    }

    /// Leads a browser to the page, so that the link does not show in the list of processes.
    pub fn web_link(&self) -> PathBuf {
        self.0.join("web-link.html")
    }

    /// Browsers that are logged in to the page.
    pub fn web_logins(&self) -> PathBuf {
        self.0.join("web-logins.json")
    }

    /// Configuration and data of the NATS server that the session's process runs.
    pub fn nats(&self) -> PathBuf {
        self.0.join("nats")
    }

    pub fn nats_config(&self) -> PathBuf {
        self.nats().join("server.conf")
    }

    /// Port and passwords of the server.
    pub fn nats_access(&self) -> PathBuf {
        self.nats().join("access.json")
    }

    pub fn nats_log(&self) -> PathBuf {
        self.nats().join("server.log")
    }

    pub fn nats_store(&self) -> PathBuf {
        self.nats().join("store")
    }

    /// Where the running server says on which port it listens.
    pub fn nats_ports(&self, pid: u32) -> PathBuf {
        self.nats().join(format!("nats-server_{pid}.ports"))
    }

    /// The session of another machine that the next session here joins.
    pub fn cluster_invitation(&self) -> PathBuf {
        self.0.join("cluster.json")
    }

    /// How this machine reaches the NATS server, as long as the hub is connected.
    pub fn cluster_link(&self) -> PathBuf {
        self.0.join("cluster-link.json")
    }

    /// Whether the other machines of the session can be reached.
    pub fn hosts(&self) -> PathBuf {
        self.0.join("hosts.json")
    }

    /// The socket through which the open connection to another machine is shared.
    pub fn host_socket(&self, host: &HostName) -> PathBuf {
        self.0.join(format!("ssh-{host}"))
    }

    /// Held while agents are started on, moved to or removed from other machines.
    pub fn hosts_lock(&self) -> PathBuf {
        self.0.join("hosts.lock")
    }

    /// The snapshots that were fetched from another machine, with their times.
    pub fn snapshots(&self, host: &HostName) -> PathBuf {
        self.0.join(format!("snapshots-{host}.json"))
    }

    /// Which rescues of another machine were taken or refused.
    pub fn judged_rescues(&self, host: &HostName) -> PathBuf {
        self.0.join(format!("rescues-{host}.json"))
    }

    /// The user's token.
    pub fn operator_token(&self) -> PathBuf {
        self.0.join("operator-token")
    }

    /// Reports of the agents' hooks, one file per agent.
    pub fn agents(&self) -> PathBuf {
        self.0.join("agents")
    }

    pub fn agent_notes(&self, agent: &AgentId) -> PathBuf {
        self.agents().join(format!("{agent}.jsonl"))
    }

    /// Results of gates, one directory per commit.
    pub fn gates(&self) -> PathBuf {
        self.0.join("gates")
    }

    pub fn gate_result(&self, commit: &str) -> PathBuf {
        self.gates().join(commit).join(Self::GATE_RESULT)
    }

    pub const GATE_RESULT: &str = "result.json";

    /// The output of a gate.
    pub fn gate_log(&self, commit: &str, gate: &str) -> PathBuf {
        self.gates().join(commit).join(format!("{gate}.log"))
    }

    /// The governance documents as provided to gates.
    pub fn gate_governance(&self, commit: &str) -> PathBuf {
        self.gates().join(commit).join("governance.json")
    }

    /// What the supervisor or the user found in the audit of a commit.
    pub fn audit(&self, commit: &str) -> PathBuf {
        self.gates().join(commit).join("audit.json")
    }

    /// Signed records of gate runs, one file per commit.
    pub fn proofs(&self) -> PathBuf {
        self.0.join("proofs")
    }

    pub fn proof(&self, commit: &str) -> PathBuf {
        self.proofs().join(format!("{commit}.json"))
    }

    /// A run of some gates on a commit of the main branch, with which failures of other branches are compared.
    pub fn proof_of_baseline(&self, commit: &str) -> PathBuf {
        self.proofs().join(format!("{commit}.main.json"))
    }

    /// Scratch repositories for conflict detection in a session.
    pub fn radar(&self) -> PathBuf {
        self.0.join("radar")
    }

    /// Scratch repositories for conflict detection between concurrent autopilot tasks.
    pub fn autopilot_radar(&self) -> PathBuf {
        self.0.join("autopilot-radar")
    }

    /// The journal of the running merge.
    pub fn merge_journal(&self) -> PathBuf {
        self.0.join("merge.json")
    }

    /// The log of approval verdicts.
    pub fn approvals(&self) -> PathBuf {
        self.0.join("approvals.jsonl")
    }

    /// Held by the process of a session without a broker.
    pub fn process_lock(&self) -> PathBuf {
        self.0.join("session-process.lock")
    }

    /// Held while a pane is shown in a wide window.
    pub fn reading_lock(&self) -> PathBuf {
        self.0.join("reading.lock")
    }

    /// What the user was notified of and still waits for the user.
    pub fn notified(&self) -> PathBuf {
        self.0.join("notified.json")
    }

    /// Held by the command that attends an unattended session.
    pub fn unattended_lock(&self) -> PathBuf {
        self.0.join("unattended.lock")
    }

    /// Held while git registers, moves or unregisters worktrees.
    pub fn worktrees_lock(&self) -> PathBuf {
        self.0.join("worktrees.lock")
    }

    /// Held while `info/exclude` is edited.
    pub fn exclude_lock(&self) -> PathBuf {
        self.0.join("exclude.lock")
    }

    /// Held by the command that starts, changes or ends the session.
    pub fn session_lock(&self) -> PathBuf {
        self.0.join("session.lock")
    }

    /// The git hooks. Not below `paw/`, which only git paw itself reads.
    pub fn hooks(&self) -> PathBuf {
        self.0.with_file_name("paw-hooks")
    }

    pub fn hook_scripts(&self) -> PathBuf {
        self.hooks().join("hooks")
    }

    /// Sets the hooks directory; included by the repository's git configuration.
    pub fn hooks_config(&self) -> PathBuf {
        self.hooks().join("hooks.gitconfig")
    }

    /// The repository's git configuration before our line was added.
    pub fn kept_config(&self) -> PathBuf {
        self.hooks().join("config.before")
    }

    /// A plugin of an AI CLI.
    pub fn plugin(&self, file: &str) -> PathBuf {
        self.0.with_file_name(format!("paw-{file}"))
    }
}
