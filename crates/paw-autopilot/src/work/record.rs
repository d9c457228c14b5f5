//! Records test runs.

use std::path::Path;

use paw_host::clock;
use serde_json::json;

use super::complete::PhaseAttempt;
use super::{ActiveRun, PhaseJudgement, TddPhase, WorkError};
use crate::artifacts::log::counts;
use crate::artifacts::results::{TestResult, TestRunKind};
use crate::coverage::Coverage;
use crate::evidence::Objection;
use crate::runners::{TestCase, TestRun};

impl ActiveRun {
    /// Writes the test result and a log line.
    pub(super) fn record(
        &mut self,
        attempt: &PhaseAttempt,
        judgement: &PhaseJudgement,
        coverage: Option<&Coverage>,
    ) -> Result<(), WorkError> {
        let PhaseAttempt { phase, subtask, number, tests, baseline, .. } = attempt;
        let attempt = *number;
        let proven = !matches!(judgement, PhaseJudgement::Refused(_));
        let occasion = match phase {
            TddPhase::Red => TestRunKind::Red { subtask, attempt, proven },
            TddPhase::Green => TestRunKind::Green { subtask, attempt, proven },
        };
        let result = TestResult::of(occasion, tests, coverage, clock::now());
        let path = self.dir.write_result(occasion, &result)?;
        self.notes.last_result = path.strip_prefix(self.dir.path()).ok().map(Path::to_path_buf);
        let mut fields = json!({"subtask": subtask.to_string(), "status": if proven { "ok" } else { "error" },
            "tests": counts(&tests.report), "attempts": attempt});
        if baseline.is_some() {
            fields["targeted"] = json!(true);
        }
        match judgement {
            PhaseJudgement::Proven => {}
            PhaseJudgement::AlreadyGreen { settled } => {
                fields["note"] = json!(if *settled {
                    "already implemented"
                } else {
                    "passed without new code; asked for a failing test"
                });
            }
            PhaseJudgement::Refused(objections) => {
                fields["error"] =
                    json!(objections.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
            }
        }
        if !tests.flaky.is_empty() {
            fields["flaky"] = json!(tests.flaky);
        }
        self.log(&phase.as_str().to_lowercase(), fields)
    }
}

/// What failed in the first failing test, else the first objection.
pub(super) fn last_error(tests: &TestRun, objections: &[Objection]) -> Option<String> {
    let message = tests.report.failed().find_map(TestCase::error);
    message.or_else(|| objections.first().map(ToString::to_string))
}
