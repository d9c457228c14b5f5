//! `git paw list-clis`

use clap::Args;
use paw_agent::detect_clis;
use paw_core::PawError;
use serde_json::json;

use crate::approval;
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
    let layers = context.load_config()?;
    let found = detect_clis(&layers.resolve()?.clis, &context.search_path);
    let unapproved = match context.find_repo()? {
        Some(repo) => approval::unapproved_clis(&layers, &repo, context)?,
        None => Vec::new(),
    };
    for missing in &found.missing {
        context.output.warn(&missing.to_string());
    }
    if context.output.wants_json() {
        let mut document = json!({"clis": found.clis, "missing": found.missing});
        for cli in document["clis"].as_array_mut().into_iter().flatten() {
            if unapproved.iter().any(|name| cli["name"] == name.as_str()) {
                cli["approved"] = false.into();
            }
        }
        return context.output.document(&document);
    }
    if found.clis.is_empty() {
        context.output.say("no AI coding CLI found on PATH")?;
        return context.output.say(
            "hint: install one (claude, codex, gemini, …), or add your own: git paw add-cli <name> <command>",
        );
    }
    let rows = found.clis.into_iter().map(|cli| {
        let is_unapproved = unapproved.contains(&cli.binary_name);
        let source = if is_unapproved { "not approved".to_owned() } else { cli.source.to_string() };
        [cli.binary_name, cli.display_name, source, cli.path.display().to_string()]
    });
    context.output.table(["NAME", "DISPLAY NAME", "SOURCE", "PATH"], rows.collect())?;
    if !unapproved.is_empty() {
        context.output.note(
            "CLIs that are not approved come from this repository's configuration; review it, then approve them with \
             'git paw start --trust'",
        );
    }
    Ok(())
}
