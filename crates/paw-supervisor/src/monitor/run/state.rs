//! The monitor's state: one [`MonitoredAgent`] for each agent of the session.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use paw_agent::cli;
use paw_agent::deliver::PaneSnapshot;
use paw_agent::hooks::notes::HookNotes;
use paw_agent::screen::Screen;
use paw_agent::state::{AgentActivity, ObservedState};
use paw_broker::SessionId;
use paw_broker::message::{Message, StatusSource};
use paw_core::{AgentId, Receipt, SessionMode};
use paw_host::tmux::Tmux;

use super::answer::answer;
use super::monitored_agent::MonitoredAgent;
use super::poll_interval::PollInterval;
use super::{MonitorEvent, MonitorSettings};
use crate::monitor::agent_tracker::AgentTracker;
use crate::monitor::panes::PaneList;
use crate::monitor::{messages, remedy, verdict};
use crate::stall::{AgentProgress, Remedy, StallLimits, StallStep};
use crate::unattended::attendant_lock;
use crate::wide_pane;

pub(super) struct MonitorState {
    settings: MonitorSettings,
    notes: HookNotes,
    limits: StallLimits,
    poll_interval: PollInterval,
    report: Box<dyn FnMut(MonitorEvent) + Send>,
    agents: BTreeMap<AgentId, MonitoredAgent>,
    /// Whether a supervisor, or a process in its place, receives reports about the agents.
    supervised: bool,
    /// When the panes were last captured, in seconds of the wall clock.
    polled_at: i64,
    shown: ShownScreens,
}

