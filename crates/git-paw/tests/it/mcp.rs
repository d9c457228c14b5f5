//! `git paw mcp` with an official MCP client.

mod autopilot;
mod client;
mod coordination;
mod offered;
mod project;
mod python;
mod raw;
mod session;
mod survives;
mod tasks;
mod worktrees;
