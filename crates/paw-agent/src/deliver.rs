//! Bringing a prompt into a CLI: only when its input is ready, as one paste, and seen to have arrived.
//!
//! Nothing is ever typed into a shell or into a start-up dialog. tmux itself checks, at the moment of the paste and again
//! at that of the Enter, that the same program is still in front.

mod look;
mod ready;
mod taken;
mod text;

use std::thread;
use std::time::Duration;

use paw_core::config::CliConfig;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::clock::Stopwatch;
use paw_host::tmux::{Paste, Tmux, TmuxError};

pub use look::{Look, is_shell};
pub use ready::Obstacle;
use ready::{Readiness, is_text, judge};
use taken::Taking;

use crate::cli::Cli;

const GLANCE: Duration = Duration::from_millis(150);
/// The longest time between two looks.
const NAP: Duration = Duration::from_secs(1);
/// Pastes and Enters that may go unanswered before we give up.
const ATTEMPTS: u32 = 3;

/// How long each step may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until the input is ready.
    pub ready: Duration,
    /// Until the CLI shows what was pasted, each time.
    pub shown: Duration,
    /// Between the paste and the Enter. CLIs take an Enter that follows at once for a part of the paste.
    pub submit_delay: Duration,
    /// Until the CLI has taken the prompt, each time.
    pub taken: Duration,
    /// Whether a CLI that says it has used up what it may is ready: for whoever knows that this is over.
    pub past_limit: bool,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            ready: Duration::from_secs(90),
            shown: Duration::from_secs(8),
            submit_delay: Duration::from_millis(500),
            taken: Duration::from_secs(8),
            past_limit: false,
        }
    }
}

impl Patience {
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
    NotTaken { seen: String },
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
            Self::Empty | Self::NotReady { .. } | Self::NotShown { .. } | Self::NotTaken { .. } => {
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
    patience: Patience,
) -> Result<Delivered, DeliveryError> {
    let text = text::clean(text).ok_or(DeliveryError::Empty)?;
    let delivery = Delivery { tmux, pane_id, cli, text: &text, patience };
    let pastes = delivery.paste()?;
    thread::sleep(patience.submit_delay);
    let enters = delivery.enter()?;
    Ok(Delivered { pastes, enters })
}

struct Delivery<'a> {
    tmux: &'a Tmux,
    pane_id: &'a str,
    cli: &'a Cli,
    text: &'a str,
    patience: Patience,
}

impl Delivery<'_> {
    fn look(&self) -> Result<Look, TmuxError> {
        Look::take(self.tmux, self.pane_id)
    }

    fn judge(&self, look: &Look, settled: Duration) -> Readiness {
        judge(self.cli, look, settled, self.text, self.patience.past_limit)
    }

    /// Waits for the input and pastes until the text is seen there. Returns how many pastes that took.
    fn paste(&self) -> Result<u32, DeliveryError> {
        let mut pastes = 0;
        loop {
            let Some(before) = self.wait_until_ready()? else { return Ok(pastes) };
            if pastes == ATTEMPTS {
                return Err(DeliveryError::NotShown { seen: seen(&before) });
            }
            if !self.send(&before, self.text.as_bytes(), Paste::Bracketed)? {
                continue;
            }
            pastes += 1;
            if self.wait(self.patience.shown, |now, settled| self.is_shown(&before, now, settled))?.is_ok() {
                return Ok(pastes);
            }
        }
    }

    /// The pane as it is when its input is ready, or nothing if the text stands there already.
    fn wait_until_ready(&self) -> Result<Option<Look>, DeliveryError> {
        let mut obstacle = Obstacle::Unsettled;
        let mut readiness = Readiness::Ready;
        let looked = self.wait(self.patience.ready, |now, settled| {
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
        let mut before = self.look()?;
        for enters in 1..=ATTEMPTS {
            if is_shell(&before.program) || !self.send(&before, b"\r", Paste::Keys)? {
                let obstacle = match self.judge(&self.look()?, Duration::ZERO) {
                    Readiness::NotYet(obstacle) => obstacle,
                    Readiness::Ready | Readiness::AlreadyTyped => Obstacle::Unsettled,
                };
                return Err(DeliveryError::NotReady { obstacle, seen: seen(&before) });
            }
            let mut taking = Taking::new(self.cli, self.text, &before);
            let watch = Stopwatch::start();
            match self.wait(self.patience.taken, |now, _| taking.sees(now, watch.elapsed()))? {
                Ok(_) => return Ok(enters),
                Err(now) => before = now,
            }
        }
        Err(DeliveryError::NotTaken { seen: seen(&before) })
    }

    /// Sends bytes if the program that was seen is still in front.
    fn send(&self, seen: &Look, bytes: &[u8], paste: Paste) -> Result<bool, TmuxError> {
        self.tmux.paste_if(self.pane_id, &seen.condition(), bytes, paste)
    }

    /// Looks until `enough`, which is told for how long the screen has been the same. On time-out the last look is the
    /// error.
    fn wait(
        &self,
        limit: Duration,
        mut enough: impl FnMut(&Look, Duration) -> bool,
    ) -> Result<Result<Look, Look>, TmuxError> {
        let watch = Stopwatch::start();
        let mut last = self.look()?;
        let mut since = Stopwatch::start();
        loop {
            if enough(&last, since.elapsed()) {
                return Ok(Ok(last));
            }
            if watch.remaining(limit).is_zero() {
                return Ok(Err(last));
            }
            thread::sleep(until_next_look(since.elapsed()));
            let now = self.look()?;
            if now != last {
                since = Stopwatch::start();
                last = now;
            }
        }
    }

    /// Whether the pasted text has come back: its last letters, or the note that stands for a long paste.
    fn is_shown(&self, before: &Look, now: &Look, settled: Duration) -> bool {
        let typed = now.read(self.cli).typed.unwrap_or_default();
        if is_text(&typed, self.text) || pasted_notes(now) > pasted_notes(before) {
            return true;
        }
        let trace = text::trace(self.text);
        let count = |look: &Look| look.screen.letters().matches(&trace).count();
        if !trace.is_empty() && count(now) > count(before) {
            return true;
        }
        // A long text scrolls in its input, and what is seen of it may be any part.
        now.screen != before.screen && settled >= GLANCE * 3 && (trace.is_empty() || !typed.is_empty())
    }
}

/// The longer a screen has been the same, the rarer it is looked at, and nobody waits an eighth longer for that: 25 CLIs that
/// start side by side need the machine for themselves.
fn until_next_look(settled: Duration) -> Duration {
    (settled / 8).clamp(GLANCE, NAP)
}

/// `[Pasted text #1 +12 lines]` and the like.
fn pasted_notes(look: &Look) -> usize {
    look.screen.rows().iter().map(|row| row.text().matches("[Pasted ").count()).sum()
}

fn seen(look: &Look) -> String {
    look.screen.tail(12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_that_stays_the_same_is_looked_at_ever_more_rarely_and_never_much_too_late() {
        let mut settled = Duration::ZERO;
        let mut looks = 0;
        while settled < Patience::default().ready {
            let rest = until_next_look(settled);
            assert!(rest >= GLANCE && rest <= NAP);
            assert!(rest <= GLANCE.max(settled / 8), "{rest:?} after {settled:?}");
            settled += rest;
            looks += 1;
        }
        assert!(looks < 120, "{looks} looks at one pane");
    }
}
