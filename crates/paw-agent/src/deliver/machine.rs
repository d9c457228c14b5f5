//! The delivery of one prompt as a state machine. Pure: takes captures of the pane in order and returns what to do next.
//!
//! It never gives up: a caller that wants to asks [`DeliveryMachine::failure`]. Before each key the caller stores
//! [`DeliveryStep::stage`], so that another process can continue the delivery without typing anything twice.

use std::time::Duration;

use paw_core::receipt::PromptStage;

use super::accepted::AcceptanceCheck;
use super::ready::{Obstacle, Readiness, is_part, is_text, judge};
use super::snapshot::PaneSnapshot;
use super::{Delivered, DeliveryError, DeliveryOptions, paste_placeholders, seen, text};
use crate::cli::Cli;
use crate::screen::ScreenReading;
use crate::state::{AgentActivity, PaneProcess};

/// Report a problem after this many pastes or Enters without a reaction, and retry less often from then on.
pub(super) const ATTEMPTS: u32 = 3;
/// The first of the longer pauses between attempts; each is twice as long as the one before, up to [`LONGEST_RETRY`].
const RETRY: Duration = Duration::from_secs(30);
const LONGEST_RETRY: Duration = Duration::from_mins(10);
/// A dialog has to be answered by a person, so it is reported soon.
const DIALOG: Duration = Duration::from_secs(2);
const OCCUPIED: Duration = Duration::from_secs(10);
/// How long a shell may take to start the CLI.
const SHELL: Duration = Duration::from_secs(20);
/// A CLI that is not in the foreground for this long has exited.
const EXITED: Duration = Duration::from_secs(3);
pub(super) const MIN_POLL: Duration = Duration::from_millis(150);
const MAX_POLL: Duration = Duration::from_secs(1);
/// The same after [`LONG`]: a dialog may stay open for hours. A caller that knows when a screen changes looks sooner.
const LONG_POLL: Duration = Duration::from_mins(1);
const LONG: Duration = Duration::from_mins(2);

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStep {
    Wait,
    Paste,
    Enter,
    Delivered,
}

impl DeliveryStep {
    /// What to store before the keys are sent.
    pub fn stage(self) -> Option<PromptStage> {
        match self {
            Self::Paste => Some(PromptStage::Typing),
            Self::Enter => Some(PromptStage::Sending),
            Self::Wait | Self::Delivered => None,
        }
    }
}

#[derive(Debug, Clone)]
enum Stage {
    /// Waits for an empty input, and not before this time.
    Waiting {
        not_before: Duration,
    },
    /// Another process got this far.
    Interrupted(PromptStage),
    /// Waits until the input shows the text.
    Pasted {
        before: PaneSnapshot,
        at: Duration,
    },
    /// The screen shows the text; `in_input`: the rules read it in the input.
    Typed {
        at: Duration,
        in_input: bool,
    },
    /// Waits until the CLI accepts the text.
    Entered {
        check: AcceptanceCheck,
        at: Duration,
        retry: Duration,
    },
    Delivered,
}

/// The delivery of one prompt to the CLI in one pane. Times are measured from any one moment.
#[derive(Debug, Clone)]
pub struct DeliveryMachine {
    cli: &'static Cli,
    text: String,
    options: DeliveryOptions,
    stage: Stage,
    /// The last capture, and since when the screen has looked like this.
    last: Option<(PaneSnapshot, Duration)>,
    /// Why the prompt cannot be typed, since when, and since when anything has kept it from being typed.
    obstacle: Option<(Obstacle, Duration, Duration)>,
    /// Since when the CLI is not the foreground program.
    away: Option<Duration>,
    sent: Delivered,
}

impl DeliveryMachine {
    /// A new delivery, or one that another process began. `None` if the text is empty.
    pub fn new(
        cli: &'static Cli,
        text: &str,
        options: DeliveryOptions,
        begun: Option<PromptStage>,
    ) -> Option<Self> {
        let text = text::clean(text)?;
        let stage = begun.map_or(Stage::Waiting { not_before: Duration::ZERO }, Stage::Interrupted);
        let sent = Delivered { pastes: 0, enters: 0 };
        Some(Self { cli, text, options, stage, last: None, obstacle: None, away: None, sent })
    }

