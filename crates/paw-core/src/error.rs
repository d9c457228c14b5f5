//! Errors with a code, a message, hints and details ([`ErrorReport`]).
//!
//! Error enums live next to the code that raises them and implement [`Diagnostic`]. [`PawError`] wraps any of them.

mod code;
mod report;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub use code::{EXIT_CANCELLED, EXIT_FAILURE, EXIT_OK, ErrorCode};
pub use report::{Diagnostic, ErrorReport};

use ErrorCode::{Cancelled, FailedPrecondition, Internal, InvalidArgument, NotFound};

/// Any failure of a command. `Display` includes the hints.
///
/// Not a [`Diagnostic`] itself, so that `?` can convert every `Diagnostic` into it.
#[derive(Debug, thiserror::Error)]
pub enum PawError {
    NotAGitRepo,
    GitTooOld {
        found: String,
        needed: String,
    },
    GitNotInstalled,
    TmuxNotInstalled,
    TmuxTooOld {
        found: String,
        needed: String,
    },
    NoCLIsFound,
    WorktreeError(String),
    SessionError(String),
    ConfigError(String),
    BranchError(String),
    UserCancelled,
    TmuxError(String),
    CliNotFound(String),
    /// An error of any crate.
    Other(Box<dyn Diagnostic>),
}

impl PawError {
    pub fn new(code: ErrorCode, message: impl fmt::Display) -> Self {
        ErrorReport::new(code, message).into()
    }

    /// A failure of git paw, of the system or of a program it runs.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(Internal, message)
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.report().hint(hint).into()
    }

    pub fn report(&self) -> ErrorReport {
        match self {
            Self::NotAGitRepo => {
                ErrorReport::new(FailedPrecondition, "Not a git repository: git-paw works inside one")
                    .hint("cd into a project, or run `git init` first")
            }
            Self::GitTooOld { found, needed } => install("git", &too_old(found, needed)),
            Self::GitNotInstalled => install("git", NOT_INSTALLED),
            Self::TmuxNotInstalled => install("tmux", NOT_INSTALLED),
            Self::TmuxTooOld { found, needed } => install("tmux", &too_old(found, needed)),
            Self::NoCLIsFound => ErrorReport::new(NotFound, "no AI coding CLI found on PATH").hint(
                "install one (claude, codex, gemini, aider, …), or register your own: git paw add-cli <name> <command>",
            ),
            Self::SessionError(detail) => ErrorReport::new(FailedPrecondition, detail),
            Self::ConfigError(detail) | Self::BranchError(detail) => ErrorReport::new(InvalidArgument, detail),
            Self::WorktreeError(detail) | Self::TmuxError(detail) => ErrorReport::new(Internal, detail),
            Self::UserCancelled => ErrorReport::new(Cancelled, "Cancelled."),
            Self::CliNotFound(name) => ErrorReport::new(NotFound, format!("CLI '{name}' not found in config"))
                .hint("run `git paw list-clis` to list the known CLIs"),
            Self::Other(error) => error.report(),
        }
    }

    pub fn code(&self) -> ErrorCode {
        self.report().code
    }

    pub fn exit_code(&self) -> u8 {
        self.code().exit_code()
    }

    pub fn is_cancelled(&self) -> bool {
        self.code() == Cancelled
    }
}

const NOT_INSTALLED: &str = "is not installed or not on PATH";

fn too_old(found: &str, needed: &str) -> String {
    format!("{found} is too old: git-paw needs {needed} or newer")
}

fn install(program: &str, problem: &str) -> ErrorReport {
    ErrorReport::new(FailedPrecondition, format!("{program} {problem}"))
        .hint(format!("brew install {program}   (macOS)"))
        .hint(format!("sudo apt install {program}   (Debian, Ubuntu)"))
}

impl fmt::Display for PawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report().fmt(f)
    }
}

impl<E: Diagnostic> From<E> for PawError {
    fn from(error: E) -> Self {
        Self::Other(Box::new(error))
    }
}

/// A skill cannot be loaded. `Display` includes the hints.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    UnknownSkill { name: String },
    UserOverrideRead { path: PathBuf, source: io::Error },
}

impl Diagnostic for SkillError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::UnknownSkill { name } => {
                let message = format!("unknown skill '{name}': no embedded default has this name");
                ErrorReport::new(NotFound, message)
                    .hint(format!("add .agents/skills/{name}/SKILL.md to the repository"))
            }
            Self::UserOverrideRead { path, .. } => {
                ErrorReport::new(NotFound, format!("cannot read the skill override {}", path.display()))
                    .hint("check its permissions")
            }
        }
    }
}

impl fmt::Display for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report().fmt(f)
    }
}

/// The broker cannot be started or reached. `Display` includes the hints.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    PortInUse { port: u16, source: io::Error },
    ProbeTimeout { port: u16 },
    BindFailed(io::Error),
    RuntimeFailed(io::Error),
}

impl Diagnostic for BrokerError {
    fn report(&self) -> ErrorReport {
        let failed = |message| ErrorReport::new(Internal, message);
        match self {
            Self::PortInUse { port, .. } => failed(format!("port {port} is already in use"))
                .hint("set another [broker] port in .git-paw/config.toml"),
            Self::ProbeTimeout { port } => {
                failed(format!("the program listening on port {port} did not respond in time"))
                    .hint(format!("find the stuck process (lsof -i :{port}), or set another [broker] port"))
            }
            Self::BindFailed(source) => failed(format!("cannot listen: {source}"))
                .hint("check [broker] bind and port in .git-paw/config.toml"),
            Self::RuntimeFailed(source) => failed(format!("cannot start the broker's runtime: {source}")),
        }
    }
}

impl fmt::Display for BrokerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use serde_json::json;

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
        ] {
            assert!(error.to_string().contains("the detail"), "{error:?}");
            assert!(!error.to_string().contains("error: "), "{error:?}");
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

    #[test]
    fn a_paw_error_keeps_the_four_parts_of_a_diagnostic() {
        let report = ErrorReport::new(ErrorCode::AlreadyExists, "it exists")
            .hint("move it")
            .hint("or choose another name")
            .details(json!({"path": "/x"}));
        let error = PawError::from(report.clone());
        assert_eq!(error.report(), report);
        insta::assert_snapshot!(error, @"
        it exists
        hint: move it
        hint: or choose another name
        ");
        assert_eq!(
            report.document().to_string(),
            r#"{"error":{"code":"ALREADY_EXISTS","message":"it exists","hints":["move it","or choose another name"],"details":{"path":"/x"}}}"#
        );
    }

    #[test]
    fn a_summary_shortens_the_message_for_programs_only() {
        let report = ErrorReport::new(Internal, "git failed: no such ref").summary("git failed");
        assert_eq!(
            (report.message.as_str(), report.to_string().as_str()),
            ("git failed", "git failed: no such ref")
        );
    }

    #[test]
    fn adding_a_hint_keeps_code_and_message() {
        let error = PawError::SessionError("no session".into()).hint("git paw start");
        let report = error.report();
        assert_eq!((report.code, report.message.as_str()), (FailedPrecondition, "no session"));
        assert_eq!(report.hints, ["git paw start"]);
    }
}
