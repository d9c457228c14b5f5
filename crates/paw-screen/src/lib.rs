//! The terminal user interfaces: the dashboard of a session and the navigator of autopilot. Independent of git and tmux.
//!
//! - [`dashboard`] draws a [`paw_view::SessionView`], and a pure state machine turns keys into actions
//! - [`autopilot`] does the same for the navigator: tags, tasks and the current run
//! - [`source`] receives updates from a broker in another process, and sends answers to it
//! - [`line_input`] is a line of text that the user edits
//! - [`terminal`] enables raw mode and the alternate screen, and restores the terminal however the program ends
//! - [`text`] sanitizes untrusted text for a terminal
//! - [`age`] formats how long ago something was, and computes when that text changes

pub mod age;
pub mod autopilot;
pub mod dashboard;
pub mod line_input;
pub mod source;
pub mod terminal;
mod terminal_input;
pub mod text;
