//! The reports of the watcher about changes in a worktree.

use std::fs;

use paw_broker::Message;
use paw_broker::message::StatusSource;
use paw_broker::watch::WatchReport;
use paw_testkit::wait_until;

use super::{Watched, status_files, target};

#[test]
fn a_new_commit_of_the_branch_is_reported_and_a_step_of_a_rebase_is_not() {
    let watched = Watched::new(|_| {});
    let next = || {
        watched.wait_for("a commit", |report| match report {
            WatchReport::Committed { commit, .. } => Some(commit),
            _ => None,
        })
    };
    watched.write("src/lib.rs", "two\n");
    watched.git(["commit", "--quiet", "--all", "-m", "two"]);
    let two = watched.git(["rev-parse", "HEAD"]);
    assert_eq!(next(), two);
    watched.git(["checkout", "--quiet", "--detach"]);
    watched.write("src/lib.rs", "three\n");
    watched.git(["commit", "--quiet", "--all", "-m", "three"]);
    watched.wait_for_files(&["src/lib.rs"]);
    // Nothing of its own is left on the branch, then there is again.
    watched.git(["checkout", "--quiet", "feat/a"]);
    watched.git(["reset", "--quiet", "--hard", "main"]);
    watched.wait_for_files(&[]);
    watched.write("src/new.rs", "x\n");
    watched.git(["add", "."]);
    watched.git(["commit", "--quiet", "-m", "four"]);
    assert_eq!(next(), watched.git(["rev-parse", "HEAD"]));
}

#[test]
fn a_changed_file_becomes_a_status_of_the_agent() {
    let watched = Watched::new(|_| {});
    watched.write("src/lib.rs", "two\n");
    let message = watched.wait_for("a status", |report| match report {
        WatchReport::Work(work) => work.status,
        _ => None,
    });
    let Message::Status(status) = message else { panic!("{message}") };
    assert_eq!((status.agent_id.as_str(), status.status.as_str()), ("a", "working"));
    assert_eq!(status.cli.as_deref(), Some("claude"));
    assert_eq!(status.files(), ["src/lib.rs"]);
    assert_eq!(status.source(), Some(StatusSource::Watcher));
}

#[test]
fn files_in_new_directories_are_reported_by_path_until_they_are_deleted() {
    let watched = Watched::new(|_| {});
    watched.write("deep/er/new.txt", "x");
    watched.wait_for_files(&["deep/er/new.txt"]);
    watched.write("deep/er/other.txt", "x");
    watched.wait_for_files(&["deep/er/new.txt", "deep/er/other.txt"]);
    fs::rename(watched.tree.join("deep"), watched.tree.join("moved")).unwrap();
    watched.wait_for_files(&["moved/er/new.txt", "moved/er/other.txt"]);
    watched.write("moved/er/third.txt", "x");
    watched.wait_for_files(&["moved/er/new.txt", "moved/er/other.txt", "moved/er/third.txt"]);
    fs::remove_dir_all(watched.tree.join("moved")).unwrap();
    watched.wait_for_files(&[]);
}

#[test]
fn ignored_files_and_files_of_git_paw_are_not_reported() {
    let watched = Watched::new(|settings| settings.excluded = vec![".git-paw".into(), "AGENTS.md".into()]);
    fs::write(watched.repo.root.join(".git/info/exclude"), "*.tmp\n").unwrap();
    watched.wait_for_settled_rules();
    watched.write("target/debug/out.rs", "x");
    watched.write("src/run.log", "x");
    watched.write("src/x.tmp", "x");
    watched.write(".git-paw/logs/x.txt", "x");
    watched.write("AGENTS.md", "x");
    watched.git(["status"]);
    watched.assert_silent_until("marker", &[]);
}

impl Watched {
    /// Changed rules cause a full scan, which is reported only if something differs. This makes something differ.
    fn wait_for_settled_rules(&self) {
        self.write("settle.tmp2", "x");
        self.wait_for_files(&["settle.tmp2"]);
        fs::remove_file(self.tree.join("settle.tmp2")).unwrap();
        self.wait_for_files(&[]);
    }
}

#[test]
fn a_tracked_file_in_an_ignored_directory_is_reported() {
    let watched = Watched::new(|_| {});
    watched.write("target/kept.txt", "x");
    watched.git(["add", "--force", "target/kept.txt"]);
    watched.git(["commit", "--quiet", "-m", "forced"]);
    watched.wait_for_files(&["target/kept.txt"]);
    // From now on the watcher knows that the directory has a tracked file.
    watched.write(".gitignore", "target/\n");
    watched.wait_for_files(&[".gitignore", "target/kept.txt"]);
    watched.write("target/ignored.txt", "x");
    let before = watched.commit_after(|| watched.write("target/kept.txt", "changed"));
    assert!(!before.is_empty());
}

impl Watched {
    /// The snapshot commit that is reported after `act`, with or without a status.
    fn commit_after(&self, act: impl FnOnce()) -> String {
        act();
        self.wait_for("a look", |report| match report {
            WatchReport::Work(work) => Some(work.snapshot.work),
            _ => None,
        })
    }
}

