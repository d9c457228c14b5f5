//! The configuration: its schema and defaults, and how files are parsed, merged, generated and edited.
//!
//! Text in, values or text out; `paw-host` reads and writes the files.
//!
//! - [`schema`]: every key with its type, default and help, declared once with the macros of `section`
//! - [`parse()`]: the text of a file to a [`Layer`], with warnings and with errors that show the line
//! - [`resolve`]: merges the user's and the repository's layer into a [`PawConfig`]
//! - [`Layer::needs_trust`]: the keys of a repository that run programs or relax permissions
//! - [`default_file`], [`activate`], [`add_missing`]: the file that `git paw init` writes
//! - [`set_cli`], [`remove_cli`], [`set_host`], [`remove_host`]: edits that keep every other byte
//!
//! Internal: `source` (safe parsing, lines and columns), `alias` (aliases of keys), `unknown` (unknown keys),
//! `no_effect` (keys without effect) and `error`.

mod alias;
mod edit;
mod error;
mod merge;
mod no_effect;
mod parse;
pub mod schema;
mod section;
mod source;
mod template;
mod trust;
mod unknown;

pub use edit::{CliEntry, remove_cli, remove_host, set_cli, set_host};
pub use error::ConfigError;
pub use merge::resolve;
pub use parse::{ConfigWarning, Layer, parse};
pub use schema::*;
pub use section::{ConfigKey, KeyShape};
pub use template::{activate, add_missing, default_file};
pub use trust::TrustItem;
