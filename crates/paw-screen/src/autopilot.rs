//! The navigator of autopilot: tags, tasks and the run at hand.
//!
//! A [`Picture`] and keys go in through [`State::on_event`], which says what is to be done; [`draw`] paints the state. Where
//! pictures come from and who carries orders out is joined in [`run`].

mod draw;
mod keys;
mod rows;
pub mod run;
mod state;
mod view;

pub use draw::draw;
pub use state::{Effect, Event, Order, State};
pub use view::{Life, Picture, Run, Standing, Subtask, Tag, Task, Word};
