//! Watches for branches that move, because not every commit is reported by a message.

use std::path::Path;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Calls `moved` when a branch of the repository may have moved, until the returned watcher is dropped. `None` if the
/// directory cannot be watched.
pub fn watch(common_dir: &Path, moved: impl Fn() + Send + 'static) -> Option<RecommendedWatcher> {
    let top = common_dir.to_path_buf();
    let on_event = move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        let written = !matches!(event.kind, EventKind::Access(_));
        if written && event.paths.iter().any(|path| is_ref(&top, path)) {
            moved();
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).ok()?;
    watcher.watch(common_dir, RecursiveMode::NonRecursive).ok()?;
    for (dir, mode) in [("refs/heads", RecursiveMode::Recursive), ("reftable", RecursiveMode::NonRecursive)] {
        let dir = common_dir.join(dir);
        if dir.is_dir() {
            watcher.watch(&dir, mode).ok()?;
        }
    }
    Some(watcher)
}

/// Whether git stores branches in this file. Lock files do not count.
fn is_ref(common_dir: &Path, path: &Path) -> bool {
    let Ok(name) = path.strip_prefix(common_dir) else { return false };
    let kept =
        name == Path::new("packed-refs") || name.starts_with("refs/heads") || name.starts_with("reftable");
    kept && name.extension().is_none_or(|end| end != "lock")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use paw_testkit::Sandbox;

    use super::*;

    /// Long enough for a busy machine.
    const PATIENCE: Duration = Duration::from_mins(1);

    #[test]
    fn ref_watcher_notices_commits_in_loose_and_packed_refs() {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.git(["worktree", "add", "--quiet", "-b", "feat/deep/x", "../app-x"]);
        let (sender, moves) = mpsc::channel();
        let _watcher = watch(&repo.root.join(".git"), move || assert!(sender.send(()).is_ok())).unwrap();
        let commit = || repo.git(["-C", "../app-x", "commit", "--quiet", "--allow-empty", "--message", "x"]);
        commit();
        moves.recv_timeout(PATIENCE).unwrap();
        repo.git(["pack-refs", "--all", "--prune"]);
        moves.recv_timeout(PATIENCE).unwrap();
        while moves.try_recv().is_ok() {}
        commit();
        moves.recv_timeout(PATIENCE).unwrap();
    }

    #[test]
    fn ref_watcher_ignores_files_without_branches() {
        let is_ref = |name: &str| is_ref(Path::new("/r/.git"), &Path::new("/r/.git").join(name));
        for name in ["packed-refs", "refs/heads/feat/x", "reftable/0x1.ref"] {
            assert!(is_ref(name), "{name}");
        }
        for name in ["packed-refs.lock", "refs/heads/x.lock", "index", "refs/paw/rescue/1", "paw/broker.db"] {
            assert!(!is_ref(name), "{name}");
        }
    }
}
