//! Turns the `.proto` files into Rust, with a compiler written in Rust: nobody needs `protoc` to build this.

use std::error::Error;
use std::path::Path;

use prost::Message as _;

const FILES: [&str; 3] = ["paw/v1/worktree.proto", "paw/v1/conversation.proto", "paw/v1/daemon.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    let descriptors = protox::compile(FILES, ["proto"])?;
    keep(&descriptors.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    for file in FILES {
        cargo_says(&format!("rerun-if-changed=proto/{file}"));
    }
    Ok(())
}

/// The descriptors, for reflection.
#[expect(clippy::disallowed_methods, reason = "nobody reads half of this file: the build would have failed")]
fn keep(descriptors: &[u8]) -> Result<(), Box<dyn Error>> {
    let file = Path::new(&std::env::var("OUT_DIR")?).join("paw.v1.bin");
    Ok(std::fs::write(file, descriptors)?)
}

#[expect(clippy::disallowed_macros, reason = "this is how a build script talks to cargo")]
fn cargo_says(instruction: &str) {
    println!("cargo::{instruction}");
}
