//! The dashboard of a session.
//!
//! Updates and keys go in through [`State::on_event`], which says what is to be done; [`draw`] paints the state.
//! Neither knows where updates come from or where answers go: that is joined in [`crate::run`].

mod browse;
mod draw;
mod filter;
mod input;
mod layout;
mod look;
mod select;
mod state;

pub use draw::draw;
pub use look::Look;
pub use state::{Answer, Effect, Event, Home, Options, State, Update};
