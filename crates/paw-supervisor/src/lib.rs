//! What stands between the agents' work and the main branch.
//!
//! - [`approval`]: whether a command line is harmless enough to be answered without asking anybody
//! - [`gates`]: whether a branch is proven, by the project's own checks on a clean checkout of its tip
//! - [`merge`]: the agents' branches into main, each proven first
//! - [`role`]: OpenSpec commands that are not an agent's job
//! - [`stall`]: agents that do not get on, and what can be done
//! - [`sweep`]: one look at every agent
//! - `test_checkout`: detached worktrees in which gates and merges test commits
//! - [`tower`]: what every agent is doing, and what is done about it
//! - [`unanswered`]: questions that have waited for too long
//! - [`unattended`]: a session that nobody watches, followed to its end

pub mod approval;
pub mod gates;
pub mod merge;
pub mod role;
pub mod stall;
pub mod sweep;
mod test_checkout;
pub mod tower;
pub mod unanswered;
pub mod unattended;
