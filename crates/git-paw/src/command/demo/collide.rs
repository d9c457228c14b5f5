//! The part of the demo in which two agents touch the same line, and are told before they commit.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use paw_broker::Message;
use paw_core::{AgentId, BranchName, PawError};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, Access};
use paw_worktree::{SessionWorktree, Worktrees};

use crate::command::dashboard::Session;
use crate::context::Context;

/// No warning takes this long, on any machine.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn run(root: &Path, worktrees: &Worktrees, context: &Context) -> Result<(), PawError> {
    let branches = [BranchName::new("feat/title")?, BranchName::new("feat/rename")?];
    let mut dirs = Vec::new();
    for branch in &branches {
        dirs.push(worktrees.create_worktree(root, &SessionWorktree::new(branch.clone()))?.path);
    }
    let session = Session::start(&context.at(root))?;
    let mut stream = session.bus().subscribe();
    for (dir, text) in dirs.iter().zip(["# A program that greets warmly\n", "# Hello, the program\n"]) {
        files::write_atomic(&dir.join("README.md"), text.as_bytes(), Access::Usual)?;
    }
    let watch = Stopwatch::start();
    let mut warned: BTreeMap<AgentId, String> = BTreeMap::new();
    while warned.len() < branches.len() && !watch.remaining(PATIENCE).is_zero() {
        for stored in stream.wait(&session.runtime(), watch.remaining(PATIENCE)) {
            if let Message::Feedback(feedback) = &stored.message {
                warned.insert(feedback.agent_id.clone(), feedback.errors.join(" "));
            }
        }
    }
    session.stop();
    if warned.len() < branches.len() {
        return Err(PawError::SessionError(
            "two agents changed the same line and were not warned".to_owned(),
        ));
    }
    context.output.say("two more agents changed the same line, and were warned before they committed:")?;
    warned.iter().try_for_each(|(agent, warning)| context.output.say(&format!("   {agent}: {warning}")))
}
