//! `git paw autopilot complete`

use clap::Args;
use paw_autopilot::work::{Judged, Judgement};
use paw_core::PawError;
use paw_core::text::plural;
use serde_json::{Value, json};

use super::{CommonArgs, run_at, view};
use crate::approval::autopilot::known_commands;
use crate::context::Context;

/// Say that the phase at hand is done; the tests are run here and decide
///
/// RED is proven by a new test that fails for the right reason, GREEN by all of them passing without being weakened. What is
/// not proven is said, and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot complete\n  git paw autopilot complete --json")]
pub(crate) struct CompleteArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

pub(crate) fn complete(context: &Context) -> Result<Value, PawError> {
    let mut work = run_at::load(context)?;
    work.measure_by(&known_commands(&work.site.repo, context)?);
    let judged = work.complete()?;
    let mut answer = view::answer(&work, &message(&judged))?;
    let objections: Vec<String> = match &judged.judgement {
        Judgement::Refused(objections) => objections.iter().map(ToString::to_string).collect(),
        Judgement::Proven | Judgement::AlreadyGreen { .. } => Vec::new(),
    };
    let files: Vec<_> = judged.files.iter().map(|path| path.to_string_lossy()).collect();
    let more = json!({
        "accepted": matches!(judged.judgement, Judgement::Proven | Judgement::AlreadyGreen { settled: true }),
        "completedPhase": judged.phase.as_str(),
        "subtask": judged.subtask,
        "attempt": judged.attempt,
        "testResults": view::counted(&judged.tests),
        "flaky": judged.tests.flaky,
        "files": files,
        "objections": objections,
    });
    view::add(&mut answer, more);
    Ok(answer)
}

fn message(judged: &Judged) -> String {
    let (phase, subtask) = (judged.phase.as_str(), &judged.subtask);
    match &judged.judgement {
        Judgement::Proven => {
            let seen = view::counted(&judged.tests);
            let number = |name: &str| seen[name].as_u64().unwrap_or_default();
            let told = match judged.phase {
                paw_autopilot::work::Phase::Red => format!("{} failing", plural(number("failed"), "test")),
                paw_autopilot::work::Phase::Green => format!("{} passing", plural(number("passed"), "test")),
            };
            format!("{phase} of {subtask} is proven: {told}")
        }
        Judgement::AlreadyGreen { settled: true } => {
            format!("{subtask} is there already: its tests passed twice before anybody wrote code")
        }
        Judgement::AlreadyGreen { settled: false } => {
            format!("{phase} of {subtask} is not proven: the tests passed at once")
        }
        Judgement::Refused(_) => format!("{phase} of {subtask} is not proven:"),
    }
}
