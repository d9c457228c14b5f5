//! Decides what a merge does with each branch. Pure.

use paw_core::{AgentId, BranchName};
use serde::{Deserialize, Serialize};

use super::members::MergeMember;
use super::order::{self, MergeOrder};
use super::outcome::{CommitTestResult, MergeEvidence, MergeOutcome, MergeSkip};
use super::verifications::Verifications;

/// How far a branch is in the merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum MergeStage {
    /// Main has not moved for it yet.
    Waiting,
    /// It is tested, and main is about to move. Saved before that happens.
    Advancing {
        from: String,
        to: String,
        #[serde(rename = "ground")]
        evidence: MergeEvidence,
    },
    Over(MergeOutcome),
}

/// One branch of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeEntry {
    pub agent: AgentId,
    pub branch: BranchName,
    /// The tip of the branch when the merge was planned.
    pub tip: String,
    /// Agents of the merge that have to be merged before it.
    pub needs: Vec<AgentId>,
    /// Whether this tip is proven, or declared verified by the supervisor or the user.
    pub verified: bool,
    /// Whether a signed proof says so.
    #[serde(default)]
    pub proven: bool,
    #[serde(flatten)]
    pub stage: MergeStage,
}

impl MergeEntry {
    pub fn outcome(&self) -> Option<&MergeOutcome> {
        match &self.stage {
            MergeStage::Over(outcome) => Some(outcome),
            MergeStage::Waiting | MergeStage::Advancing { .. } => None,
        }
    }
}

/// A member whose branch exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeCandidate {
    pub member: MergeMember,
    pub tip: String,
}

/// The entries in merge order; those in a cycle come last and are finished already. The results of an interrupted merge
/// are kept for branches with the same tip.
pub fn plan(
    candidates: &[MergeCandidate],
    verifications: &Verifications,
    done: &[MergeEntry],
) -> (Vec<MergeEntry>, MergeOrder) {
    let agents: Vec<AgentId> = candidates.iter().map(|candidate| candidate.member.agent.clone()).collect();
    let order = order::order(&agents, &verifications.edges);
    let entry = |agent: &AgentId, stage: MergeStage| {
        let candidate = candidates.iter().find(|candidate| candidate.member.agent == *agent)?;
        let needs =
            verifications.edges.iter().filter(|edge| edge.dependent == *agent && agents.contains(&edge.on));
        Some(MergeEntry {
            agent: agent.clone(),
            branch: candidate.member.branch.clone(),
            tip: candidate.tip.clone(),
            needs: needs.map(|edge| edge.on.clone()).collect(),
            verified: verifications.is_proven(&candidate.tip)
                || verifications.is_verified(agent, &candidate.tip),
            proven: verifications.is_proven(&candidate.tip),
            stage: previous_stage(done, candidate).unwrap_or(stage),
        })
    };
    let sorted = order.sequence.iter().filter_map(|agent| entry(agent, MergeStage::Waiting));
    let circle = |with: &Vec<AgentId>| MergeStage::Over(MergeOutcome::Cycle { with: with.clone() });
    let circular =
        order.cycles.iter().flat_map(|cycle| cycle.iter().map(move |agent| (agent, circle(cycle))));
    let circular = circular.filter_map(|(agent, stage)| entry(agent, stage));
    let entries = sorted.chain(circular).collect();
    (entries, order)
}

/// An earlier result that is still valid: merged, or tests failed. Other obstacles may be gone.
fn previous_stage(done: &[MergeEntry], candidate: &MergeCandidate) -> Option<MergeStage> {
    let same = |entry: &&MergeEntry| entry.branch == candidate.member.branch;
    let entry = done.iter().find(same)?;
    match &entry.stage {
        MergeStage::Over(MergeOutcome::Merged { commit, .. })
            if candidate.tip == entry.tip || candidate.tip == *commit =>
        {
            Some(entry.stage.clone())
        }
        MergeStage::Over(MergeOutcome::Regression { .. }) if candidate.tip == entry.tip => {
            Some(entry.stage.clone())
        }
        MergeStage::Waiting | MergeStage::Advancing { .. } | MergeStage::Over(_) => None,
    }
}

/// Completes or resets an interrupted move, depending on whether main has the commit now.
pub fn settle_interrupted(entry: &mut MergeEntry, main_has: bool) {
    if let MergeStage::Advancing { from, to, evidence } = &entry.stage {
        entry.stage = if main_has {
            let rebased_from = (*to != entry.tip).then(|| entry.tip.clone());
            MergeStage::Over(MergeOutcome::Merged {
                from: from.clone(),
                commit: to.clone(),
                evidence: *evidence,
                rebased_from,
            })
        } else {
            MergeStage::Waiting
        };
    }
}

/// How a branch relates to main.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchRelation {
    /// Main contains it.
    Contained,
    /// It contains main and more.
    Ahead,
    /// Both have commits that the other lacks.
    Diverged,
}

/// What to do with a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeAction {
    Nothing,
    FastForward,
    Rebase,
    Skip(MergeSkip),
}

/// Fast-forward only: a diverged branch is rebased onto main if `rebase` is set, and skipped otherwise.
pub fn next_action(
    entry: &MergeEntry,
    entries: &[MergeEntry],
    relation: BranchRelation,
    rebase: bool,
) -> MergeAction {
    match relation {
        BranchRelation::Contained => MergeAction::Nothing,
        BranchRelation::Ahead | BranchRelation::Diverged if let Some(on) = unmet(entry, entries) => {
            MergeAction::Skip(MergeSkip::Waits { on: on.clone() })
        }
        BranchRelation::Ahead => MergeAction::FastForward,
        BranchRelation::Diverged if rebase => MergeAction::Rebase,
        BranchRelation::Diverged => MergeAction::Skip(MergeSkip::Diverged),
    }
}

/// An agent the branch depends on that is not merged.
fn unmet<'a>(entry: &'a MergeEntry, entries: &[MergeEntry]) -> Option<&'a AgentId> {
    let is_out = |on: &&AgentId| {
        entries.iter().any(|other| other.agent == **on && !other.outcome().is_some_and(MergeOutcome::is_in))
    };
    entry.needs.iter().find(is_out)
}

/// What to do with a tested commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeDecision {
    Advance(MergeEvidence),
    Reject(Vec<String>),
    Skip(MergeSkip),
}

/// Main moves only to a commit that was tested, or that the supervisor or the user verified.
pub fn decide(proof: CommitTestResult, is_verified: bool) -> MergeDecision {
    match proof {
        CommitTestResult::Passed => MergeDecision::Advance(MergeEvidence::Tested),
        CommitTestResult::Failed { errors } => MergeDecision::Reject(errors),
        CommitTestResult::Unproven { .. } if is_verified => MergeDecision::Advance(MergeEvidence::Verified),
        CommitTestResult::Unproven { why } => MergeDecision::Skip(MergeSkip::Unproven { why }),
    }
}

#[cfg(test)]
mod tests;
