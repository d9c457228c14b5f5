//! Tools for doing a task test-first. Other programs know these names and parameters.

use std::num::NonZeroU32;

use paw_autopilot::work::Relaxation;
use paw_core::PawError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments;
use super::super::tool::{Effect, Tool};
use super::super::tool_sets::ToolSet::Autopilot;
use super::NoArguments;
use crate::approval::Consent;
use crate::command::autopilot::guide::{self, CommitOptions, StartOptions};
use crate::context::Context;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            Autopilot,
            "autopilot_start",
            Effect::Changes,
            "Start a task test-first: runs the existing tests, creates the task's branch and returns the first work unit.",
            start,
        ),
        Tool::new(
            Autopilot,
            "autopilot_next",
            Effect::Reads,
            "Return the next work unit: phase (RED, GREEN, COMMIT), subtask, action and context.",
            |_: NoArguments, context| guide::next(context),
        ),
        Tool::new(
            Autopilot,
            "autopilot_complete_phase",
            Effect::Changes,
            "Report that the tests (RED) or the code (GREEN) are written. git paw runs the tests. If `accepted` is false, \
             `objections` lists what is missing and the phase does not change.",
            |args: Complete, context| complete(args.test_results.as_ref(), context),
        ),
        Tool::new(
            Autopilot,
            "autopilot_commit",
            Effect::Changes,
            "Commit the proven changes, with the subtask's status in the same commit. Do not commit in any other way.",
            commit,
        ),
        Tool::new(
            Autopilot,
            "autopilot_status",
            Effect::Reads,
            "Return the status of the run: phase, subtask, progress. `active` is false if there is none.",
            |_: NoArguments, context| guide::status(context),
        ),
        Tool::new(
            Autopilot,
            "autopilot_resume",
            Effect::Changes,
            "Resume a paused or interrupted run. Branch, last commit and task must be unchanged.",
            |_: NoArguments, context| guide::resume(&[], Consent::Ask, context),
        ),
        Tool::new(
            Autopilot,
            "autopilot_finalize",
            Effect::Changes,
            "Finish the run after the last subtask: runs the full test suite and writes the pull request text. Pushes nothing.",
            |_: NoArguments, context| guide::finalize(Consent::Ask, context),
        ),
        Tool::new(
            Autopilot,
            "autopilot_abort",
            Effect::Changes,
            "Abandon the run. Branch, commits and files are kept.",
            |_: NoArguments, context| guide::abort(context),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Begin {
    /// The task, such as 42; not a subtask
    #[serde(deserialize_with = "arguments::id")]
    task_id: String,
    /// Attempts per phase before the run pauses (default 3)
    max_attempts: Option<NonZeroU32>,
    /// Abandon an unfinished run
    #[serde(default)]
    force: bool,
    /// The tag (default: the branch's own, else the active one)
    tag: Option<String>,
}

fn start(args: Begin, context: &Context) -> Result<Value, PawError> {
    let wanted = StartOptions {
        task: Some(args.task_id),
        tag: args.tag,
        max_attempts: args.max_attempts.map(NonZeroU32::get),
        relax: if args.force { vec![Relaxation::Run] } else { Vec::new() },
        ..StartOptions::default()
    };
    guide::start(&wanted, Consent::Ask, context)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Complete {
    /// Your own test results. Optional: git paw runs the tests itself
    test_results: Option<TestResults>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TestResults {
    /// Number of tests
    total: u64,
    /// Passed tests
    passed: u64,
    /// Failed tests
    failed: u64,
    /// Skipped tests
    #[serde(default)]
    skipped: u64,
}

fn complete(reported: Option<&TestResults>, context: &Context) -> Result<Value, PawError> {
    let mut answer = guide::complete(context)?;
    if let Some(TestResults { total, passed, failed, skipped }) = reported {
        let reported = json!({"total": total, "passed": passed, "failed": failed, "skipped": skipped});
        if reported != answer["testResults"] {
            answer["note"] =
                json!("your reported results differ from those of git paw's test run, which counts");
            answer["reported"] = reported;
        }
    }
    Ok(answer)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CommitProven {
    /// The files you expect in the commit; fails if other files changed, too
    #[serde(default)]
    files: Vec<String>,
    /// Commit message; git paw adds the trailers
    custom_message: Option<String>,
}

fn commit(args: CommitProven, context: &Context) -> Result<Value, PawError> {
    guide::commit(&CommitOptions { message: args.custom_message, files: args.files }, context)
}
