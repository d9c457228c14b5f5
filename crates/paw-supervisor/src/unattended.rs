//! A session that nobody watches: its agents are followed until each of them has come to an end, one way or another.
//!
//! - [`watch`]: who is at what, whose work is to be checked now, and when it is over. Pure: messages and the time come in
//! - [`outcome`]: what became of an agent's work
//! - [`order`]: whose verified work can be merged without that of others. Pure
//! - [`refs`]: branches that move, as they move
//! - [`charge`]: who stands in for a supervisor, and until when
//! - [`words`]: what a failing agent is told

pub mod charge;
pub mod order;
pub mod outcome;
pub mod refs;
pub mod watch;
pub mod words;
mod worker;

pub use charge::Charge;
pub use outcome::Outcome;
pub use watch::{Judgement, Next, Watch};
