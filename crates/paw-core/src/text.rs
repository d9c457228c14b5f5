//! Text that other people and programs wrote, made safe to show, and the wording that every crate shares.
//!
//! The policy is the same everywhere: a character that a terminal obeys or a reader cannot see becomes U+FFFD, so
//! that it is visible that something was there.
//!
//! - [`is_unsafe`], [`is_hidden`]: the one list of these characters
//! - [`line`], [`block`], [`html`], [`path`]: text without them
//! - [`reveal`]: the same characters spelled out, for people who approve what they read
//! - [`strip_terminal_codes`], [`output_line`]: output of programs without colours, titles and cursor movements
//! - [`truncate`], [`truncate_start`], [`truncate_chars`], [`first_of`], [`first_paths`]: the part there is room for
//! - [`plural`], [`plural_irregular`]: a number with its noun

mod characters;
mod plural;
mod sanitize;
mod terminal_codes;
mod truncate;

pub use characters::{is_hidden, is_unsafe};
pub use plural::{plural, plural_irregular};
pub use sanitize::{block, html, line, path, reveal};
pub use terminal_codes::{output_line, strip_terminal_codes};
pub use truncate::{
    columns, first_of, first_paths, short_commit, truncate, truncate_chars, truncate_start, width,
};
