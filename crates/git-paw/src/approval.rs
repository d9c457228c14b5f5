//! Asking the user before a repository's own commands run.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use paw_core::PawError;
use paw_core::config::PawConfig;
use paw_core::text;
use paw_host::config;
use paw_host::git::Repo;
use paw_host::trust::{Approver, Subject, TrustStore};
use paw_supervisor::gates::{self, Gate, Ready, Step};
use paw_worktree::setup::{self, SetupPlan, Trust};

use crate::context::Context;

/// How the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// A flag says yes.
    Given,
    /// At the terminal, where there is one; else the answer is "not now".
    Ask,
}

/// The plan, approved where it was before or is now. A plan that is not approved runs only the user's own commands.
pub(crate) fn decide(
    plan: SetupPlan,
    repo: &Repo,
    consent: Consent,
    context: &Context,
) -> Result<SetupPlan, PawError> {
    let plan = plan.checked(&TrustStore::open(&context.dirs), repo)?;
    let Trust::NeedsApproval(subject) = plan.trust() else { return Ok(plan) };
    let subject = subject.clone();
    let wants = "this repository wants to run, in every new worktree:";
    let approved = consents(&subject, wants, repo, consent, context)?;
    Ok(if approved { plan.approved() } else { plan })
}

/// What commits are checked with, approved.
#[derive(Debug, Clone)]
pub(crate) struct Checks {
    pub(crate) steps: Vec<Step>,
    /// What a checkout needs for them.
    pub(crate) ready: Ready,
    pub(crate) config: PawConfig,
}

pub(crate) const WANTS_GATES: &str = "this repository wants to run, as gates:";

/// The project's gates, or one of them, from the configuration of the main checkout, so that no branch chooses its own.
/// Nothing of it runs in part: an error says what nobody has approved.
pub(crate) fn checks(
    repo: &Repo,
    only: Option<Gate>,
    consent: Consent,
    context: &Context,
) -> Result<Checks, PawError> {
    let layers = config::load_layers(Some(&repo.root), None)?;
    let config = layers.resolve()?;
    let plan = gates::plan(&config.supervisor.clone().unwrap_or_default(), &layers.repo);
    let steps: Vec<_> =
        plan.steps.iter().filter(|step| only.is_none_or(|only| step.gate == only)).cloned().collect();
    if let Some(subject) = plan.subject()
        && !consents(subject, WANTS_GATES, repo, consent, context)?
    {
        return Err(refused(subject));
    }
    let setup = if repo.bare || steps.is_empty() {
        SetupPlan::default()
    } else {
        decide(setup::plan(&config, &layers.repo, &repo.root), repo, consent, context)?
    };
    if let Trust::NeedsApproval(subject) = setup.trust() {
        return Err(refused(subject));
    }
    Ok(Checks { steps, ready: Ready { copy: config.worktree.copy.clone(), setup }, config })
}

fn refused(subject: &Subject) -> PawError {
    PawError::ConfigError(format!(
        "not approved, so nothing is run:\n  {}\nhint: look at it, then approve it with --trust",
        subject.summary().join("\n  ")
    ))
}

/// Whether exactly this was approved before.
pub(crate) fn is_approved(subject: &Subject, repo: &Repo, context: &Context) -> Result<bool, PawError> {
    Ok(TrustStore::open(&context.dirs).is_approved(repo, subject)?)
}

/// Whether this was approved before, or is now. `wants` is the first line of the question.
pub(crate) fn consents(
    subject: &Subject,
    wants: &str,
    repo: &Repo,
    consent: Consent,
    context: &Context,
) -> Result<bool, PawError> {
    let store = TrustStore::open(&context.dirs);
    if store.is_approved(repo, subject)? {
        return Ok(true);
    }
    let approved = match consent {
        Consent::Given => true,
        Consent::Ask => may_ask(context) && confirm(subject, wants)?,
    };
    if approved {
        store.approve(&Approver::from_env()?, repo, subject)?;
    }
    Ok(approved)
}

/// Somebody sits at the terminal, and is no agent.
fn may_ask(context: &Context) -> bool {
    !context.output.wants_json()
        && io::stdin().is_terminal()
        && io::stderr().is_terminal()
        && Approver::from_env().is_ok()
}

fn confirm(subject: &Subject, wants: &str) -> Result<bool, PawError> {
    let mut stderr = io::stderr().lock();
    let wanted: Vec<_> = subject.details().iter().map(|line| format!("  {line}\n")).collect();
    let question = format!(
        "{wants}\n{}\
         agree, and do not ask again until it changes? [y/N] ",
        wanted.concat()
    );
    let asked = stderr.write_all(text::block(&question).as_bytes()).and_then(|()| stderr.flush());
    drop(stderr);
    let mut answer = String::new();
    let read = asked.and_then(|()| io::stdin().lock().read_line(&mut answer));
    match read {
        Ok(0) => Err(PawError::UserCancelled),
        Ok(_) => Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")),
        Err(error) => Err(PawError::IoError(format!("cannot ask: {error}"))),
    }
}
