//! Sessions: several agents, each in its own worktree and tmux pane.
//!
//! - [`briefing`]: the instructions an agent gets when it starts, and the file that contains them
//! - [`cli_hooks`]: hooks through which AI CLIs report what they do
//! - [`conversations`]: the conversation that each agent resumes
//! - [`delivery`]: sends the first prompt to each agent
//! - [`launch`]: starts a session as planned, or changes nothing
//! - [`layout`]: sizes and positions of panes, calculated without tmux
//! - [`lifecycle`]: every command on a session after its start
//! - [`logs`]: the output of panes, on disk
//! - [`messages`]: loads a session's messages from their log into a view
//! - [`panes`]: a session's window as tmux commands
//! - [`plan`]: everything a start will do, decided before it changes anything
//! - [`receipts`]: the session files on disk
//! - [`recover`]: resumes or rebuilds an existing session
//! - [`session_process`]: starts, finds and ends the session's long-running process
//! - [`skills`]: general instructions for agents and for the supervisor
//! - [`specs`]: the tasks of agents, found in the repository
//! - [`trust`]: configuration keys that a repository may set only with approval
//! - [`untrusted_text`]: text files of the repository, read with limits

pub mod briefing;
pub mod cli_hooks;
pub mod conversations;
pub mod delivery;
pub mod launch;
pub mod layout;
pub mod lifecycle;
pub mod logs;
pub mod messages;
pub mod panes;
pub mod plan;
pub mod receipts;
pub mod recover;
pub mod session_process;
pub mod skills;
pub mod specs;
pub mod trust;
pub mod untrusted_text;

pub use receipts::Receipts;
