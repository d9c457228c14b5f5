//! One file per command: its flags, its help, and its code, which only gathers input, calls a library and prints.

pub(crate) mod add;
pub(crate) mod add_cli;
pub(crate) mod approvals;
pub(crate) mod approve;
pub(crate) mod attach;
pub(crate) mod audit;
pub(crate) mod autopilot;
pub(crate) mod cluster;
pub(crate) mod commit_signal;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod daemon;
pub(crate) mod dashboard;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod exec_script;
pub(crate) mod explain;
pub(crate) mod follow;
pub(crate) mod help;
pub(crate) mod hook;
pub(crate) mod host;
pub(crate) mod host_side;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod list_clis;
pub(crate) mod log_pane;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod merge;
pub(crate) mod move_agent;
pub(crate) mod next;
pub(crate) mod pause;
pub(crate) mod proof;
pub(crate) mod purge;
pub(crate) mod remove;
pub(crate) mod remove_cli;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod restart_agent;
pub(crate) mod say;
pub(crate) mod serve;
pub(crate) mod session_process;
pub(crate) mod shell_init;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod sweep;
pub(crate) mod tasks;
pub(crate) mod tell;
pub(crate) mod terminal;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod verify;
pub(crate) mod web;
pub(crate) mod worktree;

use std::process::ExitCode;

use paw_core::PawError;

use crate::cli::Command;
use crate::context::Context;

/// No command at all means `start`.
pub(crate) fn run(command: Option<Command>, context: &Context) -> Result<ExitCode, PawError> {
    match command.unwrap_or_else(|| Command::Start(start::StartArgs::default())) {
        Command::Start(args) => return start::run(&args, context),
        Command::Attach(args) => attach::run(&args, context)?,
        Command::Next(args) => next::run(&args, context)?,
        Command::Diff(args) => diff::run(&args, context)?,
        Command::Status(_) => status::run(context)?,
        Command::Pause(_) => pause::run(context)?,
        Command::Stop(args) => stop::run(&args, context)?,
        Command::Purge(args) => purge::run(&args, context)?,
        Command::Add(args) => add::run(&args, context)?,
        Command::Remove(args) => remove::run(&args, context)?,
        Command::Move(args) => move_agent::run(&args, context)?,
        Command::Replay(args) => replay::run(&args, context)?,
        Command::Report(args) => report::run(&args, context)?,
        Command::Follow(args) => follow::run(&args, context)?,
        Command::Terminal(args) => return terminal::run(&args, context),
        Command::LogPane(args) => log_pane::run(&args)?,
        Command::RestartAgent(args) => restart_agent::run(&args, context)?,
        Command::ExecScript(args) => exec_script::run(&args, context)?,
        Command::Init(args) => init::run(&args, context)?,
        Command::ListClis(_) => list_clis::run(context)?,
        Command::AddCli(args) => add_cli::run(&args, context)?,
        Command::RemoveCli(args) => remove_cli::run(&args, context)?,
        Command::Worktree(args) => worktree::run(&args, context)?,
        Command::Undo(args) => undo::run(&args, context)?,
        Command::Tasks(args) => tasks::run(&args, context)?,
        Command::Autopilot(args) => return autopilot::run(&args, context),
        Command::ExecutorPane(args) => autopilot::run_in_pane(&args, context)?,
        Command::Trust(args) => trust::run(&args, context)?,
        Command::Approve(args) => approve::approve(&args, context)?,
        Command::Deny(args) => approve::deny(&args, context)?,
        Command::Approvals(args) => approvals::run(&args, context)?,
        Command::Verify(args) => return verify::run(&args, context),
        Command::Audit(args) => audit::run(&args, context)?,
        Command::Merge(args) => return merge::run(&args, context),
        Command::Proof(args) => return proof::run(&args, context),
        Command::Host(args) => return host::run(&args, context),
        Command::Cluster(_) => cluster::run(context)?,
        Command::HostSide(args) => host_side::run(&args, context)?,
        Command::Say(args) => say::run(&args, context)?,
        Command::Inbox(args) => inbox::run(&args, context)?,
        Command::Tell(args) => tell::run(&args, context)?,
        Command::Sweep(args) => return sweep::run(&args, context),
        Command::Serve(_) => serve::run(context)?,
        Command::Dashboard(_) => dashboard::run(context)?,
        Command::Web(args) => web::run(&args, context)?,
        Command::SessionDashboard => dashboard::run_in_session(context)?,
        Command::SessionProcess(args) => session_process::run(&args, context)?,
        Command::CommitSignal(args) => commit_signal::run(&args, context)?,
        Command::Daemon(args) => daemon::run(&args, context)?,
        Command::Mcp(args) => mcp::run(&args, context)?,
        Command::Doctor(args) => return doctor::run(&args, context),
        Command::Explain(args) => explain::run(&args, context)?,
        Command::Help(args) => return help::run(&args, context),
        Command::Man(args) => man::run(&args, context)?,
        Command::Hook(args) => hook::run(&args, context)?,
        Command::Completions(args) => completions::run(&args, context)?,
        Command::Complete(args) => return complete::run(&args, context),
        Command::ShellInit(args) => shell_init::run(&args, context)?,
        Command::Demo(args) => demo::run(&args, context)?,
        Command::DemoAgent(args) => demo::agent::run(&args, context)?,
    }
    Ok(ExitCode::SUCCESS)
}
