//! `git paw`: parse the command line, run the command, turn its result into an exit code.
//!
//! - `cli`: the commands and their flags
//! - `command`: one file per command
//! - `completion`: the words a shell offers
//! - `session`: finding the repository's session
//! - `prompt`: questions on the terminal
//! - `approval`: asking before a repository's own commands run
//! - `output`: the only way to stdout and stderr
//! - `context`: what every command receives

mod agent_task;
mod approval;
mod cli;
mod command;
mod completion;
mod context;
mod output;
mod placement;
mod prompt;
mod remote;
mod remote_worktrees;
mod rescue;
mod session;
mod session_run;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;
use paw_core::error::{EXIT_CANCELLED, EXIT_FAILURE};
use paw_core::{ErrorCode, ErrorReport, text};
use paw_host::process;

use cli::Cli;
use context::Context;
use output::Output;

/// Runs a program so that all of its processes end with it.
const CONTAIN: &str = "__contain";

fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    // No option of ours may be mistaken for one of the program, and nothing else is needed.
    if let [_, verb, program, args @ ..] = typed.as_slice()
        && verb == CONTAIN
    {
        return ExitCode::from(process::run_contained(program, args));
    }
    if let Ok(own) = process::own_program() {
        process::set_containing_program(own, CONTAIN);
    }
    let cli = match Cli::try_parse_from(&typed) {
        Ok(cli) => cli,
        Err(error) => return print_clap_error(&error, &typed),
    };
    // A log line would be drawn over the dashboard.
    let draws = cli.draws_screen() && std::io::stderr().is_terminal();
    if !cli.has_own_log() && !draws {
        output::start_trace(cli.verbose);
    }
    let output = Output::new(cli.wants_json());
    let outcome = Context::new(output).and_then(|context| {
        context.require_hub(cli.hub.as_deref())?;
        command::run(cli.command, &context)
    });
    match outcome {
        Ok(code) => code,
        Err(error) => ExitCode::from(output.fail(&error)),
    }
}

/// Prints help, version or a usage error. With `--json` a usage error is a JSON document.
fn print_clap_error(error: &clap::Error, typed: &[OsString]) -> ExitCode {
    let answer = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if !answer && typed.iter().any(|word| word == "--json") {
        let problem = ErrorReport::new(ErrorCode::InvalidArgument, error.render().to_string().trim());
        let written = Output::new(true).document(&problem.document()).is_ok();
        return ExitCode::from(if written { EXIT_CANCELLED } else { EXIT_FAILURE });
    }
    let plain = error.render().to_string();
    if plain.contains(|c: char| text::is_unsafe(c) && c != '\n') {
        Output::new(false).note(plain.trim_end());
    } else {
        // A closed pipe is not an error.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(EXIT_FAILURE))
}
