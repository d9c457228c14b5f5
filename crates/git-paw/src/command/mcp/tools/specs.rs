//! Lists and shows specs.

use paw_core::PawError;
use paw_session::specs::{self, SpecEntry, SpecScan};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::tool::{Effect, Tool};
use super::super::tool_sets::ToolSet::Specs;
use super::NoArguments;
use crate::context::Context;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            Specs,
            "spec_list",
            Effect::Reads,
            "List the pending specs of this repository, and those that were skipped.",
            |_: NoArguments, context| list(context),
        ),
        Tool::new(
            Specs,
            "spec_show",
            Effect::Reads,
            "Return the prompt of a spec. For a feature with several parts, returns all of them.",
            |args: OneSpec, context| show(&args.id, context),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneSpec {
    /// The id from spec_list
    id: String,
}

fn scan(context: &Context) -> Result<SpecScan, PawError> {
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
