//! `git paw remove-cli`

use clap::Args;
use paw_agent::detect::detect_known_clis;
use paw_core::PawError;
use paw_core::config;

use crate::context::Context;

/// Remove an AI CLI that was registered with add-cli
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw remove-cli my-agent")]
pub(crate) struct RemoveCliArgs {
    /// The name of the CLI
    pub(crate) name: String,
}

pub(crate) fn run(args: &RemoveCliArgs, context: &Context) -> Result<(), PawError> {
    let name = &args.name;
    if !context.edit_user_config(|text, file| config::remove_cli(text, file, name))? {
        return Err(not_there(name, context));
    }
    context.output.say(&format!("removed '{name}' from {}", context.dirs.config_file().display()))
}

fn not_there(name: &str, context: &Context) -> PawError {
    match detect_known_clis(&context.search_path).into_iter().find(|cli| cli.binary_name == name) {
        Some(cli) => PawError::ConfigError(format!(
            "'{name}' is not a custom CLI: it was found on PATH ({})",
            cli.path.display()
        )),
        None => PawError::CliNotFound(name.to_owned()),
    }
}
