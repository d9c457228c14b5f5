//! `git paw list-clis`

use clap::Args;
use paw_agent::detect_clis;
use paw_core::PawError;
use serde_json::json;

use crate::context::Context;

/// List the available AI CLIs
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw list-clis\n  git paw list-clis --json")]
pub(crate) struct ListClisArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let config = context.load_config()?.resolve()?;
    let found = detect_clis(&config.clis, &context.search_path);
    for missing in &found.missing {
        context.output.warn(&missing.to_string());
    }
    if context.output.wants_json() {
        return context.output.document(&json!({"clis": found.clis, "missing": found.missing}));
    }
    if found.clis.is_empty() {
        context.output.say("no AI coding CLI found on PATH")?;
        return context.output.say(
            "hint: install one (claude, codex, gemini, …), or add your own: git paw add-cli <name> <command>",
        );
    }
    let rows = found.clis.into_iter().map(|cli| {
        [cli.binary_name, cli.display_name, cli.source.to_string(), cli.path.display().to_string()]
    });
    context.output.table(["NAME", "DISPLAY NAME", "SOURCE", "PATH"], rows.collect())
}
