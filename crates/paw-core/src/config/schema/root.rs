//! The top-level keys, the list of sections, and sections with a single key.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    AutopilotConfig, BrokerConfig, CliConfig, ClusterConfig, DashboardConfig, GovernanceConfig, HostConfig,
    LayoutConfig, LoggingConfig, NotifyConfig, Preset, SpecsConfig, SupervisorConfig, WebConfig,
    WorktreeConfig,
};
use crate::config::ConfigError;
use crate::config::section::{choice, section};

section! {
    /// The whole configuration.
    PawConfig {
        /// CLI to start if none is given
        optional default_cli: String = "claude",
        /// CLI for specs that do not name one
        optional default_spec_cli: String = "claude",
        /// prefix of the branch of a spec
        fallback branch_prefix: BranchPrefix = BranchPrefix::from("spec/"),
        /// use the mouse inside the tmux session
        fallback mouse: bool = true,
        /// sibling: next to the repository; child: in .git-paw/worktrees
        fallback worktree_placement: WorktreePlacement = WorktreePlacement::Sibling,
        /// URL of the online documentation, for agents
        optional docs_base_url: String = "https://example.com/git-paw",
        /// a custom CLI, or settings for a known one
        entries clis: CliConfig = "my-agent",
        /// branches and a CLI to start together: git paw start --preset backend
        entries presets: Preset = "backend",
        /// another machine, for git paw host; only in your own configuration
        entries hosts: HostConfig = "big",
        /// location and format of specs
        maybe specs: SpecsConfig,
        /// log files of pane output
        maybe logging: LoggingConfig,
        /// the dashboard pane
        section dashboard: DashboardConfig,
        /// how panes look
        section layout: LayoutConfig,
        /// how git paw calls you
        section notify: NotifyConfig,
        /// the tmux server
        section tmux: TmuxConfig,
        /// messages between agents
        section broker: BrokerConfig,
        /// messages between the machines of a session; only in your own configuration
        section cluster: ClusterConfig,
        /// the session in a browser, git paw web
        section web: WebConfig,
        /// an agent that supervises the others
        maybe supervisor: SupervisorConfig,
        /// documents that work is checked against
        section governance: GovernanceConfig,
        /// OpenSpec commands run by agents
        section opsx: OpsxConfig,
        /// the MCP server, git paw mcp
        section mcp: McpConfig,
        /// setup of new worktrees
        section worktree: WorktreeConfig,
        /// test-first task runs
        section autopilot: AutopilotConfig,
        /// what gates, setup and test runs may read and write
        section sandbox: SandboxConfig,
    }
}

section! {
    /// The tmux server that sessions run in.
    TmuxConfig {
        /// name of the tmux socket for sessions, instead of the default one
        optional socket: String = "paw",
    }
}

section! {
    /// What happens when an agent runs an OpenSpec command outside its role.
    OpsxConfig {
        /// when an agent runs an OpenSpec command outside its role: warn, block or off
        default role_gating: RoleGating = RoleGating::Warn,
    }
}

section! {
    /// The sandbox of programs that git paw runs.
    SandboxConfig {
        /// gates, setup, test and coverage runs: guard or off; if not set, guard where bubblewrap works
        optional runs: SandboxLevel = SandboxLevel::Guard,
    }
}

section! {
    /// How the MCP server presents itself.
    McpConfig {
        /// name of the server
        default name: String = "git-paw".to_owned(),
    }
}

choice! {
    /// Where the worktrees of a session are created.
    WorktreePlacement {
        /// In the parent directory of the repository.
        Sibling = "sibling",
        /// Inside the repository, in `.git-paw/worktrees`.
        Child = "child",
    }
}

choice! {
    /// What is protected from a run.
    SandboxLevel {
        /// Nothing.
        Off = "off",
        /// Our keys, tokens and messages are hidden; the git directory and other checkouts are read-only.
        Guard = "guard",
    }
}

choice! {
    /// What to do when an agent acts outside its role.
    RoleGating {
        Warn = "warn",
        Block = "block",
        Off = "off",
    }
}

/// The prefix that turns the name of a spec into its branch. Ends with a slash unless empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct BranchPrefix(String);

impl BranchPrefix {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The branch of the spec with this name.
    pub fn branch(&self, spec: &str) -> String {
        format!("{}{spec}", self.0)
    }
}

impl From<String> for BranchPrefix {
    fn from(mut prefix: String) -> Self {
        if !prefix.is_empty() && !prefix.ends_with('/') {
            prefix.push('/');
        }
        Self(prefix)
    }
}

impl From<&str> for BranchPrefix {
    fn from(prefix: &str) -> Self {
        Self::from(prefix.to_owned())
    }
}

impl From<BranchPrefix> for String {
    fn from(prefix: BranchPrefix) -> Self {
        prefix.0
    }
}

impl fmt::Display for BranchPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl PawConfig {
    pub fn get_preset(&self, name: &str) -> Option<&Preset> {
        self.presets.get(name)
    }

    /// The configuration as a file that loads to the same values.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string_pretty(self).map_err(|error| ConfigError::Unwritable { message: error.to_string() })
    }
}
