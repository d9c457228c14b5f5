//! A snapshot contains all work in a worktree and leaves no trace.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use paw_testkit::git;

use super::{Field, bases, commit_all, lines, names, write};

fn every_file(dir: &Path) -> BTreeSet<(PathBuf, Vec<u8>)> {
    let mut left = vec![dir.to_path_buf()];
    let mut found = BTreeSet::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.insert((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found
}

#[test]
fn snapshot_lists_dirty_staged_untracked_deleted_and_committed_files() {
    let field = Field::new();
    let tree = field.worktree("a");
    write(&tree, "committed.txt", "x");
    commit_all(&tree, "one");
    write(&tree, "staged.txt", "x");
    git(&tree, ["add", "staged.txt"]);
    write(&tree, "new/dir/untracked.txt", "x");
    write(&tree, "src/lib.rs", &lines(&[(3, "three")]));
    write(&tree, ".gitignore", "*.o\n");
    write(&tree, "ignored.o", "x");
    write(&tree, ".git-paw/ours", "x");
    fs::remove_file(tree.join("README.md")).unwrap();
    let taken = field.take(&tree);
    let expected =
        [".gitignore", "README.md", "committed.txt", "new/dir/untracked.txt", "src/lib.rs", "staged.txt"];
    assert_eq!(names(&taken), expected);
}

#[test]
fn snapshot_does_not_change_or_lock_the_repository() {
    let field = Field::new();
    let tree = field.worktree("a");
    write(&tree, "new.txt", "x");
    write(&tree, "src/lib.rs", &lines(&[(3, "three")]));
    // Another git process holds the lock, or died with it.
    let lock = field.repo.root.join(".git/worktrees/a/index.lock");
    fs::write(&lock, "").unwrap();
    let before = (every_file(&field.repo.root.join(".git")), every_file(&tree));
    let mut snapshot = field.snapshot(&tree);
    snapshot.take_whole(&bases()).unwrap();
    write(&tree, "new.txt", "y");
    write(&tree, "new.txt", "x");
    snapshot.take_paths(&["new.txt".into()].into()).unwrap();
    assert_eq!(before, (every_file(&field.repo.root.join(".git")), every_file(&tree)));
}

#[test]
fn snapshot_of_changed_paths_equals_snapshot_of_everything() {
    let field = Field::new();
    let tree = field.worktree("a");
    write(&tree, "dir/one", "1");
    let mut snapshot = field.snapshot(&tree);
    snapshot.take_whole(&bases()).unwrap();
    write(&tree, "dir/two", "2");
    write(&tree, "src/lib.rs", "all new");
    fs::remove_file(tree.join("dir/one")).unwrap();
    // A file becomes a directory.
    fs::remove_file(tree.join("README.md")).unwrap();
    write(&tree, "README.md/inside", "3");
    let paths = ["dir/one", "dir/two", "src/lib.rs", "README.md", "README.md/inside"];
    let taken = snapshot.take_paths(&paths.iter().map(PathBuf::from).collect()).unwrap();
    assert_eq!(taken, field.take(&tree));
    assert_eq!(names(&taken), ["README.md", "README.md/inside", "dir/two", "src/lib.rs"]);
}

/// One step of an agent: what it does, and the paths that the watcher reports.
type Edit<'a> = (&'a dyn Fn(&Path), &'a [&'a str]);

