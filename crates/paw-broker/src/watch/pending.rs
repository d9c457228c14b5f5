//! What happened in a worktree since it was last looked at, and when it is time to look. Pure.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// More paths than this are not looked at one by one.
const MOST_PATHS: usize = 2_000;

/// Times are those of the watcher's own stopwatch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PendingChanges {
    what: ChangeSet,
    when: Option<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    first: Duration,
    last: Duration,
}

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ChangeSet {
    pub(super) paths: BTreeSet<PathBuf>,
    /// HEAD or a ref may have moved.
    pub(super) head: bool,
    pub(super) whole: bool,
    /// The rules of what is ignored, or the directories themselves, must be read again.
    walk: bool,
}

impl PendingChanges {
    pub(super) fn path(&mut self, path: PathBuf, now: Duration) {
        if !self.what.whole {
            self.what.paths.insert(path);
        }
        if self.what.paths.len() > MOST_PATHS {
            self.what.paths.clear();
            self.what.whole = true;
        }
        self.touch(now);
    }

    pub(super) fn head(&mut self, now: Duration) {
        self.what.head = true;
        self.touch(now);
    }

    pub(super) fn whole(&mut self, now: Duration) {
        self.what.whole = true;
        self.what.paths.clear();
        self.touch(now);
    }

    pub(super) fn walk(&mut self, now: Duration) {
        self.what.walk = true;
        self.whole(now);
    }

    fn touch(&mut self, now: Duration) {
        let first = self.when.map_or(now, |span| span.first);
        self.when = Some(Span { first, last: now });
    }

    /// When to look: after a while of quiet, or when it has gone on for long enough.
    pub(super) fn due(&self, settle: Duration, at_most: Duration) -> Option<Duration> {
        self.when.map(|span| (span.last + settle).min(span.first + at_most))
    }

    pub(super) fn wants_walk(&self) -> bool {
        self.what.walk
    }

    pub(super) fn take(&mut self) -> ChangeSet {
        std::mem::take(self).what
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_worktree_is_looked_at_when_it_is_quiet_but_not_later_than_the_limit() {
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
    fn a_flood_of_paths_becomes_one_look_at_everything() {
        let mut pending = PendingChanges::default();
        for number in 0..=MOST_PATHS {
            pending.path(number.to_string().into(), ms(0));
        }
        pending.path("one more".into(), ms(1));
        let what = pending.take();
        assert!(what.whole && what.paths.is_empty());
    }
}
