//! Plans a merge: the order of the branches and what would happen to each.

use jiff::Timestamp;
use paw_core::{AgentId, BranchName};
use paw_host::git::{Git, GitError, Repo};

use super::MergeError;
use super::journal::{MergeJournal, MergeRun};
use super::members::MergeMember;
use super::outcome::MergeOutcome;
use super::plan::{self, BranchRelation, MergeAction, MergeCandidate, MergeEntry, MergeStage};
use super::verifications::Verifications;

/// A planned merge.
#[derive(Debug)]
pub struct PlannedMerge {
    pub(super) repo: Repo,
    pub(super) journal: MergeJournal,
    pub(super) run: MergeRun,
    pub(super) cycles: Vec<Vec<AgentId>>,
    pub(super) verifications: Verifications,
    pub(super) resumed: bool,
    pub(super) notes: Vec<String>,
    /// A commit of main, and whether its tests fail.
    pub(super) baseline: Option<(String, bool)>,
}

impl PlannedMerge {
    /// Plans a merge of the members' branches into `base`, without changing anything. An interrupted merge is resumed:
    /// finished branches are kept, and the rest is planned from the current state. Take the [`MergeLock`] before, unless this is
    /// a forecast.
    ///
    /// [`MergeLock`]: super::MergeLock
    pub fn open(
        repo: &Repo,
        base: &BranchName,
        members: &[MergeMember],
        verifications: Verifications,
        now: Timestamp,
    ) -> Result<Self, MergeError> {
        let git = repo.git();
        let journal = MergeJournal::of(&repo.common_dir);
        let main = require_base(&git, base)?;
        let left = journal.load()?.filter(|run| run.base == *base);
        let resumed = left.is_some();
        let mut run = left.unwrap_or_else(|| MergeRun::new(now, base.clone(), main.clone()));
        for entry in &mut run.entries {
            let has = match &entry.stage {
                MergeStage::Advancing { to, .. } => git.is_ancestor(to, &main)?,
                MergeStage::Waiting | MergeStage::Over(_) => false,
            };
            plan::settle_interrupted(entry, has);
        }
        let mut notes = Vec::new();
        let mut candidates = Vec::new();
        for member in members {
            match git.find_tip(&member.branch)? {
                Some(tip) => candidates.push(MergeCandidate { member: member.clone(), tip }),
                None => notes.push(format!("{} no longer exists", member.branch)),
            }
        }
        let (entries, order) = plan::plan(&candidates, &verifications, &run.entries);
        for edge in &verifications.edges {
            let takes_part = |agent: &AgentId| entries.iter().any(|entry| entry.agent == *agent);
            if takes_part(&edge.dependent) && !takes_part(&edge.on) && is_an_agent(&edge.on) {
                notes.push(format!(
                    "{} depends on {}, which is not part of this merge",
                    edge.dependent, edge.on
                ));
            }
        }
        // Branches merged before the interruption stay in the report.
        let mut kept: Vec<MergeEntry> =
            run.entries.into_iter().filter(|entry| is_kept(entry, &entries)).collect();
        kept.extend(entries);
        run.entries = kept;
        Ok(Self {
            repo: repo.clone(),
            journal,
            run,
            cycles: order.cycles,
            verifications,
            resumed,
            notes,
            baseline: None,
        })
    }

    /// The branches, in the order of the merge.
    pub fn entries(&self) -> &[MergeEntry] {
        &self.run.entries
    }

    /// Groups of agents that depend on each other.
    pub fn cycles(&self) -> &[Vec<AgentId>] {
        &self.cycles
    }

    /// Further remarks for the user.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The branches with unmerged commits whose tip is not verified.
    pub fn unverified(&self) -> Result<Vec<&MergeEntry>, MergeError> {
        let git = self.repo.git();
        let mut found = Vec::new();
        for entry in
            self.run.entries.iter().filter(|entry| !entry.verified && entry.stage == MergeStage::Waiting)
        {
            if !git.is_ancestor(&entry.tip, &self.run.base.full_ref())? {
                found.push(entry);
            }
        }
        Ok(found)
    }

    /// What would happen if all tests passed. Finished branches are left out.
    pub fn forecast(&self, rebase: bool) -> Result<Vec<(MergeEntry, MergeAction)>, MergeError> {
        let git = self.repo.git();
        let mut main = require_base(&git, &self.run.base)?;
        let mut entries = self.run.entries.clone();
        let (mut moves, mut is_rewritten) = (Vec::new(), false);
        for index in 0..entries.len() {
            let entry = entries[index].clone();
            if entry.outcome().is_some() {
                continue;
            }
            let relation = match branch_relation(&git, &entry.tip, &main)? {
                // After a rebase, no existing branch contains main's new tip.
                BranchRelation::Ahead if is_rewritten => BranchRelation::Diverged,
                relation => relation,
            };
            let next = plan::next_action(&entry, &entries, relation, rebase);
            entries[index].stage = MergeStage::Over(match &next {
                MergeAction::Skip(why) => MergeOutcome::Skipped { why: why.clone() },
                MergeAction::Nothing | MergeAction::FastForward | MergeAction::Rebase => {
                    MergeOutcome::UpToDate
                }
            });
            match next {
                MergeAction::FastForward => main.clone_from(&entry.tip),
                MergeAction::Rebase => is_rewritten = true,
                MergeAction::Nothing | MergeAction::Skip(_) => {}
            }
            moves.push((entry, next));
        }
        Ok(moves)
    }
}

/// The tip of `base`.
pub(super) fn require_base(git: &Git, base: &BranchName) -> Result<String, MergeError> {
    git.find_tip(base)?.ok_or_else(|| MergeError::NoBase(Some(base.clone())))
}

pub(super) fn branch_relation(git: &Git, tip: &str, main: &str) -> Result<BranchRelation, GitError> {
    Ok(if git.is_ancestor(tip, main)? {
        BranchRelation::Contained
    } else if git.is_ancestor(main, tip)? {
        BranchRelation::Ahead
    } else {
        BranchRelation::Diverged
    })
}

fn is_an_agent(id: &AgentId) -> bool {
    !matches!(id.as_str(), AgentId::SUPERVISOR | AgentId::OPERATOR)
}

/// Whether it was merged before the interruption and is not planned again.
fn is_kept(entry: &MergeEntry, planned: &[MergeEntry]) -> bool {
    matches!(entry.stage, MergeStage::Over(MergeOutcome::Merged { .. }))
        && !planned.iter().any(|other| other.branch == entry.branch)
}