    /// The text to paste.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn sent(&self) -> Delivered {
        self.sent
    }

    /// Whether the prompt may have reached the CLI, so that a report of its hooks is about this prompt.
    pub fn has_entered(&self) -> bool {
        matches!(self.stage, Stage::Entered { .. } | Stage::Interrupted(PromptStage::Sending))
    }

    /// Marks the prompt as delivered: the CLI's hooks reported it.
    pub fn confirm(&mut self) {
        self.stage = Stage::Delivered;
    }

    /// What to do, given a capture of the pane.
    pub fn step(&mut self, look: &PaneSnapshot, now: Duration) -> DeliveryStep {
        let settled = self.note(look, now);
        let readiness = judge(self.cli, look, settled, &self.text, self.options.ignore_rate_limit);
        if matches!(self.stage, Stage::Delivered) {
            return DeliveryStep::Delivered;
        }
        self.note_obstacle(&readiness, now);
        if look.process() != PaneProcess::Running {
            self.note_exit(now);
            return DeliveryStep::Wait;
        }
        self.away = None;
        match self.stage.clone() {
            Stage::Waiting { not_before } => self.wait(&readiness, not_before, now),
            Stage::Interrupted(stage) => self.resume(stage, &readiness, look, now),
            Stage::Pasted { before, at } => self.check_echo(&before, at, look, settled, now),
            Stage::Typed { at, in_input } => self.submit(at, in_input, &readiness, now),
            Stage::Entered { check, at, retry } => self.check_accepted(check, (at, retry), look, now),
            Stage::Delivered => DeliveryStep::Delivered,
        }
    }

    /// Takes note that the keys of a step were sent, or that the foreground program had changed.
    pub fn done(&mut self, step: DeliveryStep, was_sent: bool, now: Duration) {
        let Some((before, _)) = self.last.clone().filter(|_| was_sent) else {
            self.stage = Stage::Waiting { not_before: Duration::ZERO };
            return;
        };
        match step {
            DeliveryStep::Paste => {
                self.sent.pastes += 1;
                self.stage = Stage::Pasted { before, at: now };
            }
            DeliveryStep::Enter => {
                self.sent.enters += 1;
                let retry = now + pause(self.sent.enters, self.options.accept_timeout);
                self.stage = Stage::Entered { check: AcceptanceCheck::new(before), at: now, retry };
            }
            DeliveryStep::Wait | DeliveryStep::Delivered => {}
        }
    }

    /// How long to wait before the next capture.
    pub fn poll_interval(&self, now: Duration) -> Duration {
        let settled = self.last.as_ref().map_or(Duration::ZERO, |(_, since)| now.saturating_sub(*since));
        let kept = self.obstacle.as_ref().map_or(Duration::ZERO, |(_, _, since)| now.saturating_sub(*since));
        let longest = if settled.max(kept) >= LONG { LONG_POLL } else { MAX_POLL };
        // Slower on a stable screen, which delays a delivery by at most an eighth: 25 CLIs that start at the same time need
        // the CPU. Slower, too, while a screen changes and nothing can be typed: that may last for hours.
        (settled / 8).max(kept / 60).clamp(MIN_POLL, longest)
    }

    /// What a person should know, once the delivery takes longer than it should.
    pub fn problem(&self, now: Duration) -> Option<DeliveryError> {
        self.exhausted(now).or_else(|| {
            let (obstacle, since, _) = self.obstacle.as_ref()?;
            let patience = match obstacle {
                Obstacle::Dead => Duration::ZERO,
                Obstacle::Dialog(_) => DIALOG,
                Obstacle::Occupied => OCCUPIED,
                Obstacle::Shell(_) => SHELL,
                // It becomes idle by itself, or shows what it waits for.
                Obstacle::NotIdle(state) if *state == AgentActivity::Working.name() => return None,
                Obstacle::NotIdle(_) | Obstacle::Unsettled => self.options.ready_timeout,
            };
            (now.saturating_sub(*since) >= patience.min(self.options.ready_timeout))
                .then(|| self.not_ready(obstacle))
        })
    }

    /// Why a caller that does not wait forever should give up now.
    pub(super) fn failure(&self, now: Duration) -> Option<DeliveryError> {
        self.exhausted(now).or_else(|| {
            let (obstacle, _, since) = self.obstacle.as_ref()?;
            // A dead pane does not recover.
            let is_over = *obstacle == Obstacle::Dead
                || now.saturating_sub(*since) >= self.options.ready_timeout
                || self.sent.enters > 0;
            is_over.then(|| self.not_ready(obstacle))
        })
    }

    fn exhausted(&self, now: Duration) -> Option<DeliveryError> {
        let seen = || self.last.as_ref().map(|(look, _)| seen(look)).unwrap_or_default();
        match &self.stage {
            Stage::Waiting { .. } if self.sent.pastes >= ATTEMPTS => {
                Some(DeliveryError::NotShown { seen: seen() })
            }
            Stage::Entered { at, .. }
                if self.sent.enters >= ATTEMPTS && now.saturating_sub(*at) >= self.options.accept_timeout =>
            {
                Some(DeliveryError::NotAccepted { seen: seen() })
            }
            _ => None,
        }
    }

    fn not_ready(&self, obstacle: &Obstacle) -> DeliveryError {
        let seen = self.last.as_ref().map(|(look, _)| seen(look)).unwrap_or_default();
        DeliveryError::NotReady { obstacle: obstacle.clone(), seen }
    }

    /// Remembers the capture. Returns how long the screen has been unchanged.
    fn note(&mut self, look: &PaneSnapshot, now: Duration) -> Duration {
        match &self.last {
            Some((last, since)) if last == look => now.saturating_sub(*since),
            _ => {
                self.last = Some((look.clone(), now));
                Duration::ZERO
            }
        }
    }

    fn note_obstacle(&mut self, readiness: &Readiness, now: Duration) {
        let is_waiting = matches!(self.stage, Stage::Waiting { .. } | Stage::Interrupted(_));
        self.obstacle = match (readiness, self.obstacle.take()) {
            (Readiness::NotYet(obstacle), before) if is_waiting => {
                let first = before.as_ref().map_or(now, |(.., first)| *first);
                let same = before.filter(|(known, ..)| known.is_like(obstacle));
                Some((obstacle.clone(), same.map_or(now, |(_, since, _)| since), first))
            }
            _ => None,
        };
    }

    /// What was typed ends with the program: a CLI that starts again gets the prompt again. A tool that a CLI runs in the
    /// foreground for a moment is not an exit.
    fn note_exit(&mut self, now: Duration) {
        let since = *self.away.get_or_insert(now);
        if now.saturating_sub(since) >= EXITED {
            self.begin_again();
        }
    }

    fn begin_again(&mut self) {
        self.stage = Stage::Waiting { not_before: Duration::ZERO };
        self.sent = Delivered { pastes: 0, enters: 0 };
    }

    fn wait(&mut self, readiness: &Readiness, not_before: Duration, now: Duration) -> DeliveryStep {
        match readiness {
            Readiness::AlreadyTyped => {
                self.stage = Stage::Typed { at: now, in_input: true };
                DeliveryStep::Wait
            }
            // Without rules the text may be in the input already, so it is not pasted again.
            Readiness::Ready if self.cli.screen.is_none() && self.sent.pastes >= ATTEMPTS => {
                DeliveryStep::Wait
            }
            Readiness::Ready if now >= not_before => DeliveryStep::Paste,
            Readiness::Ready | Readiness::NotYet(_) => DeliveryStep::Wait,
        }
    }

    /// Decides by what the screen shows how far the other process got. From its Enter on, the prompt counts as sent unless
    /// it is still in the input.
    fn resume(
        &mut self,
        stage: PromptStage,
        readiness: &Readiness,
        look: &PaneSnapshot,
        now: Duration,
    ) -> DeliveryStep {
        let reading = look.read(self.cli);
        let is_shown = || {
            let trace = text::trace(&self.text);
            !trace.is_empty() && look.screen.letters().contains(&trace)
        };
        match readiness {
            Readiness::AlreadyTyped => self.stage = Stage::Typed { at: now, in_input: true },
            Readiness::NotYet(Obstacle::Occupied) if self.holds(&reading) => {
                self.stage = Stage::Typed { at: now, in_input: true }
            }
            Readiness::NotYet(
                Obstacle::Unsettled | Obstacle::Dialog(_) | Obstacle::Shell(_) | Obstacle::Dead,
            ) => {}
            Readiness::NotYet(Obstacle::NotIdle(_)) if is_undecided(&reading.state) => {}
            Readiness::Ready | Readiness::NotYet(Obstacle::Occupied | Obstacle::NotIdle(_)) => {
                if stage == PromptStage::Sending || is_shown() {
                    self.stage = Stage::Delivered;
                    return DeliveryStep::Delivered;
                }
                if *readiness == Readiness::Ready {
                    self.stage = Stage::Waiting { not_before: now };
                    return DeliveryStep::Paste;
                }
            }
        }
        DeliveryStep::Wait
    }

    /// Whether the input holds our text: a part of it, or the placeholder for a long paste.
    fn holds(&self, reading: &ScreenReading) -> bool {
        let typed = reading.typed.as_deref().unwrap_or_default();
        is_text(typed, &self.text) || typed.contains("[Pasted ") || is_part(typed, &self.text)
    }

    fn check_echo(
        &mut self,
        before: &PaneSnapshot,
        at: Duration,
        look: &PaneSnapshot,
        settled: Duration,
        now: Duration,
    ) -> DeliveryStep {
        if self.is_shown(before, look, settled) {
            let in_input = look.read(self.cli).typed.is_some_and(|typed| !typed.is_empty());
            self.stage = Stage::Typed { at: now, in_input };
        } else if now.saturating_sub(at) >= self.options.echo_timeout {
            self.stage = Stage::Waiting { not_before: now + pause(self.sent.pastes, Duration::ZERO) };
        }
        DeliveryStep::Wait
    }

    /// Whether the screen shows the pasted text: its last letters, or the placeholder for a long paste.
    fn is_shown(&self, before: &PaneSnapshot, now: &PaneSnapshot, settled: Duration) -> bool {
        let typed = now.read(self.cli).typed.unwrap_or_default();
        if is_text(&typed, &self.text) || paste_placeholders(now) > paste_placeholders(before) {
            return true;
        }
        let trace = text::trace(&self.text);
        let count = |look: &PaneSnapshot| look.screen.letters().matches(&trace).count();
        if !trace.is_empty() && count(now) > count(before) {
            return true;
        }
        // A long text scrolls inside the input, which may show any part of it.
        now.screen != before.screen && settled >= MIN_POLL * 3 && (trace.is_empty() || !typed.is_empty())
    }

    fn submit(&mut self, at: Duration, in_input: bool, readiness: &Readiness, now: Duration) -> DeliveryStep {
        let has_rules = self.cli.screen.is_some();
        match readiness {
            // The input is empty again: a redraw, or a person deleted the text.
            Readiness::NotYet(Obstacle::Unsettled) if in_input && has_rules => DeliveryStep::Wait,
            Readiness::Ready if in_input && has_rules => {
                self.stage = Stage::Waiting { not_before: now };
                DeliveryStep::Wait
            }
            Readiness::NotYet(Obstacle::Dialog(_)) => {
                self.stage = Stage::Waiting { not_before: now };
                DeliveryStep::Wait
            }
            Readiness::NotYet(Obstacle::NotIdle(state)) if WAITING.contains(state) => DeliveryStep::Wait,
            _ if now.saturating_sub(at) < self.options.submit_delay => DeliveryStep::Wait,
            _ => DeliveryStep::Enter,
        }
    }

    fn check_accepted(
        &mut self,
        mut check: AcceptanceCheck,
        (at, retry): (Duration, Duration),
        look: &PaneSnapshot,
        now: Duration,
    ) -> DeliveryStep {
        if check.update(self.cli, &self.text, look, now.saturating_sub(at)) {
            self.stage = Stage::Delivered;
            return DeliveryStep::Delivered;
        }
        let is_typed = self.cli.screen.is_none() || self.holds(&look.read(self.cli));
        self.stage = Stage::Entered { check, at, retry };
        if now >= retry && is_typed { DeliveryStep::Enter } else { DeliveryStep::Wait }
    }
}

/// The pause after so many attempts.
fn pause(attempts: u32, first: Duration) -> Duration {
    match attempts.checked_sub(ATTEMPTS) {
        None => first,
        Some(more) => (RETRY * 2_u32.saturating_pow(more.min(10))).min(LONGEST_RETRY),
    }
}

/// States of an agent that waits for a person. A prompt is not sent into such a question.
const WAITING: [&str; 2] = ["waiting_approval", "waiting_input"];

/// Whether the screen does not tell yet whether the prompt was sent.
fn is_undecided(state: &AgentActivity) -> bool {
    matches!(state, AgentActivity::Unknown | AgentActivity::Starting | AgentActivity::Exited)
}

#[cfg(test)]
mod tests;
