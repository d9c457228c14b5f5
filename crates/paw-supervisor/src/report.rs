//! What happened in a session, counted from its messages and approvals. Pure.

use std::collections::{BTreeMap, BTreeSet};

use paw_agent::state::AgentActivity;
use paw_broker::conflict::PAYLOAD_FIELD;
use paw_broker::message::StatusSource;
use paw_broker::{Message, StoredMessage};
use paw_core::AgentId;
use serde::Serialize;
use serde_json::Value;

use crate::approval::log::VerdictEntry;

/// What happened in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SessionReport {
    pub agents: BTreeMap<AgentId, AgentReport>,
    /// What the user decided, oldest first: each time that the session needed them.
    pub decisions: Vec<UserDecision>,
    /// The last state that a monitor has seen of each agent. A restarted monitor reports it once more.
    #[serde(skip)]
    last_seen: BTreeMap<AgentId, String>,
    /// Commits that have failed. Each verification of one sends its feedback again, and so does its audit.
    #[serde(skip)]
    failed: BTreeSet<(AgentId, String)>,
}

/// How often it happened to one agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AgentReport {
    pub verified: usize,
    /// Commits that failed a gate or their audit.
    pub gates_failed: usize,
    pub merged: usize,
    /// Merges that left its branch out: a conflict, or gates that fail on top of main.
    pub not_merged: usize,
    pub questions: usize,
    pub conflicts: usize,
    pub rate_limits: usize,
    /// How often its CLI exited.
    pub exits: usize,
    /// Commands that were approved without the user.
    pub approved: usize,
}

/// A decision of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserDecision {
    pub agent: AgentId,
    pub kind: UserDecisionKind,
    /// The command, or the answer.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UserDecisionKind {
    Approved,
    Denied,
    Answered,
}

