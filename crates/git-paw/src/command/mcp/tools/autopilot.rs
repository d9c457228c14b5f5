//! A task done test-first, step by step. The names and parameters are those other programs know.

use std::num::NonZeroU32;

use paw_autopilot::work::Relaxation;
use paw_core::PawError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments;
use super::super::sets::ToolSet::Autopilot;
use super::super::tool::{Effect, Tool};
use super::Nothing;
use crate::approval::Consent;
use crate::command::autopilot::guide::{self, Commit, Start};
use crate::context::Context;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            Autopilot,
            "autopilot_start",
            Effect::Changes,
            "Begin a task test-first: runs the tests as they are, makes the task's branch and answers the first work unit.",
            start,
        ),
        Tool::new(
            Autopilot,
            "autopilot_next",
            Effect::Reads,
            "The next work unit: phase (RED, GREEN, COMMIT), subtask, action and context.",
            |_: Nothing, context| guide::next(context),
        ),
        Tool::new(
            Autopilot,
            "autopilot_complete_phase",
            Effect::Changes,
            "Say that the tests (RED) or the code (GREEN) are written. The tests are run here and decide: `accepted`, else \
             `objections` say what is missing and the phase stays.",
            |args: Complete, context| complete(args.test_results.as_ref(), context),
        ),
        Tool::new(
            Autopilot,
            "autopilot_commit",
            Effect::Changes,
            "Commit what was proven, with the subtask's status in the same commit. Do not commit by other means.",
            commit,
        ),
        Tool::new(
            Autopilot,
            "autopilot_status",
            Effect::Reads,
            "Where the run stands: phase, subtask, progress; active is false when there is none.",
            |_: Nothing, context| guide::status(context),
        ),
        Tool::new(
            Autopilot,
            "autopilot_resume",
            Effect::Changes,
            "Go on with a run that was paused or interrupted, if branch, last commit and task are what they were.",
            |_: Nothing, context| guide::resume(Consent::Ask, context),
        ),
        Tool::new(
            Autopilot,
            "autopilot_finalize",
            Effect::Changes,
            "Finish the run after the last subtask: the whole suite once more, and the text of a pull request. Nothing is pushed.",
            |_: Nothing, context| guide::finalize(Consent::Ask, context),
        ),
        Tool::new(
            Autopilot,
            "autopilot_abort",
            Effect::Changes,
            "Give the run up. Branch, commits and files stay.",
            |_: Nothing, context| guide::abort(context),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Begin {
    /// The task, such as 42; not a subtask
    #[serde(deserialize_with = "arguments::id")]
    task_id: String,
    /// After this many attempts at a phase the run pauses (default 3)
    max_attempts: Option<NonZeroU32>,
    /// Give up a run that is not finished
    #[serde(default)]
    force: bool,
    /// Which list of tasks; without it, the branch's or the active one
    tag: Option<String>,
}

fn start(args: Begin, context: &Context) -> Result<Value, PawError> {
    let wanted = Start {
        task: Some(args.task_id),
        tag: args.tag,
        max_attempts: args.max_attempts.map(NonZeroU32::get),
        relax: if args.force { vec![Relaxation::Run] } else { Vec::new() },
        ..Start::default()
    };
    guide::start(&wanted, Consent::Ask, context)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Complete {
    /// What you have seen yourself. It proves nothing and may be left out: the tests are run here
    test_results: Option<TestResults>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TestResults {
    /// How many there are
    total: u64,
    /// How many passed
    passed: u64,
    /// How many failed
    failed: u64,
    /// How many were skipped
    #[serde(default)]
    skipped: u64,
}

fn complete(reported: Option<&TestResults>, context: &Context) -> Result<Value, PawError> {
    let mut answer = guide::complete(context)?;
    if let Some(TestResults { total, passed, failed, skipped }) = reported {
        let reported = json!({"total": total, "passed": passed, "failed": failed, "skipped": skipped});
        if reported != answer["testResults"] {
            answer["note"] =
                json!("what you reported differs from what we have seen; only the latter counts");
            answer["reported"] = reported;
        }
    }
    Ok(answer)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CommitProven {
    /// The files you expect in the commit; refused if others were changed too
    #[serde(default)]
    files: Vec<String>,
    /// Your own message; the trailers are added
    custom_message: Option<String>,
}

fn commit(args: CommitProven, context: &Context) -> Result<Value, PawError> {
    guide::commit(&Commit { message: args.custom_message, files: args.files }, context)
}
