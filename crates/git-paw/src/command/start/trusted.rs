//! The configuration as far as it may be followed: what a repository wants to run or to loosen needs a yes.

use paw_core::PawError;
use paw_core::config::{Approval, PawConfig, TrustItem};
use paw_host::config::Layers;
use paw_host::git::Repo;
use paw_host::trust::Subject;
use paw_supervisor::gates::{self, Gate};
use paw_worktree::Preparation;
use paw_worktree::setup::{self, SetupPlan};

use crate::approval::{self, Consent};
use crate::context::Context;

/// Whether anybody may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    Never,
    About(Consent),
}

/// A repository may not open the broker to others, or to everybody, nor have logs written elsewhere, behind its user's
/// back.
pub(crate) fn without_loosening(layers: &Layers, context: &Context) -> Result<PawConfig, PawError> {
    for item in layers.repo.needs_trust().iter().filter(|item| loosens(item)) {
        context.output.warn(&format!(
            "{} of this repository is ignored: only your own configuration may set it",
            item.key
        ));
    }
    layers.without(loosens).resolve()
}

pub(crate) fn loosens(item: &TrustItem) -> bool {
    item.key.starts_with("broker.") || item.key == "logging.log_dir"
}

/// How much agents, and a supervisor, may do unasked if the user alone is heard.
struct Own {
    agents: Approval,
    supervisor: Approval,
}

impl Own {
    fn of(layers: &Layers) -> Result<Self, PawError> {
        let config = layers.of_user_alone().resolve()?.supervisor.unwrap_or_default();
        Ok(Self { agents: config.agent_approval, supervisor: config.approval() })
    }

    /// What decides how agents are started: their programs, and how much more they may do unasked than their user lets them.
    fn needs_a_yes_for(&self, item: &TrustItem) -> bool {
        if let Some(level) = item.approval() {
            return level > if item.key.ends_with(".approval") { self.supervisor } else { self.agents };
        }
        let is_command = item.key.starts_with("supervisor.") && item.key.ends_with("_command");
        item.key.starts_with("clis.") || (is_command && !is_gate(item))
    }
}

/// A command that agents are told to run, and that proves their work: approved once, for both.
fn is_gate(item: &TrustItem) -> bool {
    Gate::ALL.iter().any(|gate| gate.key() == item.key)
}

/// The configuration, with the repository's own CLIs, approvals and gates where they were approved, else without them.
pub(crate) fn config(
    layers: &Layers,
    repo: &Repo,
    asking: Asking,
    context: &Context,
) -> Result<PawConfig, PawError> {
    let gates = gates::plan(&layers.resolve()?.supervisor.unwrap_or_default(), &layers.repo);
    let own = Own::of(layers)?;
    let starts_agents = |item: &TrustItem| own.needs_a_yes_for(item);
    let agents = (WANTS, wanted(layers)?, &starts_agents as &dyn Fn(&TrustItem) -> bool);
    let mut followed = layers.clone();
    let mut ignored = Vec::new();
    for (wants, subject, is_of_it) in [agents, (approval::WANTS_GATES, gates.subject().cloned(), &is_gate)] {
        let Some(subject) = subject else { continue };
        let approved = match asking {
            Asking::Never => approval::is_approved(&subject, repo, context)?,
            Asking::About(consent) => approval::consents(&subject, wants, repo, consent, context)?,
        };
        if !approved {
            let items = layers.repo.needs_trust().into_iter().filter(is_of_it);
            ignored.extend(items.map(|item| item.key));
            followed = followed.without(is_of_it);
        }
    }
    if !ignored.is_empty() {
        context.output.warn(&format!(
            "not approved, so this repository's own {} {} ignored (git paw start --trust approves)",
            ignored.join(", "),
            if ignored.len() == 1 { "is" } else { "are" }
        ));
    }
    without_loosening(&followed, context)
}

/// What the repository's own file wants agents to be started with, as something to approve.
pub(crate) fn wanted(layers: &Layers) -> Result<Option<Subject>, PawError> {
    let own = Own::of(layers)?;
    let items = layers.repo.needs_trust().into_iter().filter(|item| own.needs_a_yes_for(item));
    let subject = items.fold(Subject::new("agents"), |subject, item| subject.with(item.key, item.value));
    Ok((!subject.is_empty()).then_some(subject))
}

pub(crate) const WANTS: &str = "this repository wants to start agents with:";

/// What makes new worktrees ready, as far as it may run.
pub(crate) fn preparation(
    layers: &Layers,
    config: &PawConfig,
    repo: &Repo,
    asking: Asking,
    context: &Context,
) -> Result<Preparation, PawError> {
    let setup = match asking {
        Asking::About(consent) if !repo.bare => {
            approval::decide(setup::plan(config, &layers.repo, &repo.root), repo, consent, context)?
        }
        Asking::About(_) | Asking::Never => SetupPlan::default(),
    };
    Ok(Preparation { copy: config.worktree.copy.clone(), setup })
}
