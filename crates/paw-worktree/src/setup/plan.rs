//! What would run in a new worktree, and who said so.

use std::path::Path;
use std::time::Duration;

use paw_core::config::{Layer, PawConfig};
use paw_core::text;
use paw_host::git::Repo;
use paw_host::trust::{Subject, TrustError, TrustStore};

use super::script::{self, Found, Script};

/// The steps in their order. Made by [`plan`]; what comes from the repository is not approved at first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetupPlan {
    pub(super) steps: Vec<Step>,
    pub(super) limit: Option<Duration>,
    /// What the repository wants to run.
    subject: Option<Subject>,
    pub(super) approved: bool,
}

/// Whether a plan may run as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust<'a> {
    /// There is nothing to run.
    Nothing,
    Trusted,
    /// The user has to say yes to this first.
    NeedsApproval(&'a Subject),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// What it is called when something is said about it: the command, or the script's path in the repository.
    pub(super) name: String,
    pub(super) action: Action,
    pub(super) from_repository: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
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
    let mut steps: Vec<Step> = commands.map(|command| command_step(command, from_repository)).collect();
    if let Some((name, found)) = script::find(main_checkout) {
        let (action, from_repository) = match found {
            Found::Script(script) => (Action::Script(script), true),
            Found::Refused(reason) => (Action::Refused(reason), false),
        };
        steps.push(Step { name: name.to_owned(), action, from_repository });
    }
    let seconds = config.worktree.setup_timeout_secs;
    let limit = (seconds > 0).then(|| Duration::from_secs(seconds));
    SetupPlan { subject: subject(&steps), steps, limit, approved: false }
}

fn command_step(command: &str, from_repository: bool) -> Step {
    Step {
        name: text::line(command.trim()).into_owned(),
        action: Action::Shell(command.to_owned()),
        from_repository,
    }
}

/// Everything of the repository that decides what would happen: commands, script, and who reads the script.
fn subject(steps: &[Step]) -> Option<Subject> {
    let wanted = steps.iter().filter(|step| step.from_repository);
    let subject = wanted.fold(Subject::new("setup"), |subject, step| match &step.action {
        Action::Shell(command) => subject.with("setup command", command.as_str()),
        Action::Script(script) => {
            let how = if script.runs_itself { "by its own interpreter" } else { "by sh" };
            subject
                .with("setup script", step.name.as_str())
                .with("which is run", how)
                .with("and says", script.content.clone())
        }
        Action::Refused(_) => subject,
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
    pub fn subject(&self) -> Option<&Subject> {
        self.subject.as_ref()
    }

    pub fn trust(&self) -> Trust<'_> {
        match &self.subject {
            _ if self.steps.is_empty() => Trust::Nothing,
            Some(subject) if !self.approved => Trust::NeedsApproval(subject),
            _ => Trust::Trusted,
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
