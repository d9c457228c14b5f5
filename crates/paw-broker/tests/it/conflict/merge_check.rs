//! Merge checks of two agents' work, including uncommitted files.

use std::path::Path;

use paw_broker::conflict::{
    AgentPair, FileConflict, LineRange, MergeCheckResult, MergeChecker, MergeCounts, MergeQuery,
};
use paw_core::AgentId;

use super::{Field, commit_all, lines, write};

fn judge(field: &Field, a: &Path, b: &Path) -> MergeCheckResult {
    let pair = AgentPair::new(AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
    let works = (field.take(a).work, field.take(b).work);
    MergeChecker::default().check(&field.scratch, &[MergeQuery { pair, works }]).remove(0)
}

fn conflicts(verdict: MergeCheckResult) -> Vec<FileConflict> {
    match verdict {
        MergeCheckResult::Conflict(conflicts) => conflicts,
        other => panic!("no conflict: {other:?}"),
    }
}

fn two(field: &Field) -> (std::path::PathBuf, std::path::PathBuf) {
    (field.worktree("a"), field.worktree("b"))
}

#[test]
fn edits_of_the_same_lines_conflict_and_both_sides_list_the_lines() {
    let field = Field::new();
    let (a, b) = two(&field);
    let mine = format!("a new first line\n{}", lines(&[(10, "mine"), (11, "mine")]));
    write(&a, "src/lib.rs", &mine);
    write(&b, "src/lib.rs", &lines(&[(1, "far away"), (11, "theirs")]));
    commit_all(&b, "theirs");
    let conflicts = conflicts(judge(&field, &a, &b));
    assert_eq!(conflicts.len(), 1);
    assert_eq!((conflicts[0].path.as_str(), conflicts[0].conflict_type.as_str()), ("src/lib.rs", "contents"));
    assert!(conflicts[0].first.contains(&LineRange(11, 12)), "{conflicts:?}");
    assert!(conflicts[0].second.contains(&LineRange(11, 11)), "{conflicts:?}");
}

#[test]
fn edits_of_the_same_file_that_merge_are_clean() {
    let field = Field::new();
    let (a, b) = two(&field);
    write(&a, "src/lib.rs", &lines(&[(2, "mine")]));
    write(&b, "src/lib.rs", &lines(&[(18, "theirs")]));
    assert_eq!(judge(&field, &a, &b), MergeCheckResult::Clean);
    write(&b, "src/lib.rs", &lines(&[(2, "mine")]));
    assert_eq!(judge(&field, &a, &b), MergeCheckResult::Clean, "the same edit twice");
}

#[test]
fn deletions_renames_and_file_directory_clashes_are_conflicts() {
    let field = Field::new();
    let (a, b) = two(&field);
    std::fs::remove_file(a.join("README.md")).unwrap();
    write(&b, "README.md", "changed\n");
    // Renamed to different names, so that only the old path is shared.
    std::fs::rename(a.join("src/lib.rs"), a.join("src/mine.rs")).unwrap();
    std::fs::rename(b.join("src/lib.rs"), b.join("src/theirs.rs")).unwrap();
    write(&a, "place", "a file\n");
    write(&b, "place/inside", "in a directory\n");
    let conflicts = conflicts(judge(&field, &a, &b));
    let kind = |path: &str| {
        conflicts
            .iter()
            .find(|conflict| conflict.path == path)
            .map(|conflict| conflict.conflict_type.as_str())
    };
    assert_eq!(kind("README.md"), Some("modify/delete"));
    assert_eq!(kind("place"), Some("file/directory"), "{conflicts:?}");
    assert!(conflicts.iter().any(|conflict| conflict.conflict_type.starts_with("rename")), "{conflicts:?}");
}

#[test]
fn a_rename_and_an_edit_of_the_same_file_merge() {
    let field = Field::new();
    let (a, b) = two(&field);
    std::fs::rename(a.join("src/lib.rs"), a.join("src/moved.rs")).unwrap();
    write(&b, "src/lib.rs", &lines(&[(3, "theirs")]));
    assert_eq!(judge(&field, &a, &b), MergeCheckResult::Clean);
}

#[test]
fn two_new_files_with_the_same_name_conflict() {
    let field = Field::new();
    let (a, b) = two(&field);
    write(&a, "new.rs", "mine\n");
    write(&b, "new.rs", "theirs\n");
    let conflicts = conflicts(judge(&field, &a, &b));
    assert_eq!(
        (conflicts[0].path.as_str(), conflicts[0].first.as_slice()),
        ("new.rs", &[LineRange(1, 1)][..])
    );
}

#[test]
fn a_rebased_agent_is_compared_from_the_new_merge_base() {
    let field = Field::new();
    let (a, b) = two(&field);
    write(&a, "src/lib.rs", &lines(&[(3, "mine")]));
    commit_all(&a, "mine");
    write(&b, "src/lib.rs", &lines(&[(3, "theirs")]));
    assert!(matches!(judge(&field, &a, &b), MergeCheckResult::Conflict(_)));
    commit_all(&b, "theirs");
    paw_testkit::git(&b, ["rebase", "--quiet", "-X", "theirs", "a"]);
    assert_eq!(judge(&field, &a, &b), MergeCheckResult::Clean);
}

#[test]
fn merge_check_respects_attributes_and_runs_no_merge_driver() {
    let field = Field::new();
    let trap = field.sandbox.root().join("trapped");
    field.repo.git(["config", "merge.evil.driver", &format!("touch {}", trap.display())]);
    field.repo.commit_file(".gitattributes", "LOG merge=union\n*.x merge=evil\n", "attributes");
    field.repo.commit_file("LOG", "start\n", "log");
    field.repo.commit_file("f.x", "start\n", "file");
    let (a, b) = two(&field);
    write(&a, "LOG", "start\nmine\n");
    write(&b, "LOG", "start\ntheirs\n");
    assert_eq!(judge(&field, &a, &b), MergeCheckResult::Clean);
    write(&a, "f.x", "mine\n");
    write(&b, "f.x", "theirs\n");
    assert!(matches!(judge(&field, &a, &b), MergeCheckResult::Conflict(_)));
    assert!(!trap.exists(), "the driver ran");
}

#[test]
fn a_missing_commit_makes_only_its_own_pair_unknown() {
    let field = Field::new();
    let (a, b) = two(&field);
    write(&a, "new", "x");
    let (a, b) = (field.take(&a).work, field.take(&b).work);
    let pair = AgentPair::new(AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
    let ask = |first: &str, second: &str| MergeQuery {
        pair: pair.clone(),
        works: (first.to_owned(), second.to_owned()),
    };
    let missing = "0123456789012345678901234567890123456789";
    let verdicts = MergeChecker::default().check(&field.scratch, &[ask(&a, missing), ask(&a, &b)]);
    assert_eq!(verdicts, [MergeCheckResult::Unknown, MergeCheckResult::Clean]);
}

#[test]
fn merge_checks_store_nothing() {
    let field = Field::new();
    let (a, b) = two(&field);
    write(&a, "src/lib.rs", &lines(&[(2, "mine"), (12, "mine")]));
    write(&b, "src/lib.rs", &lines(&[(2, "theirs"), (18, "theirs")]));
    let works = (field.take(&a).work, field.take(&b).work);
    let pair = AgentPair::new(AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
    let query = MergeQuery { pair, works };
    MergeChecker::default().check(&field.scratch, std::slice::from_ref(&query));
    // The works are commits now.
    let before = field.scratch.measure();
    let verdict = MergeChecker::default().check(&field.scratch, &[query]).remove(0);
    assert_eq!(conflicts(verdict)[0].first, [LineRange(2, 2)]);
    assert_eq!(field.scratch.measure(), before);
}

/// A checker that has seen every state of a pair, next to one that has seen none.
struct Judged {
    checker: MergeChecker,
    pair: AgentPair,
}

impl Judged {
    fn new() -> Self {
        let pair = AgentPair::new(AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
        Self { checker: MergeChecker::default(), pair }
    }

    /// The answer about the current work of both, which has to be that of a checker without a past.
    fn judge(&mut self, field: &Field, a: &Path, b: &Path) -> MergeCheckResult {
        let query = MergeQuery { pair: self.pair.clone(), works: (field.take(a).work, field.take(b).work) };
        let result = self.checker.check(&field.scratch, std::slice::from_ref(&query)).remove(0);
        let fresh = MergeChecker::default().check(&field.scratch, &[query]).remove(0);
        assert_eq!(result, fresh);
        result
    }
}

/// Two agents that conflict in forty files.
fn conflicting_worktrees(field: &Field) -> (std::path::PathBuf, std::path::PathBuf) {
    for number in 0..40 {
        write(&field.repo.root, &format!("dir/file{number}"), &lines(&[]));
    }
    commit_all(&field.repo.root, "files");
    let (a, b) = two(field);
    for number in 0..40 {
        write(&a, &format!("dir/file{number}"), &lines(&[(3, "mine")]));
        write(&b, &format!("dir/file{number}"), &lines(&[(3, "theirs")]));
    }
    (a, b)
}

#[test]
fn a_pair_that_conflicts_is_merged_again_only_in_the_files_that_have_changed() {
    let field = Field::new();
    let (a, b) = conflicting_worktrees(&field);
    let mut judged = Judged::new();
    assert_eq!(conflicts(judged.judge(&field, &a, &b)).len(), 40);
    assert_eq!(judged.checker.counts(), MergeCounts { whole: 1, reduced: 0, located: 1 });
    // One file after another, as agents edit.
    for number in 0..5 {
        write(&a, &format!("dir/file{number}"), &lines(&[(4, &format!("mine {number}"))]));
        write(&b, &format!("dir/file{number}"), &lines(&[(4, &format!("theirs {number}"))]));
        assert_eq!(conflicts(judged.judge(&field, &a, &b)).len(), 40);
    }
    assert_eq!(judged.checker.counts(), MergeCounts { whole: 1, reduced: 5, located: 6 });
    // No question for git: nothing has changed, only one of them has changed a file, both have changed it in the same way.
    judged.judge(&field, &a, &b);
    write(&a, "src/lib.rs", &lines(&[(1, "mine alone")]));
    judged.judge(&field, &a, &b);
    write(&b, "src/lib.rs", &lines(&[(1, "mine alone")]));
    judged.judge(&field, &a, &b);
    assert_eq!(judged.checker.counts(), MergeCounts { whole: 1, reduced: 5, located: 6 });
    // A conflict that is resolved is gone, and the others stay.
    write(&b, "dir/file7", &lines(&[(18, "theirs")]));
    assert_eq!(conflicts(judged.judge(&field, &a, &b)).len(), 39);
    assert_eq!(judged.checker.counts().whole, 1);
}

#[test]
fn the_lines_of_a_conflict_are_located_only_if_they_are_needed() {
    let field = Field::new();
    let (a, b) = conflicting_worktrees(&field);
    let mut judged = Judged::new();
    judged.judge(&field, &a, &b);
    write(&a, "dir/file1", &lines(&[(9, "mine")]));
    write(&b, "dir/file1", &lines(&[(9, "theirs")]));
    let query = MergeQuery { pair: judged.pair.clone(), works: (field.take(&a).work, field.take(&b).work) };
    let mut lines_of_file1 = |is_needed: bool| {
        let query = std::slice::from_ref(&query);
        let result = judged.checker.check_with_lines(&field.scratch, query, |_, _| is_needed).remove(0);
        conflicts(result).into_iter().find(|conflict| conflict.path == "dir/file1").unwrap().first
    };
    assert_eq!(lines_of_file1(false), []);
    assert_eq!(lines_of_file1(true), [LineRange(9, 9)], "needed later");
    assert_eq!(judged.checker.counts().located, 2);
}

#[test]
fn a_pair_is_merged_as_a_whole_after_changes_that_concern_other_files() {
    let field = Field::new();
    let (a, b) = conflicting_worktrees(&field);
    let mut judged = Judged::new();
    judged.judge(&field, &a, &b);
    let mut whole = 1;
    let mut expect_whole = |judged: &Judged| {
        whole += 1;
        assert_eq!(judged.checker.counts().whole, whole);
    };
    // A rename of a file that the other has changed, a deletion, a file in the place of a directory, attributes, a commit.
    std::fs::rename(a.join("dir/file1"), a.join("moved")).unwrap();
    judged.judge(&field, &a, &b);
    expect_whole(&judged);
    std::fs::remove_file(b.join("dir/file2")).unwrap();
    judged.judge(&field, &a, &b);
    expect_whole(&judged);
    write(&b, "moved/inside", "in a directory\n");
    judged.judge(&field, &a, &b);
    expect_whole(&judged);
    write(&a, ".gitattributes", "dir/* merge=union\n");
    judged.judge(&field, &a, &b);
    expect_whole(&judged);
    write(&a, ".gitattributes", "dir/file3 merge=union\n");
    judged.judge(&field, &a, &b);
    expect_whole(&judged);
    commit_all(&b, "theirs");
    judged.judge(&field, &a, &b);
    expect_whole(&judged);
    // Its content decides whether it is the renamed file.
    write(&a, "moved", "something else\n");
    judged.judge(&field, &a, &b);
    expect_whole(&judged);
}

#[test]
fn a_pair_is_judged_alike_after_random_changes() {
    let field = Field::new();
    for number in 0..6 {
        write(
            &field.repo.root,
            &format!("dir{}/file{number}", number % 2),
            &lines(&[(1, &format!("{number}"))]),
        );
    }
    commit_all(&field.repo.root, "files");
    let (a, b) = two(&field);
    let mut judged = Judged::new();
    let mut random = 20_261_118_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for step in 0..60 {
        let worktree = if next(2) == 0 { &a } else { &b };
        let number = next(6);
        let (file, other) =
            (format!("dir{}/file{number}", number % 2), format!("dir{}/file{}", next(3), next(8)));
        match next(12) {
            0 if worktree.join(&file).exists() => std::fs::remove_file(worktree.join(&file)).unwrap(),
            1 if worktree.join(&file).exists() => {
                std::fs::create_dir_all(worktree.join(&other).parent().unwrap()).unwrap();
                std::fs::rename(worktree.join(&file), worktree.join(&other)).unwrap();
            }
            2 => write(worktree, &other, &lines(&[(1, &format!("{step}"))])),
            3 => drop(commit_all(worktree, "step")),
            _ => {
                let line = usize::try_from(next(20)).unwrap() + 1;
                write(worktree, &file, &lines(&[(1, &format!("{number}")), (line, &format!("{}", next(3)))]));
            }
        }
        judged.judge(&field, &a, &b);
    }
    let counts = judged.checker.counts();
    assert!(counts.whole > 5 && counts.reduced > 5, "{counts:?}");
}
