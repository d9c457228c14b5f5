//! The sections for sessions: specs, logs, panes, documents and worktrees.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::config::section::{choice, section};
use crate::paths::CheckoutDir;

section! {
    /// The location and format of specs.
    SpecsConfig {
        /// openspec, markdown, speckit or superpowers
        default spec_type as "type": SpecType = SpecType::Openspec,
        /// directory of the specs; without it, they are found where the tools of each type put them
        optional dir: PathBuf = "specs",
    }
}

section! {
    /// Log files of pane output.
    LoggingConfig {
        /// write the output of every pane to a file
        default enabled: bool = false,
        /// directory of the log files
        default log_dir: PathBuf = PathBuf::from(CheckoutDir::LOGS),
        /// delete the oldest logs above this total size; 0: never
        default max_megabytes: u64 = 200,
        /// delete logs not written to for this long; 0: never
        default max_age_days: u32 = 30,
    }
}

section! {
    /// The dashboard pane.
    DashboardConfig {
        /// show the message panel even if broker_log.default_visible is false
        default show_message_log: bool = false,
        /// the message panel
        section broker_log: BrokerLogConfig,
    }
}

section! {
    /// The message panel of the dashboard.
    BrokerLogConfig {
        /// messages kept for scrolling
        default max_messages: u32 = 500,
        /// show it at start
        default default_visible: bool = true,
        /// maximum height below the other panels
        default height_lines: u16 = 20,
    }
}

section! {
    /// How panes look.
    LayoutConfig {
        /// grid: all agents in one window; windows: each agent in its own
        default mode: LayoutMode = LayoutMode::Grid,
        /// show branch and state in the pane borders
        default border_affordances: bool = true,
    }
}

section! {
    /// How git paw calls the user.
    NotifyConfig {
        /// ring the terminal bell in the pane of an agent that needs you
        default bell: bool = true,
        /// show a desktop notification, with notify-send or osascript
        default desktop: bool = false,
        /// shell command, gets PAW_EVENT, PAW_AGENT and PAW_TEXT; only in your own file
        optional command: String = "~/bin/paw-event",
        /// show what needs you in the tmux status line; elsewhere, place #{@paw_status}
        default status_line: bool = true,
    }
}

section! {
    /// The documents that the supervisor checks work against, as paths in the repository.
    GovernanceConfig {
        /// architecture decision records
        optional adr: PathBuf = "docs/adr",
        /// how the project tests
        optional test_strategy: PathBuf = "docs/test-strategy.md",
        /// security checklist
        optional security: PathBuf = "docs/security.md",
        /// definition of done
        optional dod: PathBuf = "docs/dod.md",
        /// principles; detected automatically with Spec Kit
        optional constitution: PathBuf = "docs/constitution.md",
        /// project description
        optional readme: PathBuf = "README.md",
        /// more documents to check
        default docs: Vec<PathBuf> = Vec::new(),
    }
}

section! {
    /// The setup of a new worktree before an agent starts in it.
    WorktreeConfig {
        /// commands to run in it, such as "npm install"
        default setup_commands: Vec<String> = Vec::new(),
        /// time limit for all setup commands
        default setup_timeout_secs: u64 = 300,
        /// ignored files to copy, such as ".env"
        default copy: Vec<String> = Vec::new(),
    }
}

choice! {
    /// How the panes of a session are arranged.
    LayoutMode {
        /// All panes in one window.
        Grid = "grid",
        /// Dashboard and supervisor in the first window, and a window for each agent.
        Windows = "windows",
    }
}

choice! {
    /// The spec formats.
    SpecType {
        Openspec = "openspec",
        Markdown = "markdown",
        Speckit = "speckit",
        Superpowers = "superpowers",
    }
}

impl SpecType {
    /// The directories in which the tools of this type put specs, the preferred one first.
    pub fn usual_dirs(self) -> &'static [&'static str] {
        match self {
            Self::Openspec => &["openspec/changes", "specs"],
            Self::Markdown => &["specs"],
            Self::Speckit => &[".specify/specs", "specs"],
            Self::Superpowers => &["docs/superpowers/plans"],
        }
    }

    /// The directory of specs of this type where none exists.
    pub fn default_dir(self) -> &'static Path {
        Path::new(match self {
            Self::Openspec | Self::Markdown => "specs",
            Self::Speckit => ".specify/specs",
            Self::Superpowers => "docs/superpowers/plans",
        })
    }
}

impl FromStr for SpecType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.iter().map(|format| format.as_str()).collect::<Vec<_>>().join(", ");
        let found = Self::ALL.iter().find(|format| format.as_str() == text);
        found.copied().ok_or_else(|| format!("expected one of: {}", known()))
    }
}

impl SpecsConfig {
    /// The directory of the specs: the configured one, or the default of the type.
    pub fn dir(&self) -> &Path {
        self.dir.as_deref().unwrap_or_else(|| self.spec_type.default_dir())
    }
}
