//! Lists the gates, and verifies a branch.

use paw_core::PawError;
use paw_host::config;
use paw_supervisor::gates::{self, Gate};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::tool::{Effect, Tool};
use super::super::tool_sets::ToolSet::Gates;
use super::NoArguments;
use crate::approval;
use crate::command::verify::{self, VerifyArgs};
use crate::context::Context;
use crate::session_run::RequesterArgs;

/// How long one gate may take.
const LIMIT: u64 = 1800;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            Gates,
            "gate_list",
            Effect::Reads,
            "List the gates that a branch must pass, and whether the user has approved their commands.",
            |_: NoArguments, context| list(context),
        ),
        Tool::new(
            Gates,
            "gate_verify",
            Effect::Changes,
            "Verify a branch: run the gates on a clean checkout of its tip and report the result to the session. `verdict` is \
             verified only if all gates passed on that commit. Can take minutes.",
            prove,
        ),
    ]
}

fn list(context: &Context) -> Result<Value, PawError> {
    let repo = context.require_repo()?;
    let layers = config::load_layers(Some(&repo.root), None)?;
    let plan = gates::plan(&layers.resolve()?.supervisor.unwrap_or_default(), &layers.repo);
    let approved = match plan.request() {
        Some(request) => approval::is_approved(&request.subject, &repo, context)?,
        None => true,
    };
    let steps: Vec<Value> =
        plan.steps.iter().map(|step| json!({"gate": step.gate, "command": step.command})).collect();
    Ok(json!({"gates": steps, "approved": approved}))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Prove {
    /// The branch to verify, or its agent
    branch: String,
    /// Run only these gates: fmt, lint, build, test, doc, doc-tool, spec, security
    #[serde(default)]
    gates: Vec<String>,
}

fn prove(args: Prove, context: &Context) -> Result<Value, PawError> {
    if let Some(unknown) = args.gates.iter().find(|name| Gate::find(name).is_none()) {
        let known = Gate::ALL.map(Gate::as_str).join(", ");
        return Err(
            PawError::ConfigError(format!("unknown gate '{unknown}'")).hint(format!("gates: {known}"))
        );
    }
    let Prove { branch, gates } = args;
    verify::answer(
        &VerifyArgs {
            branch,
            gates,
            rerun: false,
            trust: false,
            timeout: LIMIT,
            json: true,
            requester: RequesterArgs::default(),
        },
        context,
    )
}
