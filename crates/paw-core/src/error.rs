//! What can go wrong, in words that say what to do next, and the exit code of each.

use std::io;
use std::path::PathBuf;

use crate::name::NameError;

/// The command did what it was asked to do.
pub const EXIT_OK: u8 = 0;
/// Something failed; stderr says what and how to go on.
pub const EXIT_FAILURE: u8 = 1;
/// The user said no, or pressed Ctrl+C at a prompt. Also what clap uses for arguments it cannot read.
pub const EXIT_CANCELLED: u8 = 2;

/// Every failure a command can end with.
#[derive(Debug, thiserror::Error)]
pub enum PawError {
    #[error("Not a git repository: git-paw works inside one (cd into a project, or run `git init` first)")]
    NotAGitRepo,
    #[error("git {found} is too old: git-paw needs {needed} or newer{INSTALL_GIT}")]
    GitTooOld { found: String, needed: String },
    #[error("git is not installed or not on PATH{INSTALL_GIT}")]
    GitNotInstalled,
    #[error("tmux is not installed or not on PATH{INSTALL_TMUX}")]
    TmuxNotInstalled,
    #[error("tmux {found} is too old: git-paw needs {needed} or newer{INSTALL_TMUX}")]
    TmuxTooOld { found: String, needed: String },
    #[error(
        "no AI coding CLI found on PATH\n\
         hint: install one (claude, codex, gemini, aider, …), or register your own: git paw add-cli <name> <command>"
    )]
    NoCLIsFound,
    #[error("Worktree error: {0}")]
    WorktreeError(String),
    #[error("Session error: {0}")]
    SessionError(String),
    #[error("Config error: {0}")]
    ConfigError(String),
    #[error("Branch error: {0}")]
    BranchError(String),
    #[error("Cancelled.")]
    UserCancelled,
    #[error("Tmux error: {0}")]
    TmuxError(String),
    #[error("CLI '{0}' not found in config\nhint: git paw list-clis shows the names it knows")]
    CliNotFound(String),
    #[error("Init error: {0}")]
    InitError(String),
    #[error("AGENTS.md error: {0}")]
    AgentsMdError(String),
    #[error("Spec error: {0}")]
    SpecError(String),
    #[error("Task error: {0}")]
    TaskError(String),
    #[error("Replay error: {0}")]
    ReplayError(String),
    #[error("Dashboard error: {0}")]
    DashboardError(String),
    #[error("Git error: {0}")]
    GitError(String),
    #[error("I/O error: {0}")]
    IoError(String),
    #[error(transparent)]
    SkillError(#[from] SkillError),
    #[error(transparent)]
    BrokerError(#[from] BrokerError),
}

const INSTALL_TMUX: &str =
    "\nhint: brew install tmux   (macOS)\nhint: sudo apt install tmux   (Debian, Ubuntu)";
const INSTALL_GIT: &str = "\nhint: brew install git   (macOS)\nhint: sudo apt install git   (Debian, Ubuntu)";

impl PawError {
    /// The process exit code. No wildcard: a new variant has to choose.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::UserCancelled => EXIT_CANCELLED,
            Self::NotAGitRepo
            | Self::GitTooOld { .. }
            | Self::GitNotInstalled
            | Self::TmuxNotInstalled
            | Self::TmuxTooOld { .. }
            | Self::NoCLIsFound
            | Self::WorktreeError(_)
            | Self::SessionError(_)
            | Self::ConfigError(_)
            | Self::BranchError(_)
            | Self::TmuxError(_)
            | Self::CliNotFound(_)
            | Self::InitError(_)
            | Self::AgentsMdError(_)
            | Self::SpecError(_)
            | Self::TaskError(_)
            | Self::ReplayError(_)
            | Self::DashboardError(_)
            | Self::GitError(_)
            | Self::IoError(_)
            | Self::SkillError(_)
            | Self::BrokerError(_) => EXIT_FAILURE,
        }
    }
}

impl From<NameError> for PawError {
    fn from(error: NameError) -> Self {
        Self::BranchError(error.to_string())
    }
}

/// A skill text that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    #[error(
        "unknown skill '{name}': there is no embedded default of that name\n\
         hint: add .agents/skills/{name}/SKILL.md to the repository"
    )]
    UnknownSkill { name: String },
    #[error("cannot read the skill override {}\nhint: check its permissions", path.display())]
    UserOverrideRead { path: PathBuf, source: io::Error },
}

