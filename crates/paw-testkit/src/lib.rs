//! Test support: a sandbox with its own home directory, tmux server, PATH and real repositories.
//!
//! git and tmux are real. Other programs are replaced by small scripts ([`Sandbox::install_program`]), AI CLIs by a scripted
//! one that draws a screen ([`Sandbox::install_agent`]).
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a failed test setup has to panic"
)]

mod agent;
mod budget;
mod disk;
mod repo;
mod sandbox;
mod terminal;
mod wait;

pub use agent::{AgentLook, FakeAgent};
pub use budget::{bench_dir, record_budget};
pub use disk::TestDisk;
pub use repo::{TestRepo, git};
pub use sandbox::{RunOutput, Sandbox};
pub use terminal::Terminal;
pub use wait::wait_until;
