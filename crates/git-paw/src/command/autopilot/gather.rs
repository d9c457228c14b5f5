//! What a run needs from the configuration, as far as it was approved.

use std::time::Duration;

use paw_autopilot::executor::Executor;
use paw_autopilot::work::Site;
use paw_autopilot::work::finish::FinalCommands;
use paw_core::PawError;
use paw_core::config::{AutopilotConfig, TrustItem};
use paw_host::config::{self, Layers};
use paw_host::git::Repo;
use paw_host::trust::Subject;

use crate::approval::{self, Consent};
use crate::context::Context;

fn is_ours(item: &TrustItem) -> bool {
    item.key.starts_with("autopilot.")
}

/// What the repository's file would have us run in a run, for somebody to approve.
pub(crate) fn subject(layers: &Layers) -> Option<Subject> {
    let items: Vec<_> = layers.repo.needs_trust().into_iter().filter(is_ours).collect();
    let fold = |subject: Subject, item: &TrustItem| subject.with(item.key.as_str(), item.value.as_str());
    (!items.is_empty()).then(|| items.iter().fold(Subject::new("autopilot"), fold))
}

/// The command by which a project wants its tests to be run, for somebody to approve.
pub(crate) fn test_command(repo: &Repo, context: &Context) -> Option<Subject> {
    let site = Site::find(repo.clone(), &context.cwd, &context.search_path).ok()?;
    site.settings.runner.as_ref()?;
    site.detect(None).ok()?.1
}

/// The configuration. What the repository's own file would have us run has to be approved first.
fn approved(repo: &Repo, consent: Consent, context: &Context) -> Result<AutopilotConfig, PawError> {
    let layers = config::load_layers(Some(&repo.root), None)?;
    if let Some(subject) = subject(&layers) {
        let wants = "this repository wants autopilot to run:";
        if !approval::consents(&subject, wants, repo, consent, context)? {
            return Err(approval::not_approved(&subject));
        }
    }
    Ok(layers.resolve()?.autopilot)
}

/// The same without asking anybody: what was not approved is not there.
pub(super) fn known(repo: &Repo, context: &Context) -> Result<AutopilotConfig, PawError> {
    let layers = config::load_layers(Some(&repo.root), None)?;
    let trusted = match subject(&layers) {
        Some(subject) => approval::is_approved(&subject, repo, context)?,
        None => true,
    };
    let layers = if trusted { layers } else { layers.without(is_ours) };
    Ok(layers.resolve()?.autopilot)
}

/// What is run at the end of a run: formatter, linter, coverage.
pub(crate) fn final_commands(
    repo: &Repo,
    consent: Consent,
    context: &Context,
) -> Result<FinalCommands, PawError> {
    Ok(commands(approved(repo, consent, context)?))
}

/// The same as far as it was approved, without asking anybody.
pub(crate) fn known_commands(repo: &Repo, context: &Context) -> Result<FinalCommands, PawError> {
    Ok(commands(known(repo, context)?))
}

fn commands(config: AutopilotConfig) -> FinalCommands {
    FinalCommands {
        format: config.format_command,
        lint: config.lint_command,
        coverage: config.coverage_command,
        coverage_report: config.coverage_report,
        coverage_required: config.coverage_required,
    }
}

pub(crate) fn executor(
    name: Option<&str>,
    site: &Site,
    consent: Consent,
    context: &Context,
) -> Result<Executor, PawError> {
    Ok(choose(name, &approved(&site.repo, consent, context)?, context)?)
}

pub(super) fn choose(
    name: Option<&str>,
    config: &AutopilotConfig,
    context: &Context,
) -> Result<Executor, paw_autopilot::executor::ExecutorError> {
    let limit = Duration::from_secs(config.executor_timeout_minutes.max(1).saturating_mul(60));
    let name = name.or(config.executor.as_deref());
    Executor::choose(name, &config.executors, &context.search_path, limit)
}

/// Whether a test command of the project's own may be run.
pub(crate) fn approves<'a>(
    site: &Site,
    consent: Consent,
    context: &'a Context,
) -> impl Fn(&Subject) -> Result<bool, PawError> + use<'a> {
    let repo = site.repo.clone();
    move |subject| {
        approval::consents(subject, "this project wants its tests to be run by:", &repo, consent, context)
    }
}
