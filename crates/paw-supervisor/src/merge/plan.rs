//! What a merge is about to do, and what it does next. Pure: facts in, decisions out.

use paw_core::{AgentId, BranchName};
use serde::{Deserialize, Serialize};

use super::order::{self, MergeOrder};
use super::outcome::{Ground, Outcome, Skip, TestResult};
use super::team::Member;
use super::testimony::Testimony;

/// How far a branch has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    /// Nothing of it has touched main.
    Waiting,
    /// It is proven, and main is being moved. Written down before that happens.
    Advancing {
        from: String,
        to: String,
        ground: Ground,
    },
    Over(Outcome),
}

/// One branch of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub agent: AgentId,
    pub branch: BranchName,
    /// Where the branch was when the merge was planned.
    pub tip: String,
    /// Those of the merge that must be in before it.
    pub needs: Vec<AgentId>,
    /// Somebody in charge has checked this tip.
    pub verified: bool,
    #[serde(flatten)]
    pub stage: Stage,
}

impl Entry {
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.stage {
            Stage::Over(outcome) => Some(outcome),
            Stage::Waiting | Stage::Advancing { .. } => None,
        }
    }
}

/// A member whose branch exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub member: Member,
    pub tip: String,
}

/// The entries in the order in which they are merged; those in a cycle come last and are over already. What an
/// interrupted merge has done with the same tip is not done again.
pub fn plan(candidates: &[Candidate], testimony: &Testimony, done: &[Entry]) -> (Vec<Entry>, MergeOrder) {
    let agents: Vec<AgentId> = candidates.iter().map(|candidate| candidate.member.agent.clone()).collect();
    let order = order::order(&agents, &testimony.edges);
    let entry = |agent: &AgentId, stage: Stage| {
        let candidate = candidates.iter().find(|candidate| candidate.member.agent == *agent)?;
        let needs =
            testimony.edges.iter().filter(|edge| edge.dependent == *agent && agents.contains(&edge.on));
        Some(Entry {
            agent: agent.clone(),
            branch: candidate.member.branch.clone(),
            tip: candidate.tip.clone(),
            needs: needs.map(|edge| edge.on.clone()).collect(),
            verified: testimony.vouches(agent, &candidate.tip),
            stage: before(done, candidate).unwrap_or(stage),
        })
    };
    let sorted = order.sequence.iter().filter_map(|agent| entry(agent, Stage::Waiting));
    let circle = |with: &Vec<AgentId>| Stage::Over(Outcome::Cycle { with: with.clone() });
    let circular =
        order.cycles.iter().flat_map(|cycle| cycle.iter().map(move |agent| (agent, circle(cycle))));
    let circular = circular.filter_map(|(agent, stage)| entry(agent, stage));
    let entries = sorted.chain(circular).collect();
    (entries, order)
}

/// A result of before that still holds: it was merged, or its tests failed. Whatever else stood in its way may be gone.
fn before(done: &[Entry], candidate: &Candidate) -> Option<Stage> {
    let same = |entry: &&Entry| entry.branch == candidate.member.branch;
    let entry = done.iter().find(same)?;
    match &entry.stage {
        Stage::Over(Outcome::Merged { commit, .. })
            if candidate.tip == entry.tip || candidate.tip == *commit =>
        {
            Some(entry.stage.clone())
        }
        Stage::Over(Outcome::Regression { .. }) if candidate.tip == entry.tip => Some(entry.stage.clone()),
        Stage::Waiting | Stage::Advancing { .. } | Stage::Over(_) => None,
    }
}

/// What an interrupted merge was doing, decided by where main is now: it moved, or nothing happened.
pub fn settle(entry: &mut Entry, main_has: bool) {
    if let Stage::Advancing { from, to, ground } = &entry.stage {
        entry.stage = if main_has {
            let rebased_from = (*to != entry.tip).then(|| entry.tip.clone());
            Stage::Over(Outcome::Merged {
                from: from.clone(),
                commit: to.clone(),
                ground: *ground,
                rebased_from,
            })
        } else {
            Stage::Waiting
        };
    }
}

/// How a branch stands to main.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Main has everything of it.
    Contained,
    /// It has everything of main, and more.
    Ahead,
    /// Both have something of their own.
    Diverged,
}

/// What is to be done with a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    Nothing,
    FastForward,
    Rebase,
    Skip(Skip),
}

/// Fast-forward only: a branch that has not everything of main is put on top of it, if that is wished, or passed over.
pub fn next_move(entry: &Entry, entries: &[Entry], relation: Relation, rebase: bool) -> Move {
    match relation {
        Relation::Contained => Move::Nothing,
        Relation::Ahead | Relation::Diverged if let Some(on) = unmet(entry, entries) => {
            Move::Skip(Skip::Waits { on: on.clone() })
        }
        Relation::Ahead => Move::FastForward,
        Relation::Diverged if rebase => Move::Rebase,
        Relation::Diverged => Move::Skip(Skip::Diverged),
    }
}

/// Somebody the branch depends on who is not in.
fn unmet<'a>(entry: &'a Entry, entries: &[Entry]) -> Option<&'a AgentId> {
    let is_out = |on: &&AgentId| {
        entries.iter().any(|other| other.agent == **on && !other.outcome().is_some_and(Outcome::is_in))
    };
    entry.needs.iter().find(is_out)
}

/// What a proof means for a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Advance(Ground),
    Reject(Vec<String>),
    Skip(Skip),
}

/// Main moves only to what was tested, or to exactly what somebody in charge has checked.
pub fn judge(proof: TestResult, is_verified: bool) -> Verdict {
    match proof {
        TestResult::Passed => Verdict::Advance(Ground::Tested),
        TestResult::Failed { errors } => Verdict::Reject(errors),
        TestResult::Unproven { .. } if is_verified => Verdict::Advance(Ground::Verified),
        TestResult::Unproven { why } => Verdict::Skip(Skip::Unproven { why }),
    }
}

#[cfg(test)]
mod tests;
