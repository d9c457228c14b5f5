//! `git paw completions`

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;
use paw_core::PawError;

use crate::cli::Cli;
use crate::context::Context;

/// Print a shell completion script
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw completions bash > ~/.local/share/bash-completion/completions/git-paw
  git paw completions zsh > ~/.zfunc/_git-paw
  git paw completions fish > ~/.config/fish/completions/git-paw.fish")]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: Shell,
}

/// git's own completion calls a function of this name for `git paw <Tab>`.
const BASH_UNDER_GIT: &str = "
_git_paw() {
    COMP_WORDS=(git-paw \"${COMP_WORDS[@]:2}\")
    COMP_CWORD=$((COMP_CWORD - 1))
    _git__paw git-paw \"$cur\" \"$prev\"
}
";

pub(crate) fn run(args: &CompletionsArgs, context: &Context) -> Result<(), PawError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(&Cli::command()), "git-paw", &mut script);
    if args.shell == Shell::Bash {
        script.extend_from_slice(BASH_UNDER_GIT.as_bytes());
    }
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
