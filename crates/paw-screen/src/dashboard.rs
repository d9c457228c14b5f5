//! The dashboard of a session.
//!
//! Updates and keys go in through [`DashboardState::on_event`], which says what is to be done; [`draw`] paints the state.
//! Neither knows where updates come from or where answers go: that is joined in [`crate::run`].

mod draw;
mod filter;
mod input;
mod keys;
mod layout;
pub mod run;
mod selection;
mod state;
mod theme;

pub use draw::draw;
pub use state::{
    DashboardEffect, DashboardEvent, DashboardHost, DashboardOptions, DashboardState, DashboardUpdate,
    OperatorAnswer,
};
pub use theme::Theme;
