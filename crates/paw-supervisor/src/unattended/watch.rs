//! Following the agents of a session to their ends. Pure: what was said, what was found and the time come in; whose work
//! is to be checked, how long to wait, and whether it is over comes out.

use jiff::Timestamp;
use paw_broker::identity::Caller;
use paw_broker::{Message, StoredMessage};
use paw_core::{AgentId, BranchName};

use super::outcome::Outcome;
use super::worker::{Judged, LONG, Rest, Worker};
use crate::merge::Member;

/// What the gates have found about an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    Verified {
        commit: String,
    },
    Failed {
        commit: String,
        errors: Vec<String>,
    },
    Unproven {
        commit: String,
        why: String,
    },
    /// The branch moved meanwhile: nothing was found.
    Void,
    /// There is no commit that main does not have.
    Nothing,
    /// The gates could not be run.
    NotRun {
        why: String,
    },
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Verify {
        agent: AgentId,
        branch: BranchName,
    },
    /// Until something is said; at the latest until then.
    Wait(Option<Timestamp>),
    /// Every agent has come to an end.
    Over,
}

/// Everybody in a session.
#[derive(Debug, Clone)]
pub struct Watch {
    workers: Vec<Worker>,
    /// How often an agent may mend what fails.
    chances: u32,
    verifying: Option<AgentId>,
}

impl Watch {
    pub fn new(members: &[Member], chances: u32, now: Timestamp) -> Self {
        let worker = |member: &Member| Worker::new(member.agent.clone(), member.branch.clone(), now);
        Self { workers: members.iter().map(worker).collect(), chances, verifying: None }
    }

    fn worker(&mut self, agent: &AgentId) -> Option<&mut Worker> {
        self.workers.iter_mut().find(|worker| worker.agent == *agent)
    }

    pub fn hear(&mut self, stored: &StoredMessage) {
        match &stored.message {
            Message::Answer(answer) => {
                if let Some(worker) = self.worker(&answer.agent_id) {
                    worker.questions.clear();
                }
            }
            // The tower tells it in the agent's name.
            Message::Feedback(feedback) if feedback.agent_id.as_str() == AgentId::SUPERVISOR => {
                let stall = feedback.errors.iter().find(|error| error.starts_with("[stall]"));
                if let (Some(worker), Some(stall)) = (self.worker(&feedback.from), stall) {
                    worker.stalls(stall);
                }
            }
            // Somebody else in charge has looked at it.
            Message::Verified(verified) if Caller::Known(stored.sender.clone()).is_privileged() => {
                if let (Some(commit), Some(worker)) =
                    (verified.commit.clone(), self.worker(&verified.agent_id))
                {
                    let outcome = Outcome::Verified { commit: commit.clone() };
                    worker.judge(Judged { commit: Some(commit), outcome, told: None });
                }
            }
            Message::AdvancedMain(_) | Message::Feedback(_) | Message::Verified(_) => {}
            message => {
                if let Some(worker) = self.worker(message.subject()) {
                    worker.hear(stored.seq, stored.at, message);
                }
            }
        }
    }

    /// What is to be done now. One is verified at a time.
    pub fn next(&mut self, now: Timestamp) -> Next {
        let mut until: Option<Timestamp> = None;
        let mut over = true;
        for worker in &self.workers {
            let Err(wake) = ended(worker, now) else { continue };
            over = false;
            until = earlier(until, wake);
            match worker.rest(now) {
                Rest::Rests if self.verifying.is_none() => {
                    self.verifying = Some(worker.agent.clone());
                    return Next::Verify { agent: worker.agent.clone(), branch: worker.branch.clone() };
                }
                Rest::At(at) => until = earlier(until, Some(at)),
                Rest::Rests | Rest::No => {}
            }
        }
        if over && self.verifying.is_none() { Next::Over } else { Next::Wait(until) }
    }

    /// Takes in what was found. Says whether the agent has another chance, and is to be told.
    pub fn judged(&mut self, agent: &AgentId, judgement: Judgement, now: Timestamp) -> bool {
        self.verifying.take_if(|verifying| verifying == agent);
        let most = self.chances;
        let Some(worker) = self.worker(agent) else { return false };
        let why = worker.at_what();
        let (commit, outcome) = match judgement {
            Judgement::Void => return false,
            Judgement::Verified { commit } => (Some(commit.clone()), Outcome::Verified { commit }),
            Judgement::Failed { commit, errors } => {
                (Some(commit.clone()), Outcome::Failed { commit, errors })
            }
            Judgement::Unproven { commit, why } => (Some(commit.clone()), Outcome::Unproven { commit, why }),
            Judgement::Nothing => (None, Outcome::Nothing { why: format!("has committed nothing: {why}") }),
            Judgement::NotRun { why } => (None, Outcome::Parked { why }),
        };
        let another =
            matches!(outcome, Outcome::Failed { .. }) && worker.chances < most && !worker.has_exited();
        if another {
            worker.chances += 1;
        }
        worker.judge(Judged { commit, outcome, told: another.then_some(now) });
        another
    }

    pub fn is_verifying(&self) -> bool {
        self.verifying.is_some()
    }

    /// How often an agent was told to mend something.
    pub fn chances_of(&self, agent: &AgentId) -> u32 {
        self.workers.iter().find(|worker| worker.agent == *agent).map_or(0, |worker| worker.chances)
    }

    /// The commits that were verified, to be held against where the branches are.
    pub fn verified(&self) -> impl Iterator<Item = (&AgentId, &BranchName, &str)> {
        self.workers.iter().filter_map(|worker| {
            let judged = worker.judged.as_ref().filter(|judged| judged.outcome.is_verified())?;
            Some((&worker.agent, &worker.branch, judged.commit.as_deref()?))
        })
    }

    /// A branch is not where it was verified.
    pub fn moved(&mut self, agent: &AgentId, tip: &str) {
        if let Some(worker) = self.worker(agent) {
            worker.moved(tip);
        }
    }

    /// What has become of everybody by now.
    pub fn outcomes(&self, now: Timestamp) -> Vec<(AgentId, BranchName, Outcome)> {
        let outcome = |worker: &Worker| {
            let outcome =
                ended(worker, now).unwrap_or_else(|_| Outcome::Unfinished { why: worker.at_what() });
            (worker.agent.clone(), worker.branch.clone(), outcome)
        };
        self.workers.iter().map(outcome).collect()
    }

    /// What nobody has answered.
    pub fn questions(&self) -> Vec<(AgentId, String)> {
        let of = |worker: &Worker| {
            worker
                .questions
                .iter()
                .map(|question| (worker.agent.clone(), question.clone()))
                .collect::<Vec<_>>()
        };
        self.workers.iter().flat_map(of).collect()
    }
}

/// What has become of an agent that has come to an end; else when to look again.
fn ended(worker: &Worker, now: Timestamp) -> Result<Outcome, Option<Timestamp>> {
    let wake = match worker.parked(now) {
        Ok(why) => return Ok(Outcome::Parked { why }),
        Err(wake) => wake,
    };
    let judged = worker.judged.as_ref().filter(|_| worker.is_judged() && !worker.is_at_work());
    let Some(judged) = judged else { return Err(wake) };
    match judged.told {
        // It has been told to mend something. One that does not begin, or is gone, does not mend it.
        Some(told) if !worker.has_exited() => match told.checked_add(LONG) {
            Ok(given_up) if now < given_up => Err(earlier(wake, Some(given_up))),
            _ => Ok(judged.outcome.clone()),
        },
        _ => Ok(judged.outcome.clone()),
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
