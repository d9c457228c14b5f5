//! Sessions: agents side by side, each in a worktree and a pane of its own.
//!
//! - [`briefing`]: what an agent is told when it starts, and where it finds it
//! - [`cli_hooks`]: AI CLIs tell us what they do
//! - [`conversations`]: which one each agent goes on with
//! - [`delivery`]: what agents are told first, in the background
//! - [`launch`]: a session as planned, or nothing at all
//! - [`layout`]: where panes are, by arithmetic alone
//! - [`lifecycle`]: what happens to a session after its start
//! - [`logs`]: what panes have printed, kept and read again
//! - [`messages`]: what its messages tell, read from their log into a view
//! - [`panes`]: a session's window as tmux commands
//! - [`plan`]: what a start is going to do, decided as a whole
//! - [`receipts`]: what is remembered of sessions, on disk
//! - [`recover`]: a session that was there before
//! - [`skills`]: what every agent of a kind is taught
//! - [`specs`]: what agents are to do, found in the repository
//! - [`trust`]: what a repository's own file may not decide alone

pub mod briefing;
pub mod cli_hooks;
pub mod conversations;
pub mod delivery;
mod document;
pub mod launch;
pub mod layout;
pub mod lifecycle;
pub mod logs;
pub mod messages;
pub mod panes;
pub mod plan;
pub mod receipts;
pub mod recover;
pub mod skills;
pub mod specs;
pub mod trust;

pub use receipts::Receipts;
