//! Runs a merge: one branch after the other, each tested before main moves.

use jiff::Timestamp;
use paw_broker::Message;
use paw_core::text::short_commit;
use paw_core::{AgentId, BranchName, PawError};
use paw_worktree::advance::{self, AdvanceResult};
use paw_worktree::rescue;

use super::messages::{MarkedMessage, MergeMessages};
use super::outcome::{CommitTestResult, MergeOutcome, MergeSkip};
use super::plan::{self, MergeAction, MergeDecision, MergeEntry, MergeStage};
use super::planned_merge::{PlannedMerge, branch_relation, require_base};
use super::{MergeError, MergeLock, MergeReport, MergeStep, RemoteWorktrees, TestedCommit};
use crate::gates::{GateCheckout, GateCheckouts, MERGE_REFLOG, MergeTrial};

/// How often to retry a branch because main moved during its test.
const TRIES: usize = 3;

/// The callbacks of a merge.
pub struct MergeCallbacks<'a> {
    /// Tests a commit. Main moves to it only if this succeeds.
    pub prove: &'a mut dyn FnMut(&TestedCommit<'_>) -> Result<CommitTestResult, PawError>,
    /// Sends a message.
    pub send: &'a mut dyn FnMut(&Message) -> Result<(), PawError>,
    /// Shows a line of progress.
    pub on_line: &'a mut dyn FnMut(&str),
    /// Called at each step, with the branch it is about.
    pub on_step: &'a mut dyn FnMut(MergeStep, Option<&BranchName>),
    /// Where commits are tested.
    pub checkouts: &'a GateCheckouts,
    /// The branches on other machines, in a session that has some.
    pub remote: Option<&'a dyn RemoteWorktrees>,
    /// The sender of the messages.
    pub sender: &'a AgentId,
    pub now: &'a dyn Fn() -> Timestamp,
}

impl std::fmt::Debug for MergeCallbacks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergeCallbacks").field("sender", self.sender).finish_non_exhaustive()
    }
}

impl PlannedMerge {
    /// Runs the merge. If it is interrupted, main is unchanged or at a tested commit, and the next merge resumes it.
    pub fn run(
        mut self,
        _lock: MergeLock,
        rebase: bool,
        callbacks: &mut MergeCallbacks<'_>,
    ) -> Result<MergeReport, MergeError> {
        self.save(MergeStep::Planned, None, callbacks)?;
        let mut checkout = None;
        for index in 0..self.run.entries.len() {
            if self.run.entries[index].outcome().is_none() {
                let outcome = self.attempt(index, rebase, &mut checkout, callbacks)?;
                self.run.entries[index].stage = MergeStage::Over(outcome);
                self.save(MergeStep::Recorded, Some(index), callbacks)?;
            }
            self.move_rebased_branch(index, callbacks)?;
            let merged_at = (callbacks.now)().to_string();
            let message = self.messages(callbacks.sender).about(&self.run.entries[index], &merged_at);
            if let Some(message) = message {
                self.send(&message, callbacks);
                (callbacks.on_step)(MergeStep::Reported, Some(&self.run.entries[index].branch));
            }
        }
        drop(checkout);
        for cycle in self.cycles.clone() {
            let question = self.messages(callbacks.sender).about_cycle(&cycle);
            self.send(&question, callbacks);
        }
        let summary = self.messages(callbacks.sender).summary(&self.run.entries);
        self.send(&summary, callbacks);
        (callbacks.on_step)(MergeStep::Summarised, None);
        let after = require_base(&self.repo.git(), &self.run.base)?;
        let Self { journal, run, cycles, resumed, notes, .. } = self;
        journal.close()?;
        Ok(MergeReport {
            base: run.base,
            before: run.before,
            after,
            resumed,
            entries: run.entries,
            cycles,
            notes,
        })
    }

