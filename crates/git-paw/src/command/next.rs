//! `git paw next`

use std::io::{self, IsTerminal as _};

use clap::Args;
use paw_core::PawError;
use paw_host::clock;
use paw_screen::age;
use paw_screen::text::Text;
use paw_supervisor::sweep;
use paw_view::{Need, NeedKind};
use serde_json::json;

use crate::context::Context;

/// Go to the agent that has waited longest for you
///
/// Prints what the agent needs and shows its pane: inside tmux at once, elsewhere after attaching. Without a terminal it
/// only prints. The exit code is 0 even if no agent waits.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw next
  git paw next --list")]
pub(crate) struct NextArgs {
    /// List everything that waits for you, and stay here
    #[arg(long)]
    list: bool,
    /// Print the list as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &NextArgs, context: &Context) -> Result<(), PawError> {
    let session = context.require_session()?;
    let mut view = sweep::load_view(&session, clock::now())?;
    session.add_messages(&mut view);
    let needs = view.needs();
    if context.output.wants_json() {
        return context.output.document(&json!({ "needs": needs }));
    }
    let Some(first) = needs.first() else { return context.output.say("no agent waits for you") };
    if args.list {
        return needs.iter().try_for_each(|need| context.output.say(&line(need)));
    }
    context.output.say(&line(first))?;
    if needs.len() > 1 {
        context.output.note(&format!("{} more wait (git paw next --list)", needs.len() - 1));
    }
    if io::stdout().is_terminal() {
        session.attach_to(&first.agent_id)?;
    }
    Ok(())
}

fn line(need: &Need) -> String {
    let what = match need.kind {
        NeedKind::Approval => "approve or deny",
        NeedKind::Answer => "answer",
        NeedKind::Input => "type into its pane",
        NeedKind::Prompt => "its first prompt was not delivered",
        NeedKind::Exited => "its CLI has exited",
        NeedKind::RateLimit => "rate-limited",
    };
    let age = need.since.map(|since| format!(" ({})", age::text(since, clock::now())));
    format!("{}: {what}: {}{}", need.agent_id, Text::line(&need.text).as_str(), age.unwrap_or_default())
}
