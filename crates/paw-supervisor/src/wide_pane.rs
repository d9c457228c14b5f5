//! Shows a narrow pane in a wide window for a moment, because CLIs wrap and cut prompts that do not fit. Meanwhile a copy of
//! its screen stands in its place, so that the window the user looks at does not change.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use paw_agent::cli::Cli;
use paw_agent::deliver::PaneSnapshot;
use paw_agent::screen::{ApprovalSubject, ScreenReading};
use paw_agent::state::AgentActivity;
use paw_core::paths::PawDir;
use paw_host::clock::Stopwatch;
use paw_host::files::Lock;
use paw_host::tmux::{Batch, Tmux, TmuxCommand, TmuxError};

/// The pane option of a stand-in: the pane whose place it takes.
const STANDS_FOR: &str = "@paw_stands_for";
/// Panes of this width show prompts whole.
const WIDE: u32 = 100;
/// The size of the window in which a pane is read.
const SIZE: [&str; 2] = ["200", "60"];
/// How long a CLI may take to draw its screen again.
const REDRAWN: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(120);
/// How long to wait for another process that reads a pane.
const BUSY: Duration = Duration::from_secs(5);

/// A pane that is wide until this is dropped.
#[derive(Debug)]
pub(crate) struct WidePane<'a> {
    tmux: &'a Tmux,
    pane: String,
    stand_in: String,
    _lock: Lock,
}

impl<'a> WidePane<'a> {
    /// Makes a pane wide. `None` if it is wide enough, or if a user is looking at it: what they type must reach the CLI.
    pub(crate) fn open(tmux: &'a Tmux, pane: &str, common_dir: &Path) -> Result<Option<Self>, TmuxError> {
        let Some(lock) = take_lock(common_dir) else { return Ok(None) };
        let facts = display(tmux, pane, "#{pane_width} #{session_id}")?;
        let Some((width, session)) = facts.split_once(' ') else { return Ok(None) };
        // A program that follows the session in control mode shows its active pane to no one.
        let seen = ["-F", "#{?client_control_mode,,#{pane_id}}"];
        let clients = tmux.run(&TmuxCommand::new("list-clients").args(seen))?;
        if width.parse::<u32>().is_ok_and(|width| width >= WIDE) || clients.lines().any(|seen| seen == pane) {
            return Ok(None);
        }
        let shown = tmux.run(&TmuxCommand::new("capture-pane").args(["-p", "-e", "-t", pane]))?;
        let new = ["-d", "-P", "-F", "#{pane_id}", "-t", &format!("{session}:"), "-n", "…", "-c", "/", "cat"];
        let stand_in = tmux.run(&TmuxCommand::new("new-window").args(new))?.trim().to_owned();
        let wide = Self { tmux, pane: pane.to_owned(), stand_in, _lock: lock };
        let mark = ["-p", "-t", &wide.stand_in, STANDS_FOR, pane];
        let [columns, rows] = SIZE;
        let batch = Batch::from_iter([
            TmuxCommand::new("set-option").args(mark),
            TmuxCommand::new("resize-window").args(["-t", &wide.stand_in, "-x", columns, "-y", rows]),
            swap(pane, &wide.stand_in),
        ]);
        tmux.run_batch(&batch)?;
        wide.copy(&shown);
        Ok(Some(wide))
    }

    /// Captures the wide screen once the CLI has drawn it: it shows what is wanted, twice in a row.
    pub(crate) fn read(
        &self,
        cli: &Cli,
        is_wanted: impl Fn(&ScreenReading) -> bool,
    ) -> Result<Option<PaneSnapshot>, TmuxError> {
        let watch = Stopwatch::start();
        let mut last = None;
        while !watch.remaining(REDRAWN).is_zero() {
            thread::sleep(POLL);
            let look = PaneSnapshot::capture(self.tmux, &self.pane)?;
            if last.as_ref() == Some(&look) && is_wanted(&look.read(cli)) {
                return Ok(Some(look));
            }
            last = Some(look);
        }
        Ok(None)
    }

    /// Draws the screen of the pane in its stand-in.
    fn copy(&self, shown: &str) {
        let Ok(terminal) = display(self.tmux, &self.stand_in, "#{pane_tty}") else { return };
        let text = format!("\x1b[2J\x1b[H{}", shown.trim_end_matches('\n').replace('\n', "\r\n"));
        let _ = OpenOptions::new()
            .write(true)
            .open(terminal)
            .and_then(|mut file| file.write_all(text.as_bytes()));
    }
}

impl Drop for WidePane<'_> {
    fn drop(&mut self) {
        restore(self.tmux, &self.pane, &self.stand_in);
    }
}

/// Reads the approval prompt of a narrow pane in a wide window. `None` if it cannot be made wide, or shows no prompt there.
pub(crate) fn read_prompt(
    tmux: &Tmux,
    pane: &str,
    cli: &Cli,
    common_dir: &Path,
) -> Result<Option<ScreenReading>, TmuxError> {
    let Some(wide) = WidePane::open(tmux, pane, common_dir)? else { return Ok(None) };
    let is_prompt = |reading: &ScreenReading| {
        matches!(&reading.state, AgentActivity::WaitingApproval(ask)
            if !matches!(ask.subject, ApprovalSubject::Unreadable(_)))
    };
    Ok(wide.read(cli, is_prompt)?.map(|look| look.read(cli)))
}

/// Puts panes back that a killed process left in a wide window.
pub(crate) fn restore_abandoned(tmux: &Tmux, target: &str, common_dir: &Path) {
    let format = format!("#{{{STANDS_FOR}}} #{{pane_id}}");
    let list = TmuxCommand::new("list-panes").args(["-s", "-t", target, "-F", &format]);
    let listing = tmux.run(&list).unwrap_or_default();
    let mut abandoned =
        listing.lines().filter_map(|line| line.split_once(' ')).filter(|(of, _)| !of.is_empty());
    let Some(first) = abandoned.next() else { return };
    // Another process may be reading it right now.
    let Ok(Some(_lock)) = Lock::try_take(&PawDir::of(common_dir).reading_lock()) else { return };
    for (pane, stand_in) in std::iter::once(first).chain(abandoned) {
        restore(tmux, pane, stand_in);
    }
}

fn restore(tmux: &Tmux, pane: &str, stand_in: &str) {
    let kill = TmuxCommand::new("kill-pane").args(["-t", stand_in]);
    if let Err(error) = tmux.run_batch(&Batch::from_iter([swap(pane, stand_in), kill.clone()])) {
        tracing::warn!(target: "paw::monitor", "cannot move a pane back: {error}");
        // The pane may be gone; its stand-in must not stay.
        let _ = tmux.run(&kill);
    }
}

/// Exchanges two panes. The places of active panes stay active, and a zoomed window stays zoomed.
fn swap(pane: &str, stand_in: &str) -> TmuxCommand {
    TmuxCommand::new("swap-pane").args(["-d", "-Z", "-s", pane, "-t", stand_in])
}

fn display(tmux: &Tmux, pane: &str, format: &str) -> Result<String, TmuxError> {
    let answer = tmux.run(&TmuxCommand::new("display-message").args(["-p", "-t", pane, format]))?;
    Ok(answer.trim_end_matches('\n').to_owned())
}

fn take_lock(common_dir: &Path) -> Option<Lock> {
    let watch = Stopwatch::start();
    loop {
        if let Ok(Some(lock)) = Lock::try_take(&PawDir::of(common_dir).reading_lock()) {
            return Some(lock);
        }
        if watch.remaining(BUSY).is_zero() {
            return None;
        }
        thread::sleep(POLL);
    }
}