    /// Tests one branch and moves main.
    fn attempt(
        &mut self,
        index: usize,
        rebase: bool,
        checkout: &mut Option<GateCheckout>,
        callbacks: &mut MergeCallbacks<'_>,
    ) -> Result<MergeOutcome, MergeError> {
        let git = self.repo.git();
        for _ in 0..TRIES {
            let main = require_base(&git, &self.run.base)?;
            let entry = self.run.entries[index].clone();
            let relation = branch_relation(&git, &entry.tip, &main)?;
            let next = plan::next_action(&entry, &self.run.entries, relation, rebase);
            let skipped = |why| Ok(MergeOutcome::Skipped { why });
            match &next {
                MergeAction::Nothing => return Ok(MergeOutcome::UpToDate),
                MergeAction::Skip(why) => return skipped(why.clone()),
                MergeAction::FastForward => {}
                MergeAction::Rebase => {
                    if let Some(why) = self.find_obstacle(&entry.branch, callbacks.remote)? {
                        return skipped(why);
                    }
                }
            }
            let checkout = match checkout {
                Some(checkout) => checkout,
                None => checkout.insert(callbacks.checkouts.open(&self.run.base, callbacks.on_line)?),
            };
            let trial = MergeTrial::begin(checkout)?;
            let commit = if next == MergeAction::Rebase {
                match trial.rebase(&entry.tip, &main)? {
                    Ok(commit) if commit == main => return Ok(MergeOutcome::UpToDate),
                    Ok(commit) => commit,
                    Err(reason) => return skipped(MergeSkip::Conflicts { reason }),
                }
            } else {
                entry.tip.clone()
            };
            (callbacks.on_step)(MergeStep::Testing, Some(&entry.branch));
            trial.check_out(&commit)?;
            let tested = TestedCommit { files: checkout.files(), commit: &commit, branch: &entry.branch };
            let proof = (callbacks.prove)(&tested).map_err(MergeError::Proof)?;
            (callbacks.on_step)(MergeStep::Proven, Some(&entry.branch));
            let evidence = match plan::decide(proof, entry.verified && commit == entry.tip) {
                MergeDecision::Advance(evidence) => evidence,
                MergeDecision::Skip(why) => return skipped(why),
                MergeDecision::Reject(errors) => {
                    // What the failed run left behind is gone before main itself is tested.
                    drop(trial);
                    let reason = format!("merge: gates fail on top of {}", self.run.base);
                    let rescue = rescue::store_commit(&self.repo, &entry.branch, &commit, &reason)?.reference;
                    let main_fails = self.main_fails(checkout, &main, callbacks)?;
                    return Ok(MergeOutcome::Regression { commit, errors, rescue, main_fails });
                }
            };
            self.run.entries[index].stage =
                MergeStage::Advancing { from: main.clone(), to: commit.clone(), evidence };
            self.save(MergeStep::Advancing, Some(index), callbacks)?;
            let why = format!("{MERGE_REFLOG} {}", entry.branch);
            match advance::fast_forward(&self.repo, &self.run.base, (&main, &commit), &why)? {
                AdvanceResult::Done => {
                    (callbacks.on_step)(MergeStep::Advanced, Some(&entry.branch));
                    trial.accept()?;
                    let rebased_from = (commit != entry.tip).then(|| entry.tip.clone());
                    return Ok(MergeOutcome::Merged { from: main, commit, evidence, rebased_from });
                }
                AdvanceResult::Refused(why) => return skipped(MergeSkip::Refused { why }),
                AdvanceResult::Moved => self.run.entries[index].stage = MergeStage::Waiting,
            }
        }
        Ok(MergeOutcome::Skipped { why: MergeSkip::BaseKeptMoving })
    }

