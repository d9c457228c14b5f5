//! The run of a directory.

use std::thread;
use std::time::Duration;

use paw_autopilot::work::{Site, Work, WorkError};
use paw_core::PawError;
use paw_host::trust::Subject;

use crate::approval::autopilot::TESTS_QUESTION;
use crate::approval::{self, Consent};
use crate::context::Context;

/// Short steps of somebody else are waited for; whoever runs tests is not.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

pub(super) fn site(context: &Context) -> Result<Site, PawError> {
    let site = Site::find(context.require_repo()?, &context.cwd, &context.search_path)?;
    for warning in &site.settings.warnings {
        context.output.warn(&format!("{}: {warning}", site.project.config_file().display()));
    }
    Ok(site)
}

/// The run that is under way, held until it is dropped.
pub(super) fn load(context: &Context) -> Result<Work, PawError> {
    held(Consent::Ask, context, Work::load)
}

/// Takes hold of a run by `take`, as soon as nobody else has it.
pub(super) fn held(
    consent: Consent,
    context: &Context,
    take: fn(Site, paw_autopilot::work::Approves<'_>) -> Result<Work, WorkError>,
) -> Result<Work, PawError> {
    let approves = |subject: &Subject| approves(subject, consent, context);
    for _ in 1..TRIES {
        match take(site(context)?, &approves) {
            Err(WorkError::Busy(_)) => thread::sleep(BETWEEN_TRIES),
            taken => return Ok(taken?),
        }
    }
    Ok(take(site(context)?, &approves)?)
}

/// Whether the user has approved what the project's own files would have us run.
pub(super) fn approves(subject: &Subject, consent: Consent, context: &Context) -> Result<bool, PawError> {
    approval::consents(subject, TESTS_QUESTION, &context.require_repo()?, consent, context)
}
