//! The monitor: watches every agent of a session, answers prompts that are safe, and reports what needs attention.
//!
//! - [`run`]: the loop, on its own thread in the session's process
//! - [`verdict`]: judges an approval request, whether a hook or a screen reports it
//! - [`press`]: presses the approval keys in a pane
//!
//! `agent_tracker` tracks the state of one agent and `prompt` the approval it waits for, both pure. `panes` captures all
//! panes at once, `remedy` resumes an agent after a rate limit, `manual_approvals` notices approvals given in the pane, and `messages`
//! builds the messages the monitor publishes. Keys are pressed only into a prompt that was captured a moment before.

mod agent_tracker;
mod manual_approvals;
mod messages;
pub(crate) mod panes;
pub mod press;
mod prompt;
mod remedy;
pub mod run;
pub mod verdict;
