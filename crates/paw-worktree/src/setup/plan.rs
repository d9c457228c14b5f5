//! What would run in a new worktree, and who said so.

use std::path::Path;
use std::time::Duration;

use paw_core::config::{Layer, PawConfig};
use paw_core::text;
use paw_host::git::Repo;
use paw_host::trust::{TrustError, TrustStore, TrustSubject};

use super::script::{self, Script, ScriptLookup};

/// The steps in their order. Made by [`plan`]; what comes from the repository is not approved at first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetupPlan {
    pub(super) steps: Vec<SetupStep>,
    pub(super) limit: Option<Duration>,
    /// What the repository wants to run.
    subject: Option<TrustSubject>,
    pub(super) approved: bool,
}

/// Whether a plan may run as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupTrust<'a> {
    /// There is nothing to run.
    Nothing,
    Trusted,
    /// The user has to say yes to this first.
    NeedsApproval(&'a TrustSubject),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetupStep {
    /// What it is called when something is said about it: the command, or the script's path in the repository.
    pub(super) name: String,
    pub(super) action: StepAction,
    pub(super) from_repository: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepAction {
    Shell(String),
    Script(Script),
    /// It is there but will not be run, and this is why.
    Refused(String),
}

/// The setup that `config` and the main checkout ask for. `repository` is the layer of the configuration that comes
/// from the repository's own file.
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
    SetupPlan { subject: subject(&steps), steps, limit, approved: false }
}

fn command_step(command: &str, from_repository: bool) -> SetupStep {
    SetupStep {
        name: text::line(command.trim()).into_owned(),
        action: StepAction::Shell(command.to_owned()),
        from_repository,
    }
}

/// Everything of the repository that decides what would happen: commands, script, and who reads the script.
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

    /// What would run, in order: commands as they are written, the script by its path in the repository.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.name.as_str())
    }

    /// What the repository wants to run, approved or not.
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

    /// The plan, approved if the user has approved exactly this before.
    pub fn checked(self, store: &TrustStore, repo: &Repo) -> Result<Self, TrustError> {
        match &self.subject {
            Some(subject) if store.is_approved(repo, subject)? => Ok(self.approved()),
            _ => Ok(self),
        }
    }

    /// The plan, approved: the user has just said so.
    #[must_use]
    pub fn approved(mut self) -> Self {
        self.approved = true;
        self
    }
}
