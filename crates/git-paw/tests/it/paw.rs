//! Runs the binary in a sandbox.

use std::path::Path;

use paw_testkit::{RunOutput, Sandbox};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_git-paw");

/// Runs git-paw in a directory, without a terminal, and waits until it exits.
pub(crate) fn paw(sandbox: &Sandbox, dir: &Path, args: &[&str]) -> RunOutput {
    sandbox.run(dir, PROGRAM, args)
}

/// Parses stdout as a single JSON document.
pub(crate) fn document(ran: &RunOutput) -> serde_json::Value {
    serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("stdout is not a JSON document: {error}\n{ran}"))
}
