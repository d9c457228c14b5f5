//! `git paw autopilot` with a scripted executor, real tests and real git.

#![allow(clippy::disallowed_macros, clippy::print_stderr, reason = "a test that is skipped says so")]

mod cargo;
mod changed_lines;
mod cheats;
mod dry_run;
mod expand;
mod finish;
mod hostile;
mod interrupted;
mod pane;
mod pause;
mod terminal;
mod trace;
mod world;
