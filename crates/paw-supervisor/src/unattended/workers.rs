//! The state of all agents of an unattended session. Pure: takes messages, gate results and the time; returns whose work
//! to check next, how long to wait, or that all have finished.

use jiff::Timestamp;
use paw_broker::{Message, StoredMessage};
use paw_core::{AgentId, BranchName};

use super::outcome::AgentOutcome;
use super::worker::{JudgedCommit, LONG, RestState, Worker};
use crate::merge::MergeMember;

/// The result of running the gates on an agent's work.
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
    /// The branch moved while the gates ran, so there is no result.
    Void,
    /// The branch has no commits that main lacks.
    Nothing,
    /// The gates could not be run.
    NotRun {
        why: String,
    },
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnattendedStep {
    Verify {
        agent: AgentId,
        branch: BranchName,
    },
    /// Wait for an event, at most until this time.
    Wait(Option<Timestamp>),
    /// Every agent has finished.
    Over,
}

/// All agents of a session.
#[derive(Debug, Clone)]
pub struct Workers {
    agents: Vec<Worker>,
    /// Fix attempts per agent.
    chances: u32,
    verifying: Option<AgentId>,
}

impl Workers {
    pub fn new(members: &[MergeMember], chances: u32, now: Timestamp) -> Self {
        let worker = |member: &MergeMember| Worker::new(member.agent.clone(), member.branch.clone(), now);
        Self { agents: members.iter().map(worker).collect(), chances, verifying: None }
    }

    fn worker(&mut self, agent: &AgentId) -> Option<&mut Worker> {
        self.agents.iter_mut().find(|worker| worker.agent == *agent)
    }

    pub fn record(&mut self, stored: &StoredMessage) {
        match &stored.message {
            Message::Answer(answer) => {
                if let Some(worker) = self.worker(&answer.agent_id) {
                    worker.questions.clear();
                }
            }
            // The monitor reports stalls in the agent's name.
            Message::Feedback(feedback) if feedback.agent_id.as_str() == AgentId::SUPERVISOR => {
                let stall = feedback.errors.iter().find(|error| error.starts_with("[stall]"));
                if let (Some(worker), Some(stall)) = (self.worker(&feedback.from), stall) {
                    worker.record_stall(stall);
                }
            }
            // What was declared verified is checked, too. A signed proof makes that instant.
            Message::AdvancedMain(_) | Message::Feedback(_) | Message::Verified(_) => {}
            message => {
                if let Some(worker) = self.worker(message.subject()) {
                    worker.record(stored.seq, stored.at, message);
                }
            }
        }
    }

    /// What to do next. One agent is verified at a time.
    pub fn next(&mut self, now: Timestamp) -> UnattendedStep {
        let mut until: Option<Timestamp> = None;
        let mut over = true;
        for worker in &self.agents {
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

    /// Applies a gate result. Returns whether the agent may try again and needs the fix prompt.
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
            WorkJudgement::Nothing => (None, AgentOutcome::Nothing { why: format!("no commits: {why}") }),
            WorkJudgement::NotRun { why } => (None, AgentOutcome::Parked { why }),
        };
        let another =
            matches!(outcome, AgentOutcome::Failed { .. }) && worker.chances < most && !worker.has_exited();
        if another {
            worker.chances += 1;
        }
        worker.judge(JudgedCommit { commit, outcome, fix_prompt_sent: another.then_some(now) });
        another
    }

    pub fn is_verifying(&self) -> bool {
        self.verifying.is_some()
    }

    /// How many fix attempts an agent has used.
    pub fn chances_of(&self, agent: &AgentId) -> u32 {
        self.agents.iter().find(|worker| worker.agent == *agent).map_or(0, |worker| worker.chances)
    }

    /// The verified commits, to compare with the tips of the branches.
    pub fn verified(&self) -> impl Iterator<Item = (&AgentId, &BranchName, &str)> {
        self.agents.iter().filter_map(|worker| {
            let judged = worker.judged.as_ref().filter(|judged| judged.outcome.is_verified())?;
            Some((&worker.agent, &worker.branch, judged.commit.as_deref()?))
        })
    }

    /// Records that a branch moved after it was verified.
    pub fn moved(&mut self, agent: &AgentId, tip: &str) {
        if let Some(worker) = self.worker(agent) {
            worker.moved(tip);
        }
    }

    /// The current outcome of every agent.
    pub fn outcomes(&self, now: Timestamp) -> Vec<(AgentId, BranchName, AgentOutcome)> {
        let outcome = |worker: &Worker| {
            let outcome =
                ended(worker, now).unwrap_or_else(|_| AgentOutcome::Unfinished { why: worker.activity() });
            (worker.agent.clone(), worker.branch.clone(), outcome)
        };
        self.agents.iter().map(outcome).collect()
    }

    /// The open questions.
    pub fn questions(&self) -> Vec<(AgentId, String)> {
        let of = |worker: &Worker| {
            worker
                .questions
                .iter()
                .map(|question| (worker.agent.clone(), question.clone()))
                .collect::<Vec<_>>()
        };
        self.agents.iter().flat_map(of).collect()
    }
}

/// The outcome of an agent that has finished, else when to check again.
fn ended(worker: &Worker, now: Timestamp) -> Result<AgentOutcome, Option<Timestamp>> {
    let wake = match worker.parked(now) {
        Ok(why) => return Ok(AgentOutcome::Parked { why }),
        Err(wake) => wake,
    };
    let judged = worker.judged.as_ref().filter(|_| worker.is_judged() && !worker.is_at_work());
    let Some(judged) = judged else { return Err(wake) };
    match judged.fix_prompt_sent {
        // It was asked to fix something; give up if it does not start in time.
        Some(fix_prompt_sent) if !worker.has_exited() => match fix_prompt_sent.checked_add(LONG) {
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
