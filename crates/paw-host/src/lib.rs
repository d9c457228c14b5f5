//! The only crate that touches the machine: one door to each outside thing, and no policy behind any of them.
//!
//! - [`process`]: run a program, stream it, time it out, end its whole tree
//! - [`git`]: every git call of the program
//! - [`tmux`]: every tmux call of the program
//! - [`files`]: atomic durable writes, locks, and where our files live
//! - [`locks`]: guards that functions take which must not run twice at a time
//! - [`config`]: the user's and the repository's configuration, read from disk
//! - [`trust`]: what the user has approved, by content hash
//! - [`sqlite`]: open, pragmas, migrations
//! - [`signals`]: signals that ask this process to end
//! - [`terminal`]: a terminal that nobody is at any more
//! - [`clock`] and [`disk`]: the time, and the space that is left

pub mod clock;
pub mod config;
pub mod disk;
pub mod files;
pub mod git;
pub mod locks;
pub mod process;
pub mod signals;
pub mod sqlite;
pub mod terminal;
pub mod tmux;
pub mod trust;
