//! The only crate that calls outside programs and the operating system. One module per outside thing; no policy.
//!
//! - [`caller`]: who runs this command, the user or an agent
//! - [`process`]: run a program, stream its output, enforce its time limit, end its whole process tree
//! - [`git`]: every git call
//! - [`tmux`]: every tmux call
//! - [`ssh`]: programs on other machines
//! - [`files`]: atomic durable writes, locks, and the directories of our files
//! - [`locks`]: lock guards, taken as arguments by functions that must not run concurrently
//! - [`config`]: load the user's and the repository's configuration
//! - [`sandbox`]: what a program may read and write, enforced by bubblewrap
//! - [`trust`]: approvals by the user, keyed by content hash
//! - [`sqlite`]: open, pragmas, migrations
//! - [`signing`]: Ed25519 keys and signatures
//! - [`signals`]: shutdown signals
//! - [`terminal`]: detect that the terminal was closed
//! - [`clock`], [`disk`] and [`machine`]: the current time, the free disk space, the name of this machine

pub mod caller;
pub mod clock;
pub mod config;
pub mod disk;
pub mod files;
pub mod git;
pub mod locks;
pub mod machine;
pub mod process;
pub mod sandbox;
pub mod signals;
pub mod signing;
pub mod sqlite;
pub mod ssh;
pub mod terminal;
pub mod tmux;
pub mod trust;
