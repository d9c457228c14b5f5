//! Which needs the user was told about, so that each is told once: not again after a restart of this process, nor when a
//! screen flickers, and not at all if it is over in a moment. Pure, apart from its file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use paw_host::files::{self, Access};

use super::notice::Notice;

/// A need that is over within this time was answered automatically.
pub(super) const HOLD: Duration = Duration::from_secs(3);
/// A need that is gone for this long is over.
const OVER: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct NoticeTracker {
    file: PathBuf,
    known: BTreeMap<Notice, Known>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    first: Duration,
    last: Duration,
    /// How long it has to last before the user is told.
    hold: Duration,
    told: bool,
}

impl NoticeTracker {
    /// A tracker that continues where an earlier process stopped.
    pub(super) fn load(file: PathBuf) -> Self {
        let stored = files::load_text(&file).ok().flatten().unwrap_or_default();
        let told: Vec<Notice> = serde_json::from_str(&stored).unwrap_or_default();
        let known = Known { first: Duration::ZERO, last: Duration::ZERO, hold: HOLD, told: true };
        Self { file, known: told.into_iter().map(|notice| (notice, known)).collect() }
    }

    /// Takes what is needed now, and how long each need has to last before it is told. Returns what to tell the user.
    pub(super) fn update(
        &mut self,
        current: Vec<Notice>,
        hold: impl Fn(&Notice) -> Duration,
        now: Duration,
    ) -> Vec<Notice> {
        for notice in current {
            let hold = hold(&notice);
            let new = Known { first: now, last: now, hold, told: false };
            let known = self.known.entry(notice).or_insert(new);
            (known.last, known.hold) = (now, hold);
        }
        let before = self.told();
        self.known.retain(|_, known| now.saturating_sub(known.last) < if known.told { OVER } else { HOLD });
        let mut due = Vec::new();
        for (notice, known) in &mut self.known {
            if !known.told && known.last == now && now.saturating_sub(known.first) >= known.hold {
                known.told = true;
                due.push(notice.clone());
            }
        }
        if before != self.told() {
            self.save();
        }
        due
    }

    /// When to call [`Self::update`] again, at the latest.
    pub(super) fn next_due(&self, now: Duration) -> Option<Duration> {
        let waiting = self.known.values().filter(|known| !known.told);
        waiting.map(|known| (known.first + known.hold).saturating_sub(now)).min()
    }

    fn told(&self) -> Vec<Notice> {
        let told = self.known.iter().filter(|(_, known)| known.told);
        told.map(|(notice, _)| notice.clone()).collect()
    }

    fn save(&self) {
        let written = serde_json::to_vec(&self.told()).map_err(|error| error.to_string()).and_then(|text| {
            files::write_atomic(&self.file, &text, Access::Private).map_err(|error| error.to_string())
        });
        if let Err(error) = written {
            tracing::warn!(target: "paw::session", "cannot store what the user was told: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use paw_core::AgentId;
    use tempfile::TempDir;

    use super::*;
    use crate::attention::notice::NoticeKind;

    fn notice(text: &str) -> Notice {
        Notice { kind: NoticeKind::Approval, agent: AgentId::new("feat-x").unwrap(), text: text.into() }
    }

    impl NoticeTracker {
        fn see(&mut self, current: Vec<Notice>, now: Duration) -> Vec<Notice> {
            self.update(current, |_| HOLD, now)
        }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_need_is_told_once_even_if_the_screen_flickers() {
        let dir = TempDir::new().unwrap();
        let mut tracker = NoticeTracker::load(dir.path().join("told.json"));
        assert_eq!(tracker.see(vec![notice("rm")], seconds(0)), []);
        assert_eq!(tracker.next_due(seconds(1)), Some(seconds(2)));
        assert_eq!(tracker.see(vec![notice("rm")], seconds(3)), [notice("rm")]);
        assert_eq!(tracker.see(vec![notice("rm")], seconds(9)), []);
        assert_eq!(tracker.see(vec![], seconds(10)), []);
        assert_eq!(tracker.see(vec![notice("rm")], seconds(14)), [], "it was gone only for a moment");
        assert_eq!(tracker.see(vec![], seconds(30)), []);
        tracker.see(vec![notice("rm")], seconds(40));
        assert_eq!(tracker.see(vec![notice("rm")], seconds(43)), [notice("rm")], "it is asked again");
    }

    #[test]
    fn a_need_that_is_answered_at_once_is_not_told() {
        let dir = TempDir::new().unwrap();
        let mut tracker = NoticeTracker::load(dir.path().join("told.json"));
        tracker.see(vec![notice("ls")], seconds(0));
        assert_eq!(tracker.see(vec![], seconds(2)), []);
        assert_eq!(tracker.see(vec![], seconds(4)), []);
    }

    #[test]
    fn a_need_is_not_told_again_after_a_restart() {
        let dir = TempDir::new().unwrap();
        let mut tracker = NoticeTracker::load(dir.path().join("told.json"));
        tracker.see(vec![notice("rm")], seconds(0));
        tracker.see(vec![notice("rm")], seconds(3));
        let mut next = NoticeTracker::load(dir.path().join("told.json"));
        // The new process sees the agents after a moment.
        assert_eq!(next.see(vec![], seconds(2)), []);
        assert_eq!(next.see(vec![notice("rm")], seconds(4)), []);
        assert_eq!(next.see(vec![notice("rm")], seconds(9)), []);
    }

    #[test]
    fn a_need_that_the_supervisor_meets_in_time_is_not_told() {
        let dir = TempDir::new().unwrap();
        let mut tracker = NoticeTracker::load(dir.path().join("told.json"));
        let window = |_: &Notice| seconds(60);
        assert_eq!(tracker.update(vec![notice("may I?")], window, seconds(0)), []);
        assert_eq!(tracker.next_due(seconds(10)), Some(seconds(50)));
        assert_eq!(tracker.update(vec![notice("may I?")], window, seconds(50)), []);
        assert_eq!(tracker.update(vec![], window, seconds(55)), [], "it was answered");
        tracker.update(vec![notice("may I?")], window, seconds(70));
        assert_eq!(tracker.update(vec![notice("may I?")], window, seconds(130)), [notice("may I?")]);
    }
}
