//! What happens to a session after its start, one verb in each file.
//!
//! - [`session`]: the session of a repository, found by its receipt
//! - [`window`]: what tmux shows of it, in one look
//! - [`status`], [`attach`]: looking
//! - [`pause`], [`stop`], [`purge`]: ending, gently to thoroughly
//! - [`add`], [`remove`]: one agent more, one less

pub mod add;
mod arrange;
pub mod attach;
mod broker;
mod error;
pub mod pause;
pub mod purge;
pub mod remove;
pub mod session;
pub mod status;
pub mod stop;
pub mod unmerged;
pub mod window;

pub use error::LifecycleError;
pub use session::Session;
