//! What runs in a new worktree, and whether it comes from the repository.

use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_core::config::{Layer, PawConfig, SandboxLevel};
use paw_core::text;
use paw_host::git::Repo;
use paw_host::trust::{TrustError, TrustStore, TrustSubject};

use super::script::{self, Script, ScriptLookup};

/// The setup steps, in order. [`plan`] creates it with the repository's steps not approved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetupPlan {
    pub(super) steps: Vec<SetupStep>,
    pub(super) limit: Option<Duration>,
    /// The repository's steps, for approval.
    subject: Option<TrustSubject>,
    pub(super) approved: bool,
    /// The repository, and the configured sandbox.
    pub(super) main_checkout: PathBuf,
    pub(super) sandbox: Option<SandboxLevel>,
}

/// Whether a plan may run without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupTrust<'a> {
    /// Nothing to run.
    Nothing,
    Trusted,
    /// The user must approve this first.
    NeedsApproval(&'a TrustSubject),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetupStep {
    /// The name in messages: the command, or the script's path in the repository.
    pub(super) name: String,
    pub(super) action: StepAction,
    pub(super) from_repository: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepAction {
    Shell(String),
    Script(Script),
    /// It exists, but is not run for this reason.
    Refused(String),
}

/// The setup that `config` and the main checkout define. `repository` is the configuration layer of the repository.
pub fn plan(config: &PawConfig, repository: &Layer, main_checkout: &Path) -> SetupPlan {
    let from_repository = repository.needs_trust().iter().any(|item| item.key == "worktree.setup_commands");
    let commands = config.worktree.setup_commands.iter().filter(|command| !command.trim().is_empty());
    let mut steps: Vec<SetupStep> = commands.map(|command| command_step(command, from_repository)).collect();
    if let Some((name, found)) = script::find_script(main_checkout) {
        let (action, from_repository) = match found {
            ScriptLookup::Script(script) => (StepAction::Script(script), true),
            ScriptLookup::Refused(reason) => (StepAction::Refused(reason), false),
        };
        steps.push(SetupStep { name: name.to_owned(), action, from_repository });
    }
    let seconds = config.worktree.setup_timeout_secs;
    let limit = (seconds > 0).then(|| Duration::from_secs(seconds));
    SetupPlan {
        subject: subject(&steps),
        steps,
        limit,
        approved: false,
        main_checkout: main_checkout.to_path_buf(),
        sandbox: config.sandbox.runs,
    }
}

fn command_step(command: &str, from_repository: bool) -> SetupStep {
    SetupStep {
        name: text::line(command.trim()).into_owned(),
        action: StepAction::Shell(command.to_owned()),
        from_repository,
    }
}

/// Everything from the repository that affects what runs: commands, script, and interpreter. The keys are part of the
/// fingerprint of stored approvals, so renaming one asks every user again.
fn subject(steps: &[SetupStep]) -> Option<TrustSubject> {
    let wanted = steps.iter().filter(|step| step.from_repository);
    let subject = wanted.fold(TrustSubject::new("setup"), |subject, step| match &step.action {
        StepAction::Shell(command) => subject.with("setup command", command.as_str()),
        StepAction::Script(script) => {
            let how = if script.runs_itself { "by its own interpreter" } else { "by sh" };
            subject
                .with("setup script", step.name.as_str())
                .with("which is run", how)
                .with("and says", script.content.clone())
        }
        StepAction::Refused(_) => subject,
    });
    (!subject.is_empty()).then_some(subject)
}

impl SetupPlan {
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The names of the steps, in order: commands as written, the script by its path in the repository.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.name.as_str())
    }

    /// The exact text of the steps, in order: commands, and scripts with their content.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.steps.iter().filter_map(|step| match &step.action {
            StepAction::Shell(command) => Some(command.clone()),
            StepAction::Script(script) => {
                Some(format!("{}\n{}", step.name, String::from_utf8_lossy(&script.content)))
            }
            StepAction::Refused(_) => None,
        })
    }

    /// The repository's steps, approved or not.
    pub fn subject(&self) -> Option<&TrustSubject> {
        self.subject.as_ref()
    }

    pub fn trust(&self) -> SetupTrust<'_> {
        match &self.subject {
            _ if self.steps.is_empty() => SetupTrust::Nothing,
            Some(subject) if !self.approved => SetupTrust::NeedsApproval(subject),
            _ => SetupTrust::Trusted,
        }
    }

    /// Marks the plan as approved if the user has approved exactly this before.
    pub fn apply_approvals(self, store: &TrustStore, repo: &Repo) -> Result<Self, TrustError> {
        match &self.subject {
            Some(subject) if store.is_approved(repo, subject)? => Ok(self.approved()),
            _ => Ok(self),
        }
    }

    /// Marks the plan as approved by the user.
    #[must_use]
    pub fn approved(mut self) -> Self {
        self.approved = true;
        self
    }
}
