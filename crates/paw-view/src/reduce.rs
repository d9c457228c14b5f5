//! Applies events to a view.

use std::collections::HashMap;
use std::sync::Arc;

use paw_broker::message::{IntentMessage, StatusMessage, StatusSource};
use paw_broker::record::{AgentRecords, MAX_AGENTS};
use paw_broker::{Message, StoredMessage, watch};
use paw_core::AgentId;
use serde::Deserialize as _;

use crate::agent::{
    AgentState, AgentUsage, AgentView, AnnouncedPlan, Observation, SessionMembers, StateSource,
};
use crate::check::{BranchTip, CommitCheck};
use crate::event::{SessionSnapshot, ViewChanges, ViewEvent};
use crate::message::{self, MessageView};
use crate::question::OpenQuestion;
use crate::session::SessionView;
use crate::{conflict, question};

impl SessionView {
    /// Applies one event. The cost depends on the event, not on the size of the view.
    pub fn apply(&mut self, event: ViewEvent) -> ViewChanges {
        match event {
            ViewEvent::Session(facts) => {
                let before = std::mem::replace(&mut self.session, *facts);
                ViewChanges::of(before != self.session)
            }
            ViewEvent::Members(members) => ViewChanges::of(self.set_members(members)),
            ViewEvent::Supervisor(supervisor) => {
                let before = std::mem::replace(&mut self.supervisor, supervisor);
                ViewChanges::of(before != self.supervisor)
            }
            ViewEvent::Snapshot(snapshot) => ViewChanges::of(self.on_snapshot(*snapshot)),
            ViewEvent::Records { records, seq } => ViewChanges::of(self.on_records(records, seq)),
            ViewEvent::Message(stored) => self.on_message(&stored),
            ViewEvent::Observed { agent, seen } => ViewChanges::of(self.agent_mut(&agent).observe(seen)),
            ViewEvent::Tips(tips) => ViewChanges::of(self.set_tips(tips)),
            ViewEvent::AgentGone(id) => self.remove(&id),
        }
    }

    /// Puts the members first, in order. A former member that reported a status stays as a sender.
    fn set_members(&mut self, members: SessionMembers) -> bool {
        let mut others = std::mem::take(&mut self.agents);
        let mut changed = false;
        for (place, (id, member)) in members.into_iter().enumerate() {
            let known = others.iter().position(|agent| agent.id == id);
            changed |= known.is_none_or(|at| at != 0 || others[at].member.as_ref() != Some(&member));
            let agent = known.map_or_else(|| AgentView::new(id), |at| others.remove(at));
            self.agents.insert(place, AgentView { member: Some(member), ..agent });
        }
        changed |= others.iter().any(|agent| agent.member.is_some());
        for agent in &mut others {
            agent.member = None;
        }
        others.sort_by(|one, other| one.id.cmp(&other.id));
        self.agents.extend(others);
        changed
    }

    fn set_tips(&mut self, tips: Vec<(AgentId, BranchTip)>) -> bool {
        let mut changed = false;
        for (id, tip) in tips {
            if let Some(agent) = self.agents.iter_mut().find(|agent| agent.id == id) {
                changed |= agent.tip.as_ref() != Some(&tip);
                agent.tip = Some(tip);
            }
        }
        changed
    }

    fn on_snapshot(&mut self, snapshot: SessionSnapshot) -> bool {
        let SessionSnapshot { session, supervisor, agents, observed } = snapshot;
        let differs = session != self.session || supervisor != self.supervisor;
        self.session = session;
        self.supervisor = supervisor;
        let mut changed = self.set_members(agents) || differs;
        for (agent, seen) in observed {
            changed |= self.agent_mut(&agent).observe(seen);
        }
        changed
    }

    /// Replaces the records, unless this view has read more of the log than the broker.
    fn on_records(&mut self, records: AgentRecords, seq: u64) -> bool {
        if seq < self.recorded_seq {
            return false;
        }
        self.recorded_seq = seq;
        let mut changed = false;
        for agent in self.agents.iter_mut().filter(|agent| records.get(&agent.id).is_none()) {
            changed |= agent.reported.take().is_some();
        }
        for record in records {
            let agent = self.agent_mut(&record.agent_id);
            changed |= agent.reported.as_ref() != Some(&record);
            agent.reported = Some(record);
        }
        changed
    }

