//! What people look at: the dashboard of a session, the navigator of autopilot. Nothing here knows git or tmux.
//!
//! - [`dashboard`] draws a [`paw_view::SessionView`], and a pure state machine turns keys into actions
//! - [`autopilot`] the navigator: tags, tasks and the run at hand, the same way
//! - [`source`] where updates come from and answers go to: the bus of this process, or a broker elsewhere
//! - [`terminal`] raw mode and the alternate screen, given back however the program ends
//! - [`text`] what strangers wrote, made harmless for a terminal
//! - [`age`] how long ago something was, and when that text changes

pub mod age;
pub mod autopilot;
pub mod dashboard;
pub mod source;
pub mod terminal;
mod terminal_input;
pub mod text;
