//! `git paw list-clis`

use clap::Args;
use paw_agent::{CliInfo, detect_clis};
use paw_core::PawError;
use serde_json::json;

use crate::context::Context;
use crate::output::Style;

/// Show the AI CLIs that can be used here
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
            "hint: install one (claude, codex, gemini, …) or add your own: git paw add-cli <name> <command>",
        );
    }
    for line in table(&found.clis, |header| context.output.paint(Style::Bold, header)) {
        context.output.say(&line)?;
    }
    Ok(())
}

fn table(clis: &[CliInfo], header: impl Fn(&str) -> String) -> Vec<String> {
    let width = |column: fn(&CliInfo) -> &str, title: &str| {
        clis.iter().map(|cli| column(cli).chars().count()).chain([title.len()]).max().unwrap_or_default()
    };
    let name = width(|cli| &cli.binary_name, "NAME");
    let display = width(|cli| &cli.display_name, "DISPLAY NAME");
    let row = |cli: &CliInfo| {
        let CliInfo { binary_name, display_name, source, path } = cli;
        format!("{binary_name:name$}  {display_name:display$}  {source:8}  {}", path.display())
    };
    let titles = format!("{:name$}  {:display$}  {:8}  PATH", "NAME", "DISPLAY NAME", "SOURCE");
    [header(&titles)].into_iter().chain(clis.iter().map(row)).collect()
}
