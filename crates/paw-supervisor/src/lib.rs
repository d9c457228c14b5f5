//! Approves agents' commands, checks and merges their work, and watches them meanwhile.
//!
//! - [`approval`]: decides whether a command may run without asking the user
//! - [`gates`]: runs the project's checks on a clean checkout of a branch's tip
//! - [`governance`]: the project's governance documents, and the audit of a commit against them
//! - [`merge`]: merges agents' branches into main, each tested first
//! - [`pane_request`]: what agents can have the session's process run
//! - [`project`]: what programs may read about a project
//! - [`prompt_reply`]: approves or denies the prompt of an agent for a person
//! - [`proof`]: signed records of gate runs
//! - [`report`]: what happened in a session, counted
//! - [`role_gating`]: OpenSpec commands that agents must not run
//! - [`stall`]: detects agents that make no progress, and what can be tried
//! - [`sweep`]: one snapshot of every agent
//! - [`monitor`]: the loop that watches agents, answers prompts and reports stalls
//! - [`unanswered_questions`]: repeats questions that have no answer yet
//! - [`unattended`]: follows a session without a supervisor until every agent has finished

pub mod approval;
pub mod gates;
pub mod governance;
pub mod merge;
pub mod monitor;
pub mod pane_request;
pub mod project;
pub mod prompt_reply;
pub mod proof;
pub mod report;
pub mod role_gating;
pub mod stall;
pub mod sweep;

pub mod unanswered_questions;
pub mod unattended;
mod wide_pane;