/// A broker that cannot be started or reached.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    #[error("port {port} is already in use\nhint: set another [broker] port in .git-paw/config.toml")]
    PortInUse { port: u16, source: io::Error },
    #[error(
        "whatever listens on port {port} did not answer in time\n\
         hint: look for a stuck process (lsof -i :{port}), or set another [broker] port"
    )]
    ProbeTimeout { port: u16 },
    #[error("cannot listen: {0}\nhint: check [broker] bind and port in .git-paw/config.toml")]
    BindFailed(io::Error),
    #[error("cannot start the broker's runtime: {0}")]
    RuntimeFailed(io::Error),
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn not_a_git_repo_is_actionable() {
        let text = PawError::NotAGitRepo.to_string();
        assert!(text.contains("git repository") && text.contains("git-paw"), "{text}");
    }

    #[test]
    fn tmux_not_installed_includes_install_instructions() {
        for error in
            [PawError::TmuxNotInstalled, PawError::TmuxTooOld { found: "2.6".into(), needed: "3.2".into() }]
        {
            let text = error.to_string();
            assert!(text.contains("brew install tmux") && text.contains("apt install tmux"), "{text}");
        }
    }

    #[test]
    fn no_clis_found_suggests_add_cli() {
        assert!(PawError::NoCLIsFound.to_string().contains("add-cli"));
    }

    #[test]
    fn every_variant_with_a_detail_includes_it() {
        let detail = || "the detail".to_owned();
        for error in [
            PawError::WorktreeError(detail()),
            PawError::SessionError(detail()),
            PawError::ConfigError(detail()),
            PawError::BranchError(detail()),
            PawError::TmuxError(detail()),
            PawError::CliNotFound(detail()),
            PawError::InitError(detail()),
            PawError::AgentsMdError(detail()),
            PawError::SpecError(detail()),
            PawError::TaskError(detail()),
            PawError::ReplayError(detail()),
            PawError::DashboardError(detail()),
            PawError::GitError(detail()),
            PawError::IoError(detail()),
        ] {
            assert!(error.to_string().contains("the detail"), "{error:?}");
            assert_eq!(error.exit_code(), EXIT_FAILURE, "{error:?}");
        }
    }

    #[test]
    fn cli_not_found_includes_cli_name() {
        assert!(PawError::CliNotFound("my-agent".into()).to_string().contains("my-agent"));
    }

    #[test]
    fn user_cancelled_has_a_message() {
        assert!(!PawError::UserCancelled.to_string().is_empty());
    }

    #[test]
    fn user_cancelled_exit_code() {
        assert_eq!(PawError::UserCancelled.exit_code(), 2);
    }

    #[test]
    fn general_errors_exit_code() {
        for error in [
            PawError::NotAGitRepo,
            PawError::TmuxNotInstalled,
            PawError::GitNotInstalled,
            PawError::NoCLIsFound,
            PawError::GitTooOld { found: "2.1".into(), needed: "2.38".into() },
        ] {
            assert_eq!(error.exit_code(), 1, "{error:?}");
        }
    }

    #[test]
    fn debug_format_includes_variant_name() {
        assert!(format!("{:?}", PawError::NotAGitRepo).contains("NotAGitRepo"));
    }

    #[test]
    fn unknown_skill_is_actionable() {
        let text = SkillError::UnknownSkill { name: "nonexistent".into() }.to_string();
        assert!(text.contains("nonexistent") && text.contains("no embedded default"), "{text}");
    }

    #[test]
    fn user_override_read_is_actionable() {
        let path = PathBuf::from("/home/user/.config/git-paw/agent-skills/coordination.md");
        let text =
            SkillError::UserOverrideRead { path, source: io::ErrorKind::PermissionDenied.into() }.to_string();
        assert!(text.contains("agent-skills/coordination.md") && text.contains("permissions"), "{text}");
    }

    #[test]
    fn skill_error_exit_code() {
        let path = PathBuf::from("x");
        for error in [
            SkillError::UnknownSkill { name: "x".into() },
            SkillError::UserOverrideRead { path, source: io::ErrorKind::NotFound.into() },
        ] {
            assert_eq!(PawError::from(error).exit_code(), 1);
        }
    }

    #[test]
    fn port_in_use_is_actionable() {
        let source = io::Error::from(io::ErrorKind::AddrInUse);
        let cause = source.to_string();
        let text = BrokerError::PortInUse { port: 9119, source }.to_string();
        assert!(text.contains("9119") && text.contains("[broker] port"), "{text}");
        assert!(!text.contains(&cause), "{text}");
    }

    #[test]
    fn port_in_use_exposes_underlying_cause() {
        let error = BrokerError::PortInUse { port: 9119, source: io::ErrorKind::AddrInUse.into() };
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        assert_eq!(cause.map(io::Error::kind), Some(io::ErrorKind::AddrInUse));
    }

    #[test]
    fn probe_timeout_is_actionable() {
        let text = BrokerError::ProbeTimeout { port: 9119 }.to_string();
        assert!(text.contains("9119") && text.contains("stuck process"), "{text}");
    }

    #[test]
    fn broker_error_exit_code() {
        for error in [
            BrokerError::PortInUse { port: 1, source: io::ErrorKind::AddrInUse.into() },
            BrokerError::ProbeTimeout { port: 1 },
            BrokerError::BindFailed(io::ErrorKind::PermissionDenied.into()),
            BrokerError::RuntimeFailed(io::ErrorKind::Other.into()),
        ] {
            assert_eq!(PawError::from(error).exit_code(), 1);
        }
    }
}
