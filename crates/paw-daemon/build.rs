//! Compiles the `.proto` files with a compiler written in Rust, so that the build does not need `protoc`.

use std::error::Error;
use std::path::Path;

use prost::Message as _;

const FILES: [&str; 3] = ["paw/v1/worktree.proto", "paw/v1/conversation.proto", "paw/v1/daemon.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    let descriptors = protox::compile(FILES, ["proto"])?;
    keep(&descriptors.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    for file in FILES {
        print_instruction(&format!("rerun-if-changed=proto/{file}"));
    }
    Ok(())
}

/// The descriptors, for reflection.
#[expect(clippy::disallowed_methods, reason = "a partial file fails the build")]
fn keep(descriptors: &[u8]) -> Result<(), Box<dyn Error>> {
    let file = Path::new(&std::env::var("OUT_DIR")?).join("paw.v1.bin");
    Ok(std::fs::write(file, descriptors)?)
}

#[expect(clippy::disallowed_macros, reason = "build scripts instruct cargo on stdout")]
fn print_instruction(instruction: &str) {
    println!("cargo::{instruction}");
}