impl SessionReport {
    /// Whether nothing happened that it reports.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty() && self.decisions.is_empty()
    }

    /// Counts what a message tells, in the order in which messages were stored.
    pub fn add_message(&mut self, stored: &StoredMessage) {
        match &stored.message {
            Message::Verified(verified) => self.of(&verified.agent_id).verified += 1,
            Message::Feedback(feedback) => {
                let facts = &feedback.extra.payload;
                let agent = &feedback.agent_id;
                if let Some(conflict) = facts.get(PAYLOAD_FIELD) {
                    // Not the news that it is over.
                    self.of(agent).conflicts += usize::from(conflict["level"] != "cleared");
                } else if let Some(commit) = facts.get("commit") {
                    let is_new = self.failed.insert((agent.clone(), commit.to_string()));
                    self.of(agent).gates_failed += usize::from(is_new);
                }
            }
            Message::Question(question) if !question.is_approval() => {
                self.of(&question.agent_id).questions += 1;
            }
            Message::Answer(answer) if stored.sender == AgentId::operator() => {
                self.decisions.push(UserDecision {
                    agent: answer.agent_id.clone(),
                    kind: UserDecisionKind::Answered,
                    text: answer.answer.clone(),
                });
            }
            Message::Status(status) if status.source() == Some(StatusSource::Monitor) => {
                self.add_state(&status.agent_id, status.phase.as_deref().unwrap_or_default());
            }
            // The summary of a merge.
            Message::Status(status) if status.phase.as_deref() == Some("merge") => {
                let results = status.detail.as_ref().and_then(Value::as_array);
                for result in results.into_iter().flatten() {
                    self.add_merge(result);
                }
            }
            _ => {}
        }
    }

    fn add_state(&mut self, agent: &AgentId, state: &str) {
        // What a monitor says of a CLI that it has not seen running yet.
        if [AgentActivity::Starting, AgentActivity::Unknown].iter().any(|vague| vague.name() == state) {
            return;
        }
        let before = self.last_seen.insert(agent.clone(), state.to_owned());
        if before.as_deref() == Some(state) {
            return;
        }
        if state == AgentActivity::Exited.name() {
            self.of(agent).exits += 1;
        } else if state == (AgentActivity::RateLimited { resets: None }).name() {
            self.of(agent).rate_limits += 1;
        }
    }

    fn add_merge(&mut self, result: &Value) {
        let Some(agent) = result["agent"].as_str().and_then(|agent| AgentId::new(agent).ok()) else { return };
        match result["outcome"].as_str() {
            Some("merged") => self.of(&agent).merged += 1,
            Some("skipped" | "regression" | "cycle") => self.of(&agent).not_merged += 1,
            _ => {}
        }
    }

    /// Counts a verdict on a command.
    pub fn add_verdict(&mut self, entry: &VerdictEntry) {
        let Ok(agent) = AgentId::new(&entry.agent) else { return };
        let is_allowed = entry.verdict == "allow";
        match entry.by.as_deref() {
            Some(AgentId::OPERATOR) => {
                let kind = if is_allowed { UserDecisionKind::Approved } else { UserDecisionKind::Denied };
                self.decisions.push(UserDecision { agent, kind, text: entry.command.clone() });
            }
            _ if is_allowed => self.of(&agent).approved += 1,
            _ => {}
        }
    }

    fn of(&mut self, agent: &AgentId) -> &mut AgentReport {
        self.agents.entry(agent.clone()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_broker::SessionId;
    use serde_json::json;

    use super::*;
    use crate::approval::ApprovalVerdict;

    fn stored(sender: &str, message: Value) -> StoredMessage {
        StoredMessage {
            seq: 1,
            session: SessionId::new("s"),
            at: Timestamp::UNIX_EPOCH,
            sender: AgentId::new(sender).unwrap(),
            message: Message::from_json(message).unwrap(),
        }
    }

    #[test]
    fn a_report_counts_what_happened_to_each_agent() {
        let mut report = SessionReport::default();
        let mut hear = |sender: &str, kind: &str, agent: &str, payload: Value| {
            let message = json!({"type": kind, "agent_id": agent, "payload": payload});
            report.add_message(&stored(sender, message));
        };
        let supervisor = "supervisor";
        hear("feat-a", "agent.question", "feat-a", json!({"question": "may I?"}));
        hear("feat-a", "agent.question", "feat-a", json!({"question": "[approval] rm"}));
        hear(supervisor, "agent.answer", "feat-a", json!({"from": supervisor, "answer": "yes"}));
        hear("operator", "agent.answer", "feat-b", json!({"from": "operator", "answer": "no"}));
        let errors = json!(["[testing] x"]);
        for _ in 0..2 {
            let failed = json!({"from": supervisor, "errors": errors, "commit": "c"});
            hear(supervisor, "agent.feedback", "feat-b", failed);
        }
        hear(supervisor, "agent.feedback", "feat-b", json!({"from": supervisor, "errors": errors}));
        hear(
            supervisor,
            "agent.feedback",
            "feat-a",
            json!({"from": supervisor, "errors": errors, PAYLOAD_FIELD: {}}),
        );
        let over = json!({"from": supervisor, "errors": errors, PAYLOAD_FIELD: {"level": "cleared"}});
        hear(supervisor, "agent.feedback", "feat-a", over);
        hear(supervisor, "agent.verified", "feat-b", json!({"verified_by": supervisor}));
        // A monitor that was restarted twice repeats what it sees.
        for phase in ["exited", "starting", "exited", "exited", "working", "rate_limited", "rate_limited"] {
            let seen = json!({"status": "idle", "phase": phase, "source": "tower"});
            hear("feat-a", "agent.status", "feat-a", seen);
        }
        hear("feat-a", "agent.status", "feat-a", json!({"status": "idle", "phase": "exited"}));
        let results =
            json!([{"agent": "feat-b", "outcome": "merged"}, {"agent": "feat-a", "outcome": "skipped"}]);
        hear(
            supervisor,
            "agent.status",
            supervisor,
            json!({"status": "merged", "phase": "merge", "detail": results}),
        );
        let allow = ApprovalVerdict::Allow { reason: "r".into() };
        let ask = ApprovalVerdict::Ask { reason: "r".into() };
        for (verdict, by) in
            [(&allow, None), (&ask, None), (&allow, Some("operator")), (&allow, Some("supervisor"))]
        {
            let mut entry = VerdictEntry::new(Timestamp::UNIX_EPOCH, "feat-a", "rm x", verdict);
            entry.by = by.map(str::to_owned);
            report.add_verdict(&entry);
        }
        let of = |agent: &str| report.agents[&AgentId::new(agent).unwrap()];
        let expected = AgentReport {
            not_merged: 1,
            questions: 1,
            conflicts: 1,
            rate_limits: 1,
            exits: 1,
            approved: 2,
            ..AgentReport::default()
        };
        assert_eq!(of("feat-a"), expected);
        let expected = AgentReport { verified: 1, gates_failed: 1, merged: 1, ..AgentReport::default() };
        assert_eq!(of("feat-b"), expected);
        let decided: Vec<_> =
            report.decisions.iter().map(|one| (one.agent.as_str(), one.kind, one.text.as_str())).collect();
        assert_eq!(
            decided,
            [("feat-b", UserDecisionKind::Answered, "no"), ("feat-a", UserDecisionKind::Approved, "rm x")]
        );
    }
}
