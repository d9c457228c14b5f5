//! The tower: what every agent of a session is doing, seen from one place, and what is done about it.
//!
//! - [`run`]: the loop in the session's own process
//! - [`verdict`]: what is said to an approval, whoever tells of it: a hook or a screen
//!
//! Inside: `agent` keeps what is known about one agent and `ask` the approval it waits for, both pure; `panes` looks at
//! all panes in one step, `codex_call` finds where codex would run what it asks about, `press` answers a prompt, `remedy` helps one that is stuck, `words` has what others are told.
//! Verdicts fall the same whoever asks; keys are only ever pressed into what was seen a moment before.

mod agent;
mod ask;
mod by_hand;
pub(crate) mod panes;
pub mod press;
mod remedy;
pub mod run;
pub mod verdict;
mod words;
