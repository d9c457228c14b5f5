//! `[autopilot]`: who does a task test-first, and what is run at its end.

use std::path::PathBuf;

use crate::config::section::{entry, section};

section! {
    /// A task done test-first: git paw autopilot.
    AutopilotConfig {
        /// who writes tests and code when --executor names nobody
        optional executor: String = "claude",
        /// how long an executor may take for one attempt
        default executor_timeout_minutes: u64 = 30,
        /// run before the last tests; what it changes becomes a commit
        optional format_command: String = "cargo fmt",
        /// has to succeed before the push
        optional lint_command: String = "cargo clippy",
        /// measures coverage: changed lines before each commit, all before the push
        optional coverage_command: String = "npm run coverage",
        /// where coverage_command leaves its report; else the usual places
        optional coverage_report: PathBuf = "coverage/lcov.info",
        /// whether a run stands still when coverage_command leaves no report
        default coverage_required: bool = false,
        /// a program of your own that writes tests and code
        entries executors: ExecutorConfig = "mine",
    }
}

entry! {
    /// A program that is told what to do on its standard input.
    ExecutorConfig {
        /// the program and its arguments
        required command: Vec<String> = ["my-agent", "--stdin"],
    }
}
