//! The scripted agent of the demo: it plays an AI CLI in a pane, with an input that takes a prompt; what it does in its
//! worktree, and what it says to the others, is real.

mod input;
mod work;

use clap::Args;
use paw_core::{BranchName, PawError};
use paw_host::git::Git;

use crate::context::Context;

#[derive(Debug, Args)]
pub(crate) struct DemoAgentArgs {
    /// Milliseconds between two lines, for people who watch
    #[arg(long, default_value_t = 0)]
    pace_ms: u64,
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
    fn file(self) -> (&'static str, &'static str) {
        match self {
            Self::Greeting => ("src/greet.sh", "#!/bin/sh\necho \"hello, ${1:-world}\"\n"),
            Self::Farewell => ("src/leave.sh", "#!/bin/sh\necho \"goodbye, ${1:-world}\"\n"),
            Self::Guide => (
                "docs/guide.md",
                "# Guide\n\nRun `src/greet.sh NAME`, be polite, leave with `src/leave.sh`.\n",
            ),
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

/// Waits for what it is told, does the task of its branch, and waits again, as an AI CLI would.
pub(crate) fn run(args: &DemoAgentArgs, context: &Context) -> Result<(), PawError> {
    let branch = Git::at(&context.cwd).line(["branch", "--show-current"])?;
    let task = Task::ALL.into_iter().find(|task| task.branch_name() == branch);
    context.output.say(&format!("scripted agent on {branch}"))?;
    let mut worked = false;
    while let Some(prompt) = input::read_prompt()? {
        context.output.say(&format!("told: {}", prompt.lines().next().unwrap_or_default()))?;
        match task {
            Some(task) if !worked => work::run(task, args.pace_ms, context)?,
            _ => context.output.say("nothing is left to do")?,
        }
        worked = true;
    }
    Ok(())
}
