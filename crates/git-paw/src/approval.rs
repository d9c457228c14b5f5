//! Asking the user before a repository's own commands run.

pub(crate) mod autopilot;
pub(crate) mod rules;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use paw_core::PawError;
use paw_core::config::PawConfig;
use paw_core::text;
use paw_host::config::{self, Layers};
use paw_host::git::Repo;
use paw_host::trust::{TrustStore, TrustSubject};
use paw_session::trust::{self, TrustedConfig};
use paw_supervisor::gates::{self, Gate, GateChecks};
use paw_worktree::Preparation;
use paw_worktree::setup::{SetupPlan, SetupTrust};

use crate::context::Context;

/// How approval is obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// A flag gives it.
    Given,
    /// By asking on the terminal. Without a terminal nothing is approved.
    Ask,
    /// Never: only earlier approvals count.
    Never,
    /// A flag would give it, but nothing is to be stored.
    Assumed,
}

impl Consent {
    /// From the flag `--trust`.
    pub(crate) fn of_flag(trust: bool) -> Self {
        if trust { Self::Given } else { Self::Ask }
    }
}

/// The configuration of a session. CLIs, arguments and gates that the repository's own file sets count only if they are
/// approved.
pub(crate) fn session_config(
    layers: &Layers,
    repo: &Repo,
    consent: Consent,
    context: &Context,
) -> Result<PawConfig, PawError> {
    let gates = gates::plan(&layers.resolve()?.supervisor.unwrap_or_default(), &layers.repo);
    let requests =
        trust::find_agent_request(layers, Gate::is_command)?.into_iter().chain(gates.request().cloned());
    let followed = trust::resolve_trusted(layers, requests, |request| {
        consents(&request.subject, request.question, repo, consent, context)
    })?;
    Ok(warned(followed, context))
}

/// The configuration without the repository's values for keys that only the user may set.
pub(crate) fn guarded_config(layers: &Layers, context: &Context) -> Result<PawConfig, PawError> {
    Ok(warned(trust::resolve_trusted(layers, [], |_| Ok(false))?, context))
}

/// Warns about the keys of the repository's file that are ignored.
fn warned(followed: TrustedConfig, context: &Context) -> PawConfig {
    let TrustedConfig { config, unapproved, forbidden } = followed;
    if !unapproved.is_empty() {
        context.output.warn(&format!(
            "ignoring this repository's {}: not approved (approve with 'git paw start --trust')",
            unapproved.join(", ")
        ));
    }
    for key in forbidden {
        context
            .output
            .warn(&format!("ignoring this repository's {key}: only your own configuration may set it"));
    }
    config
}

/// The CLIs of this repository that the user has not approved.
pub(crate) fn unapproved_clis(
    layers: &Layers,
    repo: &Repo,
    context: &Context,
) -> Result<Vec<String>, PawError> {
    match trust::find_agent_request(layers, Gate::is_command)? {
        Some(request) if !is_approved(&request.subject, repo, context)? => Ok(request.clis()),
        _ => Ok(Vec::new()),
    }
}

pub(crate) const SETUP_QUESTION: &str = "this repository wants to run, in every new worktree:";

/// The copy and setup steps of new worktrees. The repository's own steps run only if they are approved; the others always
/// run.
pub(crate) fn preparation(
    layers: &Layers,
    config: &PawConfig,
    repo: &Repo,
    consent: Consent,
    context: &Context,
) -> Result<Preparation, PawError> {
    if repo.bare || consent == Consent::Never {
        return Ok(Preparation { copy: config.worktree.copy.clone(), setup: SetupPlan::default() });
    }
    let planned = Preparation::from_config(config, &layers.repo, repo);
    let checked = planned.apply_approvals(&TrustStore::open(&context.dirs), repo)?;
    let approved = match checked.setup.trust() {
        SetupTrust::NeedsApproval(subject) => consents(subject, SETUP_QUESTION, repo, consent, context)?,
        SetupTrust::Nothing | SetupTrust::Trusted => return Ok(checked),
    };
    let Preparation { copy, setup } = checked;
    Ok(Preparation { copy, setup: if approved { setup.approved() } else { setup } })
}

/// The project's gates from the configuration of the main checkout: a branch cannot change its own gates.
/// Fails if any of the commands is not approved.
pub(crate) fn checks(repo: &Repo, consent: Consent, context: &Context) -> Result<GateChecks, PawError> {
    let layers = config::load_layers(Some(&repo.root), None)?;
    let config = layers.resolve()?;
    let plan = gates::plan(&config.supervisor.clone().unwrap_or_default(), &layers.repo);
    if let Some(request) = plan.request()
        && !consents(&request.subject, request.question, repo, consent, context)?
    {
        return Err(not_approved(&request.subject));
    }
    let asked = if plan.steps.is_empty() { Consent::Never } else { consent };
    let Preparation { copy, setup } = preparation(&layers, &config, repo, asked, context)?;
    if let SetupTrust::NeedsApproval(subject) = setup.trust() {
        return Err(not_approved(subject));
    }
    Ok(GateChecks { steps: plan.steps, preparation: Preparation { copy, setup }, config })
}

pub(crate) fn not_approved(subject: &TrustSubject) -> PawError {
    let wanted = subject.summary().join("\n  ");
    PawError::ConfigError(format!("not approved:\n  {wanted}"))
        .hint("review it, then approve it with --trust")
}

/// Whether exactly this text was approved before.
pub(crate) fn is_approved(subject: &TrustSubject, repo: &Repo, context: &Context) -> Result<bool, PawError> {
    Ok(TrustStore::open(&context.dirs).is_approved(repo, subject)?)
}

/// Whether this was approved before or is approved now. `wants` is the first line of the question.
pub(crate) fn consents(
    subject: &TrustSubject,
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
        Consent::Never => false,
        Consent::Assumed => return Ok(true),
    };
    if approved {
        store.approve(&context.approver()?, repo, subject)?;
    }
    Ok(approved)
}

/// Whether a user, not an agent, is at the terminal.
fn may_ask(context: &Context) -> bool {
    !context.output.wants_json()
        && io::stdin().is_terminal()
        && io::stderr().is_terminal()
        && context.approver().is_ok()
}

fn confirm(subject: &TrustSubject, wants: &str) -> Result<bool, PawError> {
    let mut stderr = io::stderr().lock();
    let wanted: Vec<_> = subject.details().iter().map(|line| format!("  {line}\n")).collect();
    let question = format!(
        "{wants}\n{}\
         approve, and do not ask again until it changes? [y/N] ",
        wanted.concat()
    );
    let asked = stderr.write_all(text::block(&question).as_bytes()).and_then(|()| stderr.flush());
    drop(stderr);
    let mut answer = String::new();
    let read = asked.and_then(|()| io::stdin().lock().read_line(&mut answer));
    match read {
        Ok(0) => Err(PawError::UserCancelled),
        Ok(_) => Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")),
        Err(error) => Err(PawError::internal(format!("cannot read the answer: {error}"))),
    }
}
