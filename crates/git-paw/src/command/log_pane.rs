//! The hidden command that writes the log of a pane.

use std::io;
use std::path::PathBuf;

use clap::Args;
use paw_core::PawError;
use paw_session::logs::append::{PART_BYTES, append};

/// Append the output of a pane to its log
#[derive(Debug, Args)]
pub(crate) struct LogPaneArgs {
    log: PathBuf,
}

pub(crate) fn run(args: &LogPaneArgs) -> Result<(), PawError> {
    Ok(append(&args.log, io::stdin().lock(), PART_BYTES)?)
}
