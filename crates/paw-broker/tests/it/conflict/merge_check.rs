//! Merge checks of two agents' work, including uncommitted files.

use std::path::Path;

use paw_broker::conflict::{AgentPair, FileConflict, LineRange, MergeCheckResult, MergeChecker, MergeQuery};
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
