//! Integration tests of the `git-paw` binary.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may panic, and may use the file system directly"
)]

mod add_cli;
mod approvals;
mod architecture;
mod audit;
mod autopilot;
mod autopilot_parallel;
mod autopilot_tui;
mod claude_rules;
mod cli;
mod completions;
mod conversations;
mod daemon;
mod damage;
mod demo;
mod docs;
mod doctor;
mod explain;
mod guide;
mod host;
mod hostile;
mod hosts;
mod identity;
mod init;
mod interrupted;
mod lifecycle;
mod list_clis;
mod machine;
mod mcp;
mod merge;
mod messages;
mod monitor;
mod notify;
mod opencode;
mod pane_requests;
mod paw;
mod power_cut;
mod prompt;
mod proof;
mod remedies;
mod remove_cli;
mod replay;
mod session_process;
mod skills;
mod start;
mod supervisor_pane;
mod tasks;
mod tasks_from_spec;
mod trust;
mod unattended;
mod verify;
mod web;
mod worktree;
