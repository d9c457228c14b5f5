//! The merge itself: one branch after the other, each proven before main moves.

use jiff::Timestamp;
use paw_broker::Message;
use paw_core::text::short_commit;
use paw_core::{AgentId, BranchName, PawError};
use paw_worktree::rescue;

use super::advance::{self, Advanced};
use super::open::{Merge, relation, require_base};
use super::outcome::{Outcome, Skip, TestResult};
use super::plan::{self, Entry, Move, Stage, Verdict};
use super::test_worktree::{self, TestWorktree};
use super::words::{Marked, Speaker};
use super::{MergeError, MergeReport, MergeStep, TestedCommit};

/// How often a branch is looked at anew because others moved main meanwhile.
const TRIES: usize = 3;

/// What a merge needs of whoever runs it.
pub struct Hands<'a> {
    /// Puts a commit to the proof. Only this decides whether main may move to it.
    pub prove: &'a mut dyn FnMut(&TestedCommit<'_>) -> Result<TestResult, PawError>,
    /// Sends a message.
    pub tell: &'a mut dyn FnMut(&Message) -> Result<(), PawError>,
    /// Hears how far it has come, and about which branch.
    pub on_step: &'a mut dyn FnMut(MergeStep, Option<&BranchName>),
    /// In whose name messages are sent.
    pub me: &'a AgentId,
    pub now: &'a dyn Fn() -> Timestamp,
}

impl std::fmt::Debug for Hands<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hands").field("me", self.me).finish_non_exhaustive()
    }
}

