//! Copying ignored files into a new worktree, with real repositories.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may panic, and may use the file system directly"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use paw_host::process::{Command, Exit};
use paw_testkit::{Sandbox, TestRepo};
use paw_worktree::copy::{CopyError, CopyReport, SkipReason, copy_ignored};
use proptest::prelude::*;

struct Scene {
    sandbox: Sandbox,
    repo: TestRepo,
    to: PathBuf,
}

impl Scene {
    /// A repository with this `.gitignore`, and a worktree of its branch `x`.
    fn new(ignored: &str) -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.write(".gitignore", ignored);
        repo.git(["add", "--force", ".gitignore"]);
        repo.git(["commit", "--quiet", "--message", "what is ignored"]);
        let to = sandbox.root().join("app-x");
        repo.git(["worktree", "add", "--quiet", "-b", "x", to.to_str().unwrap()]);
        Self { sandbox, repo, to }
    }

    fn from(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.repo.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn put(&self, path: impl AsRef<Path>, text: &str) {
        fs::write(self.from(path), text).unwrap();
    }

    fn copy(&self, patterns: &[&str]) -> Result<CopyReport, CopyError> {
        copy_ignored(&owned(patterns), &self.repo.root, &self.to)
    }

    fn copied(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.to.join(path)).ok()
    }
}

fn owned(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
}

fn skipped(report: &CopyReport) -> Vec<(&str, SkipReason)> {
    report.skipped.iter().map(|(path, reason)| (path.to_str().unwrap(), reason.clone())).collect()
}

#[test]
fn copy_takes_only_matching_ignored_files_and_directories() {
    let scene = Scene::new(".env\nnode_modules/\n*.log\n");
    for path in [".env", "web/.env", "node_modules/a/index.js", "web/node_modules/b/.bin/run", "build.log"] {
        scene.put(path, path);
    }
    scene.put("new.txt", "untracked");
    let report = scene.copy(&[".env", "node_modules", "*.txt", "README.md"]).unwrap();
    assert_eq!((report.files, &report.skipped[..]), (4, &[][..]));
    assert_eq!(report.bytes, 4 + 8 + 23 + 27);
    for path in [".env", "web/.env", "node_modules/a/index.js", "web/node_modules/b/.bin/run"] {
        assert_eq!(scene.copied(path).as_deref(), Some(path));
    }
    assert_eq!((scene.copied("build.log"), scene.copied("new.txt")), (None, None));
    assert_eq!(paw_testkit::git(&scene.to, ["status", "--porcelain"]), "");
}

#[test]
fn copy_selects_or_excludes_files_inside_an_ignored_directory() {
    let scene = Scene::new("node_modules/\ntarget/\n");
    for path in ["node_modules/.cache/a", "node_modules/x/.env", "node_modules/x/i.js", "target/debug/.env"] {
        scene.put(path, "x");
    }
    let report = scene.copy(&["node_modules/.cache", ".env"]).unwrap();
    assert_eq!((report.files, scene.copied("node_modules/.cache/a").is_some()), (1, true));
    assert!(!scene.to.join("node_modules/x").exists() && !scene.to.join("target").exists());
    let report = scene.copy(&["**/.env"]).unwrap();
    assert_eq!((report.files, scene.copied("target/debug/.env").is_some()), (2, true));
    let report = scene.copy(&["node_modules", "!node_modules/x/"]).unwrap();
    assert_eq!((report.files, skipped(&report)), (0, vec![("node_modules/.cache/a", SkipReason::Exists)]));
    assert!(!scene.to.join("node_modules/x/i.js").exists());
}

#[test]
fn copy_never_touches_tracked_or_untracked_files() {
    let scene = Scene::new("build/\n*.log\n");
    scene.put("build/kept", "main");
    scene.repo.git(["add", "--force", "build/kept"]);
    scene.repo.git(["commit", "--quiet", "--message", "kept"]);
    for path in ["build/made", "logs/a.log", "logs/a.txt"] {
        scene.put(path, "x");
    }
    let report = scene.copy(&["build", "logs"]).unwrap();
    assert_eq!((report.files, scene.copied("build/kept"), scene.copied("logs/a.txt")), (2, None, None));
    assert!(scene.copied("build/made").is_some() && scene.copied("logs/a.log").is_some());
}

