//! Commands on a session after its start, one per file.
//!
//! - [`session`]: the session of a repository, found by its receipt
//! - [`process`]: its long-running process, restarted if it has died
//! - [`window`]: its panes, as listed by tmux
//! - [`status`], [`attach`]: show it
//! - [`pause`], [`stop`], [`purge`]: end parts of it or all of it
//! - [`follow`]: windows for its agents on other machines
//! - [`terminal`]: the pane of an agent, for programs
//! - [`add`], [`remove`]: add or remove one agent
//! - `restart`: an agent whose CLI has exited; `restore_agents`: agents whose panes are gone

pub mod add;
pub mod attach;
mod error;
pub mod follow;
mod pane_layout;
pub mod pause;
pub mod process;
pub mod purge;
pub mod remove;
mod restart;
mod restore_agents;
pub mod session;
pub mod status;
pub mod stop;
pub mod terminal;
pub mod unmerged;
pub mod window;

pub use error::LifecycleError;
pub use session::Session;
