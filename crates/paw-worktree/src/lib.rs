//! The lifecycle of worktrees: create them atomically, register them, reconcile them with the disk, and remove them
//! without losing work. Several processes can use this crate at the same time, without a daemon.
//!
//! - [`service`]: [`Worktrees`], the entry point
//! - [`create`] and [`check`]: creation, and the checks that run before anything changes
//! - [`session`]: the worktrees of a session's agents
//! - [`diff`]: the work in a worktree, uncommitted files included
//! - [`advance`]: moves branches, with the files of the worktree that has them checked out
//! - [`moved`]: work that an agent takes along to another machine
//! - [`checkout`]: every checkout of a repository, and the one that a person means by a name
//! - [`list`], [`switch`], [`remove`], [`adopt`]: the other operations
//! - [`registry`]: the database of worktrees and their conversations
//! - [`reconcile`]: directories that disappear and return; `recover`: operations interrupted by a crash;
//!   [`repair`]: a damaged registry
//! - [`rescue`]: stores work before it is removed; `restore`: restores it as a worktree
//! - [`setup`] and [`copy`]: setup commands and ignored files for a new worktree
//! - [`run_sandbox`]: what setup, gates and tests in a checkout may read and write
//! - [`error`] and [`id`]: errors and ids; [`crash`]: crash points for tests

pub mod adopt;
pub mod advance;
pub mod check;
pub mod checkout;
pub mod copy;
pub mod crash;
pub mod create;
pub mod diff;
pub mod error;
pub mod id;
pub mod list;
pub mod moved;
pub mod reconcile;
mod recover;
pub mod registry;
pub mod remove;
pub mod repair;
pub mod rescue;
mod restore;
mod rollback;
pub mod run_sandbox;
pub mod service;
pub mod session;
pub mod setup;
pub mod switch;

pub use checkout::{Checkout, CheckoutKind, CheckoutState};
pub use create::{CreateRequest, CreateStep, CreatedWorktree, Preparation, PreparedWorktree};
pub use diff::{FileChange, FileChangeKind, WorkDiff};
pub use error::WorktreeError;
pub use id::{ConversationId, WorktreeId};
pub use list::{MainCheckout, UnmanagedWorktree, WorktreeListing};
pub use registry::{Conversation, ConversationStatus, ManagedWorktree, WorktreeStatus};
pub use remove::{PrunedWorktrees, RemoveOptions, RemovedWorktree};
pub use run_sandbox::{RunSandbox, RunSandboxError};
pub use service::Worktrees;
pub use session::{SessionWorktree, WorktreeCreation};
pub use switch::{SwitchedCheckout, SwitchedWorktree};
