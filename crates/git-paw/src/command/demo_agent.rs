//! The scripted agent of the demo: it plays an AI CLI in a pane, but what it does in its worktree is real.

use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use paw_core::PawError;
use paw_host::files::{self, Access};
use paw_host::git::Git;
use paw_host::tmux::{Tmux, TmuxCommand};

use crate::context::Context;
use crate::output::Style;

#[derive(Debug, Args)]
pub(crate) struct DemoAgentArgs {
    task: Task,
    /// Milliseconds between two lines, for people who watch
    #[arg(long, default_value_t = 0)]
    pace_ms: u64,
    /// The tmux channel to signal on at the end, however it ends
    #[arg(long)]
    signal: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Task {
    Greeting,
    Farewell,
    Guide,
}

impl Task {
    pub(crate) const ALL: [Self; 3] = [Self::Greeting, Self::Farewell, Self::Guide];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Greeting => "greeting",
            Self::Farewell => "farewell",
            Self::Guide => "guide",
        }
    }

    pub(crate) fn branch(self) -> &'static str {
        match self {
            Self::Greeting => "feat/greeting",
            Self::Farewell => "feat/farewell",
            Self::Guide => "docs/guide",
        }
    }

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
}

pub(crate) fn run(args: &DemoAgentArgs, context: &Context) -> Result<(), PawError> {
    let outcome = work(args, context);
    if let Some(channel) = &args.signal {
        Tmux::default().run(&TmuxCommand::new("wait-for").args(["-S", channel]))?;
    }
    outcome
}

fn work(args: &DemoAgentArgs, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let say = |mark: Style, line: String| {
        thread::sleep(Duration::from_millis(args.pace_ms));
        output.say(&format!("{} {line}", output.paint(mark, "●")))
    };
    let git = Git::at(&context.cwd);
    let (file, text) = args.task.file();
    say(Style::Bold, format!("task: {} on {}", args.task.name(), args.task.branch()))?;
    say(Style::Dim, "reading README.md".to_owned())?;
    say(Style::Dim, format!("writing {file}"))?;
    let access = if file.starts_with("src/") { Access::Executable } else { Access::Usual };
    files::write_atomic(&context.cwd.join(file), text.as_bytes(), access)?;
    say(Style::Dim, "committing".to_owned())?;
    git.run(["add", "--", file])?;
    git.run(["commit", "--quiet", "--message", &format!("Add {file}")])?;
    say(Style::Good, format!("done: {}", git.line(["log", "-1", "--format=%h %s"])?))
}
