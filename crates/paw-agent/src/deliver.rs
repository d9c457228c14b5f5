//! Bringing a prompt into a CLI: only when its input is ready, as one paste, and seen to have arrived.
//!
//! Nothing is ever typed into a shell or into a start-up dialog. tmux itself checks, at the moment of the paste and again
//! at that of the Enter, that the same program is still in front.

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
/// The longest time between two looks.
const MAX_POLL: Duration = Duration::from_secs(1);
/// Pastes and Enters that may go unanswered before we give up.
const ATTEMPTS: u32 = 3;

/// How long each step may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryOptions {
    /// Until the input is ready.
    pub ready_timeout: Duration,
    /// Until the CLI shows what was pasted, each time.
    pub echo_timeout: Duration,
    /// Between the paste and the Enter. CLIs take an Enter that follows at once for a part of the paste.
    pub submit_delay: Duration,
    /// Until the CLI has taken the prompt, each time.
    pub accept_timeout: Duration,
    /// Whether a CLI that says it has used up what it may is ready: for whoever knows that this is over.
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
    /// With what the user says about this CLI.
    #[must_use]
    pub fn with_config(mut self, config: Option<&CliConfig>) -> Self {
        if let Some(delay) = config.and_then(|config| config.submit_delay_ms) {
            self.submit_delay = Duration::from_millis(delay);
        }
        self
    }
}

/// A prompt that the CLI has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    pub pastes: u32,
    pub enters: u32,
}

/// A prompt that has not arrived, with the last rows that the pane showed.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    #[error("the prompt is empty")]
    Empty,
    #[error("cannot deliver the prompt: {obstacle}{}", quoted(seen))]
    NotReady { obstacle: Obstacle, seen: String },
    #[error("the prompt was pasted, but the CLI does not show it{}", quoted(seen))]
    NotShown { seen: String },
    #[error("the prompt is typed, but the CLI does not take it: press Enter in its pane{}", quoted(seen))]
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

/// Types a prompt into the CLI of a pane, submits it, and makes sure that it was taken.
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

    /// Waits for the input and pastes until the text is seen there. Returns how many pastes that took.
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

    /// The pane as it is when its input is ready, or nothing if the text stands there already.
    fn wait_until_ready(&self) -> Result<Option<PaneSnapshot>, DeliveryError> {
        let mut obstacle = Obstacle::Unsettled;
        let mut readiness = Readiness::Ready;
        let looked = self.wait(self.options.ready_timeout, |now, settled| {
            readiness = self.judge(now, settled);
            match &readiness {
                Readiness::NotYet(found) => {
                    obstacle = found.clone();
                    // It will not come back.
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

    /// Presses Enter until the CLI has taken the text. Returns how often that was.
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

    /// Sends bytes if the program that was seen is still in front.
    fn send(&self, seen: &PaneSnapshot, bytes: &[u8], paste: PasteMode) -> Result<bool, TmuxError> {
        self.tmux.paste_if(self.pane_id, &seen.condition(), bytes, paste)
    }

    /// Looks until `enough`, which is told for how long the screen has been the same. On time-out the last look is the
    /// error.
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

    /// Whether the pasted text has come back: its last letters, or the note that stands for a long paste.
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
        // A long text scrolls in its input, and what is seen of it may be any part.
        now.screen != before.screen && settled >= MIN_POLL * 3 && (trace.is_empty() || !typed.is_empty())
    }
}

/// The longer a screen has been the same, the rarer it is looked at, and nobody waits an eighth longer for that: 25 CLIs that
/// start side by side need the machine for themselves.
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
    fn a_screen_that_stays_the_same_is_looked_at_ever_more_rarely_and_never_much_too_late() {
        let mut settled = Duration::ZERO;
        let mut looks = 0;
        while settled < DeliveryOptions::default().ready_timeout {
            let rest = poll_interval(settled);
            assert!(rest >= MIN_POLL && rest <= MAX_POLL);
            assert!(rest <= MIN_POLL.max(settled / 8), "{rest:?} after {settled:?}");
            settled += rest;
            looks += 1;
        }
        assert!(looks < 120, "{looks} looks at one pane");
    }
}
