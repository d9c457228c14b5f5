//! Delivers boot prompts as soon as each CLI is ready, in the session's process. Pending prompts stay in the receipt, with
//! how far their delivery got, so that another process continues after a kill.

mod pending;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use paw_agent::cli;
use paw_agent::deliver::{self, DeliveryMachine, DeliveryOptions, DeliveryStep, PaneSnapshot};
use paw_agent::hooks::HookEventKind;
use paw_agent::hooks::notes::{HookNotes, NoteReader};
use paw_core::config::CliConfig;
use paw_core::receipt::PromptProgress;
use paw_core::{AgentId, PawError, Receipt, SessionName};
use paw_host::clock::{self, Stopwatch};
use paw_host::git::Repo;
use paw_host::tmux::{Tmux, TmuxSession};

use self::pending::{PendingPrompt, PromptChange, find_pending};
use crate::panes::MARK;
use crate::receipts::Receipts;
use crate::recover::RunningSessions;

/// How often to look for a session, or for a pane, that is gone.
const GONE: Duration = Duration::from_secs(5);
/// How soon to look again at a pane that has kept its prompt waiting for long, when a screen has changed.
const CHANGED: Duration = Duration::from_secs(10);

/// What a delivery needs to know.
#[derive(Debug, Clone)]
pub struct DeliverySettings {
    pub repo: Repo,
    pub receipts: Receipts,
    pub session: SessionName,
    /// The settings of CLIs.
    pub clis: BTreeMap<String, CliConfig>,
    /// How long a CLI may take to become ready before a person should know; if not set, the default.
    pub ready_timeout: Option<Duration>,
}

/// The deliveries of all pending prompts of a session. None of them waits for another.
#[derive(Debug)]
pub struct Deliveries {
    settings: DeliverySettings,
    watch: Stopwatch,
    active: BTreeMap<String, ActiveDelivery>,
}

#[derive(Debug)]
struct ActiveDelivery {
    prompt: PendingPrompt,
    machine: DeliveryMachine,
    notes: NoteReader,
    /// When the keys that may have sent the prompt were pressed.
    entered_at: Option<Timestamp>,
    /// The reason that the receipt names.
    problem: Option<String>,
    next: NextLook,
}

/// When to look at a pane again.
#[derive(Debug, Clone, Copy, Default)]
struct NextLook {
    due: Duration,
    /// From when on it is looked at together with another one that is due, because each look costs processes, and when
    /// a screen has changed.
    early: Duration,
}

impl NextLook {
    fn after(interval: Duration, now: Duration) -> Self {
        Self { due: now + interval, early: now + (interval / 2).min(CHANGED) }
    }
}

impl Deliveries {
    pub fn new(settings: DeliverySettings) -> Self {
        Self { settings, watch: Stopwatch::start(), active: BTreeMap::new() }
    }

    /// Looks at every pane that is due and does what follows from it. Returns when to call it again, or nothing if no prompt
    /// is pending.
    pub fn step(&mut self) -> Result<Option<Duration>, PawError> {
        let Some(receipt) = self.settings.receipts.load(&self.settings.session)? else { return Ok(None) };
        self.sync(&receipt);
        if self.active.is_empty() {
            return Ok(None);
        }
        let now = self.watch.elapsed();
        if self.active.values().all(|one| one.next.due > now) {
            return Ok(self.time_to_step());
        }
        let tmux = Tmux::on_socket(receipt.tmux_socket.clone());
        let Some(panes) = find_panes(&tmux, &receipt)? else { return Ok(Some(GONE)) };
        let due = self.active.iter().filter(|(_, one)| one.next.early <= now);
        let due: Vec<_> = due.map(|(mark, _)| (mark.clone(), panes.get(mark).map(String::as_str))).collect();
        let ids: Vec<&str> = due.iter().filter_map(|(_, pane)| *pane).collect();
        // A pane was closed just now; the next step leaves it out.
        let Ok(looks) = PaneSnapshot::capture_all(&tmux, &ids) else { return Ok(Some(Duration::ZERO)) };
        let mut acting = Vec::new();
        let mut changes = Vec::new();
        for (mark, pane) in due {
            let Some(one) = self.active.get_mut(&mark) else { continue };
            let look = pane.and_then(|pane| Some((pane, looks.get(pane)?)));
            if let Some((pane, look)) = look {
                let step = one.step(look, now);
                changes.extend(one.change(step, now).map(|change| (one.prompt.clone(), change)));
                acting.push((mark, pane, look, step));
            } else {
                one.next = NextLook::after(GONE, now);
                let change = one.report(Some("its pane is gone".to_owned()));
                changes.extend(change.map(|change| (one.prompt.clone(), change)));
            }
        }
        let still_wanted = self.record(&changes)?;
        for (mark, pane, look, step) in acting {
            let Some(one) = self.active.get_mut(&mark).filter(|_| still_wanted(&mark)) else { continue };
            if let Err(error) = deliver::send(&tmux, pane, &mut one.machine, step, look, now) {
                tracing::warn!(target: "paw::session", "cannot type the prompt of {mark}: {error}");
            }
        }
        Ok(self.time_to_step())
    }

