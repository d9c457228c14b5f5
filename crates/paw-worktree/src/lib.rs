//! Worktrees from birth to grave: made in one step or not at all, remembered, checked against the disk, removed
//! without losing work. Usable by several processes at once; no daemon needed.
//!
//! - [`service`]: [`Worktrees`], the door to everything here
//! - [`create`] and [`check`]: what is made, and what must be true before anything is touched
//! - [`session`]: the worktrees of a session's agents
//! - [`list`], [`switch`], [`remove`], [`adopt`]: the verbs
//! - [`registry`]: the rows behind them, and the conversations bound to them
//! - [`reconcile`]: directories that vanish and come back; `recover`: what a crash left half done
//! - [`rescue`]: work kept before it is removed
//! - [`setup`] and [`copy`]: what makes a fresh worktree ready for work
//! - [`error`] and [`id`]: codes, messages, ids; [`crash`]: moments at which a test can make us die

pub mod adopt;
pub mod check;
pub mod copy;
pub mod crash;
pub mod create;
pub mod error;
pub mod id;
pub mod list;
pub mod reconcile;
mod recover;
pub mod registry;
pub mod remove;
pub mod rescue;
mod rollback;
pub mod service;
pub mod session;
pub mod setup;
pub mod switch;

pub use create::{CreateRequest, CreateStep, CreatedWorktree, Preparation, PreparedWorktree};
pub use error::WorktreeError;
pub use id::{ConversationId, WorktreeId};
pub use list::{UnmanagedWorktree, WorktreeListing};
pub use registry::{Conversation, ConversationStatus, ManagedWorktree, WorktreeStatus};
pub use remove::{PrunedWorktrees, RemoveOptions, RemovedWorktree};
pub use service::Worktrees;
pub use session::{SessionWorktree, WorktreeCreation};
pub use switch::SwitchedWorktree;
