//! `git paw add-cli`

use clap::Args;
use paw_agent::detect::resolve_command;
use paw_core::PawError;
use paw_core::config::{self, CliEntry};

use crate::context::Context;

/// Register a custom AI CLI in your configuration
///
/// Adds the CLI to your own configuration file, for use in every repository; the rest of the file does not change. The
/// command may be a shell script. On macOS the script must `exec` its program: git paw types nothing into a pane whose
/// foreground program is a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw add-cli my-agent /usr/local/bin/my-agent
  git paw add-cli my-agent my-agent --display-name \"My Agent\"")]
pub(crate) struct AddCliArgs {
    /// The name of the CLI in git paw
    pub(crate) name: String,
    /// The program: a path, or a name on PATH
    pub(crate) command: String,
    /// The name shown in lists
    #[arg(long, value_name = "NAME")]
    pub(crate) display_name: Option<String>,
}

pub(crate) fn run(args: &AddCliArgs, context: &Context) -> Result<(), PawError> {
    let AddCliArgs { name, command, display_name } = args;
    check_name(name)?;
    let command = resolve(command, context)?;
    let entry = CliEntry { command: command.clone(), display_name: display_name.clone() };
    context.edit_user_config(|text, file| config::set_cli(text, file, name, &entry).map(Some))?;
    context.output.say(&format!("added '{name}' ({command}) to {}", context.dirs.config_file().display()))
}

fn check_name(name: &str) -> Result<(), PawError> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '/';
    if name.is_empty() || name.starts_with('-') || name.contains(odd) {
        let problem = format!("invalid CLI name '{name}': must not contain spaces or '/', or start with '-'");
        return Err(PawError::ConfigError(problem).hint("for example: my-agent"));
    }
    Ok(())
}

/// The absolute path of the program. A path is accepted even if the file does not exist yet.
fn resolve(command: &str, context: &Context) -> Result<String, PawError> {
    let path = if command.contains('/') {
        let path = context.cwd.join(command);
        if resolve_command(&path.to_string_lossy(), &context.search_path).is_none() {
            context.output.warn(&format!("{} is not an executable file", path.display()));
        }
        path
    } else {
        resolve_command(command, &context.search_path).ok_or_else(|| {
            PawError::ConfigError(format!("command '{command}' not found on PATH"))
                .hint("install it, or give its absolute path")
        })?
    };
    path.into_os_string()
        .into_string()
        .map_err(|path| PawError::ConfigError(format!("cannot store {}: not valid UTF-8", path.display())))
}