    /// Takes note that the screen of an agent has changed: every pane is due as soon as it may be. Returns when to call
    /// [`Deliveries::step`].
    pub fn note_change(&mut self) -> Option<Duration> {
        for one in self.active.values_mut() {
            one.next.due = one.next.due.min(one.next.early);
        }
        self.time_to_step()
    }

    fn time_to_step(&self) -> Option<Duration> {
        let now = self.watch.elapsed();
        self.active.values().map(|one| one.next.due.saturating_sub(now)).min()
    }

    /// Keeps one delivery for each pending prompt.
    fn sync(&mut self, receipt: &Receipt) {
        let pending = find_pending(receipt);
        self.active.retain(|_, one| pending.iter().any(|other| other.is_same(&one.prompt)));
        for prompt in pending {
            if self.active.contains_key(&prompt.mark) {
                continue;
            }
            if let Some(one) = self.begin(&prompt) {
                self.active.insert(prompt.mark.clone(), one);
            }
        }
    }

    fn begin(&self, prompt: &PendingPrompt) -> Option<ActiveDelivery> {
        let DeliverySettings { clis, ready_timeout, repo, .. } = &self.settings;
        let mut options = DeliveryOptions::default().with_config(clis.get(&prompt.cli));
        options.ready_timeout = ready_timeout.unwrap_or(options.ready_timeout);
        let stage = prompt.progress.map(|progress| progress.stage);
        Some(ActiveDelivery {
            machine: DeliveryMachine::new(cli::descriptor(&prompt.cli), &prompt.text, options, stage)?,
            notes: HookNotes::of(&repo.common_dir).reader(&AgentId::new(&prompt.mark).ok()?),
            entered_at: prompt.progress.map(|progress| progress.at),
            problem: prompt.problem.clone(),
            prompt: prompt.clone(),
            next: NextLook::default(),
        })
    }

    /// Stores the changes. Returns which prompts are still pending: another command may have replaced one.
    fn record(
        &self,
        changes: &[(PendingPrompt, PromptChange)],
    ) -> Result<impl Fn(&str) -> bool + use<>, PawError> {
        let mut replaced = Vec::new();
        if !changes.is_empty() {
            let receipts = &self.settings.receipts;
            let lock = receipts.lock()?;
            let apply = |receipt: &mut Receipt| {
                let changes =
                    changes.iter().filter(|(prompt, change)| !pending::apply(receipt, prompt, change));
                changes.map(|(prompt, _)| prompt.mark.clone()).collect::<Vec<_>>()
            };
            replaced = receipts.update(&self.settings.session, &lock, apply)?.unwrap_or_default();
        }
        Ok(move |mark: &str| !replaced.iter().any(|other| other == mark))
    }
}

impl ActiveDelivery {
    fn step(&mut self, look: &PaneSnapshot, now: Duration) -> DeliveryStep {
        if self.machine.has_entered() && self.was_reported() {
            self.machine.confirm();
        }
        let step = self.machine.step(look, now);
        self.next = NextLook::after(self.machine.poll_interval(now), now);
        step
    }

    /// Whether the CLI's hooks reported a prompt since ours was sent.
    fn was_reported(&mut self) -> bool {
        let Some(since) = self.entered_at else { return false };
        let notes = self.notes.read_new().unwrap_or_default();
        let is_prompt = |event: paw_agent::hooks::HookEvent| event.kind == HookEventKind::PromptSubmitted;
        notes.iter().any(|note| note.at >= since && note.tracked_event().is_some_and(is_prompt))
    }

    /// What the receipt has to say about it before the keys of a step are sent.
    fn change(&mut self, step: DeliveryStep, now: Duration) -> Option<PromptChange> {
        if step == DeliveryStep::Delivered {
            return Some(PromptChange::Delivered);
        }
        if let Some(stage) = step.stage() {
            let progress = PromptProgress { stage, at: clock::now() };
            self.entered_at = Some(progress.at);
            return Some(PromptChange::Progress(progress));
        }
        self.report(self.machine.problem(now).map(|problem| problem.cause()))
    }

    fn report(&mut self, problem: Option<String>) -> Option<PromptChange> {
        if self.problem == problem {
            return None;
        }
        self.problem.clone_from(&problem);
        Some(PromptChange::Problem(problem))
    }
}

/// The panes of a session by their owner; `None` if the session is not running.
fn find_panes(tmux: &Tmux, receipt: &Receipt) -> Result<Option<BTreeMap<String, String>>, PawError> {
    let running = RunningSessions::load(tmux)?;
    let Some(target) = running.find(receipt).map(TmuxSession::target) else { return Ok(None) };
    let panes = tmux.target_panes_with(&target, MARK)?;
    Ok(Some(panes.into_iter().map(|(id, mark)| (mark, id)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_is_looked_at_early_but_not_at_once_when_a_screen_has_changed() {
        let (now, short, long) = (Duration::from_hours(1), Duration::from_secs(1), Duration::from_mins(1));
        assert_eq!(NextLook::after(short, now).early, now + short / 2);
        assert_eq!(NextLook::after(long, now).early, now + CHANGED);
        assert_eq!(NextLook::after(long, now).due, now + long);
    }
}