#[test]
fn copy_preserves_modes_times_symlinks_and_empty_directories() {
    let scene = Scene::new("deps/\n");
    for path in ["deps/bin/tool", "deps/lib/a", "deps/closed/a"] {
        scene.put(path, path);
    }
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    let chmod =
        |path: &str, mode| fs::set_permissions(scene.from(path), fs::Permissions::from_mode(mode)).unwrap();
    chmod("deps/bin/tool", 0o751);
    chmod("deps/lib/a", 0o400);
    fs::create_dir(scene.from("deps/empty")).unwrap();
    symlink("../lib", scene.from("deps/bin/lib")).unwrap();
    symlink("nowhere", scene.from("deps/dangling")).unwrap();
    symlink("/etc", scene.from("deps/absolute")).unwrap();
    chmod("deps/closed", 0o555);
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(scene.from("deps/bin/tool")).unwrap().set_modified(old).unwrap();

    let report = scene.copy(&["/deps"]).unwrap();
    assert_eq!((report.files, &report.skipped[..]), (6, &[][..]));
    let to = scene.to.join("deps");
    assert_eq!((mode(&to.join("bin/tool")), mode(&to.join("lib/a"))), (0o751, 0o400));
    assert_eq!((mode(&to.join("closed")), scene.copied("deps/closed/a").is_some()), (0o555, true));
    assert_eq!(fs::metadata(to.join("bin/tool")).unwrap().modified().unwrap(), old);
    assert!(to.join("empty").is_dir());
    for (link, target) in [("bin/lib", "../lib"), ("dangling", "nowhere"), ("absolute", "/etc")] {
        assert_eq!(fs::read_link(to.join(link)).unwrap(), Path::new(target));
    }
    for checkout in [&scene.repo.root, &scene.to] {
        fs::set_permissions(checkout.join("deps/closed"), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn copy_does_not_follow_a_symlink_to_a_directory() {
    let scene = Scene::new("node_modules\n");
    scene.sandbox.write("elsewhere/secret", "x");
    symlink(scene.sandbox.root().join("elsewhere"), scene.from("node_modules")).unwrap();
    let report = scene.copy(&["node_modules", "node_modules/**", "**/secret"]).unwrap();
    assert_eq!(report.files, 1);
    assert!(fs::symlink_metadata(scene.to.join("node_modules")).unwrap().is_symlink());
}

#[test]
fn copy_reports_existing_files_and_does_not_overwrite_them() {
    let scene = Scene::new(".env\ncache\n");
    scene.put(".env", "main");
    scene.put("cache/a", "main");
    fs::write(scene.to.join(".env"), "own").unwrap();
    fs::write(scene.to.join("cache"), "a file where a directory would be").unwrap();
    let report = scene.copy(&[".env", "cache"]).unwrap();
    let expected = [(".env", SkipReason::Exists), ("cache", SkipReason::InTheWay)];
    assert_eq!((report.files, skipped(&report)), (0, expected.to_vec()));
    assert_eq!(scene.copied(".env").as_deref(), Some("own"));
}

#[test]
fn copy_does_not_write_through_a_symlink_in_the_worktree() {
    let scene = Scene::new("cache/\n");
    let outside = scene.sandbox.root().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, scene.to.join("cache")).unwrap();
    scene.put("cache/a/b", "x");
    let report = scene.copy(&["cache"]).unwrap();
    assert_eq!((report.files, skipped(&report)), (0, vec![("cache", SkipReason::InTheWay)]));
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
}

#[test]
fn copy_skips_a_secret_that_the_branch_does_not_ignore() {
    let scene = Scene::new("README.md\n");
    scene.repo.commit_file(".gitignore", ".env\nkeys/\n", "ignored on main alone");
    scene.put(".env", "secret");
    scene.put("keys/a", "secret");
    let report = scene.copy(&[".env", "keys"]).unwrap();
    let expected = [(".env", SkipReason::NotIgnoredThere), ("keys/a", SkipReason::NotIgnoredThere)];
    assert_eq!((report.files, skipped(&report)), (0, expected.to_vec()));
    assert_eq!(paw_testkit::git(&scene.to, ["status", "--porcelain"]), "");
    assert!(!scene.to.join("keys").exists(), "no empty directory either");
}

#[test]
fn copy_skips_git_paw_files_other_checkouts_and_the_destination() {
    let scene = Scene::new(".git-paw/\ntrees/\n.env\n");
    scene.put(".git-paw/broker.log", "x");
    let inside = scene.repo.root.join("trees/y");
    scene.repo.git(["worktree", "add", "--quiet", "-b", "y", inside.to_str().unwrap()]);
    for path in ["trees/y/.env", "trees/plain/.env", ".env"] {
        scene.put(path, "x");
    }
    TestRepo::init(scene.repo.root.join("trees/clone"));
    let report = copy_ignored(&owned(&["*"]), &scene.repo.root, &inside).unwrap();
    let expected = [
        (".env", SkipReason::Exists),
        (".git-paw", SkipReason::Ours),
        ("trees/clone", SkipReason::OtherCheckout),
        ("trees/y", SkipReason::OtherCheckout),
    ];
    assert_eq!(skipped(&report), expected.to_vec());
    assert_eq!(report.files, 1, "trees/plain/.env: {report:?}");
}

#[test]
fn copy_reports_special_and_unreadable_files_and_copies_the_rest() {
    let scene = Scene::new("run/\n");
    scene.put("run/a", "x");
    let _socket = UnixListener::bind(scene.from("run/socket")).unwrap();
    scene.put("run/closed", "x");
    fs::set_permissions(scene.from("run/closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let report = scene.copy(&["run"]).unwrap();
    let mut expected = vec![("run/socket", SkipReason::Special)];
    // Root reads everything.
    if fs::read(scene.from("run/closed")).is_err() {
        expected.insert(0, ("run/closed", SkipReason::Failed("Permission denied (os error 13)".to_owned())));
    }
    assert_eq!(skipped(&report), expected);
    assert!(scene.copied("run/a").is_some());
}

#[test]
fn copy_handles_names_with_special_meaning_to_shell_or_git() {
    let scene = Scene::new("*.log\nout/\n");
    let names: [&[u8]; 9] = [
        b"new\nline.log",
        b":(top)x.log",
        b":x.log",
        b"-n.log",
        b"a b'\"$(x).log",
        b"\xff\xfe.log",
        b"out/ ",
        b"out/*?[x]",
        b"out/\\back",
    ];
    for name in names {
        scene.put(OsStr::from_bytes(name), "x");
    }
    let report = scene.copy(&["*.log", "out"]).unwrap();
    assert_eq!((report.files, &report.skipped[..]), (9, &[][..]));
    for name in names {
        assert_eq!(scene.copied(OsStr::from_bytes(name)).as_deref(), Some("x"), "{}", name.escape_ascii());
    }
}

#[test]
fn copy_without_patterns_does_not_run_git() {
    let report = copy_ignored(&[], Path::new("/no/such/checkout"), Path::new("/no/such/worktree")).unwrap();
    assert_eq!(report, CopyReport::default());
    assert!(
        copy_ignored(&owned(&["x"]), Path::new("/no/such/checkout"), Path::new("/no/such/worktree")).is_err()
    );
}

const FULL: &str = "PAW_TEST_FULL_DISK";

/// Runs itself as a child in a new mount namespace, where one directory is a file system of one mebibyte.
#[test]
fn copy_to_a_full_disk_fails_without_partial_files() {
    if let Some(root) = std::env::var_os(FULL) {
        let (root, full) = (PathBuf::from(&root), PathBuf::from(&root).join("full"));
        let repo = TestRepo::init(root.join("app"));
        repo.commit_file(".gitignore", "big/\n", "what is ignored");
        let to = full.join("x");
        repo.git(["worktree", "add", "--quiet", "-b", "x", to.to_str().unwrap()]);
        for number in 0..8 {
            repo.write(&format!("big/{number}"), &"x".repeat(256 * 1024));
        }
        let error = copy_ignored(&owned(&["big"]), &repo.root, &to).unwrap_err();
        let CopyError::DiskFull { copied, .. } = &error else { panic!("{error}") };
        assert!(error.to_string().starts_with("no space left for big/"), "{error}");
        let there: Vec<_> = fs::read_dir(to.join("big")).unwrap().map(|entry| entry.unwrap()).collect();
        assert_eq!(u64::try_from(there.len()).unwrap(), *copied);
        assert!(there.iter().all(|file| file.metadata().unwrap().len() == 256 * 1024));
        return;
    }
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.root().join("full")).unwrap();
    let script = "mount -t tmpfs -o size=1m none \"$1/full\" || exit 77; shift; exec \"$@\"";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(sandbox.root())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "copy::copy_to_a_full_disk_fails_without_partial_files", "--nocapture"])
        .env(FULL, sandbox.root())
        .capture();
    match output {
        Ok(output) if output.exit == Exit::Code(0) => {
            assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        }
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains("running 1 test") => {
            panic!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        }
        _ => println!("skipped: cannot mount a small file system here"),
    }
}

/// The expected selection, computed by asking git about one path at a time.
struct Model<'a> {
    repo: &'a TestRepo,
    /// Repositories that ignore the patterns with a slash, and all patterns.
    reaching: &'a TestRepo,
    all: &'a TestRepo,
}