impl std::fmt::Debug for MonitorState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MonitorState").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl MonitorState {
    pub(super) fn new(settings: MonitorSettings, report: Box<dyn FnMut(MonitorEvent) + Send>) -> Self {
        let notes = HookNotes::of(&settings.repo.common_dir);
        let limits = StallLimits::of(&settings.config, TimeZone::system());
        let approve = settings.config.auto_approve.clone().unwrap_or_default();
        let poll_interval = PollInterval::new(approve.stall_threshold_seconds);
        Self {
            settings,
            notes,
            limits,
            poll_interval,
            report,
            agents: BTreeMap::new(),
            supervised: false,
            polled_at: 0,
            shown: ShownScreens::default(),
        }
    }

    pub(super) fn notes_dir(&self) -> Option<PathBuf> {
        self.notes.dir().ok()
    }

    /// How long to wait for the next poll when nothing has happened for `quiet`.
    pub(super) fn wait_after(&self, quiet: Duration) -> Duration {
        let waits = self.agents.values().any(|agent| agent.tracker.waits_for_user());
        self.poll_interval.wait_after(quiet, waits)
    }

    /// Removes the states from the borders, because they are no longer updated.
    pub(super) fn clear_borders(&mut self) {
        let Ok(Some(receipt)) = self.settings.receipts.load(&self.settings.session) else { return };
        let tmux = Tmux::on_socket(receipt.tmux_socket);
        for agent in self.agents.values_mut() {
            agent.border.clear(&tmux, agent.pane.as_deref());
        }
    }

    /// Applies new hook notes. Returns whether there were any.
    pub(super) fn read_hooks(&mut self, now: Timestamp) -> bool {
        let answers = self.supervised;
        let (mut has_notes, mut outgoing) = (false, Vec::new());
        for (id, agent) in &mut self.agents {
            for note in agent.reader.read_new().unwrap_or_default() {
                has_notes = true;
                let published = agent.apply_note(&note, id, &self.settings, now);
                outgoing.extend(published.into_iter().map(MonitorEvent::from));
                let Some(open) = agent.tracker.apply(&note) else { continue };
                let what = verdict::describe(&open.ask);
                // An old request has been answered by now.
                let fresh = now.duration_since(note.at).as_secs() < 10;
                if answers && fresh && agent.prompt.is_new_request(&what) {
                    outgoing.push(messages::escalation(id, &open.ask, &open.reason).into());
                    agent.prompt.set_reported(&what, now);
                }
            }
            agent.update_tokens();
            let changed = agent.status_change(id, now).into_iter().flat_map(|(_, messages)| messages);
            outgoing.extend(changed.map(MonitorEvent::from));
            outgoing.extend(agent.observation(id, now));
        }
        outgoing.into_iter().for_each(&mut self.report);
        has_notes
    }

    /// Captures all panes if something was drawn since the last time, and acts on it. Returns whether anything was new.
    pub(super) fn poll(&mut self, now: Timestamp) -> bool {
        let Ok(Some(receipt)) = self.settings.receipts.load(&self.settings.session) else { return false };
        self.sync_agents(&receipt, now);
        self.supervised = attendant_lock::is_supervised(&receipt, &self.settings.repo.common_dir);
        let has_notes = self.read_hooks(now);
        let tmux = Tmux::on_socket(receipt.tmux_socket.clone());
        let Ok(Some(panes_now)) = PaneList::load(&tmux, &receipt) else { return has_notes };
        if self.polled_at == 0 {
            self.remember_exits(&receipt, &panes_now);
            wide_pane::restore_abandoned(&tmux, &panes_now.session, &self.settings.repo.common_dir);
        }
        let is_due = self.poll_interval.is_capture_due(panes_now.activity, self.polled_at, now.as_second());
        let capture = is_due || self.agents.values().any(|agent| agent.pane.is_none());
        if capture {
            self.polled_at = now.as_second();
        }
        let is_unsure = || self.agents.values().any(|agent| agent.tracker.is_unsure());
        let has_changed = (capture || is_unsure()) && self.update_trackers(&tmux, &panes_now, now);
        for id in self.agents.keys().cloned().collect::<Vec<_>>() {
            self.act(&tmux, &receipt, &id, now);
        }
        if has_changed {
            (self.report)(MonitorEvent::ScreenChanged);
        }
        // Other panes of the window, such as the dashboard, do not make a quiet session busy: the polls would never become rarer.
        has_notes || has_changed
    }

    /// Keeps one entry for each agent of the session and for its supervisor.
    fn sync_agents(&mut self, receipt: &Receipt, now: Timestamp) {
        let agents = receipt.agent_ids().into_iter().zip(&receipt.worktrees);
        let agents = agents.map(|(id, agent)| (id, agent.cli.as_str(), agent.worktree_path.as_path()));
        let supervisor = receipt.supervisor.iter().filter(|_| receipt.mode == SessionMode::Supervisor);
        let supervisor =
            supervisor.map(|it| (AgentId::supervisor(), it.cli.as_str(), receipt.repo_path.as_path()));
        let all: Vec<_> = agents.chain(supervisor).collect();
        self.agents.retain(|id, _| all.iter().any(|(other, ..)| other == id));
        for (id, cli, worktree) in all {
            let reader = || self.notes.reader(&id);
            let new = || MonitoredAgent::new(AgentTracker::new(cli, now), reader(), worktree.to_path_buf());
            self.agents.entry(id.clone()).or_insert_with(new);
        }
    }

    /// A pane that has been closed carries no note. An exit that an earlier process reported is in the messages.
    fn remember_exits(&mut self, receipt: &Receipt, panes_now: &PaneList) {
        let is_closed =
            |(id, agent): (&AgentId, &MonitoredAgent)| panes_now.find(id, &agent.worktree).is_none();
        if !self.agents.iter().any(is_closed) {
            return;
        }
        let mut last = BTreeMap::new();
        let session = SessionId::new(&receipt.session_id());
        let read = paw_session::messages::each(&self.settings.repo.common_dir, &session, |stored| {
            if let Message::Status(status) = stored.message
                && status.source() == Some(StatusSource::Monitor)
            {
                last.insert(status.agent_id, status.phase);
            }
        });
        if let Err(error) = read {
            tracing::warn!(target: "paw::monitor", "cannot read the agents' last states: {error}");
        }
        for (id, agent) in &mut self.agents {
            let is_closed = panes_now.find(id, &agent.worktree).is_none();
            let phase = last.get(id).and_then(Option::as_deref);
            if is_closed && phase == Some(AgentActivity::Exited.name()) {
                agent.tracker.set_seen();
            }
        }
    }

    /// Captures the agents' panes. Returns whether one of them has changed.
    fn update_trackers(&mut self, tmux: &Tmux, panes_now: &PaneList, now: Timestamp) -> bool {
        let ours = |(id, agent): (&AgentId, &MonitoredAgent)| panes_now.find(id, &agent.worktree);
        let panes: Vec<&str> = self.agents.iter().filter_map(ours).collect();
        // A pane was closed just now; the next poll leaves it out.
        let Ok(looks) = PaneSnapshot::capture_all(tmux, &panes) else { return false };
        for (id, agent) in &mut self.agents {
            agent.pane = panes_now.find(id, &agent.worktree).map(str::to_owned);
            if panes_now.has_seen(id) {
                agent.tracker.set_seen();
            }
            let look = agent.pane.as_ref().and_then(|pane| looks.get(pane));
            match look {
                Some(look) => agent.tracker.see(look, now),
                None => agent.tracker.see(&closed(), now),
            }
        }
        self.read_cut_prompts(tmux, &looks, now);
        self.shown.update(&looks)
    }

    /// Reads prompts that do not fit into their panes. A hook that answers knows the command anyway.
    fn read_cut_prompts(&mut self, tmux: &Tmux, looks: &BTreeMap<String, PaneSnapshot>, now: Timestamp) {
        let common_dir = &self.settings.repo.common_dir;
        for agent in self.agents.values_mut() {
            let Some(pane) = agent.pane.clone() else { continue };
            let Some(look) = looks.get(&pane) else { continue };
            if agent.tracker.has_answering_hook() || !agent.tracker.wants_wide(now) {
                continue;
            }
            let cli = cli::descriptor(agent.tracker.cli());
            match wide_pane::read_prompt(tmux, &pane, cli, common_dir) {
                Ok(reading) => agent.tracker.see_wide(look, reading, now),
                Err(error) => tracing::warn!(target: "paw::monitor", "cannot read a wide pane: {error}"),
            }
        }
    }

    /// Reports an agent's state change, answers its prompt, and checks for stalls.
    fn act(&mut self, tmux: &Tmux, receipt: &Receipt, id: &AgentId, now: Timestamp) {
        let Some(agent) = self.agents.get_mut(id) else { return };
        let Some((known, mut outgoing)) = agent.status_change(id, now) else { return };
        if receipt.borders {
            agent.border.show(tmux, agent.pane.as_deref(), &known.state);
        }
        agent.activity.update(tmux, agent.pane.as_deref(), &known);
        let shown = agent.tracker.reading().map(|reading| reading.state.clone());
        match shown {
            Some(AgentActivity::WaitingApproval(ask)) => {
                outgoing.extend(answer(&self.settings, receipt, id, agent, tmux, &ask, now));
            }
            _ => agent.prompt.clear_if_stale(now),
        }
        let observed = agent.observation(id, now);
        let stalls = self.check_stalls(tmux, id, &known, now);
        let published = outgoing.into_iter().map(MonitorEvent::from);
        published.chain(observed).chain(stalls).for_each(&mut self.report);
    }

    fn check_stalls(
        &mut self,
        tmux: &Tmux,
        id: &AgentId,
        known: &ObservedState,
        now: Timestamp,
    ) -> Vec<MonitorEvent> {
        let Some(agent) = self.agents.get_mut(id) else { return Vec::new() };
        let typed = agent.tracker.reading().and_then(|reading| reading.typed.clone());
        let repeats = agent.tracker.repeats();
        let activity = AgentProgress {
            state: &known.state,
            since: known.since,
            progress: agent.tracker.progress(),
            typed: typed.as_deref(),
            repeats: (&repeats.what, repeats.times),
            context_left: agent.tracker.context_left(),
            tokens: agent.tokens(),
        };
        let mut outgoing = Vec::new();
        for step in agent.stall.step(&activity, &self.limits, now) {
            match (step, &agent.pane) {
                (StallStep::Report(stall), _) => {
                    tracing::info!(target: "paw::monitor", "{id}: {stall}");
                    outgoing.push(MonitorEvent::Stalled { agent: id.clone(), reason: stall.to_string() });
                    let message = self.supervised.then(|| messages::stalled(id, &stall));
                    outgoing.extend(message.map(MonitorEvent::from));
                }
                (StallStep::Apply(Remedy::Resume), Some(pane)) => {
                    remedy::resume(tmux, pane, agent.tracker.cli());
                }
                (StallStep::Apply(Remedy::Resume), None) => {}
            }
        }
        outgoing
    }
}

