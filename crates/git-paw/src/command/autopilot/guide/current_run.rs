//! The run of a directory.

use std::thread;
use std::time::Duration;

use paw_autopilot::work::{ActiveRun, ApprovalCheck, ProjectContext, WorkError};
use paw_core::PawError;
use paw_host::trust::TrustSubject;

use crate::approval::autopilot::TESTS_QUESTION;
use crate::approval::{self, Consent};
use crate::context::Context;

/// How often to retry while another process holds the run: long enough for short steps, not for test runs.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

pub(super) fn site(context: &Context) -> Result<ProjectContext, PawError> {
    let site = ProjectContext::find(context.require_repo()?, &context.cwd, &context.search_path)?;
    for warning in &site.settings.warnings {
        context.output.warn(&format!("{}: {warning}", site.project.config_file().display()));
    }
    Ok(site)
}

/// The run in progress, locked until it is dropped.
pub(super) fn load(context: &Context) -> Result<ActiveRun, PawError> {
    lock(Consent::Ask, context, ActiveRun::load)
}

/// Opens a run with `take`, and retries while another process holds it.
pub(super) fn lock(
    consent: Consent,
    context: &Context,
    take: impl Fn(ProjectContext, ApprovalCheck<'_>) -> Result<ActiveRun, WorkError>,
) -> Result<ActiveRun, PawError> {
    let approves = |subject: &TrustSubject| approves(subject, consent, context);
    for _ in 1..TRIES {
        match take(site(context)?, &approves) {
            Err(WorkError::Busy(_)) => thread::sleep(BETWEEN_TRIES),
            taken => return Ok(taken?),
        }
    }
    Ok(take(site(context)?, &approves)?)
}

/// Whether the project's own test command is approved.
pub(super) fn approves(
    subject: &TrustSubject,
    consent: Consent,
    context: &Context,
) -> Result<bool, PawError> {
    approval::consents(subject, TESTS_QUESTION, &context.require_repo()?, consent, context)
}
