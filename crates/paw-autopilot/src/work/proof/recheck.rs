//! The tests of RED fail without the code of GREEN and pass with it, whatever else changed meanwhile: a file outside
//! of the repository, the time, or a helper of the tests.

use paw_host::git::TreeEntry;

use crate::evidence::{FileRules, GreenProof, Objection, RedProof, SourceKind};
use crate::runners::{TestCase, TestOutcome, TestRun, TestSelection};
use crate::work::{ActiveRun, WorkError};

impl ActiveRun {
    /// Runs the proven tests on the code before GREEN, and with only the production code of GREEN.
    pub(in crate::work) fn recheck(
        &mut self,
        red: &RedProof,
        green: &GreenProof,
        tests: &TestRun,
        tree: &str,
    ) -> Result<Option<Objection>, WorkError> {
        let flaky: Vec<String> =
            green.proven().iter().filter(|name| tests.flaky.contains(*name)).cloned().collect();
        if !flaky.is_empty() {
            return Ok(Some(Objection::Flaky { tests: flaky }));
        }
        // A run of an older version has no tree; its tests ran in the worktree.
        let Some(before) = &red.tree else { return Ok(None) };
        let proven: Vec<TestCase> =
            tests.report.cases.iter().filter(|case| green.proven().contains(&case.name)).cloned().collect();
        let which = TestSelection::Tests(proven);
        let production = self.with_production_only(before, tree)?;
        if production != tree {
            let run = self.test_tree(&production, |tester| tester.run_some(&which))?;
            let passed = |name: &&String| run.report.outcome_of(name) == Some(TestOutcome::Passed);
            let failing: Vec<String> = green.proven().iter().filter(|name| !passed(name)).cloned().collect();
            if !failing.is_empty() {
                return Ok(Some(Objection::OnlyWithTestCode { tests: failing }));
            }
        }
        let run = self.test_tree(before, |tester| tester.run_some(&which))?;
        let passed = |name: &&String| run.report.outcome_of(name) == Some(TestOutcome::Passed);
        let passing: Vec<String> = green.proven().iter().filter(passed).cloned().collect();
        Ok((!passing.is_empty()).then_some(Objection::PassesWithoutCode { tests: passing }))
    }

    /// The tree of RED with all later changes except those of test code.
    fn with_production_only(&self, red: &str, green: &str) -> Result<String, WorkError> {
        let git = &self.context.git;
        let options = ["-r", "--raw", "-z", "--no-abbrev", "--no-renames", red, green];
        let listing = git.plumb(None, ["diff-tree"].into_iter().chain(options))?;
        let (tests, production): (Vec<_>, Vec<_>) =
            parse_raw(&listing).into_iter().partition(|entry| is_test(&self.context.rules, entry));
        if tests.is_empty() {
            return Ok(green.to_owned());
        }
        let (gone, added): (Vec<_>, Vec<_>) =
            production.into_iter().partition(|entry| entry.oid.bytes().all(|byte| byte == b'0'));
        let gone: Vec<_> = gone.into_iter().map(|entry| entry.path).collect();
        let index = self.checkout.index();
        git.plumb(Some(&index), ["read-tree", red])?;
        git.edit_index(&index, &gone, &added)?;
        Ok(git.write_index_tree(&index)?)
    }
}

fn is_test(rules: &FileRules, entry: &TreeEntry) -> bool {
    rules.kind(&entry.path) == SourceKind::Test
}

/// `:oldmode newmode oldoid newoid letter`, then the path: the new side of each.
fn parse_raw(listing: &[u8]) -> Vec<TreeEntry> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut fields = listing.split(|byte| *byte == 0);
    let mut entries = Vec::new();
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        let facts = String::from_utf8_lossy(facts).into_owned();
        let mut words = facts.split(' ');
        if let (Some(mode), Some(oid)) = (words.nth(1), words.nth(1)) {
            let path = std::ffi::OsStr::from_bytes(path).into();
            entries.push(TreeEntry { mode: mode.to_owned(), oid: oid.to_owned(), path });
        }
    }
    entries
}
