//! Deliver a prompt to a CLI: wait until its input is ready, paste the prompt, press Enter, and verify the result.
//!
//! Nothing is ever typed into a shell or a startup dialog. tmux checks at the moment of the paste, and again at the
//! Enter, that the same program is still in the foreground.

mod accepted;
mod ready;
mod snapshot;
mod text;

use std::thread;
use std::time::Duration;

use paw_core::config::CliConfig;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::clock::Stopwatch;
use paw_host::tmux::{PasteMode, Tmux, TmuxError};

use accepted::AcceptanceCheck;
pub use ready::Obstacle;
use ready::{Readiness, is_text, judge};
pub use snapshot::{PaneSnapshot, is_shell};

use crate::cli::Cli;

const MIN_POLL: Duration = Duration::from_millis(150);
const MAX_POLL: Duration = Duration::from_secs(1);
/// Give up after this many pastes or Enters without a reaction.
const ATTEMPTS: u32 = 3;

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

/// Types a prompt into the CLI in a pane, submits it, and verifies that the CLI accepted it.
pub fn deliver(
    tmux: &Tmux,
    pane_id: &str,
    cli: &Cli,
    text: &str,
    options: DeliveryOptions,
) -> Result<Delivered, DeliveryError> {
    let text = text::clean(text).ok_or(DeliveryError::Empty)?;
    let delivery = Delivery { tmux, pane_id, cli, text: &text, options };
    let pastes = delivery.paste()?;
    thread::sleep(options.submit_delay);
    let enters = delivery.enter()?;
    Ok(Delivered { pastes, enters })
}

struct Delivery<'a> {
    tmux: &'a Tmux,
    pane_id: &'a str,
    cli: &'a Cli,
    text: &'a str,
    options: DeliveryOptions,
}

