//! The navigator of autopilot: tags, tasks and the current run.
//!
//! [`NavigatorState::on_event`] takes views and keys and returns effects; [`draw`] renders the state. [`run`] connects
//! them to a terminal, a source of views and a receiver of commands.

mod draw;
mod keys;
mod rows;
pub mod run;
mod state;
mod view;

pub use draw::draw;
pub use state::{NavigatorCommand, NavigatorEffect, NavigatorEvent, NavigatorState};
pub use view::{
    NavigatorView, RunActivity, RunView, StatusLabel, SubtaskView, TagView, TaskStatusKind, TaskView,
};
