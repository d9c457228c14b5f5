//! `git paw shell-init`

use clap::{Args, ValueEnum};
use paw_core::PawError;

use crate::context::Context;

/// Print shell code that lets `git paw worktree switch` change directory
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  eval \"$(git paw shell-init bash)\"      (in ~/.bashrc)
  eval \"$(git paw shell-init zsh)\"       (in ~/.zshrc)
  git paw shell-init fish | source       (in ~/.config/fish/config.fish)")]
pub(crate) struct ShellInitArgs {
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Changes directory only if the output is a directory; help and JSON are printed.
const POSIX: &str = r#"git() {
    if [ "$1" = paw ] && [ "$2" = worktree ] && [ "$3" = switch ]; then
        local paw_dir
        paw_dir=$(command git "$@") || return
        if [ -d "$paw_dir" ]; then
            cd -- "$paw_dir" || return
        elif [ -n "$paw_dir" ]; then
            printf '%s\n' "$paw_dir"
        fi
    else
        command git "$@"
    fi
}
"#;

const FISH: &str = r#"function git --wraps git
    if test "$argv[1]" = paw; and test "$argv[2]" = worktree; and test "$argv[3]" = switch
        set -l paw_dir (command git $argv | string collect)
        or return
        if test -d "$paw_dir"
            cd -- "$paw_dir"
        else if test -n "$paw_dir"
            printf '%s\n' "$paw_dir"
        end
    else
        command git $argv
    end
end
"#;

pub(crate) fn run(args: &ShellInitArgs, context: &Context) -> Result<(), PawError> {
    let script = match args.shell {
        Shell::Bash | Shell::Zsh => POSIX,
        Shell::Fish => FISH,
    };
    context.output.write(script.as_bytes())
}
