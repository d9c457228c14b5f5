//! The navigator of autopilot: tags, tasks and the run at hand.
//!
//! A [`NavigatorView`] and keys go in through [`NavigatorState::on_event`], which says what is to be done; [`draw`] paints the state. Where
//! pictures come from and who carries commands out is joined in [`run`].

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