impl Model<'_> {
    fn ignored(repo: &TestRepo, path: &str, by_rules_alone: bool) -> bool {
        let mut command = Command::new("git").dir(&repo.root).args(["check-ignore", "--quiet"]);
        if by_rules_alone {
            command = command.arg("--no-index");
        }
        command.arg(path).capture().unwrap().exit == Exit::Code(0)
    }

    /// Ignored, and selected: by any pattern down to the outermost ignored directory, by a pattern with a slash below it.
    fn selects(&self, path: &str) -> bool {
        if !Self::ignored(self.repo, path, false) {
            return false;
        }
        let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
        let top = parents.into_iter().find(|dir| Self::ignored(self.repo, dir, false)).unwrap_or(path);
        Self::ignored(self.all, top, true) || Self::ignored(self.reaching, path, true)
    }
}

fn pattern() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[abc]",
        1 => Just("*".to_owned()),
        1 => Just("**".to_owned()),
        1 => Just("a*".to_owned()),
        1 => Just("?".to_owned()),
        1 => Just("[ab]".to_owned()),
    ];
    (any::<bool>(), proptest::collection::vec(part, 1..4), any::<bool>()).prop_map(|(root, parts, dir)| {
        format!("{}{}{}", if root { "/" } else { "" }, parts.join("/"), if dir { "/" } else { "" })
    })
}

