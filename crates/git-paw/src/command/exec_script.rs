//! Runs a CLI that is a shell script under the CLI's name instead of the shell's, so that tmux shows that name.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use paw_agent::detect::resolve_command;
use paw_core::PawError;
use paw_host::process::exec_script;

use crate::context::Context;

#[derive(Debug, Args)]
pub(crate) struct ExecScriptArgs {
    name: String,
    program: String,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(args: &ExecScriptArgs, context: &Context) -> Result<(), PawError> {
    // A relative path is resolved by the current directory.
    let found = resolve_command(&args.program, &context.search_path);
    let program = found.unwrap_or_else(|| PathBuf::from(&args.program));
    let error = exec_script(&args.name, &program, &args.arguments, &context.search_path);
    Err(PawError::internal(format!("cannot start {}: {error}", program.display())))
}
