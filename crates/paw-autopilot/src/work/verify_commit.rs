//! Compares a commit with what was proven: hooks run between the two and can change it.

use std::path::PathBuf;

use serde_json::json;

use super::head::current_head;
use super::snapshot::is_own_file;
use super::{ActiveRun, Tester, WorkError};
use crate::engine::RunEvent;
use crate::evidence::changes::between_trees;
use crate::evidence::{RedProof, judge_green};

impl ActiveRun {
    /// Checks the commit that was just made. A commit that hooks changed is tested again; if it is not proven, it is
    /// undone and the reason is returned.
    pub(super) fn verify_commit(
        &mut self,
        proven: &str,
        red: &RedProof,
    ) -> Result<Result<(), String>, WorkError> {
        let (branch, sha) = current_head(&self.context.git)?;
        let parent = self.context.git.find_object("HEAD^", "commit")?;
        if branch != self.run.branch || parent != self.run.head {
            let what = format!("a hook made other commits or switched branches; HEAD is {sha} now");
            self.apply(RunEvent::HeadMoved { what: what.clone() })?;
            return Err(WorkError::Paused(what));
        }
        let unproven = self.find_unproven(proven)?;
        if !unproven.is_empty() {
            let head = self.run.head.clone().unwrap_or_default();
            let (was, is) = (self.context.git.tree_of(&head)?, self.context.git.tree_of("HEAD")?);
            let mut changes = between_trees(&self.context.git, &was, &is)?;
            changes.retain(|change| !is_own_file(&change.path));
            let tests = self.test_tree(&is, Tester::run)?;
            let judged = judge_green(&self.context.rules, &self.baseline, red, &changes, &tests);
            if let Err(objections) = judged {
                let why = objections.first().map(ToString::to_string).unwrap_or_default();
                return Ok(Err(format!("{}: {why}", self.undo_commit(&sha, &unproven)?)));
            }
            let files: Vec<String> = unproven.iter().map(|path| self.context.shown(path)).collect();
            self.log(
                "commit",
                json!({"status": "tested-again", "files": files, "note": "changed by a hook"}),
            )?;
            self.notes.green = Some(tests.report);
        }
        // The commit belongs to this run; any other ref that names it was moved by a hook.
        self.run.head = Some(sha.clone());
        let checked = self.check_guard();
        self.run.head = parent;
        checked.map(|_| Ok(()))
    }

    /// Files of the last commit that differ from the proven tree, without git paw's own.
    pub(super) fn find_unproven(&self, proven: &str) -> Result<Vec<PathBuf>, WorkError> {
        let differing = between_trees(&self.context.git, proven, "HEAD")?;
        Ok(differing.into_iter().map(|change| change.path).filter(|path| !is_own_file(path)).collect())
    }

    /// Moves the branch back to the last proven commit. Index and files stay as they are.
    pub(super) fn undo_commit(&self, sha: &str, changed: &[PathBuf]) -> Result<String, WorkError> {
        let (Some(branch), Some(head)) = (&self.run.branch, &self.run.head) else { return Ok(String::new()) };
        let args = ["update-ref", "-m", "autopilot: not what was proven", &branch.full_ref(), head, sha];
        self.context.git.plumb(None, args)?;
        let files: Vec<String> = changed.iter().map(|path| self.context.shown(path)).collect();
        Ok(format!(
            "a hook changed {}, so that the commit is not what was proven; it was undone (git show {sha})",
            paw_core::text::first_of(&files, 3)
        ))
    }
}
