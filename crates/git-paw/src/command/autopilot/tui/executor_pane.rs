//! The pane in which runs happen, and the commands typed into it.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use paw_agent::deliver::{PaneSnapshot, is_shell};
use paw_autopilot::tasks::{TagName, TaskProject};
use paw_autopilot::work::{PauseRequest, ProjectContext};
use paw_core::PawError;
use paw_host::process::{find_foreground_script, shell_quote};
use paw_host::tmux::{PasteMode, Tmux, TmuxCommand, TmuxError};
use paw_screen::autopilot::NavigatorCommand;

use super::project_reader::is_running;
use super::{TuiArgs, command_name};
use crate::context::Context;

/// The pane option that marks a navigator's pane.
pub(super) const NAVIGATOR: &str = "@paw_navigator";
/// The pane option of the executor pane: the id of its navigator's pane.
const EXECUTOR: &str = "@paw_executor";
/// In a narrower terminal the pane is below the navigator.
const SIDE_BY_SIDE: u16 = 70;
/// How often the shell is polled until it runs the typed command. A command that ends in between is never seen.
const START_POLLS: u32 = 40;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct ExecutorPane {
    tmux: Tmux,
    /// The navigator's own pane.
    own: String,
    root: PathBuf,
    /// The shell command of this program.
    program: String,
    options: Vec<String>,
}

/// Why an order failed.
#[derive(Debug)]
pub(super) struct OrderError(pub(super) String);

impl From<PawError> for OrderError {
    fn from(error: PawError) -> Self {
        Self(error.to_string())
    }
}

impl From<TmuxError> for OrderError {
    fn from(error: TmuxError) -> Self {
        Self(error.to_string())
    }
}

/// The current state of the pane.
struct PaneInfo {
    id: String,
    program: String,
    idle: bool,
}

impl ExecutorPane {
    pub(super) fn new(
        tmux: Tmux,
        own: String,
        site: &ProjectContext,
        args: &TuiArgs,
        context: &Context,
    ) -> Result<Self, PawError> {
        let program = paw_host::process::own_program()?;
        let program = command_name(&program, &context.search_path);
        Ok(Self { tmux, own, root: site.project.root.clone(), program, options: args.options.clone() })
    }

    /// Marks the navigator's pane and creates the executor pane.
    pub(super) fn open(&self) -> Result<(), PawError> {
        self.tmux.run(&mark(&["-t", &self.own, NAVIGATOR, "1"]))?;
        self.require().map(drop)
    }

    fn find(&self) -> Result<Option<PaneInfo>, PawError> {
        let format = format!(
            "#{{{EXECUTOR}}}\t#{{pane_id}}\t#{{pane_dead}}\t#{{pane_pid}}\t#{{pane_current_command}}"
        );
        let list = self.tmux.run(&TmuxCommand::new("list-panes").args(["-t", &self.own, "-F", &format]))?;
        Ok(list.lines().find_map(|line| read(line, &self.own)))
    }

    /// The executor pane, created again if it was closed.
    fn require(&self) -> Result<PaneInfo, PawError> {
        if let Some(seen) = self.find()? {
            return Ok(seen);
        }
        let narrow = crossterm::terminal::size().is_ok_and(|(columns, _)| columns < SIDE_BY_SIDE);
        let split = TmuxCommand::new("split-window")
            .args([
                if narrow { "-v" } else { "-h" },
                "-d",
                "-l",
                "60%",
                "-P",
                "-F",
                "#{pane_id}",
                "-t",
                &self.own,
            ])
            .arg("-c")
            .arg(&self.root);
        let id = self.tmux.run(&split)?.trim().to_owned();
        self.tmux.run(&mark(&["-t", &id, EXECUTOR, &self.own]))?;
        self.find()?.ok_or_else(|| PawError::TmuxError("the pane for the executor ended at once".to_owned()))
    }

    /// Carries out an order and returns a message about it.
    pub(super) fn carry_out(&self, order: &NavigatorCommand) -> Result<String, OrderError> {
        match order {
            NavigatorCommand::Start { task, tag } => {
                // The tag comes from an untrusted file and becomes part of a command line.
                let tag = TagName::new(tag.as_str()).map_err(|error| OrderError(error.to_string()))?;
                let words = [task.clone(), format!("--tag={tag}"), "--executor-mode".to_owned()];
                let pane = self.type_command(&words)?;
                if self.options.iter().any(|option| option == "--no-confirm") {
                    return Ok(format!("task {task} starts in the other pane"));
                }
                self.tmux.run(&TmuxCommand::new("select-pane").args(["-t", &pane]))?;
                Ok(format!("task {task} asks in the other pane before it starts"))
            }
            NavigatorCommand::Resume => {
                self.type_command(&["--resume".to_owned(), "--executor-mode".to_owned()])?;
                Ok("the run continues in the other pane".to_owned())
            }
            NavigatorCommand::Pause => self.pause(),
        }
    }