impl Delivery<'_> {
    fn capture(&self) -> Result<PaneSnapshot, TmuxError> {
        PaneSnapshot::capture(self.tmux, self.pane_id)
    }

    fn judge(&self, look: &PaneSnapshot, settled: Duration) -> Readiness {
        judge(self.cli, look, settled, self.text, self.options.ignore_rate_limit)
    }

    /// Waits for the input and pastes until the input shows the text. Returns the number of pastes.
    fn paste(&self) -> Result<u32, DeliveryError> {
        let mut pastes = 0;
        loop {
            let Some(before) = self.wait_until_ready()? else { return Ok(pastes) };
            if pastes == ATTEMPTS {
                return Err(DeliveryError::NotShown { seen: seen(&before) });
            }
            if !self.send(&before, self.text.as_bytes(), PasteMode::Bracketed)? {
                continue;
            }
            pastes += 1;
            if self
                .wait(self.options.echo_timeout, |now, settled| self.is_shown(&before, now, settled))?
                .is_ok()
            {
                return Ok(pastes);
            }
        }
    }

    /// Returns the pane once its input is ready, or `None` if the input already contains the text.
    fn wait_until_ready(&self) -> Result<Option<PaneSnapshot>, DeliveryError> {
        let mut obstacle = Obstacle::Unsettled;
        let mut readiness = Readiness::Ready;
        let looked = self.wait(self.options.ready_timeout, |now, settled| {
            readiness = self.judge(now, settled);
            match &readiness {
                Readiness::NotYet(found) => {
                    obstacle = found.clone();
                    // A dead pane does not recover.
                    *found == Obstacle::Dead
                }
                Readiness::Ready | Readiness::AlreadyTyped => true,
            }
        })?;
        match (looked, readiness) {
            (Ok(_), Readiness::AlreadyTyped) => Ok(None),
            (Ok(look), Readiness::Ready) => Ok(Some(look)),
            (Ok(look) | Err(look), _) => Err(DeliveryError::NotReady { obstacle, seen: seen(&look) }),
        }
    }

    /// Presses Enter until the CLI accepts the text. Returns the number of Enters.
    fn enter(&self) -> Result<u32, DeliveryError> {
        let mut before = self.capture()?;
        for enters in 1..=ATTEMPTS {
            if is_shell(&before.program) || !self.send(&before, b"\r", PasteMode::Keys)? {
                let obstacle = match self.judge(&self.capture()?, Duration::ZERO) {
                    Readiness::NotYet(obstacle) => obstacle,
                    Readiness::Ready | Readiness::AlreadyTyped => Obstacle::Unsettled,
                };
                return Err(DeliveryError::NotReady { obstacle, seen: seen(&before) });
            }
            let mut check = AcceptanceCheck::new(self.cli, self.text, &before);
            let watch = Stopwatch::start();
            match self.wait(self.options.accept_timeout, |now, _| check.update(now, watch.elapsed()))? {
                Ok(_) => return Ok(enters),
                Err(now) => before = now,
            }
        }
        Err(DeliveryError::NotAccepted { seen: seen(&before) })
    }

    /// Sends bytes if the same program is still in the foreground.
    fn send(&self, seen: &PaneSnapshot, bytes: &[u8], paste: PasteMode) -> Result<bool, TmuxError> {
        self.tmux.paste_if(self.pane_id, &seen.condition(), bytes, paste)
    }

    /// Polls the pane until `enough`, which gets the snapshot and how long the screen has been unchanged. On timeout the
    /// last snapshot is the error.
    fn wait(
        &self,
        limit: Duration,
        mut enough: impl FnMut(&PaneSnapshot, Duration) -> bool,
    ) -> Result<Result<PaneSnapshot, PaneSnapshot>, TmuxError> {
        let watch = Stopwatch::start();
        let mut last = self.capture()?;
        let mut since = Stopwatch::start();
        loop {
            if enough(&last, since.elapsed()) {
                return Ok(Ok(last));
            }
            if watch.remaining(limit).is_zero() {
                return Ok(Err(last));
            }
            thread::sleep(poll_interval(since.elapsed()));
            let now = self.capture()?;
            if now != last {
                since = Stopwatch::start();
                last = now;
            }
        }
    }

    /// Whether the screen shows the pasted text: its last letters, or the placeholder for a long paste.
    fn is_shown(&self, before: &PaneSnapshot, now: &PaneSnapshot, settled: Duration) -> bool {
        let typed = now.read(self.cli).typed.unwrap_or_default();
        if is_text(&typed, self.text) || paste_placeholders(now) > paste_placeholders(before) {
            return true;
        }
        let trace = text::trace(self.text);
        let count = |look: &PaneSnapshot| look.screen.letters().matches(&trace).count();
        if !trace.is_empty() && count(now) > count(before) {
            return true;
        }
        // A long text scrolls inside the input, which may show any part of it.
        now.screen != before.screen && settled >= MIN_POLL * 3 && (trace.is_empty() || !typed.is_empty())
    }
}

/// Polls a stable screen less often, which delays a delivery by at most an eighth: 25 CLIs that start at the same time
/// need the CPU.
fn poll_interval(settled: Duration) -> Duration {
    (settled / 8).clamp(MIN_POLL, MAX_POLL)
}

/// `[Pasted text #1 +12 lines]` and the like.
fn paste_placeholders(look: &PaneSnapshot) -> usize {
    look.screen.rows().iter().map(|row| row.text().matches("[Pasted ").count()).sum()
}

fn seen(look: &PaneSnapshot) -> String {
    look.screen.tail(12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polling_slows_down_on_a_stable_screen() {
        let mut settled = Duration::ZERO;
        let mut polls = 0;
        while settled < DeliveryOptions::default().ready_timeout {
            let interval = poll_interval(settled);
            assert!(interval >= MIN_POLL && interval <= MAX_POLL);
            assert!(interval <= MIN_POLL.max(settled / 8), "{interval:?} after {settled:?}");
            settled += interval;
            polls += 1;
        }
        assert!(polls < 120, "{polls} polls of one pane");
    }
}
