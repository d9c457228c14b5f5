//! Text that other people and programs wrote, made safe to show, and the wording that every crate shares.
//!
//! The policy is the same everywhere: a character that a terminal obeys or a reader cannot see becomes U+FFFD, so
//! that it is visible that something was there.
//!
//! - [`is_unsafe`], [`is_hidden`]: the one list of these characters
//! - [`line`], [`block`], [`html`], [`path`]: text without them
//! - [`reveal`]: the same characters spelled out, for people who approve what they read
//! - [`strip_escapes`]: output of programs without colours, titles and cursor movements
//! - [`truncate`], [`truncate_start`], [`truncate_chars`], [`first_of`]: the part there is room for
//! - [`plural`], [`plural_irregular`]: a number with its noun

mod characters;
mod escapes;
mod plural;
mod sanitize;
mod truncate;

pub use characters::{is_hidden, is_unsafe};
pub use escapes::strip_escapes;
pub use plural::{plural, plural_irregular};
pub use sanitize::{block, html, line, path, reveal};
pub use truncate::{columns, first_of, short_commit, truncate, truncate_chars, truncate_start, width};
