//! `[autopilot]`: the executor of test-first tasks and the commands run at their end.

use std::path::PathBuf;

use crate::config::section::{entry, section};

section! {
    /// Test-first task runs: git paw autopilot.
    AutopilotConfig {
        /// executor to use without --executor
        optional executor: String = "claude",
        /// time limit for one attempt of an executor
        default executor_timeout_minutes: u64 = 30,
        /// run before the final tests; its changes are committed
        optional format_command: String = "cargo fmt",
        /// must succeed before the push
        optional lint_command: String = "cargo clippy",
        /// measures coverage, instead of the test runner
        optional coverage_command: String = "npm run coverage",
        /// report written by coverage_command; searched in common locations if not set
        optional coverage_report: PathBuf = "coverage/lcov.info",
        /// stop the run if coverage cannot be measured
        default coverage_required: bool = false,
        /// a custom program that writes tests and code
        entries executors: ExecutorConfig = "mine",
    }
}

entry! {
    /// A program that reads its prompt from standard input.
    ExecutorConfig {
        /// the program and its arguments
        required command: Vec<String> = ["my-agent", "--stdin"],
    }
}
