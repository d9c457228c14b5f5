//! `[supervisor]`: the supervising agent, automatic approvals, gates and warnings.

use super::Approval;
use crate::config::section::{choice, section};

section! {
    /// The supervisor and its checks.
    SupervisorConfig {
        /// start every session with a supervisor
        default enabled: bool = false,
        /// CLI of the supervisor; default_cli if not set
        optional cli: String = "claude",
        /// what agents may do without asking: manual, auto or full-auto
        default agent_approval: Approval = Approval::Auto,
        /// the same for the supervisor itself; agent_approval if not set
        optional approval: Approval = Approval::Auto,
        /// the supervisor merges without asking you; set it in your own file
        default merge: bool = false,
        /// gate: run the tests
        optional test_command: String = "cargo test",
        /// gate: lint
        optional lint_command: String = "cargo clippy",
        /// gate: build
        optional build_command: String = "cargo build",
        /// gate: check the formatting
        optional fmt_check_command: String = "cargo fmt --check",
        /// gate: build the documentation
        optional doc_build_command: String = "mdbook build",
        /// gate: check the documentation in the code
        optional doc_tool_command: String = "cargo doc --no-deps",
        /// gate: check the specs
        optional spec_validate_command: String = "openspec validate",
        /// gate: check for known vulnerabilities
        optional security_audit_command: String = "cargo audit",
        /// remind the supervisor to verify after each commit
        default verify_on_commit_nudge: bool = true,
        /// reject commits to a branch other than the agent's own
        default strict_branch_guard: bool = true,
        /// no effect: main only moves to tested commits, so nothing is reverted
        default auto_revert: bool = false,
        /// record manual approvals in git paw approvals
        default manual_approvals_log: bool = true,
        /// check an agent without progress after this long
        default no_progress_window_seconds: u64 = 1500,
        /// warn about conversations with more thousand tokens than this; 0: never
        default context_bloat_threshold_k: u64 = 250,
        /// repeat an unanswered question after this long; 0: never
        default blocked_on_supervisor_window_seconds: u64 = 900,
        /// how permission prompts are answered in supervised sessions
        maybe auto_approve: AutoApproveConfig,
        /// warnings about agents that change the same files
        section conflict: ConflictConfig,
        /// learnings: what slowed agents down, collected in a file
        section learnings: LearningsConfig,
        /// common commands that agents may run without asking
        section common_dev_allowlist: DevAllowlistConfig,
        /// how your instructions reach an agent
        section tell: TellConfig,
    }
}

section! {
    /// Automatic approvals.
    AutoApproveConfig {
        /// answer prompts
        default enabled: bool = true,
        /// additional safe commands
        default safe_commands: Vec<String> = Vec::new(),
        /// check an unchanged pane again after this long; at least 5
        default stall_threshold_seconds: u64 = 30,
        /// off, conservative (no network, no push) or safe
        default approval_level: ApprovalLevel = ApprovalLevel::Safe,
        /// let agents write files in their own worktree
        default approve_worktree_writes: bool = true,
    }
}

section! {
    /// Warnings about conflicting agents.
    ConflictConfig {
        /// ask the supervisor about files that are still shared after this long
        default window_seconds: u64 = 120,
        /// how long an announcement of files (git paw say intent) is valid
        default intent_lifetime_seconds: u64 = 3600,
        /// warn when two agents plan to change the same files
        default warn_on_intent_overlap: bool = true,
        /// ask the supervisor when an agent changes files that another one claimed
        default escalate_on_violation: bool = true,
    }
}

section! {
    /// The collection of learnings: what slowed agents down.
    LearningsConfig {
        /// collect learnings
        default enabled: bool = false,
        /// write the file this often
        default flush_interval_seconds: u64 = 60,
        /// publish learnings to agents: auto or force_off
        default broker_publish: LearningsPublish = LearningsPublish::Auto,
    }
}

section! {
    /// Common commands that need no approval.
    DevAllowlistConfig {
        /// allow these commands
        default enabled: bool = true,
        /// additional commands, by prefix
        default extra: Vec<String> = Vec::new(),
        /// command sets: rust, node, python or go; empty: all
        default stacks: Vec<Stack> = Vec::new(),
    }
}

section! {
    /// How the user's instructions reach an agent.
    TellConfig {
        /// auto (typed if it is idle, else a message), feedback (a message) or send-keys
        default mode: TellMode = TellMode::Auto,
        /// no effect: panes are listed again for every instruction
        default inventory_max_age_seconds: u64 = 60,
    }
}

choice! {
    /// How far automatic approval goes.
    ApprovalLevel {
        Off = "off",
        Conservative = "conservative",
        Safe = "safe",
    }
}

choice! {
    /// Whether learnings are published to the agents.
    LearningsPublish {
        Auto = "auto",
        ForceOff = "force_off",
    }
}

choice! {
    /// A set of common commands.
    Stack {
        Rust = "rust",
        Node = "node",
        Python = "python",
        Go = "go",
    }
}

choice! {
    /// How an instruction is delivered.
    TellMode {
        Auto = "auto",
        Feedback = "feedback",
        SendKeys = "send-keys",
    }
}

impl SupervisorConfig {
    /// The approval level of the supervisor itself.
    pub fn approval(&self) -> Approval {
        self.approval.unwrap_or(self.agent_approval)
    }
}
