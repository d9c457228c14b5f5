//! One file per command: its flags, its help, and "gather, call, print".

pub(crate) mod add_cli;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod demo_agent;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod list_clis;
pub(crate) mod remove_cli;
pub(crate) mod start;

use std::process::ExitCode;

use paw_core::PawError;

use crate::cli::Command;
use crate::context::Context;

/// No command at all means `start`.
pub(crate) fn run(command: Option<Command>, context: &Context) -> Result<ExitCode, PawError> {
    match command.unwrap_or(Command::Start) {
        Command::Start => start::run(context)?,
        Command::Init => init::run(context)?,
        Command::ListClis(_) => list_clis::run(context)?,
        Command::AddCli(args) => add_cli::run(&args, context)?,
        Command::RemoveCli(args) => remove_cli::run(&args, context)?,
        Command::Doctor(_) => return doctor::run(context),
        Command::Completions(args) => completions::run(&args, context)?,
        Command::Demo(args) => demo::run(&args, context)?,
        Command::DemoAgent(args) => demo_agent::run(&args, context)?,
    }
    Ok(ExitCode::SUCCESS)
}
