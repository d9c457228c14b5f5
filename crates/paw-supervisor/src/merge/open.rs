//! A merge that is planned: who comes when, and what would happen.

use jiff::Timestamp;
use paw_core::{AgentId, BranchName};
use paw_host::git::{Git, GitError, Repo};

use super::MergeError;
use super::journal::{Journal, Run};
use super::outcome::Outcome;
use super::plan::{self, Candidate, Entry, Move, Relation, Stage};
use super::team::Member;
use super::testimony::Testimony;

/// A merge that is planned. Nobody else can merge in this repository until it is dropped.
#[derive(Debug)]
pub struct Merge {
    pub(super) repo: Repo,
    pub(super) journal: Journal,
    pub(super) run: Run,
    pub(super) cycles: Vec<Vec<AgentId>>,
    pub(super) testimony: Testimony,
    pub(super) resumed: bool,
    pub(super) notes: Vec<String>,
    /// A commit of main, and whether its own tests fail.
    pub(super) baseline: Option<(String, bool)>,
}

impl Merge {
    /// Plans a merge of the members' branches into `base`. A merge that ended too early is gone on with: what it has
    /// done is not done again, and everything else is decided by how things are now. Nothing is changed yet.
    pub fn open(
        repo: &Repo,
        base: &BranchName,
        members: &[Member],
        testimony: Testimony,
        now: Timestamp,
    ) -> Result<Self, MergeError> {
        let git = repo.git();
        let journal = Journal::open(&repo.common_dir)?;
        let main = require_base(&git, base)?;
        let left = journal.load()?.filter(|run| run.base == *base);
        let resumed = left.is_some();
        let mut run = left.unwrap_or_else(|| Run::new(now, base.clone(), main.clone()));
        for entry in &mut run.entries {
            let has = match &entry.stage {
                Stage::Advancing { to, .. } => git.is_ancestor(to, &main)?,
                Stage::Waiting | Stage::Over(_) => false,
            };
            plan::settle(entry, has);
        }
        let mut notes = Vec::new();
        let mut candidates = Vec::new();
        for member in members {
            match git.find_tip(&member.branch)? {
                Some(tip) => candidates.push(Candidate { member: member.clone(), tip }),
                None => notes.push(format!("{} does not exist any more", member.branch)),
            }
        }
        let (entries, order) = plan::plan(&candidates, &testimony, &run.entries);
        for edge in &testimony.edges {
            let takes_part = |agent: &AgentId| entries.iter().any(|entry| entry.agent == *agent);
            if takes_part(&edge.dependent) && !takes_part(&edge.on) && is_an_agent(&edge.on) {
                notes.push(format!("{} depends on {}, which takes no part", edge.dependent, edge.on));
            }
        }
        // What is merged already stays in the report, whoever takes part this time.
        let mut kept: Vec<Entry> = run.entries.into_iter().filter(|entry| is_kept(entry, &entries)).collect();
        kept.extend(entries);
        run.entries = kept;
        Ok(Self {
            repo: repo.clone(),
            journal,
            run,
            cycles: order.cycles,
            testimony,
            resumed,
            notes,
            baseline: None,
        })
    }

    /// The branches, in the order of the merge.
    pub fn entries(&self) -> &[Entry] {
        &self.run.entries
    }

    /// Those who wait for each other.
    pub fn cycles(&self) -> &[Vec<AgentId>] {
        &self.cycles
    }

    /// What else somebody should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Those that have something to merge which nobody in charge has checked.
    pub fn unverified(&self) -> Result<Vec<&Entry>, MergeError> {
        let git = self.repo.git();
        let mut found = Vec::new();
        for entry in self.run.entries.iter().filter(|entry| !entry.verified && entry.stage == Stage::Waiting)
        {
            if !git.is_ancestor(&entry.tip, &self.run.base.full_ref())? {
                found.push(entry);
            }
        }
        Ok(found)
    }

    /// What would happen if every proof succeeded. Those that are over already are left out.
    pub fn forecast(&self, rebase: bool) -> Result<Vec<(Entry, Move)>, MergeError> {
        let git = self.repo.git();
        let mut main = require_base(&git, &self.run.base)?;
        let mut entries = self.run.entries.clone();
        let (mut moves, mut is_rewritten) = (Vec::new(), false);
        for index in 0..entries.len() {
            let entry = entries[index].clone();
            if entry.outcome().is_some() {
                continue;
            }
            let relation = match relation(&git, &entry.tip, &main)? {
                // A commit that does not exist yet is in no branch.
                Relation::Ahead if is_rewritten => Relation::Diverged,
                relation => relation,
            };
            let next = plan::next_move(&entry, &entries, relation, rebase);
            entries[index].stage = Stage::Over(match &next {
                Move::Skip(why) => Outcome::Skipped { why: why.clone() },
                Move::Nothing | Move::FastForward | Move::Rebase => Outcome::UpToDate,
            });
            match next {
                Move::FastForward => main.clone_from(&entry.tip),
                Move::Rebase => is_rewritten = true,
                Move::Nothing | Move::Skip(_) => {}
            }
            moves.push((entry, next));
        }
        Ok(moves)
    }
}

/// The commit `base` is at.
pub(super) fn require_base(git: &Git, base: &BranchName) -> Result<String, MergeError> {
    git.find_tip(base)?.ok_or_else(|| MergeError::NoBase(Some(base.clone())))
}

pub(super) fn relation(git: &Git, tip: &str, main: &str) -> Result<Relation, GitError> {
    Ok(if git.is_ancestor(tip, main)? {
        Relation::Contained
    } else if git.is_ancestor(main, tip)? {
        Relation::Ahead
    } else {
        Relation::Diverged
    })
}

fn is_an_agent(id: &AgentId) -> bool {
    !matches!(id.as_str(), AgentId::SUPERVISOR | AgentId::OPERATOR)
}

/// Merged before the last end, and not planned again.
fn is_kept(entry: &Entry, planned: &[Entry]) -> bool {
    matches!(entry.stage, Stage::Over(Outcome::Merged { .. }))
        && !planned.iter().any(|other| other.branch == entry.branch)
}
