//! What the tower has on its desk: one sheet for each agent of the session.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use paw_agent::deliver::Look;
use paw_agent::hooks::notes::Notes;
use paw_agent::screen::Screen;
use paw_agent::state::{Known, State};
use paw_broker::message::Message;
use paw_core::{AgentId, Receipt, SessionMode};
use paw_host::tmux::Tmux;

use super::Settings;
use super::answer::answer;
use super::pace::Pace;
use super::sheet::Sheet;
use crate::stall::{Facts, Limits, Step};
use crate::tower::agent::Agent;
use crate::tower::ask::{Done, Next};
use crate::tower::panes::{self, Glance};
use crate::tower::remedy::{self, Patient};
use crate::tower::{verdict, words};
use crate::unattended::attendant_lock;

pub(super) struct Desk {
    settings: Settings,
    notes: Notes,
    limits: Limits,
    pace: Pace,
    publish: Box<dyn FnMut(Message) + Send>,
    sheets: BTreeMap<AgentId, Sheet>,
    /// Somebody looks after the agents, and is told what they need.
    supervised: bool,
    /// When the panes were last looked at, in seconds of the wall clock.
    looked: i64,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Desk {
    pub(super) fn new(settings: Settings, publish: Box<dyn FnMut(Message) + Send>) -> Self {
        let notes = Notes::of(&settings.repo.common_dir);
        let limits = Limits::of(&settings.config, TimeZone::system());
        let approve = settings.config.auto_approve.clone().unwrap_or_default();
        let pace = Pace::new(approve.stall_threshold_seconds);
        Self { settings, notes, limits, pace, publish, sheets: BTreeMap::new(), supervised: false, looked: 0 }
    }

    pub(super) fn notes_dir(&self) -> Option<PathBuf> {
        self.notes.dir().ok()
    }

    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    /// Nobody watches any more, so nothing is claimed about the agents.
    pub(super) fn clear_borders(&mut self) {
        let Ok(Some(receipt)) = self.settings.receipts.load(&self.settings.session) else { return };
        let tmux = Tmux::on_socket(receipt.tmux_socket);
        for sheet in self.sheets.values_mut() {
            sheet.border.clear(&tmux, sheet.pane.as_deref());
        }
    }

    /// Takes in what hooks have told.
    pub(super) fn hear(&mut self, now: Timestamp) -> bool {
        let answers = self.supervised;
        let (mut heard, mut said) = (false, Vec::new());
        for (id, sheet) in &mut self.sheets {
            for note in sheet.reader.news().unwrap_or_default() {
                heard = true;
                said.extend(sheet.take_note(&note, id, &self.settings, now));
                let Some(left) = sheet.agent.hear(&note) else { continue };
                let what = verdict::what(&left.ask);
                // What was told long ago is over.
                let fresh = now.duration_since(note.at).as_secs() < 10;
                if answers && fresh && sheet.standing.see(&what, now) == Next::Judge {
                    said.push(words::question(id, &left.ask, &left.reason));
                    sheet.standing.note(&what, Done::PassedOn, now);
                }
            }
            sheet.weigh();
            said.extend(sheet.news(id, now).1);
        }
        said.into_iter().for_each(&mut self.publish);
        heard
    }

    /// Looks at all panes if something was drawn since the last time, and acts on it. Says whether something was new.
    pub(super) fn look(&mut self, now: Timestamp) -> bool {
        let Ok(Some(receipt)) = self.settings.receipts.load(&self.settings.session) else { return false };
        self.sort(&receipt, now);
        self.supervised = attendant_lock::is_supervised(&receipt, &self.settings.repo.common_dir);
        let heard = self.hear(now);
        let tmux = Tmux::on_socket(receipt.tmux_socket.clone());
        let Ok(Some(glance)) = Glance::take(&tmux, &receipt) else { return heard };
        let due = self.pace.is_due(glance.activity, self.looked, now.as_second());
        let drawn = due || self.sheets.values().any(|sheet| sheet.pane.is_none());
        if drawn {
            self.looked = now.as_second();
        }
        if drawn || self.sheets.values().any(|sheet| sheet.agent.is_unsure()) {
            self.take_in(&tmux, &glance, now);
        }
        for id in self.sheets.keys().cloned().collect::<Vec<_>>() {
            self.act(&tmux, &receipt, &id, now);
        }
        heard || drawn
    }

    /// A sheet for each agent of the session and for its supervisor, and no other.
    fn sort(&mut self, receipt: &Receipt, now: Timestamp) {
        let agents = receipt.agent_ids().into_iter().zip(&receipt.worktrees);
        let agents = agents.map(|(id, agent)| (id, agent.cli.as_str(), agent.worktree_path.as_path()));
        let supervisor = receipt.supervisor.iter().filter(|_| receipt.mode == SessionMode::Supervisor);
        let supervisor =
            supervisor.map(|it| (AgentId::supervisor(), it.cli.as_str(), receipt.repo_path.as_path()));
        let all: Vec<_> = agents.chain(supervisor).collect();
        self.sheets.retain(|id, _| all.iter().any(|(other, ..)| other == id));
        for (id, cli, worktree) in all {
            let reader = || self.notes.reader(&id);
            let new = || Sheet::new(Agent::new(cli, now), reader(), worktree.to_path_buf());
            self.sheets.entry(id.clone()).or_insert_with(new);
        }
    }

    fn take_in(&mut self, tmux: &Tmux, glance: &Glance, now: Timestamp) {
        let ours = |(id, sheet): (&AgentId, &Sheet)| glance.find(id, &sheet.worktree);
        let panes: Vec<&str> = self.sheets.iter().filter_map(ours).collect();
        // One that was closed this very moment; the next look is without it.
        let Ok(looks) = panes::look(tmux, &panes) else { return };
        for (id, sheet) in &mut self.sheets {
            sheet.pane = glance.find(id, &sheet.worktree).map(str::to_owned);
            let look = sheet.pane.as_ref().and_then(|pane| looks.get(pane));
            match look {
                Some(look) => sheet.agent.see(look, now),
                None => sheet.agent.see(&closed(), now),
            }
        }
    }

    /// Tells what is new about an agent, answers what it asks, and sees to it that it gets on.
    fn act(&mut self, tmux: &Tmux, receipt: &Receipt, id: &AgentId, now: Timestamp) {
        let Some(sheet) = self.sheets.get_mut(id) else { return };
        let (known, mut said) = sheet.news(id, now);
        if receipt.borders {
            sheet.border.show(tmux, sheet.pane.as_deref(), &known.state);
        }
        let shown = sheet.agent.reading().map(|reading| reading.state.clone());
        match shown {
            // Whoever supervises is not approved by itself: what it wants is for a person.
            Some(State::WaitingApproval(ask)) if id.as_str() != AgentId::SUPERVISOR => {
                said.extend(answer(&self.settings, receipt, id, sheet, tmux, &ask, now));
            }
            _ => sheet.standing.see_nothing(now),
        }
        said.extend(self.get_on(tmux, receipt, id, &known, now));
        said.into_iter().for_each(&mut self.publish);
    }

    fn get_on(
        &mut self,
        tmux: &Tmux,
        receipt: &Receipt,
        id: &AgentId,
        known: &Known,
        now: Timestamp,
    ) -> Vec<Message> {
        let Some(sheet) = self.sheets.get_mut(id) else { return Vec::new() };
        let typed = sheet.agent.reading().and_then(|reading| reading.typed.clone());
        let repeats = sheet.agent.repeats();
        let facts = Facts {
            state: &known.state,
            since: known.since,
            progress: sheet.agent.progress(),
            typed: typed.as_deref(),
            typed_is_ours: typed.as_deref().is_some_and(|typed| remedy::is_ours(receipt, id, typed)),
            repeats: (&repeats.what, repeats.times),
            room: sheet.agent.room(),
            tokens: sheet.tokens(),
        };
        let mut said = Vec::new();
        for step in sheet.watch.step(&facts, &self.limits, now) {
            match (step, &sheet.pane) {
                (Step::Tell(stall), _) if self.supervised => {
                    said.push(words::stalled(id, &stall));
                }
                (Step::Tell(stall), _) => tracing::info!(target: "paw::tower", "{id}: {stall}"),
                (Step::Try(tried), Some(pane)) => {
                    let patient = Patient { id, cli: sheet.agent.cli(), pane, typed: typed.as_deref() };
                    remedy::apply(tried, patient, tmux, receipt, &self.settings.receipts);
                }
                (Step::Try(_), None) => {}
            }
        }
        said
    }
}

/// What a pane shows that is not there any more.
fn closed() -> Look {
    Look { program: String::new(), dead: true, cursor_visible: false, screen: Screen::parse("") }
}
