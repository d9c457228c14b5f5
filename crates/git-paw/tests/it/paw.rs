//! Running the binary in a sandbox.

use std::path::Path;

use paw_testkit::{RunOutput, Sandbox};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_git-paw");

/// Runs git-paw to its end in a directory, without a terminal.
pub(crate) fn paw(sandbox: &Sandbox, dir: &Path, args: &[&str]) -> RunOutput {
    sandbox.run(dir, PROGRAM, args)
}

/// The one JSON document on stdout.
pub(crate) fn document(ran: &RunOutput) -> serde_json::Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("not one document: {error}\n{ran}"))
}