#[test]
fn snapshots_of_one_edit_after_another_equal_snapshots_of_everything() {
    let field = Field::new();
    let tree = field.worktree("a");
    let mut snapshot = field.snapshot(&tree);
    snapshot.take_whole(&bases()).unwrap();
    let put = |name: &'static str, text: &'static str| move |tree: &Path| write(tree, name, text);
    let remove = |name: &'static str| move |tree: &Path| fs::remove_file(tree.join(name)).unwrap();
    let make_executable = |tree: &Path| {
        fs::set_permissions(tree.join("src/lib.rs"), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let link = |tree: &Path| symlink("lib.rs", tree.join("src/link")).unwrap();
    let replace_dir = |tree: &Path| {
        fs::remove_dir_all(tree.join("deep")).unwrap();
        write(tree, "deep", "a file now");
    };
    let edits: [Edit; 18] = [
        (&put("src/lib.rs", "one"), &["src/lib.rs"]),
        (&put("deep/er/file", "1"), &["deep", "deep/er", "deep/er/file"]),
        (&put("deep/er/file", "2"), &["deep/er/file"]),
        (&make_executable, &["src/lib.rs"]),
        (
            &put(".gitattributes", "*.txt text\n*.id ident\n*.wide working-tree-encoding=UTF-16LE\n"),
            &[".gitattributes"],
        ),
        (&put("dos.txt", "a\r\nb\r\nc\r\n"), &["dos.txt"]),
        (&put("key.id", "$Id: 12 $\n"), &["key.id"]),
        (&put("a.wide", "a\0b\0"), &["a.wide"]),
        (&put("src/lib.rs", "two"), &["src/lib.rs"]),
        (&link, &["src/link"]),
        (&put("src/lib.rs", "three"), &["src/lib.rs"]),
        (&remove("deep/er/file"), &["deep/er/file"]),
        (&put("deep/other", "3"), &["deep/other"]),
        (&replace_dir, &["deep", "deep/other", "deep/er"]),
        (&remove("deep"), &["deep"]),
        (&remove("README.md"), &["README.md"]),
        (&put("README.md/inside", "4"), &["README.md", "README.md/inside"]),
        (&remove("src/lib.rs"), &["src/lib.rs"]),
    ];
    for (number, (edit, paths)) in edits.into_iter().enumerate() {
        edit(&tree);
        let taken = snapshot.take_paths(&paths.iter().map(PathBuf::from).collect()).unwrap();
        assert_eq!(taken, field.take(&tree), "edit {number}: {paths:?}");
    }
    snapshot.take_whole(&bases()).unwrap();
}

#[test]
fn snapshot_detects_an_edit_of_the_same_size_within_a_second() {
    let field = Field::new();
    for round in 0..4 {
        let tree = field.worktree(&format!("a{round}"));
        let index = field.repo.root.join(format!(".git/worktrees/a{round}/index"));
        write(&tree, "src/lib.rs", &lines(&[(3, "LINE 3")]));
        // The file gets the same time as the index.
        let time = fs::metadata(&index).unwrap().modified().unwrap();
        let whole =
            UNIX_EPOCH + std::time::Duration::from_secs(time.duration_since(UNIX_EPOCH).unwrap().as_secs());
        fs::File::open(&index).unwrap().set_modified(whole).unwrap();
        fs::File::open(tree.join("src/lib.rs")).unwrap().set_modified(whole).unwrap();
        assert_eq!(names(&field.take(&tree)), ["src/lib.rs"]);
    }
}

#[test]
fn snapshot_accepts_hostile_file_names() {
    let field = Field::new();
    let tree = field.worktree("a");
    let hostile: [&[u8]; 6] = [b"-rf", b"a\nb", b"$(touch x)", b"\xff\xfe", b"\"quoted\"", b":(top)x"];
    for name in hostile {
        fs::write(tree.join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let mut snapshot = field.snapshot(&tree);
    let whole = snapshot.take_whole(&bases()).unwrap();
    let expected: BTreeSet<PathBuf> =
        hostile.iter().map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
    assert_eq!(whole.changed.iter().cloned().collect::<BTreeSet<_>>(), expected);
    assert_eq!(snapshot.take_paths(&expected).unwrap(), whole);
}

#[test]
fn snapshot_handles_links_pipes_and_nested_repositories() {
    let field = Field::new();
    let tree = field.worktree("a");
    fs::create_dir(tree.join("nested")).unwrap();
    git(&tree.join("nested"), ["init", "--quiet"]);
    field.sandbox.run(&tree, "sh", ["-c", "mkfifo pipe || touch pipe.skip"]);
    symlink("/etc/passwd", tree.join("link")).unwrap();
    // A directory becomes a link to another one.
    fs::remove_dir_all(tree.join("src")).unwrap();
    write(&field.sandbox.root(), "elsewhere/lib.rs", "x");
    symlink(field.sandbox.root().join("elsewhere"), tree.join("src")).unwrap();
    let mut snapshot = field.snapshot(&tree);
    let taken = snapshot.take_whole(&bases()).unwrap();
    assert!(
        names(&taken).iter().all(|name| ["link", "src", "src/lib.rs", "pipe.skip"].contains(&name.as_str())),
        "{taken:?}"
    );
    let paths = ["src/lib.rs", "pipe", "nested", "link"].iter().map(PathBuf::from).collect();
    assert_eq!(snapshot.take_paths(&paths).unwrap().tree, taken.tree);
}

#[test]
fn snapshot_lists_filtered_files_without_running_the_filter() {
    let field = Field::new();
    field.repo.commit_file(".gitattributes", "*.bin filter=evil\n", "attributes");
    field.repo.commit_file("a.bin", "pointer", "a filtered file");
    let tree = field.worktree("a");
    let trap = field.sandbox.root().join("trapped");
    let command = format!("touch {}; cat", trap.display());
    field.repo.git(["config", "filter.evil.clean", &command]);
    field.repo.git(["config", "filter.evil.required", "true"]);
    assert_eq!(names(&field.take(&tree)), Vec::<String>::new());
    write(&tree, "a.bin", "something else");
    write(&tree, "new.bin", "new");
    assert_eq!(names(&field.take(&tree)), ["a.bin", "new.bin"]);
    assert!(!trap.exists(), "the filter ran");
}

#[test]
fn snapshot_lists_a_large_file_without_storing_it() {
    let field = Field::new();
    let tree = field.worktree("a");
    fs::File::create(tree.join("huge")).unwrap().set_len(64 << 20).unwrap();
    let taken = field.take(&tree);
    assert_eq!(names(&taken), ["huge"]);
    assert!(field.scratch.written() < 1 << 20);
}

#[test]
fn snapshot_does_not_list_merged_work() {
    let field = Field::new();
    let tree = field.worktree("a");
    write(&tree, "new.txt", "x");
    commit_all(&tree, "one");
    let mut snapshot = field.snapshot(&tree);
    assert_eq!(names(&snapshot.take_whole(&bases()).unwrap()), ["new.txt"]);
    assert!(!snapshot.has_moved(&bases()).unwrap());
    field.repo.git(["merge", "--quiet", "--ff-only", "a"]);
    assert!(snapshot.has_moved(&bases()).unwrap());
    assert_eq!(names(&snapshot.take_whole(&bases()).unwrap()), Vec::<String>::new());
}

#[test]
fn snapshot_works_on_unborn_and_unrelated_branches() {
    let field = Field::new();
    let tree = field.worktree("a");
    git(&tree, ["switch", "--quiet", "--orphan", "nothing"]);
    write(&tree, "first.txt", "x");
    assert_eq!(names(&field.take(&tree)), ["first.txt"]);
    commit_all(&tree, "one");
    assert_eq!(names(&field.take(&tree)), ["first.txt"]);
}

#[test]
fn scratch_repositories_of_dead_processes_are_removed() {
    let field = Field::new();
    let parent = field.sandbox.root().join("scratch");
    fs::create_dir_all(parent.join("scratch-dead/git")).unwrap();
    let other = paw_host::git::ScratchRepo::open(&field.repo.root.join(".git"), &parent).unwrap();
    assert!(!parent.join("scratch-dead").exists());
    assert!(field.scratch.file("git").exists() && other.file("git").exists());
}
