//! The window of an agent on another machine.

use std::thread;
use std::time::Duration;

use clap::Args;
use paw_core::{AgentId, PawError};
use paw_host::clock::Stopwatch;

use crate::context::Context;

/// Show the pane of an agent on another machine, and connect again
#[derive(Debug, Args)]
pub(crate) struct FollowArgs {
    agent: AgentId,
}

const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Ends when the agent is no longer on another machine.
pub(crate) fn run(args: &FollowArgs, context: &Context) -> Result<(), PawError> {
    let mut pause = SHORTEST_PAUSE;
    loop {
        let Some(session) = context.find_session()? else { return Ok(()) };
        let agents = session.receipt.remote_agents();
        let Some(agent) = agents.iter().find(|agent| agent.agent_id == args.agent) else { return Ok(()) };
        let watch = Stopwatch::start();
        if let Err(error) = context.forward(&session.receipt, &agent.host, &["attach", args.agent.as_str()]) {
            context.output.warn(&error.to_string());
        }
        if watch.elapsed() > LONGEST_PAUSE {
            pause = SHORTEST_PAUSE;
        }
        let seconds = pause.as_secs();
        context.output.note(&format!("not connected to {}; next attempt in {seconds} s", agent.host));
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
