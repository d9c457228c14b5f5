//! What tests stand on: a sandbox with its own home, its own tmux server, its own PATH and real repositories.
//!
//! Nothing here imitates git or tmux. Programs are faked by tiny real ones ([`Sandbox::install_program`]), an AI CLI by
//! one with a screen ([`Sandbox::install_agent`]).
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a test that cannot set itself up has to stop"
)]

mod agent;
mod budget;
mod repo;
mod sandbox;
mod terminal;
mod wait;

pub use agent::{AgentLook, FakeAgent};
pub use budget::{bench_dir, record_budget};
pub use repo::{TestRepo, git};
pub use sandbox::{RunOutput, Sandbox};
pub use terminal::Terminal;
pub use wait::wait_until;
