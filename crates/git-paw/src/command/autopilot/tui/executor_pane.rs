//! The pane in which runs happen, and what is typed there.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use paw_agent::deliver::{Look, is_shell};
use paw_autopilot::tasks::{TagName, TaskProject};
use paw_autopilot::work::{PauseWish, Site};
use paw_core::PawError;
use paw_host::process::{find_foreground_script, shell_quote};
use paw_host::tmux::{PasteMode, Tmux, TmuxCommand, TmuxError};
use paw_screen::autopilot::NavigatorCommand;

use super::project_reader::is_running;
use super::{TuiArgs, command_name};
use crate::context::Context;

/// The pane option of a pane that a navigator is in.
pub(super) const NAVIGATOR: &str = "@paw_navigator";
/// The pane option of the pane beside it: whose it is.
const EXECUTOR: &str = "@paw_executor";
/// Below this many columns the pane goes below the navigator.
const SIDE_BY_SIDE: u16 = 70;
/// How often and how long a shell is looked at until it has begun. One that was done in between is idle all the time.
const START_POLLS: u32 = 40;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct ExecutorPane {
    tmux: Tmux,
    /// The navigator's own pane.
    own: String,
    root: PathBuf,
    /// How this program is called in a shell.
    program: String,
    options: Vec<String>,
}

/// Why an order was not carried out.
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

/// The pane as it is now.
struct PaneInfo {
    id: String,
    program: String,
    idle: bool,
}

impl ExecutorPane {
    pub(super) fn new(
        tmux: Tmux,
        own: String,
        site: &Site,
        args: &TuiArgs,
        context: &Context,
    ) -> Result<Self, PawError> {
        let program = paw_host::process::own_program()?;
        let program = command_name(&program, &context.search_path);
        Ok(Self { tmux, own, root: site.project.root.clone(), program, options: args.options.clone() })
    }

    /// Marks the navigator's pane, and makes the one beside it.
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

    /// The pane, made anew where somebody has closed it.
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

    /// Does what was asked for and says what became of it.
    pub(super) fn carry_out(&self, order: &NavigatorCommand) -> Result<String, OrderError> {
        match order {
            NavigatorCommand::Start { task, tag } => {
                // It ends up on a command line, and the file it comes from was written by anybody.
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
                Ok("the run goes on in the other pane".to_owned())
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
        let look = Look::take(&self.tmux, &pane.id)?;
        // Whatever somebody has begun to type there is not a part of it.
        let keys = format!("\u{15}{line}\r");
        if !self.tmux.paste_if(&pane.id, &look.condition(), keys.as_bytes(), PasteMode::Keys)? {
            return Err(busy(&look.program));
        }
        self.wait_until_started();
        Ok(pane.id)
    }

    /// A shell needs a moment to begin. Whatever were typed meanwhile would answer the questions of what it begins.
    fn wait_until_started(&self) {
        for _ in 0..START_POLLS {
            thread::sleep(POLL_INTERVAL);
            if !matches!(self.find(), Ok(Some(pane)) if pane.idle) {
                break;
            }
        }
    }

    /// Wherever the run is at work, it notices.
    fn pause(&self) -> Result<String, OrderError> {
        let project = TaskProject::at(&self.root);
        if !is_running(&project) {
            return Err(OrderError("nobody works on the run now".to_owned()));
        }
        PauseWish::ask(&project).map_err(PawError::from)?;
        Ok("the run pauses; p resumes it".to_owned())
    }

    /// Closes the pane unless something runs in it. Says what that is.
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

    /// Sends whoever looks at the session away; everything in it goes on.
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

/// One line of tmux's listing, if it is the pane of this navigator. A program may call itself anything, so it comes last.
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
    fn the_pane_is_known_by_its_mark_and_a_dead_one_is_idle() {
        let seen = |line| read(line, "%3").map(|seen| (seen.id, seen.program, seen.idle));
        assert_eq!(seen("%3\t%4\t1\t\tvim\tx"), Some(("%4".into(), "vim\tx".into(), true)));
        assert_eq!(seen("%3\t%4\t0\t\tnode"), Some(("%4".into(), "node".into(), false)));
        assert_eq!(seen("%3\t%4\t0\t\t-zsh").map(|seen| seen.2), Some(true));
        assert_eq!(seen("%30\t%4\t0\t\tbash"), None);
        assert_eq!(seen("\t%4\t0\t\tbash"), None);
        assert_eq!(seen(""), None);
    }
}