    /// Why a branch cannot be rebased now, where it is checked out.
    fn find_obstacle(
        &self,
        branch: &BranchName,
        remote: Option<&dyn RemoteWorktrees>,
    ) -> Result<Option<MergeSkip>, MergeError> {
        let why = match remote.filter(|remote| remote.has(branch)) {
            Some(remote) => match remote.find_obstacle(branch) {
                Ok(why) => why,
                Err(why) => return Ok(Some(MergeSkip::Unreachable { why })),
            },
            None => advance::find_obstacle(&self.repo, branch)?,
        };
        Ok(why.map(|why| MergeSkip::NotReady { why }))
    }

    /// Whether the gates fail on main itself. Tested once per commit of main.
    fn main_fails(
        &mut self,
        checkout: &GateCheckout,
        main: &str,
        callbacks: &mut MergeCallbacks<'_>,
    ) -> Result<bool, MergeError> {
        if let Some((commit, fails)) = &self.baseline
            && commit == main
        {
            return Ok(*fails);
        }
        checkout.check_out(main)?;
        let tested = TestedCommit { files: checkout.files(), commit: main, branch: &self.run.base };
        let proof = (callbacks.prove)(&tested).map_err(MergeError::Proof)?;
        let fails = matches!(proof, CommitTestResult::Failed { .. });
        self.baseline = Some((main.to_owned(), fails));
        Ok(fails)
    }

    /// Moves a branch that was rebased for the merge to its new commit and saves the old tip. A branch that moved meanwhile
    /// is left alone.
    fn move_rebased_branch(
        &mut self,
        index: usize,
        callbacks: &mut MergeCallbacks<'_>,
    ) -> Result<(), MergeError> {
        let MergeEntry { branch, stage, .. } = &self.run.entries[index];
        let MergeStage::Over(MergeOutcome::Merged { commit, rebased_from: Some(old), .. }) = stage else {
            return Ok(());
        };
        if self.repo.git().find_tip(branch)?.as_ref() != Some(old) {
            return Ok(());
        }
        let why = format!("{MERGE_REFLOG}: rebased onto {}", self.run.base);
        let kept = rescue::store_tip(&self.repo, branch, "before rebase")?;
        let there = match callbacks.remote.filter(|remote| remote.has(branch)) {
            Some(remote) => remote.move_branch(branch, (old, commit)).unwrap_or_else(AdvanceResult::Refused),
            None => AdvanceResult::Done,
        };
        let moved = match there {
            AdvanceResult::Done => advance::move_branch(&self.repo, branch, (old, commit), &why)?,
            other => other,
        };
        let note = match moved {
            AdvanceResult::Done => {
                format!(
                    "{branch} was rebased; its old tip {} is saved as {}",
                    short_commit(old),
                    kept.reference
                )
            }
            AdvanceResult::Moved => {
                format!("{branch} moved during the merge and was not rebased; main has its work")
            }
            AdvanceResult::Refused(why) => {
                format!("{branch} was not rebased ({why}); main has its work")
            }
        };
        (callbacks.on_step)(MergeStep::BranchRebased, Some(branch));
        self.notes.push(note);
        Ok(())
    }

    /// Sends a message, unless the interrupted merge sent it already. A failure to send does not stop the merge.
    fn send(&mut self, MarkedMessage { mark, message }: &MarkedMessage, callbacks: &mut MergeCallbacks<'_>) {
        if self.verifications.was_sent(mark) {
            return;
        }
        if let Some(remote) = callbacks.remote {
            self.notes.extend(remote.push_base(&self.run.base));
        }
        if let Err(error) = (callbacks.send)(message) {
            self.notes.push(format!("could not send {}: {error}", message.type_name()));
        }
    }

    fn save(
        &self,
        step: MergeStep,
        index: Option<usize>,
        callbacks: &mut MergeCallbacks<'_>,
    ) -> Result<(), MergeError> {
        self.journal.save(&self.run)?;
        (callbacks.on_step)(step, index.map(|index| &self.run.entries[index].branch));
        Ok(())
    }

    fn messages<'a>(&'a self, me: &'a AgentId) -> MergeMessages<'a> {
        MergeMessages { run: self.run.id(), me, base: &self.run.base }
    }
}
