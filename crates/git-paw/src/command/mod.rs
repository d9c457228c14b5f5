//! One file per command: its flags, its help, and "gather, call, print".

pub(crate) mod add_cli;
pub(crate) mod commit_signal;
pub(crate) mod completions;
pub(crate) mod daemon;
pub(crate) mod dashboard;
pub(crate) mod demo;
pub(crate) mod demo_agent;
pub(crate) mod doctor;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod list_clis;
pub(crate) mod remove_cli;
pub(crate) mod say;
pub(crate) mod serve;
pub(crate) mod shell_init;
pub(crate) mod start;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod worktree;

use std::process::ExitCode;

use crate::cli::Command;
use crate::context::Context;
use crate::failure::Failure;

/// No command at all means `start`.
pub(crate) fn run(command: Option<Command>, context: &Context) -> Result<ExitCode, Failure> {
    match command.unwrap_or(Command::Start) {
        Command::Start => start::run(context)?,
        Command::Init => init::run(context)?,
        Command::ListClis(_) => list_clis::run(context)?,
        Command::AddCli(args) => add_cli::run(&args, context)?,
        Command::RemoveCli(args) => remove_cli::run(&args, context)?,
        Command::Worktree(args) => worktree::run(&args, context)?,
        Command::Undo(args) => undo::run(&args, context)?,
        Command::Trust(args) => trust::run(&args, context)?,
        Command::Say(args) => say::run(&args, context)?,
        Command::Inbox(args) => inbox::run(&args, context)?,
        Command::Serve(_) => serve::run(context)?,
        Command::Dashboard(_) => dashboard::run(context)?,
        Command::SessionDashboard => dashboard::run_session(context)?,
        Command::CommitSignal(args) => commit_signal::run(&args, context)?,
        Command::Daemon(args) => daemon::run(&args, context)?,
        Command::Doctor(_) => return Ok(doctor::run(context)?),
        Command::Completions(args) => completions::run(&args, context)?,
        Command::ShellInit(args) => shell_init::run(&args, context)?,
        Command::Demo(args) => demo::run(&args, context)?,
        Command::DemoAgent(args) => demo_agent::run(&args, context)?,
    }
    Ok(ExitCode::SUCCESS)
}
