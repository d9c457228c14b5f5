//! The changes in a worktree since its last scan, and when the next scan is due. Pure.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// Above this number of paths, the whole worktree is scanned.
const MAX_PATHS: usize = 2_000;

/// Changes that were not scanned yet. Times are those of the watcher's stopwatch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PendingChanges {
    changes: ChangeSet,
    when: Option<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    first: Duration,
    last: Duration,
}

/// What to scan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ChangeSet {
    pub(super) paths: BTreeSet<PathBuf>,
    /// HEAD or a ref may have moved.
    pub(super) head: bool,
    pub(super) whole: bool,
    /// The ignore rules and the directories must be read again.
    walk: bool,
}

impl PendingChanges {
    pub(super) fn path(&mut self, path: PathBuf, now: Duration) {
        if !self.changes.whole {
            self.changes.paths.insert(path);
        }
        if self.changes.paths.len() > MAX_PATHS {
            self.changes.paths.clear();
            self.changes.whole = true;
        }
        self.touch(now);
    }

    pub(super) fn head(&mut self, now: Duration) {
        self.changes.head = true;
        self.touch(now);
    }

    pub(super) fn whole(&mut self, now: Duration) {
        self.changes.whole = true;
        self.changes.paths.clear();
        self.touch(now);
    }

    pub(super) fn walk(&mut self, now: Duration) {
        self.changes.walk = true;
        self.whole(now);
    }

    fn touch(&mut self, now: Duration) {
        let first = self.when.map_or(now, |span| span.first);
        self.when = Some(Span { first, last: now });
    }

    /// When the scan is due: after `settle` without changes, but not later than `max_settle` after the first one.
    pub(super) fn due(&self, settle: Duration, max_settle: Duration) -> Option<Duration> {
        self.when.map(|span| (span.last + settle).min(span.first + max_settle))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.when.is_none()
    }

    pub(super) fn needs_walk(&self) -> bool {
        self.changes.walk
    }

    pub(super) fn take(&mut self) -> ChangeSet {
        std::mem::take(self).changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_scan_is_due_when_the_worktree_is_quiet_but_not_later_than_the_limit() {
        let mut pending = PendingChanges::default();
        assert_eq!(pending.due(ms(30), ms(100)), None);
        pending.path("a".into(), ms(0));
        assert_eq!(pending.due(ms(30), ms(100)), Some(ms(30)));
        pending.path("b".into(), ms(90));
        assert_eq!(pending.due(ms(30), ms(100)), Some(ms(100)));
        assert_eq!(pending.take().paths.len(), 2);
        assert_eq!(pending.due(ms(30), ms(100)), None);
    }

    #[test]
    fn too_many_paths_cause_a_scan_of_the_whole_worktree() {
        let mut pending = PendingChanges::default();
        for number in 0..=MAX_PATHS {
            pending.path(number.to_string().into(), ms(0));
        }
        pending.path("one more".into(), ms(1));
        let changes = pending.take();
        assert!(changes.whole && changes.paths.is_empty());
    }
}
