//! `[clis.<name>]`, `[presets.<name>]`, `[hosts.<name>]` and `[cluster]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::config::section::{choice, entry, section};

entry! {
    /// A custom CLI, or settings for a known one.
    CliConfig {
        /// program to run, looked up on PATH
        required command: String = "/usr/local/bin/my-agent",
        /// name shown in lists
        optional display_name: String = "My Agent",
        /// wait between typing a prompt and submitting it
        optional submit_delay_ms: u64 = 1500,
        /// its settings file in the worktree, where git paw adds permission rules
        optional settings_path: PathBuf = ".my-agent/settings.json",
        /// arguments for the levels manual, auto and full-auto
        optional approval_args: BTreeMap<Approval, String> = BTreeMap::from([(Approval::FullAuto, "--yolo")]),
    }
}

entry! {
    /// Branches and a CLI that are started together.
    Preset {
        /// branches to start
        required branches: Vec<String> = ["feat/api", "feat/db"],
        /// CLI for all of them
        required cli: String = "claude",
    }
}

entry! {
    /// Another machine, reached by ssh.
    HostConfig {
        /// ssh destination: [USER@]HOST, an alias of your ssh configuration, or ssh://USER@HOST:PORT
        required ssh: String = "me@big.example",
        /// agents of one session that BRANCH@auto may start there; without it, none
        optional slots: u64 = 4,
    }
}

section! {
    /// The NATS servers that sessions on several machines use.
    ClusterConfig {
        /// NATS servers for all hosts, nats://[USER:PASSWORD@]HOST:PORT; if empty, one is started
        default servers: Vec<String> = Vec::new(),
        /// credentials file for these servers; only you may read it
        optional credentials: PathBuf = "~/me.creds",
        /// on how many of these servers messages are stored
        default replicas: u64 = 1,
    }
}

choice! {
    /// What an agent may do without asking.
    Approval {
        Manual = "manual",
        Auto = "auto",
        FullAuto = "full-auto",
    }
}

impl CliConfig {
    /// The configured arguments for `level`, if any.
    pub fn approval_args(&self, level: Approval) -> Option<&str> {
        self.approval_args.as_ref()?.get(&level).map(String::as_str)
    }
}
