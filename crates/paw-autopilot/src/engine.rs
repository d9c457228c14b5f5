//! The state machine from preflight to pull request. It knows nothing of git, tests or executors: events come in, what is
//! to be done next comes out. The same machine serves a run that drives an executor and one that an agent asks for work.
//!
//! - [`state`]: a run and its stages; [`event`]: what can happen, and what is to be done
//! - [`machine`]: one step; [`resume`]: going on after a pause or a crash
//! - [`budget`]: what a run may cost; [`view`]: what people and agents are told about a run; [`pause`]: why it stands still

pub mod budget;
pub mod event;
pub mod machine;
pub mod pause;
pub mod resume;
pub mod state;
pub mod view;

pub use budget::{Budget, Spent};
pub use event::{Action, Event, Refused};
pub use state::{Order, Pause, Run, Stage, Step, StepOutcome};
