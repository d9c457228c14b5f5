//! The monitor's state: one [`MonitoredAgent`] for each agent of the session.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use paw_agent::deliver::PaneSnapshot;
use paw_agent::hooks::notes::HookNotes;
use paw_agent::screen::Screen;
use paw_agent::state::{AgentActivity, ObservedState};
use paw_broker::message::Message;
use paw_core::{AgentId, Receipt, SessionMode};
use paw_host::tmux::Tmux;

use super::MonitorSettings;
use super::answer::answer;
use super::monitored_agent::MonitoredAgent;
use super::poll_interval::PollInterval;
use crate::monitor::agent_tracker::AgentTracker;
use crate::monitor::panes::{self, PaneList};
use crate::monitor::remedy::{self, RemedyTarget};
use crate::monitor::{messages, verdict};
use crate::stall::{AgentProgress, StallLimits, StallStep};
use crate::unattended::attendant_lock;

pub(super) struct MonitorState {
    settings: MonitorSettings,
    notes: HookNotes,
    limits: StallLimits,
    poll_interval: PollInterval,
    publish: Box<dyn FnMut(Message) + Send>,
    agents: BTreeMap<AgentId, MonitoredAgent>,
    /// Whether a supervisor, or a process in its place, receives reports about the agents.
    supervised: bool,
    /// When the panes were last captured, in seconds of the wall clock.
    polled_at: i64,
}

impl std::fmt::Debug for MonitorState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MonitorState").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl MonitorState {
    pub(super) fn new(settings: MonitorSettings, publish: Box<dyn FnMut(Message) + Send>) -> Self {
        let notes = HookNotes::of(&settings.repo.common_dir);
        let limits = StallLimits::of(&settings.config, TimeZone::system());
        let approve = settings.config.auto_approve.clone().unwrap_or_default();
        let poll_interval = PollInterval::new(approve.stall_threshold_seconds);
        Self {
            settings,
            notes,
            limits,
            poll_interval,
            publish,
            agents: BTreeMap::new(),
            supervised: false,
            polled_at: 0,
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
                outgoing.extend(agent.apply_note(&note, id, &self.settings, now));
                let Some(open) = agent.tracker.apply(&note) else { continue };
                let what = verdict::describe(&open.ask);
                // An old request has been answered by now.
                let fresh = now.duration_since(note.at).as_secs() < 10;
                if answers && fresh && agent.prompt.is_new_request(&what) {
                    outgoing.push(messages::question(id, &open.ask, &open.reason));
                    agent.prompt.set_reported(&what, now);
                }
            }
            agent.update_tokens();
            outgoing.extend(agent.status_change(id, now).1);
        }
        outgoing.into_iter().for_each(&mut self.publish);
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
        let due = self.poll_interval.is_due(panes_now.activity, self.polled_at, now.as_second());
        let drawn = due || self.agents.values().any(|agent| agent.pane.is_none());
        if drawn {
            self.polled_at = now.as_second();
        }
        if drawn || self.agents.values().any(|agent| agent.tracker.is_unsure()) {
            self.update_trackers(&tmux, &panes_now, now);
        }
        for id in self.agents.keys().cloned().collect::<Vec<_>>() {
            self.act(&tmux, &receipt, &id, now);
        }
        has_notes || drawn
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

    fn update_trackers(&mut self, tmux: &Tmux, panes_now: &PaneList, now: Timestamp) {
        let ours = |(id, agent): (&AgentId, &MonitoredAgent)| panes_now.find(id, &agent.worktree);
        let panes: Vec<&str> = self.agents.iter().filter_map(ours).collect();
        // A pane was closed just now; the next poll leaves it out.
        let Ok(looks) = panes::capture(tmux, &panes) else { return };
        for (id, agent) in &mut self.agents {
            agent.pane = panes_now.find(id, &agent.worktree).map(str::to_owned);
            let look = agent.pane.as_ref().and_then(|pane| looks.get(pane));
            match look {
                Some(look) => agent.tracker.see(look, now),
                None => agent.tracker.see(&closed(), now),
            }
        }
    }

    /// Reports an agent's state change, answers its prompt, and checks for stalls.
    fn act(&mut self, tmux: &Tmux, receipt: &Receipt, id: &AgentId, now: Timestamp) {
        let Some(agent) = self.agents.get_mut(id) else { return };
        let (known, mut outgoing) = agent.status_change(id, now);
        if receipt.borders {
            agent.border.show(tmux, agent.pane.as_deref(), &known.state);
        }
        agent.activity.note(tmux, agent.pane.as_deref(), &known);
        let shown = agent.tracker.reading().map(|reading| reading.state.clone());
        match shown {
            Some(AgentActivity::WaitingApproval(ask)) => {
                outgoing.extend(answer(&self.settings, receipt, id, agent, tmux, &ask, now));
            }
            _ => agent.prompt.clear_if_stale(now),
        }
        outgoing.extend(self.check_stalls(tmux, receipt, id, &known, now));
        outgoing.into_iter().for_each(&mut self.publish);
    }

    fn check_stalls(
        &mut self,
        tmux: &Tmux,
        receipt: &Receipt,
        id: &AgentId,
        known: &ObservedState,
        now: Timestamp,
    ) -> Vec<Message> {
        let Some(agent) = self.agents.get_mut(id) else { return Vec::new() };
        let typed = agent.tracker.reading().and_then(|reading| reading.typed.clone());
        let repeats = agent.tracker.repeats();
        let activity = AgentProgress {
            state: &known.state,
            since: known.since,
            progress: agent.tracker.progress(),
            typed: typed.as_deref(),
            typed_is_ours: typed.as_deref().is_some_and(|typed| remedy::is_ours(receipt, id, typed)),
            repeats: (&repeats.what, repeats.times),
            context_left: agent.tracker.context_left(),
            tokens: agent.tokens(),
        };
        let mut outgoing = Vec::new();
        for step in agent.stall.step(&activity, &self.limits, now) {
            match (step, &agent.pane) {
                (StallStep::Report(stall), _) if self.supervised => {
                    outgoing.push(messages::stalled(id, &stall));
                }
                (StallStep::Report(stall), _) => tracing::info!(target: "paw::monitor", "{id}: {stall}"),
                (StallStep::Apply(tried), Some(pane)) => {
                    let target = RemedyTarget { id, cli: agent.tracker.cli(), pane, typed: typed.as_deref() };
                    remedy::apply(tried, target, tmux, receipt, &self.settings.receipts);
                }
                (StallStep::Apply(_), None) => {}
            }
        }
        outgoing
    }
}

/// Stands in for the capture of a closed pane.
fn closed() -> PaneSnapshot {
    PaneSnapshot { program: String::new(), dead: true, cursor_visible: false, screen: Screen::parse("") }
}
