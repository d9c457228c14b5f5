//! `git paw demo`: what git-paw does, on a scratch repository, with scripted agents in the place of paid ones.

mod collide;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use paw_core::{BranchName, PawError, ProjectName, SessionName};
use paw_host::files::{self, Access};
use paw_host::git::{Git, Repo};
use paw_host::process::shell_quote;
use paw_host::tmux::{Batch, Tmux, TmuxCommand, session_target};
use paw_worktree::rescue::{self, RestoreInto, RestoreOptions};
use paw_worktree::{SessionWorktree, Worktrees};

use super::demo_agent::Task;
use crate::context::Context;
use crate::output::Style;

/// Watch git-paw at work in a scratch repository
///
/// Makes a repository, a worktree and a pane for each of three scripted agents, and lets them work. Then two agents touch
/// the same line and are warned, and a worktree with unsaved work is removed and brought back. On a terminal you are taken into the session; detach (prefix, then d) to
/// come back. Everything is removed at the end.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw demo\n  git paw demo --keep")]
pub(crate) struct DemoArgs {
    /// Leave the scratch repository and the session in place
    #[arg(long)]
    keep: bool,
}

/// No scripted agent needs this long, on any machine.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) fn run(args: &DemoArgs, context: &Context) -> Result<(), PawError> {
    let tmux = Tmux::default();
    tmux.require_minimum()?;
    let scratch = tempfile::Builder::new()
        .prefix("git-paw-demo-")
        .tempdir()
        .map_err(|error| PawError::IoError(format!("cannot make a scratch directory: {error}")))?;
    let demo = Demo::prepare(scratch.path(), &tmux, context)?;
    let outcome = demo.play(&tmux, context);
    if args.keep {
        let kept = scratch.keep();
        context.output.say(&format!("kept {} and the session {}", kept.display(), demo.session))?;
        context.output.say(&format!("attach: tmux attach -t {}", demo.session))?;
        return outcome;
    }
    tmux.kill_session(&demo.session)?;
    outcome?;
    context.output.say("removed the session and the scratch repository (--keep leaves them)")
}

struct Demo {
    session: SessionName,
    repo: Git,
    worktrees: Worktrees,
    agents: Vec<Agent>,
}

struct Agent {
    task: Task,
    branch: BranchName,
    worktree: PathBuf,
}

impl Demo {
    /// A repository with a commit, and a worktree for every agent beside it.
    fn prepare(scratch: &Path, tmux: &Tmux, context: &Context) -> Result<Self, PawError> {
        let say = |line: &str| context.output.say(line);
        let root = scratch.join("demo");
        files::write_atomic(&root.join("README.md"), b"# A program that greets\n", Access::Usual)?;
        let repo = Git::at(&root);
        repo.require_minimum()?;
        repo.run(["init", "--quiet", "--initial-branch=main"])?;
        for (key, value) in [("user.name", "git paw demo"), ("user.email", "demo@git-paw.invalid")] {
            repo.run(["config", key, value])?;
        }
        repo.run(["add", "--all"])?;
        repo.run(["commit", "--quiet", "--message=A program that greets"])?;
        say(&format!("made a scratch repository: {}", root.display()))?;

        // A registry of its own: nothing of the demo shows up among the user's worktrees.
        let worktrees = Worktrees::open(&scratch.join("data"))?;
        let branches = Task::ALL.map(|task| BranchName::new(task.branch()));
        let branches: Vec<_> = branches.into_iter().collect::<Result<_, _>>()?;
        let wanted: Vec<_> = branches.iter().cloned().map(SessionWorktree::new).collect();
        let mut agents = Vec::new();
        let made = worktrees.create_worktrees(&root, &wanted)?;
        for ((task, branch), made) in Task::ALL.into_iter().zip(branches).zip(made) {
            let worktree = made?.path;
            let shown = worktree.file_name().unwrap_or_default().display();
            say(&format!("made a worktree for {branch}: ../{shown}"))?;
            agents.push(Agent { task, branch, worktree });
        }
        let project = ProjectName::from_path(&root);
        let taken = |name: &SessionName| tmux.has_session(name).unwrap_or(true);
        let session = SessionName::for_project(&project).first_free(taken);
        Ok(Self { session, repo, worktrees, agents })
    }

