//! The scripted agent of the demo: it plays an AI CLI in a pane, with an input that takes a prompt; what it does in its
//! worktree, and what it says to the others, is real.

mod executor;
mod hooks;
mod input;
mod supervise;
mod work;

use clap::Args;
use paw_core::{AgentId, BranchName, PawError};
use paw_host::git::Git;

use crate::context::Context;

#[derive(Debug, Args)]
pub(crate) struct DemoAgentArgs {
    /// Milliseconds between two lines, for people who watch
    #[arg(long, default_value_t = 0)]
    pace_ms: u64,
    /// Write a test or code for autopilot, and end
    #[arg(long)]
    executor: bool,
}

/// What there is to do, one task for each branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Greeting,
    Farewell,
    Guide,
}

impl Task {
    pub(crate) const ALL: [Self; 3] = [Self::Greeting, Self::Farewell, Self::Guide];

    pub(crate) fn branch_name(self) -> &'static str {
        match self {
            Self::Greeting => "feat/greeting",
            Self::Farewell => "feat/farewell",
            Self::Guide => "docs/guide",
        }
    }

    pub(crate) fn branch(self) -> Result<BranchName, PawError> {
        Ok(BranchName::new(self.branch_name())?)
    }

    /// The file it makes.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Greeting => "src/greet.sh",
            Self::Farewell => "src/leave.sh",
            Self::Guide => "docs/guide.md",
        }
    }

    /// What it writes there. The first try of one of them forgets whom it speaks to.
    fn text(self, mended: bool) -> &'static str {
        match (self, mended) {
            (Self::Greeting, _) => "#!/bin/sh\necho \"hello, ${1:-world}\"\n",
            (Self::Farewell, false) => "#!/bin/sh\necho \"goodbye, world\"\n",
            (Self::Farewell, true) => "#!/bin/sh\necho \"goodbye, ${1:-world}\"\n",
            (Self::Guide, _) => {
                "# Guide\n\nRun `src/greet.sh NAME`, be polite, leave with `src/leave.sh NAME`.\n"
            }
        }
    }

    /// A command that it wants to run on the way.
    pub(crate) fn command(self) -> Option<&'static str> {
        match self {
            Self::Greeting => Some("git status --short"),
            Self::Farewell => None,
            Self::Guide => Some("git push --force origin main"),
        }
    }

    /// What it would like the first line of the README to say.
    fn title(self) -> Option<&'static str> {
        match self {
            Self::Greeting => Some("# A program that greets warmly\n"),
            Self::Farewell => Some("# A program that greets and leaves\n"),
            Self::Guide => None,
        }
    }
}

/// Waits for what it is told, does it, and waits again, as an AI CLI would. In the supervisor's pane it supervises.
pub(crate) fn run(args: &DemoAgentArgs, context: &Context) -> Result<(), PawError> {
    if args.executor {
        return executor::run(context);
    }
    let branch = Git::at(&context.cwd).line(["branch", "--show-current"])?;
    let task = Task::ALL.into_iter().find(|task| task.branch_name() == branch);
    let supervises = context.broker_client()?.agent().as_str() == AgentId::SUPERVISOR;
    let role = if supervises { "supervisor" } else { "agent" };
    context.output.say(&format!("scripted {role} on {branch}"))?;
    let mut worked = false;
    while let Some(prompt) = input::read_prompt()? {
        context.output.say(&format!("told: {}", prompt.lines().next().unwrap_or_default()))?;
        match task {
            _ if supervises && !worked => supervise::run(args.pace_ms, context)?,
            Some(task) if !worked => work::run(task, args.pace_ms, context)?,
            Some(task) => work::mend(task, args.pace_ms, context)?,
            None => context.output.say("nothing is left to do")?,
        }
        worked = true;
    }
    Ok(())
}
