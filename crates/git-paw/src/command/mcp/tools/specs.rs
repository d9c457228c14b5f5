//! Specs: what agents are to do.

use paw_core::PawError;
use paw_session::specs::{self, Scan, SpecEntry};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::sets::ToolSet::Specs;
use super::super::tool::{Effect, Tool};
use super::Nothing;
use crate::context::Context;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            Specs,
            "spec_list",
            Effect::Reads,
            "The specs of this repository that are to be worked on, and what was passed over.",
            |_: Nothing, context| list(context),
        ),
        Tool::new(
            Specs,
            "spec_show",
            Effect::Reads,
            "What an agent is told to do for a spec. A feature with several parts answers all of them.",
            |args: OneSpec, context| show(&args.id, context),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneSpec {
    /// Its id, as spec_list has it
    id: String,
}

fn scan(context: &Context) -> Result<Scan, PawError> {
    let repo = context.require_repo()?;
    let config = context.load_config()?.resolve()?;
    Ok(specs::scan(&repo.root, config.specs.as_ref(), None, &config.branch_prefix())?)
}

fn list(context: &Context) -> Result<Value, PawError> {
    let scan = scan(context)?;
    let specs: Vec<Value> = scan.entries.iter().map(summary).collect();
    Ok(json!({"format": scan.format.to_string(), "dir": scan.dir.to_string_lossy(), "specs": specs,
        "warnings": scan.warnings}))
}

fn show(id: &str, context: &Context) -> Result<Value, PawError> {
    let scan = scan(context)?;
    let found = specs::resolve(&[id.to_owned()], &scan.entries)?;
    let whole = |entry: &SpecEntry| {
        let mut whole = summary(entry);
        whole["prompt"] = entry.prompt.as_str().into();
        whole
    };
    Ok(json!({"specs": found.iter().map(whole).collect::<Vec<_>>()}))
}

fn summary(entry: &SpecEntry) -> Value {
    json!({"id": entry.id, "unit": entry.unit, "branch": entry.branch, "cli": entry.cli,
        "files": entry.owned_files, "path": entry.path.to_string_lossy()})
}
