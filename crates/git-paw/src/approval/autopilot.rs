//! The approved part of the autopilot configuration.

use std::time::Duration;

use paw_autopilot::executor::{Executor, ExecutorError};
use paw_autopilot::trust::request;
use paw_autopilot::work::finish::FinalCommands;
use paw_autopilot::work::{FinalGates, ProjectContext};
use paw_core::PawError;
use paw_core::config::AutopilotConfig;
use paw_host::config;
use paw_host::git::Repo;
use paw_host::trust::TrustSubject;
use paw_session::trust::resolve_trusted;

use super::{Consent, consents, not_approved};
use crate::context::Context;

/// The configuration. Fails unless the commands of the repository's own file are approved.
fn approved(repo: &Repo, consent: Consent, context: &Context) -> Result<AutopilotConfig, PawError> {
    let layers = config::load_layers(Some(&repo.root), None)?;
    if let Some(request) = request(&layers)
        && !consents(&request.subject, request.question, repo, consent, context)?
    {
        return Err(not_approved(&request.subject));
    }
    Ok(layers.resolve()?.autopilot)
}

/// The configuration without its unapproved commands. Never asks.
pub(crate) fn approved_config(repo: &Repo, context: &Context) -> Result<AutopilotConfig, PawError> {
    let layers = config::load_layers(Some(&repo.root), None)?;
    let followed = resolve_trusted(&layers, request(&layers), |request| {
        super::is_approved(&request.subject, repo, context)
    })?;
    Ok(followed.config.autopilot)
}

/// The commands for the end of a run: formatter, linter, coverage.
pub(crate) fn final_commands(
    repo: &Repo,
    consent: Consent,
    context: &Context,
) -> Result<FinalCommands, PawError> {
    let commands = approved(repo, consent, context)?.into();
    Ok(FinalCommands { gates: find_gates(repo, consent, context)?, ..commands })
}

/// The project's gates, whose result is signed at the end of a run. Only a process of the user signs.
fn find_gates(repo: &Repo, consent: Consent, context: &Context) -> Result<FinalGates, PawError> {
    if !context.caller()?.is_user() {
        let why =
            "autopilot ran in an agent's pane; git paw verify BRANCH asks the session's process to sign";
        return Ok(FinalGates::Skip(why.to_owned()));
    }
    Ok(match super::checks(repo, consent, context) {
        Ok(checks) => FinalGates::new(checks),
        Err(error) => FinalGates::Skip(format!("the gates cannot run: {error}")),
    })
}

/// The approved commands for the end of a run. Never asks.
pub(crate) fn approved_final_commands(repo: &Repo, context: &Context) -> Result<FinalCommands, PawError> {
    Ok(approved_config(repo, context)?.into())
}

pub(crate) fn executor(
    name: Option<&str>,
    site: &ProjectContext,
    consent: Consent,
    context: &Context,
) -> Result<Executor, PawError> {
    Ok(choose(name, &approved(&site.repo, consent, context)?, context)?)
}

pub(crate) fn choose(
    name: Option<&str>,
    config: &AutopilotConfig,
    context: &Context,
) -> Result<Executor, ExecutorError> {
    let limit = Duration::from_secs(config.executor_timeout_minutes.max(1).saturating_mul(60));
    let name = name.or(config.executor.as_deref());
    Executor::choose(name, &config.executors, &context.search_path, limit)
}

pub(crate) const TESTS_QUESTION: &str = "this project runs its tests with:";

/// Returns a function that tells whether the project's own test command is approved.
pub(crate) fn approves<'a>(
    site: &ProjectContext,
    consent: Consent,
    context: &'a Context,
) -> impl Fn(&TrustSubject) -> Result<bool, PawError> + use<'a> {
    let repo = site.repo.clone();
    move |subject| consents(subject, TESTS_QUESTION, &repo, consent, context)
}
