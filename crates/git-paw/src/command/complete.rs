//! `git paw __complete`: prints the words that fit at the cursor, for the scripts of `git paw completions`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _, ValueEnum};
use paw_core::PawError;

use crate::cli::Cli;
use crate::completion::{self, Completion, CompletionWord};
use crate::context::Context;

/// The exit code that asks the shell for names of files.
const FILES: u8 = 3;

/// Print the words that fit at the cursor
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    shell: CompletedShell,
    /// The words after `git paw`; the last one is completed
    #[arg(last = true)]
    words: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &CompleteArgs, context: &Context) -> Result<ExitCode, PawError> {
    let words: Vec<_> = args.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let words = match completion::complete(&Cli::command(), &words, context) {
        Completion::Words(words) => words,
        Completion::Files => return Ok(ExitCode::from(FILES)),
    };
    let line = |CompletionWord { word, help }: &CompletionWord| match args.shell {
        CompletedShell::Zsh | CompletedShell::Fish if !help.is_empty() => format!("{word}\t{help}\n"),
        _ => format!("{word}\n"),
    };
    context.output.write(words.iter().map(line).collect::<String>().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