fn files() -> impl Strategy<Value = BTreeSet<String>> {
    proptest::collection::btree_set("[abc](/[abc]){0,3}", 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn copy_selects_exactly_the_ignored_files_that_match_the_patterns(
        files in files(),
        tracked in proptest::collection::vec(any::<bool>(), 14),
        ignored in proptest::collection::vec(pattern(), 1..4),
        wanted in proptest::collection::vec(pattern(), 1..4),
    ) {
        let scene = Scene::new(&ignored.join("\n"));
        let mut made = BTreeMap::new();
        for (path, tracked) in files.iter().zip(tracked) {
            let absolute = scene.repo.root.join(path);
            // A name may be a file in one path and a directory in the next.
            if fs::create_dir_all(absolute.parent().unwrap()).is_ok() && !absolute.exists() {
                fs::write(&absolute, path).unwrap();
                made.insert(path.clone(), tracked);
            }
        }
        let tracked: Vec<_> = made.iter().filter(|(_, tracked)| **tracked).map(|(path, _)| path.as_str()).collect();
        if !tracked.is_empty() {
            scene.repo.git(["add", "--force", "--"].into_iter().chain(tracked));
        }
        let rules = |name: &str, lines: Vec<&str>| {
            let repo = scene.sandbox.repo(name);
            repo.write(".gitignore", &lines.join("\n"));
            // Directory rules match only existing directories.
            for path in made.keys() {
                repo.write(path, "");
            }
            repo
        };
        let patterns: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let with_slash = patterns.iter().copied().filter(|line| line.trim_end_matches('/').contains('/'));
        let (reaching, all) = (rules("reaching", with_slash.collect()), rules("all", patterns.clone()));
        let model = Model { repo: &scene.repo, reaching: &reaching, all: &all };
        let expected: Vec<&String> = made.keys().filter(|path| model.selects(path)).collect();

        let report = scene.copy(&patterns).unwrap();
        let arrived: Vec<&String> = made.keys().filter(|path| scene.to.join(path).is_file()).collect();
        prop_assert_eq!(&arrived, &expected, "{:?} of {:?} ignored by {:?}", &wanted, &made, &ignored);
        prop_assert_eq!(report.skipped.len(), 0, "{:?}", &report.skipped);
    }
}
