//! The watcher, on real worktrees.

mod changes;
mod limits;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};

use paw_broker::Message;
use paw_broker::watch::{WatchReport, WatchSettings, WatchTarget, Watcher, find_bases};
use paw_core::AgentId;
use paw_host::git::Git;
use paw_testkit::{Sandbox, TestRepo, wait_until};

struct Watched {
    sandbox: Sandbox,
    repo: TestRepo,
    tree: PathBuf,
    watcher: Watcher,
    reports: Receiver<WatchReport>,
}

fn target(name: &str, worktree: &Path) -> WatchTarget {
    WatchTarget {
        agent: AgentId::new(name).unwrap(),
        worktree: worktree.to_path_buf(),
        cli: Some("claude".into()),
    }
}

impl Watched {
    /// A repository with an ignore file, and one watched worktree.
    fn new(change: impl FnOnce(&mut WatchSettings)) -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.commit_file(".gitignore", "target/\n*.log\n", "ignore");
        repo.commit_file("src/lib.rs", "one\n", "a file");
        let tree = sandbox.root().join("a");
        repo.git(["worktree", "add", "--quiet", "-b", "feat/a", tree.to_str().unwrap()]);
        let mut settings = WatchSettings::new(repo.root.join(".git"), sandbox.root().join("scratch"));
        settings.bases = find_bases(&Git::at(&repo.root)).unwrap();
        change(&mut settings);
        let (said, reports) = mpsc::channel();
        let sink = move |report| drop(said.send(report));
        let watcher = Watcher::start(settings, [target("a", &tree)], sink).unwrap();
        let this = Self { sandbox, repo, tree, watcher, reports };
        this.wait_for("a first look", |report| matches!(report, WatchReport::Work(_)).then_some(()));
        this
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn git<const N: usize>(&self, args: [&str; N]) -> String {
        paw_testkit::git(&self.tree, args)
    }

    fn wait_for<T>(&self, what: &str, mut wanted: impl FnMut(WatchReport) -> Option<T>) -> T {
        wait_until(what, || wanted(self.reports.try_recv().ok()?))
    }

    fn wait_for_files(&self, files: &[&str]) {
        let what = format!("{files:?} are reported");
        self.wait_for(&what, |report| (status_files(&report)? == files).then_some(()));
    }

    /// Asserts that nothing is reported, with a later change as a marker.
    fn assert_silent_until(&self, path: &str, also: &[&str]) {
        self.write(path, "marker");
        let mut expected: Vec<&str> = also.iter().copied().chain([path]).collect();
        expected.sort_unstable();
        let first = self.wait_for("the marker is reported", |report| status_files(&report));
        assert_eq!(first, expected);
    }
}

fn status_files(report: &WatchReport) -> Option<Vec<String>> {
    match report {
        WatchReport::Work(work) => match work.status.as_ref()? {
            Message::Status(status) => Some(status.files().to_vec()),
            _ => None,
        },
        _ => None,
    }
}
