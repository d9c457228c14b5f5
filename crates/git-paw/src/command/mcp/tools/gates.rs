//! Gates: which there are, and a branch proven by them.

use paw_core::PawError;
use paw_host::config;
use paw_supervisor::gates::{self, Gate};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::sets::ToolSet::Gates;
use super::super::tool::{Effect, Tool};
use super::Nothing;
use crate::approval;
use crate::command::verify::{self, VerifyArgs};
use crate::context::Context;

/// How long one gate may take.
const LIMIT: u64 = 1800;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            Gates,
            "gate_list",
            Effect::Reads,
            "The gates a branch has to pass here, and whether the user has approved their commands.",
            |_: Nothing, context| list(context),
        ),
        Tool::new(
            Gates,
            "gate_verify",
            Effect::Changes,
            "Prove a branch: run the gates on a clean checkout of its tip and tell the session. `verdict` is verified only if \
             all of them passed on that commit. Can take minutes.",
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
    /// The branch to prove
    branch: String,
    /// Only these gates: fmt, lint, build, test, doc, doc-tool, spec, security
    #[serde(default)]
    gates: Vec<String>,
}

fn prove(args: Prove, context: &Context) -> Result<Value, PawError> {
    if let Some(unknown) = args.gates.iter().find(|name| Gate::find(name).is_none()) {
        let known = Gate::ALL.map(Gate::as_str).join(", ");
        return Err(PawError::ConfigError(format!("there is no gate '{unknown}'"))
            .hint(format!("the gates are {known}")));
    }
    let Prove { branch, gates } = args;
    verify::answer(&VerifyArgs { branch, gates, trust: false, timeout: LIMIT, json: true }, context)
}
