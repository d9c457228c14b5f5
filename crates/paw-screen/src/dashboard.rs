//! The dashboard of a session.
//!
//! [`DashboardState::on_event`] takes updates and keys and returns effects; [`draw`] renders the state. [`run`] connects
//! them to a terminal, a source of updates and a receiver of requests.

mod changes;
mod draw;
mod event;
mod filter;
mod keys;
mod layout;
mod need;
mod prompt_view;
pub mod run;
mod scroll;
mod selection;
mod state;
mod theme;
mod update;
mod usage;

pub use changes::{ChangedFile, WorkChanges};
pub use draw::draw;
pub use event::{
    AgentAction, AgentJob, DashboardEffect, DashboardEvent, DashboardHost, DashboardOptions,
    DashboardRequest, DashboardUpdate, OperatorAnswer, ShownPrompt,
};
pub use state::DashboardState;
pub use theme::Theme;