    /// Applies messages that were read together. Of many, only those that stay in the list are prepared for display.
    pub fn apply_messages(&mut self, page: &[Arc<StoredMessage>]) {
        let news = page.partition_point(|stored| stored.seq <= self.last_seq);
        self.fold_messages(page);
        let page = &page[news..];
        self.list_messages(&page[page.len().saturating_sub(self.max_messages)..]);
    }

    /// Like [`Self::apply_messages`], without the list: [`Self::list_messages`] adds those that are to be shown. Of each sender,
    /// only the latest text is prepared.
    pub fn fold_messages(&mut self, page: &[Arc<StoredMessage>]) {
        let mut texts: HashMap<&AgentId, &Message> = HashMap::new();
        let news = page.partition_point(|stored| stored.seq <= self.last_seq);
        for stored in &page[news..] {
            if is_own_text(&stored.message) {
                texts.insert(&stored.sender, &stored.message);
            }
            if watch::is_gone_message(&stored.message) {
                texts.remove(&stored.sender);
            }
            self.fold(stored);
        }
        for (sender, message) in texts {
            self.set_text(sender, message);
        }
    }

    /// Adds messages that were applied to the list.
    pub fn list_messages(&mut self, page: &[Arc<StoredMessage>]) {
        for stored in page {
            self.list(stored);
        }
    }

    fn on_message(&mut self, stored: &StoredMessage) -> ViewChanges {
        if stored.seq <= self.last_seq {
            return ViewChanges::default();
        }
        if is_own_text(&stored.message) {
            self.set_text(&stored.sender, &stored.message);
        }
        let settled = self.fold(stored);
        self.list(stored);
        ViewChanges { changed: true, settled }
    }

    fn set_text(&mut self, sender: &AgentId, message: &Message) {
        if let Some(text) = message::status_text(message) {
            self.agent_mut(sender).last_message = text;
        }
    }

    fn list(&mut self, stored: &StoredMessage) {
        if self.max_messages == 0 {
            return;
        }
        while self.messages.len() >= self.max_messages {
            self.messages.pop_front();
        }
        self.messages.push_back(MessageView::from(stored));
    }

    /// Applies everything but the text and the list. Returns the questions that were closed.
    fn fold(&mut self, stored: &StoredMessage) -> Vec<OpenQuestion> {
        self.last_seq = stored.seq;
        match &stored.message {
            Message::Status(status) => self.on_status(status, stored),
            Message::Intent(intent) => self.on_intent(intent, stored),
            _ => {}
        }
        if let Some((agent, check)) = CommitCheck::find(stored) {
            self.agent_mut(agent).add_check(check);
        }
        let agents = &self.agents;
        let has_expired = |id: &AgentId| {
            let plan = agents.iter().find(|agent| agent.id == *id).and_then(|agent| agent.plan.as_ref());
            plan.is_some_and(|plan| plan.until < stored.at)
        };
        conflict::update(&mut self.conflicts, stored, has_expired);
        let settled = question::update(&mut self.questions, stored);
        if watch::is_gone_message(&stored.message) {
            self.on_gone(stored);
        } else {
            self.record(stored);
        }
        settled
    }

    /// The session's process publishes its observations as status messages.
    fn on_status(&mut self, status: &StatusMessage, stored: &StoredMessage) {
        let field = |name: &str| status.extra.payload.get(name).filter(|_| is_observed(status));
        if let Some(usage) = field("usage").and_then(|usage| AgentUsage::deserialize(usage).ok()) {
            self.agent_mut(&stored.sender).usage = Some(usage);
        }
        let state = status.phase.as_deref().filter(|_| is_observed(status)).and_then(AgentState::find);
        let Some(state) = state else { return };
        let waits_for = field("waits_for").and_then(|what| what.as_str()).map(str::to_owned);
        self.agent_mut(&stored.sender).observe(Observation {
            state,
            since: stored.at,
            at: stored.at,
            source: StateSource::Messages,
            reason: status.message.clone().unwrap_or_default(),
            waits_for,
        });
    }