    fn type_command(&self, words: &[String]) -> Result<String, OrderError> {
        let pane = self.require()?;
        if !pane.idle {
            return Err(busy(&pane.program));
        }
        let typed = words.iter().chain(&self.options).map(|word| shell_quote(word.as_ref()));
        let line = typed.fold(format!("{} autopilot", self.program), |line, word| format!("{line} {word}"));
        let look = PaneSnapshot::capture(&self.tmux, &pane.id)?;
        // Ctrl+U clears text that was already typed there.
        let keys = format!("\u{15}{line}\r");
        if !self.tmux.paste_if(&pane.id, &look.condition(), keys.as_bytes(), PasteMode::Keys)? {
            return Err(busy(&look.program));
        }
        self.wait_until_started();
        Ok(pane.id)
    }

    /// Waits until the shell runs the command. Keys typed before would answer the command's questions.
    fn wait_until_started(&self) {
        for _ in 0..START_POLLS {
            thread::sleep(POLL_INTERVAL);
            if !matches!(self.find(), Ok(Some(pane)) if pane.idle) {
                break;
            }
        }
    }

    /// Asks the run to pause, in whatever process it runs.
    fn pause(&self) -> Result<String, OrderError> {
        let project = TaskProject::at(&self.root);
        if !is_running(&project) {
            return Err(OrderError("the run is not in progress".to_owned()));
        }
        PauseRequest::ask(&project).map_err(PawError::from)?;
        Ok("the run pauses; p resumes it".to_owned())
    }

    /// Closes the pane unless a program runs in it. Returns that program.
    pub(super) fn close(&self) -> Result<Option<String>, PawError> {
        let busy = match self.find()? {
            Some(pane) if !pane.idle => Some(pane.program),
            Some(pane) => {
                self.tmux.run(&TmuxCommand::new("kill-pane").args(["-t", &pane.id]))?;
                None
            }
            None => None,
        };
        if busy.is_none() {
            self.tmux.run(&mark(&["-u", "-t", &self.own, NAVIGATOR]))?;
        }
        Ok(busy)
    }

    /// Detaches the clients of the session; everything in it keeps running.
    pub(super) fn detach(&self) -> Result<(), PawError> {
        self.tmux.run(&TmuxCommand::new("detach-client").args(["-s", &self.own]))?;
        Ok(())
    }
}

/// An option of one pane.
fn mark(words: &[&str]) -> TmuxCommand {
    TmuxCommand::new("set-option").arg("-p").args(words)
}

fn busy(program: &str) -> OrderError {
    OrderError(format!("the other pane is busy with '{program}'"))
}

/// Parses a line of tmux's list of panes, if it is this navigator's executor pane. The program comes last: it may contain
/// tabs.
fn read(line: &str, own: &str) -> Option<PaneInfo> {
    let mut fields = line.splitn(5, '\t');
    let (mark, id, dead) = (fields.next()?, fields.next()?, fields.next()?);
    let pid: Option<u32> = fields.next()?.parse().ok();
    let program = fields.next()?;
    let shell = is_shell(program) && pid.and_then(find_foreground_script).is_none();
    let seen = || PaneInfo { id: id.to_owned(), program: program.to_owned(), idle: dead == "1" || shell };
    (mark == own && id.starts_with('%')).then(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_finds_the_pane_by_its_mark_and_a_dead_pane_is_idle() {
        let seen = |line| read(line, "%3").map(|seen| (seen.id, seen.program, seen.idle));
        assert_eq!(seen("%3\t%4\t1\t\tvim\tx"), Some(("%4".into(), "vim\tx".into(), true)));
        assert_eq!(seen("%3\t%4\t0\t\tnode"), Some(("%4".into(), "node".into(), false)));
        assert_eq!(seen("%3\t%4\t0\t\t-zsh").map(|seen| seen.2), Some(true));
        assert_eq!(seen("%30\t%4\t0\t\tbash"), None);
        assert_eq!(seen("\t%4\t0\t\tbash"), None);
        assert_eq!(seen(""), None);
    }
}