#[test]
fn changed_ignore_rules_apply_at_once() {
    let watched = Watched::new(|_| {});
    watched.write("notes.txt", "x");
    watched.wait_for_files(&["notes.txt"]);
    watched.write(".gitignore", "target/\n*.log\nnotes.txt\nbuild/\n");
    watched.wait_for_files(&[".gitignore"]);
    watched.write("build/out", "x");
    watched.assert_silent_until("marker", &[".gitignore"]);
    watched.write(".gitignore", "target/\n*.log\n");
    watched.wait_for_files(&["build/out", "marker", "notes.txt"]);
    watched.write("build/more", "x");
    watched.wait_for_files(&["build/more", "build/out", "marker", "notes.txt"]);
}

#[test]
fn committed_files_are_reported_until_they_are_merged() {
    let watched = Watched::new(|_| {});
    watched.write("new.txt", "x");
    watched.wait_for_files(&["new.txt"]);
    let commit = watched.commit_after(|| {
        watched.git(["add", "-A"]);
        watched.git(["commit", "--quiet", "-m", "one"]);
    });
    assert!(!commit.is_empty(), "a commit causes a scan");
    watched.repo.git(["merge", "--quiet", "--ff-only", "feat/a"]);
    watched.wait_for_files(&[]);
}

#[test]
fn an_agent_that_edits_after_its_commit_is_working_again() {
    let watched = Watched::new(|_| {});
    watched.write("new.txt", "x");
    watched.wait_for_files(&["new.txt"]);
    watched.git(["add", "-A"]);
    watched.git(["commit", "--quiet", "-m", "one"]);
    watched.write("new.txt", "more");
    watched.wait_for_files(&["new.txt"]);
}

#[test]
fn a_branch_switch_and_a_reset_are_reported() {
    let watched = Watched::new(|_| {});
    watched.git(["switch", "--quiet", "-c", "other"]);
    watched.git(["commit", "--quiet", "--allow-empty", "-m", "empty"]);
    watched.write("x.txt", "x");
    watched.git(["add", "-A"]);
    watched.git(["commit", "--quiet", "-m", "x"]);
    watched.wait_for_files(&["x.txt"]);
    watched.git(["switch", "--quiet", "feat/a"]);
    watched.wait_for_files(&[]);
    watched.git(["reset", "--quiet", "--soft", "other"]);
    watched.git(["reset", "--quiet", "--hard"]);
    watched.wait_for_files(&["x.txt"]);
}

#[test]
fn a_replaced_file_is_reported() {
    let watched = Watched::new(|_| {});
    watched.write("src/.lib.rs.swp", "two\n");
    fs::rename(watched.tree.join("src/.lib.rs.swp"), watched.tree.join("src/lib.rs")).unwrap();
    watched.wait_for_files(&["src/lib.rs"]);
    watched.git(["checkout", "--quiet", "--", "."]);
    watched.wait_for_files(&[]);
}

#[test]
fn a_repository_inside_the_worktree_is_not_watched() {
    let watched = Watched::new(|_| {});
    fs::create_dir(watched.tree.join("inner")).unwrap();
    paw_testkit::git(&watched.tree.join("inner"), ["init", "--quiet"]);
    watched.write("marker", "x");
    watched.wait_for_files(&["marker"]);
    watched.write("inner/file", "x");
    watched.assert_silent_until("second", &["marker"]);
}

#[test]
fn worktrees_are_added_and_removed() {
    let watched = Watched::new(|_| {});
    let other = watched.sandbox.root().join("b");
    watched.repo.git(["worktree", "add", "--quiet", "-b", "feat/b", other.to_str().unwrap()]);
    watched.watcher.add(target("b", &other));
    watched.wait_for("the second is looked at", |report| match report {
        WatchReport::Work(work) => (work.agent.as_str() == "b").then_some(()),
        _ => None,
    });
    fs::write(other.join("x"), "x").unwrap();
    watched.wait_for("the second is seen", |report| (status_files(&report)? == ["x"]).then_some(()));
    watched.watcher.remove(paw_core::AgentId::new("b").unwrap());
    watched.repo.git(["worktree", "remove", "--force", watched.tree.to_str().unwrap()]);
    watched.wait_for("the first is gone", |report| match report {
        WatchReport::Gone(agent) => (agent.as_str() == "a").then_some(()),
        _ => None,
    });
}

#[test]
fn a_thousand_files_at_once_are_one_status() {
    let watched = Watched::new(|_| {});
    for number in 0..1_000 {
        watched.write(&format!("many/{}/{number}.txt", number % 10), "x");
    }
    let mut statuses = 0;
    wait_until("all files are reported", || {
        let files = status_files(&watched.reports.try_recv().ok()?)?;
        statuses += 1;
        (files.len() == 1_000).then_some(())
    });
    assert!(statuses < 50, "{statuses} statuses");
}

#[test]
fn watcher_refuses_worktrees_of_other_repositories() {
    let watched = Watched::new(|_| {});
    let foreign = watched.sandbox.repo("foreign");
    for path in [foreign.root.clone(), watched.tree.join("src"), "/".into(), "/nowhere".into()] {
        watched.watcher.add(target("b", &path));
        let text = watched.wait_for("it is refused", |report| match report {
            WatchReport::Notice { text, .. } => Some(text),
            _ => None,
        });
        assert!(text.starts_with("cannot watch the worktree of b: "), "{text}");
    }
}