    fn on_intent(&mut self, intent: &IntentMessage, stored: &StoredMessage) {
        let agent = self.agent_mut(&intent.agent_id);
        let earlier = agent.plan.take().filter(|plan| !intent.clears() && plan.until > stored.at);
        if intent.files.is_empty() {
            return;
        }
        let until = intent.expires(stored.at);
        let latest = earlier.as_ref().map_or(until, |plan| plan.until.max(until));
        let mut files = earlier.map(|plan| plan.files).unwrap_or_default();
        for file in &intent.files {
            if !files.contains(&file.path) {
                files.push(file.path.clone());
            }
        }
        let summary = intent.summary.clone();
        agent.plan = Some(AnnouncedPlan { files, summary, announced: stored.at, until: latest });
    }

    /// Updates the records of the sender and of the subject with the broker's reducer. Touches only those two, so that the
    /// cost does not grow with the session.
    fn record(&mut self, stored: &StoredMessage) {
        if stored.seq <= self.recorded_seq {
            return;
        }
        self.recorded_seq = stored.seq;
        let concerned = [&stored.sender, stored.message.subject()];
        let concerns = |agent: &&mut AgentView| concerned.contains(&&agent.id);
        let known = self.agents.iter_mut().filter(concerns).filter_map(|agent| agent.reported.take());
        let mut records: AgentRecords = known.collect();
        records.apply(stored);
        for record in records {
            let agent = self.agent_mut(&record.agent_id);
            agent.reported = Some(record);
        }
    }

    /// If newer records show that the agent has returned, only its old messages are removed.
    fn on_gone(&mut self, stored: &StoredMessage) {
        let id = &stored.sender;
        let is_news = stored.seq > self.recorded_seq;
        self.recorded_seq = self.recorded_seq.max(stored.seq);
        self.questions.retain(|question| question.asker != *id);
        let Some(place) = self.agents.iter().position(|agent| agent.id == *id) else { return };
        if is_news || !self.agents[place].is_listed() {
            self.agents.remove(place);
        } else {
            let agent = &mut self.agents[place];
            let (member, reported) = (agent.member.take(), agent.reported.take());
            *agent = AgentView { member, reported, ..AgentView::new(id.clone()) };
        }
    }

    fn remove(&mut self, id: &AgentId) -> ViewChanges {
        let before = self.agents.len();
        self.agents.retain(|agent| agent.id != *id);
        self.conflicts.retain(|conflict| !conflict.agents.contains(id));
        let settled = self.questions.extract_if(.., |question| question.asker == *id).collect();
        ViewChanges { changed: before != self.agents.len(), settled }
    }

    /// The agent with this id, added if necessary.
    fn agent_mut(&mut self, id: &AgentId) -> &mut AgentView {
        let place = self.agents.iter().position(|agent| agent.id == *id).unwrap_or_else(|| self.add(id));
        &mut self.agents[place]
    }

    fn add(&mut self, id: &AgentId) -> usize {
        // As in the records, the sender that was silent longest is dropped.
        if self.agents.len() >= MAX_AGENTS {
            let others = self.agents.iter().enumerate().filter(|(_, agent)| agent.member.is_none());
            let heard = |agent: &AgentView| agent.reported.as_ref().map(|record| record.last_seq);
            if let Some((silent, _)) = others.min_by_key(|(_, agent)| heard(agent)) {
                self.agents.remove(silent);
            }
        }
        let before = |agent: &AgentView| agent.member.is_some() || agent.id < *id;
        let place = self.agents.partition_point(before);
        self.agents.insert(place, AgentView::new(id.clone()));
        place
    }
}

/// Whether a message holds a text of its sender. What the session's process observed or asks for is not one.
fn is_own_text(message: &Message) -> bool {
    match message {
        Message::Status(status) => status.message.is_some() && !is_observed(status),
        Message::Question(question) => !question.is_approval(),
        other => message::has_status_text(other),
    }
}

fn is_observed(status: &StatusMessage) -> bool {
    status.source() == Some(StatusSource::Monitor)
}