/// The hash of what the agents' panes showed.
#[derive(Debug, Default)]
struct ShownScreens(u64);

impl ShownScreens {
    /// Returns whether a pane shows something else than before.
    fn update(&mut self, looks: &BTreeMap<String, PaneSnapshot>) -> bool {
        let mut hasher = DefaultHasher::new();
        looks.hash(&mut hasher);
        let before = std::mem::replace(&mut self.0, hasher.finish());
        before != self.0
    }
}

/// Stands in for the capture of a closed pane.
fn closed() -> PaneSnapshot {
    PaneSnapshot { program: String::new(), dead: true, cursor_visible: false, screen: Screen::parse("") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screens_have_changed_if_one_of_them_shows_something_else() {
        let mut shown = ShownScreens::default();
        let look = |text: &str, program: &str| PaneSnapshot {
            program: program.to_owned(),
            dead: false,
            cursor_visible: true,
            screen: Screen::parse(text),
        };
        let panes = |first: PaneSnapshot| {
            BTreeMap::from([("%1".to_owned(), first), ("%2".to_owned(), look("b", "claude"))])
        };
        assert!(shown.update(&panes(look("a", "claude"))));
        assert!(!shown.update(&panes(look("a", "claude"))));
        assert!(shown.update(&panes(look("a", "sh"))));
        assert!(shown.update(&panes(look("\u{1b}[31ma", "sh"))), "the colour");
        assert!(shown.update(&BTreeMap::from([("%2".to_owned(), look("b", "claude"))])), "closed");
    }
}