impl Merge {
    /// Merges. Whatever ends it early, main is where it was or at a commit that was proven, and the next merge goes on
    /// from there.
    pub fn run(mut self, rebase: bool, hands: &mut Hands<'_>) -> Result<MergeReport, MergeError> {
        test_worktree::clear_left(&self.repo)?;
        self.save(MergeStep::Planned, None, hands)?;
        let mut worktree = None;
        for index in 0..self.run.entries.len() {
            if self.run.entries[index].outcome().is_none() {
                let outcome = self.attempt(index, rebase, &mut worktree, hands)?;
                self.run.entries[index].stage = Stage::Over(outcome);
                self.save(MergeStep::Recorded, Some(index), hands)?;
            }
            self.bring_up(index, hands)?;
            let merged_at = (hands.now)().to_string();
            let message = self.speaker(hands.me).about(&self.run.entries[index], &merged_at);
            if let Some(message) = message {
                self.tell(&message, hands);
                (hands.on_step)(MergeStep::Told, Some(&self.run.entries[index].branch));
            }
        }
        drop(worktree);
        for cycle in self.cycles.clone() {
            let question = self.speaker(hands.me).about_cycle(&cycle);
            self.tell(&question, hands);
        }
        let summary = self.speaker(hands.me).summary(&self.run.entries);
        self.tell(&summary, hands);
        (hands.on_step)(MergeStep::Summarised, None);
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

    /// One branch, up to and including main's move.
    fn attempt(
        &mut self,
        index: usize,
        rebase: bool,
        worktree: &mut Option<TestWorktree>,
        hands: &mut Hands<'_>,
    ) -> Result<Outcome, MergeError> {
        let git = self.repo.git();
        for _ in 0..TRIES {
            let main = require_base(&git, &self.run.base)?;
            let entry = self.run.entries[index].clone();
            let relation = relation(&git, &entry.tip, &main)?;
            let next = plan::next_move(&entry, &self.run.entries, relation, rebase);
            let skipped = |why| Ok(Outcome::Skipped { why });
            match &next {
                Move::Nothing => return Ok(Outcome::UpToDate),
                Move::Skip(why) => return skipped(why.clone()),
                Move::FastForward => {}
                Move::Rebase => {
                    if let Some(why) = advance::find_obstacle(&self.repo, &entry.branch)? {
                        return skipped(Skip::Unsettled { why });
                    }
                }
            }
            let worktree = match worktree {
                Some(worktree) => worktree,
                None => worktree.insert(TestWorktree::open(&self.repo, &main)?),
            };
            let commit = if next == Move::Rebase {
                match worktree.rebase(&entry.tip, &main)? {
                    Ok(commit) if commit == main => return Ok(Outcome::UpToDate),
                    Ok(commit) => commit,
                    Err(said) => return skipped(Skip::Conflicts { said }),
                }
            } else {
                entry.tip.clone()
            };
            (hands.on_step)(MergeStep::Testing, Some(&entry.branch));
            worktree.check_out(&commit)?;
            let checkout = TestedCommit { dir: worktree.dir(), commit: &commit, branch: &entry.branch };
            let proof = (hands.prove)(&checkout).map_err(MergeError::Proof)?;
            (hands.on_step)(MergeStep::Proven, Some(&entry.branch));
            let ground = match plan::judge(proof, entry.verified && commit == entry.tip) {
                Verdict::Advance(ground) => ground,
                Verdict::Skip(why) => return skipped(why),
                Verdict::Reject(errors) => {
                    let reason = format!("merge: tests fail on top of {}", self.run.base);
                    let rescue = worktree.keep(&entry.branch, &commit, &reason)?;
                    let main_fails = self.main_fails(worktree, &main, hands)?;
                    return Ok(Outcome::Regression { commit, errors, rescue, main_fails });
                }
            };
            self.run.entries[index].stage =
                Stage::Advancing { from: main.clone(), to: commit.clone(), ground };
            self.save(MergeStep::Advancing, Some(index), hands)?;
            let why = format!("git paw merge {}", entry.branch);
            match advance::fast_forward(&self.repo, &self.run.base, (&main, &commit), &why)? {
                Advanced::Done => {
                    (hands.on_step)(MergeStep::Advanced, Some(&entry.branch));
                    let rebased_from = (commit != entry.tip).then(|| entry.tip.clone());
                    return Ok(Outcome::Merged { from: main, commit, ground, rebased_from });
                }
                Advanced::Refused(why) => return skipped(Skip::Refused { why }),
                Advanced::Moved => self.run.entries[index].stage = Stage::Waiting,
            }
        }
        Ok(Outcome::Skipped { why: Skip::Restless })
    }

    /// Whether main fails its tests without the branch. Found out once for each commit of main.
    fn main_fails(
        &mut self,
        worktree: &TestWorktree,
        main: &str,
        hands: &mut Hands<'_>,
    ) -> Result<bool, MergeError> {
        if let Some((commit, fails)) = &self.baseline
            && commit == main
        {
            return Ok(*fails);
        }
        worktree.check_out(main)?;
        let checkout = TestedCommit { dir: worktree.dir(), commit: main, branch: &self.run.base };
        let proof = (hands.prove)(&checkout).map_err(MergeError::Proof)?;
        let fails = matches!(proof, TestResult::Failed { .. });
        self.baseline = Some((main.to_owned(), fails));
        Ok(fails)
    }

    /// A branch that was rebased to be merged follows, and its old tip is kept. One that has moved on is left alone.
    fn bring_up(&mut self, index: usize, hands: &mut Hands<'_>) -> Result<(), MergeError> {
        let Entry { branch, stage, .. } = &self.run.entries[index];
        let Stage::Over(Outcome::Merged { commit, rebased_from: Some(old), .. }) = stage else {
            return Ok(());
        };
        if self.repo.git().find_tip(branch)?.as_ref() != Some(old) {
            return Ok(());
        }
        let why = format!("git paw merge: rebased onto {}", self.run.base);
        let kept = rescue::store_tip(&self.repo, branch, "before rebase")?;
        let note = match advance::put(&self.repo, branch, (old, commit), &why)? {
            Advanced::Done => {
                format!("{branch} was rebased; its old tip {} is {}", short_commit(old), kept.reference)
            }
            Advanced::Moved => format!("{branch} has moved on: it was not rebased, though main has its work"),
            Advanced::Refused(why) => format!("{branch} stays where it is, though main has its work: {why}"),
        };
        (hands.on_step)(MergeStep::BroughtUp, Some(branch));
        self.notes.push(note);
        Ok(())
    }

    /// A message that was stored before the last end is not sent again. One that cannot be sent undoes nothing.
    fn tell(&mut self, Marked { mark, message }: &Marked, hands: &mut Hands<'_>) {
        if self.testimony.has_heard(mark) {
            return;
        }
        if let Err(error) = (hands.tell)(message) {
            self.notes.push(format!("could not send {}: {error}", message.type_name()));
        }
    }

    fn save(&self, step: MergeStep, index: Option<usize>, hands: &mut Hands<'_>) -> Result<(), MergeError> {
        self.journal.save(&self.run)?;
        (hands.on_step)(step, index.map(|index| &self.run.entries[index].branch));
        Ok(())
    }

    fn speaker<'a>(&'a self, me: &'a AgentId) -> Speaker<'a> {
        Speaker { run: self.run.id(), me, base: &self.run.base }
    }
}
