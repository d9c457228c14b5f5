//! `git paw mcp`: our commands as tools of an AI CLI, over the Model Context Protocol.
//!
//! - `sets`: which tools are offered
//! - `tool`: what a tool is, and `schema`, `arguments`, `place`, `refusal`: what goes in and what comes out
//! - `tools`: the tools, a file per set
//! - `server` and `patient`: the protocol; the only files that know the SDK

mod arguments;
mod patient;
mod place;
mod refusal;
mod schema;
mod server;
mod sets;
mod tool;
mod tools;

use std::io::{self, IsTerminal as _};

use clap::Args;
use paw_core::PawError;

use crate::context::Context;
use sets::Choice;

/// Offer tasks, autopilot and coordination to an AI CLI as MCP tools
///
/// Speaks the Model Context Protocol on standard input and output, until its input ends. Who speaks is what the pane's
/// environment says; outside of a pane it is you. The tools work on the repository the server is started in, or on the one a
/// call names as projectRoot. Whatever needs your approval is refused here: give it with `git paw trust`.
#[derive(Debug, Args)]
#[command(after_help = "Sets:
  autopilot     a task done test-first: what to do next, the proof of it, its commit
  tasks         list, show, choose, change and add tasks
  coordination  talk to the other agents, see their plans and who is about to collide
  worktrees     list, make and remove worktrees
  session       what the session of this repository is doing
  specs         list and read specs
  gates         which gates there are, and prove a branch by them

Examples:
  claude mcp add git-paw -- git-paw mcp
  git paw mcp --tools coordination,session --read-only
  git paw mcp --tools all")]
pub(crate) struct McpArgs {
    /// The sets of tools to offer, with commas between them; `all` is every one
    #[arg(long, value_name = "SETS", value_enum, value_delimiter = ',', default_values_t = Choice::USUAL)]
    tools: Vec<Choice>,
    /// Leave out every tool that changes something
    #[arg(long)]
    read_only: bool,
}

pub(crate) fn run(args: &McpArgs, context: &Context) -> Result<(), PawError> {
    let offered = sets::offered(tools::all(), &sets::chosen(&args.tools), args.read_only);
    if io::stdin().is_terminal() {
        context
            .output
            .note("speaking MCP here; an AI CLI starts this itself (git paw mcp --help). Ctrl+C ends it");
    }
    server::serve(offered, context)
}
