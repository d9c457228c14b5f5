//! The sections about one session: specs, logs, panes, documents and worktrees.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::config::section::{choice, section};
use crate::paths::CheckoutDir;

section! {
    /// Where specs are and how they are written.
    SpecsConfig {
        /// openspec, markdown, speckit or superpowers
        default spec_type as "type": SpecType = SpecType::Openspec,
        /// their directory; each type has its own default
        optional dir: PathBuf = "specs",
    }
}

section! {
    /// Whether and where the output of panes is kept.
    LoggingConfig {
        /// keep what every pane prints
        default enabled: bool = false,
        /// directory of the logs
        default log_dir: PathBuf = PathBuf::from(CheckoutDir::LOGS),
        /// the oldest logs go when all of them together are larger; 0 keeps them
        default max_megabytes: u64 = 200,
        /// logs that nobody has written to for so long go; 0 keeps them
        default max_age_days: u32 = 30,
    }
}

section! {
    /// The overview pane.
    DashboardConfig {
        /// open the panel of messages even where broker_log.default_visible is false
        default show_message_log: bool = false,
        /// the panel of messages
        section broker_log: BrokerLogConfig,
    }
}

section! {
    /// The dashboard's panel of messages.
    BrokerLogConfig {
        /// messages kept for scrolling
        default max_messages: u32 = 500,
        /// open from the start
        default default_visible: bool = true,
        /// most lines it takes below the other panels
        default height_lines: u16 = 20,
    }
}

section! {
    /// How panes look.
    LayoutConfig {
        /// show branch and state in the pane borders
        default border_affordances: bool = true,
    }
}

section! {
    /// The documents that the supervisor holds work against, as paths in the repository.
    GovernanceConfig {
        /// architecture decision records
        optional adr: PathBuf = "docs/adr",
        /// how the project tests
        optional test_strategy: PathBuf = "docs/test-strategy.md",
        /// security checklist
        optional security: PathBuf = "docs/security.md",
        /// definition of done
        optional dod: PathBuf = "docs/dod.md",
        /// principles; found by itself with Spec Kit
        optional constitution: PathBuf = "docs/constitution.md",
        /// what the project says about itself
        optional readme: PathBuf = "README.md",
        /// more documents to check
        default docs: Vec<PathBuf> = Vec::new(),
    }
}

section! {
    /// What is done in a new worktree before an agent gets it.
    WorktreeConfig {
        /// commands to run in it, such as "npm install"
        default setup_commands: Vec<String> = Vec::new(),
        /// give up on them after this long
        default setup_timeout_secs: u64 = 300,
        /// ignored files to bring along, such as ".env"
        default copy: Vec<String> = Vec::new(),
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
    /// Where specs of this type are when the configuration does not say.
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
        found.copied().ok_or_else(|| format!("there are: {}", known()))
    }
}

impl SpecsConfig {
    /// The directory of the specs: the configured one, or the usual one of the type.
    pub fn dir(&self) -> &Path {
        self.dir.as_deref().unwrap_or_else(|| self.spec_type.default_dir())
    }
}
