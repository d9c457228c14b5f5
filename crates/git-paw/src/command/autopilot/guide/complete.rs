//! `git paw autopilot complete`

use clap::Args;
use paw_autopilot::work::{AttemptResult, PhaseJudgement};
use paw_core::PawError;
use paw_core::text::plural;
use serde_json::{Value, json};

use super::{JsonArgs, answer, current_run};
use crate::approval::autopilot::approved_final_commands;
use crate::context::Context;

/// Complete the current phase; git paw runs the tests to prove it
///
/// RED needs a new test that fails for the right reason. GREEN needs all tests to pass without being weakened. If the phase
/// is not proven, prints why and exits with 1.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot complete\n  git paw autopilot complete --json")]
pub(crate) struct CompleteArgs {
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

pub(crate) fn complete(context: &Context) -> Result<Value, PawError> {
    let mut work = current_run::load(context)?;
    work.set_coverage_command(&approved_final_commands(&work.context.repo, context)?);
    let judged = work.complete()?;
    let mut answer = answer::answer(&work, &message(&judged))?;
    let objections: Vec<String> = match &judged.judgement {
        PhaseJudgement::Refused(objections) => objections.iter().map(ToString::to_string).collect(),
        PhaseJudgement::Proven | PhaseJudgement::AlreadyGreen { .. } => Vec::new(),
    };
    let files: Vec<_> = judged.files.iter().map(|path| path.to_string_lossy()).collect();
    let more = json!({
        "accepted": matches!(judged.judgement, PhaseJudgement::Proven | PhaseJudgement::AlreadyGreen { settled: true }),
        "completedPhase": judged.phase.as_str(),
        "subtask": judged.subtask,
        "attempt": judged.attempt,
        "testResults": answer::counted(&judged.tests),
        "flaky": judged.tests.flaky,
        "files": files,
        "objections": objections,
    });
    answer::add(&mut answer, more);
    Ok(answer)
}

fn message(judged: &AttemptResult) -> String {
    let (phase, subtask) = (judged.phase.as_str(), &judged.subtask);
    match &judged.judgement {
        PhaseJudgement::Proven => {
            let seen = answer::counted(&judged.tests);
            let number = |name: &str| seen[name].as_u64().unwrap_or_default();
            let result = match judged.phase {
                paw_autopilot::work::TddPhase::Red => format!("{} failing", plural(number("failed"), "test")),
                paw_autopilot::work::TddPhase::Green => {
                    format!("{} passing", plural(number("passed"), "test"))
                }
            };
            format!("{phase} of {subtask} is proven: {result}")
        }
        PhaseJudgement::AlreadyGreen { settled: true } => {
            format!("{subtask} is already implemented: its tests passed twice before any code was written")
        }
        PhaseJudgement::AlreadyGreen { settled: false } => {
            format!("{phase} of {subtask} is not proven: the tests passed without new code")
        }
        PhaseJudgement::Refused(_) => format!("{phase} of {subtask} is not proven:"),
    }
}
