//! Makes text from other people and programs safe to display, and formats text that all crates share.
//!
//! The policy is the same everywhere: a character that a terminal interprets or a reader cannot see is replaced by
//! U+FFFD.
//!
//! - [`is_unsafe`], [`is_hidden`]: the list of these characters
//! - [`line`], [`block`], [`html`], [`path`]: text without them
//! - [`json`]: a JSON document with these characters escaped
//! - [`reveal`]: text with these characters escaped, for people who review it
//! - [`strip_terminal_codes`], [`output_line`]: output of programs without colours, titles and cursor movements
//! - [`truncate`], [`truncate_start`], [`truncate_chars`], [`first_of`], [`first_paths`]: text cut to a length
//! - [`plural`], [`plural_irregular`]: a number with its noun

mod characters;
mod plural;
mod sanitize;
mod terminal_codes;
mod truncate;

pub use characters::{is_hidden, is_unsafe};
pub use plural::{plural, plural_irregular};
pub use sanitize::{block, html, json, line, path, reveal};
pub use terminal_codes::{output_line, strip_terminal_codes};
pub use truncate::{
    columns, first_of, first_paths, short_commit, truncate, truncate_chars, truncate_start, width,
};
