//! `git paw completions`

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;
use paw_core::PawError;

use crate::cli::Cli;
use crate::context::Context;

/// Print a shell completion script
///
/// In bash, zsh and fish, Tab completes commands, options, branches, agents, worktrees, tasks, specs and CLIs, after
/// `git paw` (in bash and zsh with git's own completion) and after `git-paw`. Names with characters that a shell would
/// interpret are not offered.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw completions bash > ~/.local/share/bash-completion/completions/git-paw
  eval \"$(git paw completions bash)\"       (in ~/.bashrc)
  git paw completions zsh > ~/.zfunc/_git-paw
  git paw completions fish > ~/.config/fish/conf.d/git-paw.fish")]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, context: &Context) -> Result<(), PawError> {
    let script = match args.shell {
        Shell::Bash => include_bytes!("completions/git-paw.bash").to_vec(),
        Shell::Zsh => include_bytes!("completions/_git-paw.zsh").to_vec(),
        Shell::Fish => include_bytes!("completions/git-paw.fish").to_vec(),
        // These complete commands and options only.
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut visible(&Cli::command()), "git-paw", &mut script);
            script
        }
    };
    context.output.write(&script)
}

/// The public commands, without the hidden ones.
fn visible(typed: &Command) -> Command {
    Command::new("git-paw")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(typed.get_arguments().cloned())
        .subcommands(typed.get_subcommands().filter(|command| !command.is_hide_set()).cloned())
}