    /// Opens the panes, waits for the agents (or shows them to whoever sits at the terminal), and tells what they did.
    fn play(&self, tmux: &Tmux, context: &Context) -> Result<(), PawError> {
        let terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let program = std::env::current_exe()
            .map_err(|error| PawError::IoError(format!("cannot find our own program: {error}")))?;
        tmux.run_batch(&self.panes(&program, if terminal { 400 } else { 0 }))?;
        context.output.say(&format!(
            "opened the session {} with {} panes",
            self.session,
            self.agents.len()
        ))?;
        if terminal {
            tmux.attach(&self.session)?;
        }
        for agent in &self.agents {
            tmux.wait_for(&self.channel(agent), PATIENCE)?;
        }
        self.tell(context)?;
        collide::run(self.repo.dir(), &self.worktrees, context)?;
        self.lose_and_find(context)
    }

    /// A worktree with unsaved work is removed by force, and its work comes back.
    fn lose_and_find(&self, context: &Context) -> Result<(), PawError> {
        let branch = BranchName::new("feat/idea")?;
        let made = self.worktrees.create_worktree(self.repo.dir(), &SessionWorktree::new(branch))?;
        files::write_atomic(&made.path.join("idea.txt"), b"half a thought\n", Access::Usual)?;
        let removed = self.worktrees.remove_worktree(self.repo.dir(), &made.path, true)?;
        let rescue =
            removed.rescue.ok_or_else(|| PawError::WorktreeError("the unsaved file was lost".to_owned()))?;
        context.output.say("removed a worktree with an unsaved file: feat/idea")?;
        let repo = Repo::discover(self.repo.dir())?;
        rescue::restore(&repo, &rescue.id, RestoreInto::NewWorktree(&made.path), RestoreOptions::default())?;
        let text = files::load_text(&made.path.join("idea.txt"))?.unwrap_or_default();
        context.output.say(&format!("and got it back (git paw undo): idea.txt says \"{}\"", text.trim_end()))
    }

    fn panes(&self, program: &Path, pace_ms: u64) -> Batch {
        let target = session_target(&self.session);
        let mut batch = Batch::default();
        for (number, agent) in self.agents.iter().enumerate() {
            let dir = agent.worktree.as_os_str();
            batch.push(if number == 0 {
                let new = TmuxCommand::new("new-session").args(["-d", "-x", "200", "-y", "50"]);
                new.args(["-s", self.session.as_str(), "-c"]).arg(dir)
            } else {
                TmuxCommand::new("split-window").args(["-h", "-t", &target, "-c"]).arg(dir)
            });
            let command = format!(
                "cd {} && {} __demo-agent {} --pace-ms {pace_ms} --signal {}",
                shell_quote(dir),
                shell_quote(program.as_os_str()),
                agent.task.name(),
                self.channel(agent),
            );
            let title = format!("{} → demo agent", agent.branch);
            batch.push(TmuxCommand::new("select-pane").args(["-t", &target, "-T", &title]));
            batch.push(TmuxCommand::new("send-keys").args(["-t", &target, &command, "Enter"]));
        }
        for option in [["pane-border-status", "top"], ["pane-border-format", " #{pane_title} "]] {
            batch.push(TmuxCommand::new("set-option").args(["-w", "-t", &target]).args(option));
        }
        batch.push(TmuxCommand::new("select-layout").args(["-t", &target, "even-horizontal"]));
        batch
    }

    /// What an agent signals on when it is done.
    fn channel(&self, agent: &Agent) -> String {
        format!("{}-{}", self.session, agent.task.name())
    }

    fn tell(&self, context: &Context) -> Result<(), PawError> {
        let output = context.output;
        let mut idle = Vec::new();
        for agent in &self.agents {
            let commits = self.repo.line(["log", "--format=%h %s", &format!("main..{}", agent.branch)])?;
            if commits.is_empty() {
                idle.push(agent.branch.as_str());
                continue;
            }
            output.say(&format!("{} {commits}", output.paint(Style::Good, &format!("{}:", agent.branch))))?;
            for line in self.repo.line(["diff", "--stat", &format!("main...{}", agent.branch)])?.lines() {
                output.say(&format!("   {line}"))?;
            }
        }
        if idle.is_empty() {
            return output.say("three agents worked at once, each in its own worktree; main was not touched");
        }
        Err(PawError::SessionError(format!("no commit on {}", idle.join(", "))))
    }
}
