//! Following the agents of a session to their ends. Pure: what was said, what was found and the time come in; whose work
//! is to be checked, how long to wait, and whether it is over comes out.

use jiff::Timestamp;
use paw_broker::identity::Caller;
use paw_broker::{Message, StoredMessage};
use paw_core::{AgentId, BranchName};

use super::outcome::AgentOutcome;
use super::worker::{JudgedCommit, LONG, RestState, Worker};
use crate::merge::MergeMember;

/// What the gates have found about an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkJudgement {
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
pub enum UnattendedStep {
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
pub struct Workers {
    workers: Vec<Worker>,
    /// How often an agent may mend what fails.
    chances: u32,
    verifying: Option<AgentId>,
}

impl Workers {
    pub fn new(members: &[MergeMember], chances: u32, now: Timestamp) -> Self {
        let worker = |member: &MergeMember| Worker::new(member.agent.clone(), member.branch.clone(), now);
        Self { workers: members.iter().map(worker).collect(), chances, verifying: None }
    }

    fn worker(&mut self, agent: &AgentId) -> Option<&mut Worker> {
        self.workers.iter_mut().find(|worker| worker.agent == *agent)
    }

    pub fn record(&mut self, stored: &StoredMessage) {
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
                    worker.record_stall(stall);
                }
            }
            // Somebody else in charge has looked at it.
            Message::Verified(verified) if Caller::Known(stored.sender.clone()).is_privileged() => {
                if let (Some(commit), Some(worker)) =
                    (verified.commit.clone(), self.worker(&verified.agent_id))
                {
                    let outcome = AgentOutcome::Verified { commit: commit.clone() };
                    worker.judge(JudgedCommit { commit: Some(commit), outcome, told: None });
                }
            }
            Message::AdvancedMain(_) | Message::Feedback(_) | Message::Verified(_) => {}
            message => {
                if let Some(worker) = self.worker(message.subject()) {
                    worker.record(stored.seq, stored.at, message);
                }
            }
        }
    }

    /// What is to be done now. One is verified at a time.
    pub fn next(&mut self, now: Timestamp) -> UnattendedStep {
        let mut until: Option<Timestamp> = None;
        let mut over = true;
        for worker in &self.workers {
            let Err(wake) = ended(worker, now) else { continue };
            over = false;
            until = earlier(until, wake);
            match worker.rest(now) {
                RestState::Rests if self.verifying.is_none() => {
                    self.verifying = Some(worker.agent.clone());
                    return UnattendedStep::Verify {
                        agent: worker.agent.clone(),
                        branch: worker.branch.clone(),
                    };
                }
                RestState::At(at) => until = earlier(until, Some(at)),
                RestState::Rests | RestState::No => {}
            }
        }
        if over && self.verifying.is_none() { UnattendedStep::Over } else { UnattendedStep::Wait(until) }
    }

    /// Takes in what was found. Says whether the agent has another chance, and is to be told.
    pub fn judged(&mut self, agent: &AgentId, judgement: WorkJudgement, now: Timestamp) -> bool {
        self.verifying.take_if(|verifying| verifying == agent);
        let most = self.chances;
        let Some(worker) = self.worker(agent) else { return false };
        let why = worker.activity();
        let (commit, outcome) = match judgement {
            WorkJudgement::Void => return false,
            WorkJudgement::Verified { commit } => (Some(commit.clone()), AgentOutcome::Verified { commit }),
            WorkJudgement::Failed { commit, errors } => {
                (Some(commit.clone()), AgentOutcome::Failed { commit, errors })
            }
            WorkJudgement::Unproven { commit, why } => {
                (Some(commit.clone()), AgentOutcome::Unproven { commit, why })
            }
            WorkJudgement::Nothing => {
                (None, AgentOutcome::Nothing { why: format!("has committed nothing: {why}") })
            }
            WorkJudgement::NotRun { why } => (None, AgentOutcome::Parked { why }),
        };
        let another =
            matches!(outcome, AgentOutcome::Failed { .. }) && worker.chances < most && !worker.has_exited();
        if another {
            worker.chances += 1;
        }
        worker.judge(JudgedCommit { commit, outcome, told: another.then_some(now) });
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
    pub fn outcomes(&self, now: Timestamp) -> Vec<(AgentId, BranchName, AgentOutcome)> {
        let outcome = |worker: &Worker| {
            let outcome =
                ended(worker, now).unwrap_or_else(|_| AgentOutcome::Unfinished { why: worker.activity() });
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
fn ended(worker: &Worker, now: Timestamp) -> Result<AgentOutcome, Option<Timestamp>> {
    let wake = match worker.parked(now) {
        Ok(why) => return Ok(AgentOutcome::Parked { why }),
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
