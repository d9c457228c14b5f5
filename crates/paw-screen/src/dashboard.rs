//! The dashboard of a session.
//!
//! [`DashboardState::on_event`] takes updates and keys and returns effects; [`draw`] renders the state. [`run`] connects
//! them to a terminal, a source of updates and a receiver of answers.

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
