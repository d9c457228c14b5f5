//! The state machine of a run, from preflight to pull request. It does no I/O: it takes events and returns the next
//! action. The same machine serves runs that drive an executor and runs that an agent steps through.
//!
//! - [`state`]: a run and its stages; [`event`]: events and actions
//! - [`machine`]: transitions; [`resume`]: continuing after a pause or a crash
//! - [`budget`]: time and cost limits; [`view`]: the status shown to users and agents; [`pause`]: pause reasons as
//!   text

pub mod budget;
pub mod event;
pub mod machine;
pub mod pause;
pub mod resume;
pub mod state;
pub mod view;

pub use budget::{Budget, Spending};
pub use event::{RunAction, RunEvent, UnexpectedEvent};
pub use state::{PauseReason, Run, RunRequest, RunStage, RunStep, StepOutcome};
