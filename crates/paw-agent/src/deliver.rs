//! Deliver a prompt to a CLI: wait until its input is ready, paste the prompt, press Enter, and verify the result. What to
//! do next is decided by [`DeliveryMachine`].
//!
//! Nothing is ever typed into a shell or a startup dialog. tmux checks at the moment of the paste, and again at the
//! Enter, that the same program is still in the foreground.

mod accepted;
mod machine;
mod ready;
mod snapshot;
mod text;

use std::thread;
use std::time::Duration;

use paw_core::config::CliConfig;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::clock::Stopwatch;
use paw_host::tmux::{PasteMode, Tmux, TmuxError};

pub use machine::{DeliveryMachine, DeliveryStep};
pub use ready::Obstacle;
pub use snapshot::{PaneSnapshot, is_shell};

use crate::cli::Cli;

/// Timeouts and switches of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryOptions {
    /// How long to wait for the input to become ready.
    pub ready_timeout: Duration,
    /// How long to wait, after each paste, for the CLI to show the text.
    pub echo_timeout: Duration,
    /// Pause between paste and Enter. CLIs treat an Enter that follows immediately as part of the paste.
    pub submit_delay: Duration,
    /// How long to wait, after each Enter, for the CLI to accept the prompt.
    pub accept_timeout: Duration,
    /// Deliver even if the screen still shows a rate limit, because the caller knows that the limit has reset.
    pub ignore_rate_limit: bool,
}

impl Default for DeliveryOptions {
    fn default() -> Self {
        Self {
            ready_timeout: Duration::from_secs(90),
            echo_timeout: Duration::from_secs(8),
            submit_delay: Duration::from_millis(500),
            accept_timeout: Duration::from_secs(8),
            ignore_rate_limit: false,
        }
    }
}

impl DeliveryOptions {
    /// Applies the user's configuration of this CLI.
    #[must_use]
    pub fn with_config(mut self, config: Option<&CliConfig>) -> Self {
        if let Some(delay) = config.and_then(|config| config.submit_delay_ms) {
            self.submit_delay = Duration::from_millis(delay);
        }
        self
    }
}

/// How a delivered prompt was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    pub pastes: u32,
    pub enters: u32,
}

/// Why a prompt was not delivered, with the last rows of the pane.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    #[error("the prompt is empty")]
    Empty,
    #[error("cannot deliver the prompt: {obstacle}{}", quoted(seen))]
    NotReady { obstacle: Obstacle, seen: String },
    #[error("the prompt was pasted, but the CLI does not show it{}", quoted(seen))]
    NotShown { seen: String },
    #[error("the prompt is typed, but the CLI did not accept it: press Enter in its pane{}", quoted(seen))]
    NotAccepted { seen: String },
    #[error(transparent)]
    Tmux(#[from] TmuxError),
}

impl DeliveryError {
    /// The reason in one line, without the content of the pane.
    pub fn cause(&self) -> String {
        let text = match self {
            Self::NotReady { obstacle, .. } => obstacle.to_string(),
            other => other.to_string(),
        };
        text.lines().next().unwrap_or_default().to_owned()
    }
}

fn quoted(seen: &str) -> String {
    if seen.trim().is_empty() { String::new() } else { format!("\n{seen}") }
}

impl Diagnostic for DeliveryError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Tmux(error) => error.report(),
            Self::Empty | Self::NotReady { .. } | Self::NotShown { .. } | Self::NotAccepted { .. } => {
                ErrorReport::new(ErrorCode::FailedPrecondition, self)
            }
        }
    }
}

/// Types a prompt into the CLI in a pane, submits it, and verifies that the CLI accepted it. Gives up after the timeouts.
pub fn deliver(
    tmux: &Tmux,
    pane_id: &str,
    cli: &'static Cli,
    text: &str,
    options: DeliveryOptions,
) -> Result<Delivered, DeliveryError> {
    let mut machine = DeliveryMachine::new(cli, text, options, None).ok_or(DeliveryError::Empty)?;
    let watch = Stopwatch::start();
    loop {
        let look = PaneSnapshot::capture(tmux, pane_id)?;
        let step = machine.step(&look, watch.elapsed());
        if step == DeliveryStep::Delivered {
            return Ok(machine.sent());
        }
        send(tmux, pane_id, &mut machine, step, &look, watch.elapsed())?;
        if let Some(failure) = machine.failure(watch.elapsed()) {
            return Err(failure);
        }
        thread::sleep(machine.poll_interval(watch.elapsed()));
    }
}

/// Sends the keys of a step, if the same program is still in the foreground.
pub fn send(
    tmux: &Tmux,
    pane_id: &str,
    machine: &mut DeliveryMachine,
    step: DeliveryStep,
    look: &PaneSnapshot,
    now: Duration,
) -> Result<(), TmuxError> {
    let (bytes, mode) = match step {
        DeliveryStep::Paste => (machine.text().as_bytes(), PasteMode::Bracketed),
        DeliveryStep::Enter => (b"\r".as_slice(), PasteMode::Keys),
        DeliveryStep::Wait | DeliveryStep::Delivered => return Ok(()),
    };
    let was_sent = tmux.paste_if(pane_id, &look.condition(), bytes, mode)?;
    machine.done(step, was_sent, now);
    Ok(())
}

/// `[Pasted text #1 +12 lines]` and the like.
fn paste_placeholders(look: &PaneSnapshot) -> usize {
    look.screen.rows().iter().map(|row| row.text().matches("[Pasted ").count()).sum()
}

fn seen(look: &PaneSnapshot) -> String {
    look.screen.tail(12)
}
