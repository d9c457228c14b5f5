//! `git paw mcp`: git paw commands as tools of an AI CLI, over the Model Context Protocol.
//!
//! - `tool_sets`: which tools are offered
//! - `tool`: the definition of a tool; `schema`, `arguments`, `project_root`, `error`: its input and output
//! - `tools`: the tools, one file per set
//! - `call_log`: what was called, for `--log-file`
//! - `server` and `lenient_transport`: the protocol; the only files that use the SDK

mod arguments;
mod call_log;
mod error;
mod lenient_transport;
mod project_root;
mod schema;
mod server;
mod tool;
mod tool_sets;
mod tools;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;
use paw_core::PawError;
use paw_host::git::Repo;

use crate::context::Context;
use call_log::CallLog;
use tool_sets::ToolSetChoice;

/// Serve git paw's commands to an AI CLI as MCP tools
///
/// Speaks the Model Context Protocol on standard input and output until the input ends. The caller's identity comes from the
/// pane's environment; outside a pane, the caller is you. The tools work on the repository in which the server was started,
/// or on the one that a call names as projectRoot. A call that needs your approval fails; approve it with `git paw trust`.
#[derive(Debug, Args)]
#[command(after_help = "Sets:
  autopilot     do a task test-first: next work unit, proof, commit
  tasks         list, show, choose, change and add tasks
  coordination  message other agents, see their plans and conflicts
  worktrees     list, create and remove worktrees
  session       show the session of this repository
  specs         list and read specs
  gates         list gates and verify a branch
  project       read governance documents, files, commits, learnings and skills

Examples:
  claude mcp add git-paw -- git-paw mcp
  git paw mcp --tools coordination,session --read-only
  git paw mcp --tools project --repo ~/code/app --log-file /tmp/mcp.log
  git paw mcp --tools all")]
pub(crate) struct McpArgs {
    /// The tool sets to offer, separated by commas
    #[arg(long, value_name = "SETS", value_enum, value_delimiter = ',', default_values_t = ToolSetChoice::DEFAULT)]
    tools: Vec<ToolSetChoice>,
    /// Offer only tools that change nothing
    #[arg(long)]
    read_only: bool,
    /// The repository or worktree to serve [default: the current directory]
    #[arg(long, value_name = "PATH")]
    repo: Option<PathBuf>,
    /// Append a line for every call to this file
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
}

pub(crate) fn run(args: &McpArgs, context: &Context) -> Result<(), PawError> {
    let offered = tool_sets::offered(tools::all(), &tool_sets::chosen(&args.tools), args.read_only);
    if io::stdin().is_terminal() {
        context
            .output
            .note("waiting for MCP messages on stdin; an AI CLI normally starts this command (see git paw mcp --help). Ctrl+C to stop");
    }
    let log = args.log_file.as_ref().map(|file| CallLog::open(&context.cwd.join(file))).transpose()?;
    match &args.repo {
        Some(dir) => server::serve(offered, log, &context.for_program(find_repo(&context.cwd.join(dir))?)),
        None => server::serve(offered, log, context),
    }
}

fn find_repo(dir: &Path) -> Result<PathBuf, PawError> {
    Repo::discover(dir)?;
    Ok(dir.to_path_buf())
}
