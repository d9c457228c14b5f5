//! `git paw mcp`, as an AI CLI uses it: an official client against the real program.

mod autopilot;
mod client;
mod coordination;
mod offered;
mod python;
mod raw;
mod session;
mod survives;
mod tasks;
mod worktrees;
