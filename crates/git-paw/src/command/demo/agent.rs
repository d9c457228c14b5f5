//! The scripted agent of the demo. It acts as an AI CLI in a pane and takes prompts; its commits and messages are real.

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
    /// Milliseconds between two lines
    #[arg(long, default_value_t = 0)]
    pace_ms: u64,
    /// Write a test or code for autopilot, then exit
    #[arg(long)]
    executor: bool,
}

/// A command that is approved automatically.
pub(crate) const HARMLESS: &str = "git status --short";
/// A command that the user approves.
pub(crate) const USEFUL: &str = "make words";
/// A command that the user denies.
pub(crate) const DANGEROUS: &str = "git push --force origin main";

/// The tasks of the demo, one per branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DemoTask {
    Greeting,
    Farewell,
    Guide,
}

impl DemoTask {
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

    /// The file that the task creates.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Greeting => "src/greet.sh",
            Self::Farewell => "src/leave.sh",
            Self::Guide => "docs/guide.md",
        }
    }

    /// The content of the file. The first version of one of them ignores its argument.
    fn text(self, fixed: bool) -> &'static str {
        match (self, fixed) {
            (Self::Greeting, _) => "#!/bin/sh\necho \"hello, ${1:-world}\"\n",
            (Self::Farewell, false) => "#!/bin/sh\necho \"goodbye, world\"\n",
            (Self::Farewell, true) => "#!/bin/sh\necho \"goodbye, ${1:-world}\"\n",
            (Self::Guide, _) => {
                "# Guide\n\nRun `src/greet.sh NAME`, be polite, leave with `src/leave.sh NAME`.\n"
            }
        }
    }

    /// Commands that the agent wants to run.
    fn commands(self) -> &'static [&'static str] {
        match self {
            Self::Greeting => &[HARMLESS],
            Self::Farewell => &[],
            Self::Guide => &[USEFUL, DANGEROUS],
        }
    }

    /// The agent's title for the README.
    fn title(self) -> Option<&'static str> {
        match self {
            Self::Greeting => Some("# A program that greets warmly\n"),
            Self::Farewell => Some("# A program that greets and leaves\n"),
            Self::Guide => None,
        }
    }
}

/// Waits for prompts and works on them, as an AI CLI would. In the supervisor's pane it supervises.
pub(crate) fn run(args: &DemoAgentArgs, context: &Context) -> Result<(), PawError> {
    if args.executor {
        return executor::run(context);
    }
    let branch = Git::at(&context.cwd).line(["branch", "--show-current"])?;
    let task = DemoTask::ALL.into_iter().find(|task| task.branch_name() == branch);
    let supervises = context.broker_client()?.agent().as_str() == AgentId::SUPERVISOR;
    let role = if supervises { "supervisor" } else { "agent" };
    context.output.say(&format!("scripted {role} on {branch}"))?;
    let mut worked = false;
    while let Some(prompt) = input::read_prompt()? {
        context.output.say(&format!("prompt: {}", prompt.lines().next().unwrap_or_default()))?;
        match task {
            _ if supervises && !worked => supervise::run(args.pace_ms, context)?,
            Some(task) if !worked => work::run(task, args.pace_ms, context)?,
            Some(task) => work::fix(task, args.pace_ms, context)?,
            None => context.output.say("nothing is left to do")?,
        }
        worked = true;
    }
    Ok(())
}
