//! The configuration: what can be set, what holds when nothing is, and how files are read, merged, made and
//! edited.
//!
//! Text in, values or text out; reading and writing the files is `paw-host`'s.
//!
//! - [`schema`]: every key with its type, default and help, declared once with the macros of `section`
//! - [`parse()`]: one file's text to a [`Layer`], with errors that point at the line, and warnings
//! - [`resolve`]: the user's and the repository's layer to a [`PawConfig`]
//! - [`Layer::needs_trust`]: what a repository's file would have us run or loosen
//! - [`default_file`], [`add_missing`]: the file that `git paw init` writes
//! - [`set_cli`], [`remove_cli`]: edits that leave every other byte alone
//!
//! Below those: `source` (a guarded parse, lines and columns), `alias` (other spellings of a key), `unknown`
//! (keys that nobody reads), `no_effect` (keys that come to nothing) and `error`.

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

pub use edit::{CliEntry, remove_cli, set_cli};
pub use error::ConfigError;
pub use merge::resolve;
pub use parse::{ConfigWarning, Layer, parse};
pub use schema::*;
pub use section::{ConfigKey, KeyShape};
pub use template::{add_missing, default_file};
pub use trust::TrustItem;
