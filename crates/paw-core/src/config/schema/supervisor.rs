//! `[supervisor]`: the agent that watches the others, what it may approve, and how it proves their work.

use super::Approval;
use crate::config::section::{choice, section};

section! {
    /// The supervisor and what it watches.
    SupervisorConfig {
        /// start every session with a supervisor
        default enabled: bool = false,
        /// CLI of the supervisor; default_cli if not set
        optional cli: String = "claude",
        /// how much agents may do unasked: manual, auto or full-auto
        default agent_approval: Approval = Approval::Auto,
        /// the same for the supervisor itself; agent_approval if not set
        optional approval: Approval = Approval::Auto,
        /// gate: run the tests
        optional test_command: String = "cargo test",
        /// gate: find mistakes
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
        /// gate: look for known weaknesses
        optional security_audit_command: String = "cargo audit",
        /// remind the supervisor to verify after each commit
        default verify_on_commit_nudge: bool = true,
        /// refuse commits on a branch that is not the agent's own
        default strict_branch_guard: bool = true,
        /// no effect: main only moves to tested commits, so nothing is undone
        default auto_revert: bool = false,
        /// note in git paw approvals what was approved by hand
        default manual_approvals_log: bool = true,
        /// an agent without progress for this long is looked at
        default no_progress_window_seconds: u64 = 1500,
        /// warn about conversations of more thousand tokens than this; 0: never
        default context_bloat_threshold_k: u64 = 250,
        /// a question unanswered for this long is raised again; 0: never
        default blocked_on_supervisor_window_seconds: u64 = 900,
        /// how permission prompts are answered in supervised sessions
        maybe auto_approve: AutoApproveConfig,
        /// agents that touch the same files
        section conflict: ConflictConfig,
        /// what held agents up, collected in a file
        section learnings: LearningsConfig,
        /// everyday commands that agents may run unasked
        section common_dev_allowlist: DevAllowlistConfig,
        /// how your instructions reach an agent
        section tell: TellConfig,
    }
}

section! {
    /// What is approved without asking.
    AutoApproveConfig {
        /// answer prompts
        default enabled: bool = true,
        /// commands that are harmless here, beside the known ones
        default safe_commands: Vec<String> = Vec::new(),
        /// a pane that draws nothing is looked at again after this long; 5 is the least
        default stall_threshold_seconds: u64 = 30,
        /// off, conservative (no network, no push) or safe
        default approval_level: ApprovalLevel = ApprovalLevel::Safe,
        /// let agents write files in their own worktree
        default approve_worktree_writes: bool = true,
    }
}

section! {
    /// When agents are warned about each other.
    ConflictConfig {
        /// ask the supervisor about files that are still shared after this long
        default window_seconds: u64 = 120,
        /// warn when two agents plan to change the same files
        default warn_on_intent_overlap: bool = true,
        /// ask the supervisor when an agent changes files another one claimed
        default escalate_on_violation: bool = true,
    }
}

section! {
    /// The collection of what held agents up.
    LearningsConfig {
        /// collect it
        default enabled: bool = false,
        /// write the file this often
        default flush_interval_seconds: u64 = 60,
        /// tell the agents too: auto or force_off
        default broker_publish: LearningsPublish = LearningsPublish::Auto,
    }
}

section! {
    /// The everyday commands.
    DevAllowlistConfig {
        /// allow them
        default enabled: bool = true,
        /// more commands, by how they begin
        default extra: Vec<String> = Vec::new(),
        /// sets for rust, node, python or go; none named: all of them
        default stacks: Vec<Stack> = Vec::new(),
    }
}

section! {
    /// How a user's instruction reaches an agent.
    TellConfig {
        /// feedback (a message) or send-keys (typed into its pane)
        default mode: TellMode = TellMode::Feedback,
        /// no effect: the panes are looked at anew for every instruction
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
    /// A set of everyday commands.
    Stack {
        Rust = "rust",
        Node = "node",
        Python = "python",
        Go = "go",
    }
}

choice! {
    /// The way of an instruction.
    TellMode {
        Feedback = "feedback",
        SendKeys = "send-keys",
    }
}

impl SupervisorConfig {
    /// The level of the supervisor's own pane.
    pub fn approval(&self) -> Approval {
        self.approval.unwrap_or(self.agent_approval)
    }
}
