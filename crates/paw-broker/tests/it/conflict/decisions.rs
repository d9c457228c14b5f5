//! The decisions of the detector.

use jiff::{SignedDuration, Timestamp};
use paw_broker::conflict::{
    ConflictCategory, ConflictDetector, ConflictLevel, ConflictReport, DetectorOutput, FileConflict,
    LineRange, MergeCheckResult, MergeQuery,
};
use paw_broker::message::{ArtifactMessage, IntentFile, IntentMessage, Region, StatusMessage};
use paw_broker::watch::gone_message;
use paw_broker::{Message, SessionId, StoredMessage};
use paw_core::AgentId;
use paw_core::config::ConflictConfig;

/// A detector with a clock, which numbers its messages.
pub(super) struct TestDetector {
    pub(super) inner: ConflictDetector,
    pub(super) now: Timestamp,
    pub(super) history: Vec<StoredMessage>,
    pub(super) asks: Vec<MergeQuery>,
}

pub(super) fn id(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

fn config(window_seconds: u64) -> ConflictConfig {
    ConflictConfig { window_seconds, ..ConflictConfig::default() }
}

impl TestDetector {
    pub(super) fn new(config: ConflictConfig) -> Self {
        let session = SessionId::new("s");
        let inner = ConflictDetector::new(session, config);
        Self { inner, now: Timestamp::from_second(1_000_000).unwrap(), history: Vec::new(), asks: Vec::new() }
    }

    pub(super) fn wait(&mut self, seconds: i64) -> Vec<Message> {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
        let outcome = self.inner.on_tick(self.now);
        self.heard(outcome)
    }

    pub(super) fn tell(&mut self, message: impl Into<Message>) -> Vec<Message> {
        let stored = self.stored("s", message.into());
        let outcome = self.inner.on_message(&stored, self.now);
        self.history.push(stored);
        self.heard(outcome)
    }

    fn stored(&self, session: &str, message: Message) -> StoredMessage {
        let sender = message.sender().cloned().unwrap_or_else(|| id("supervisor"));
        let seq = self.history.len() as u64 + 1;
        StoredMessage { seq, session: SessionId::new(session), at: self.now, sender, message }
    }

    pub(super) fn work(&mut self, agent: &str, commit: &str, files: &[&str]) -> Vec<Message> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let outcome = self.inner.on_work(&id(agent), commit, (&files, &[]), self.now);
        self.heard(outcome)
    }

    pub(super) fn verdict(&mut self, verdict: MergeCheckResult) -> Vec<Message> {
        let ask = self.asks.pop().expect("a question");
        let outcome = self.inner.on_merge_result(ask, verdict, self.now);
        self.heard(outcome)
    }

    /// Published messages come back on the stream.
    fn heard(&mut self, outcome: DetectorOutput) -> Vec<Message> {
        self.asks.extend(outcome.queries);
        for message in &outcome.publish {
            let stored = self.stored("s", message.clone());
            assert_eq!(
                self.inner.on_message(&stored, self.now),
                DetectorOutput::default(),
                "the detector reacts to its own message"
            );
            self.history.push(stored);
        }
        outcome.publish
    }
}

pub(super) fn status(agent: &str, files: &[&str]) -> StatusMessage {
    let mut status = StatusMessage::new(id(agent), "working");
    status.modified_files = Some(files.iter().map(|file| (*file).to_owned()).collect());
    status
}

/// A status from the watcher.
fn watched(agent: &str, files: &[&str]) -> StatusMessage {
    let mut status = status(agent, files);
    status.set_source(paw_broker::message::StatusSource::Watcher);
    status
}

pub(super) fn intent(agent: &str, files: &[&str], seconds: u64) -> IntentMessage {
    let files = files.iter().map(|file| IntentFile::whole(*file)).collect();
    IntentMessage { valid_for_seconds: seconds, ..IntentMessage::new(id(agent), files, "work") }
}

/// An intent for these files alone.
fn only(agent: &str, files: &[&str]) -> IntentMessage {
    IntentMessage { clear: Some(true), ..intent(agent, files, 900) }
}

fn with_region(agent: &str, file: &str, region: Region) -> IntentMessage {
    let file = IntentFile { regions: vec![region], ..IntentFile::whole(file) };
    IntentMessage::new(id(agent), vec![file], "work")
}

fn function(name: &str) -> Region {
    Region::Function { name: name.to_owned() }
}

/// The texts, each with its recipient.
fn texts(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::Feedback(feedback) => format!("{}: {}", feedback.agent_id, feedback.errors.join(" | ")),
        Message::Question(question) => format!("?: {}", question.question),
        other => panic!("{other}"),
    };
    messages.iter().map(text).collect()
}

fn levels(messages: &[Message]) -> Vec<(ConflictCategory, ConflictLevel)> {
    messages
        .iter()
        .map(|message| ConflictReport::find(message).unwrap())
        .map(|facts| (facts.kind, facts.level))
        .collect()
}

const FORWARD: (ConflictCategory, ConflictLevel) = (ConflictCategory::Forward, ConflictLevel::Overlap);
const OVERLAP: (ConflictCategory, ConflictLevel) = (ConflictCategory::InFlight, ConflictLevel::Overlap);
const CONFLICT: (ConflictCategory, ConflictLevel) = (ConflictCategory::InFlight, ConflictLevel::Conflict);
const ADDITIVE: (ConflictCategory, ConflictLevel) = (ConflictCategory::InFlight, ConflictLevel::Additive);
const CLEARED: (ConflictCategory, ConflictLevel) = (ConflictCategory::InFlight, ConflictLevel::Cleared);
const ASKED: (ConflictCategory, ConflictLevel) = (ConflictCategory::InFlight, ConflictLevel::Escalated);

fn conflict(path: &str) -> MergeCheckResult {
    let (first, second) = (vec![LineRange(3, 5)], vec![LineRange(4, 4)]);
    MergeCheckResult::Conflict(vec![FileConflict {
        path: path.into(),
        conflict_type: "contents".into(),
        first,
        second,
    }])
}

#[test]
fn overlapping_intents_warn_both_agents_once() {
    let mut detector = TestDetector::new(config(120));
    assert_eq!(detector.tell(intent("feat-a", &["src/a.rs", "src/b.rs"], 900)), []);
    let said = detector.tell(intent("feat-b", &["./src//b.rs", "src/a.rs", "c"], 900));
    assert_eq!(
        texts(&said),
        [
            "feat-a: [conflict-detector] forward conflict: agent feat-b also intends to modify these files: src/a.rs, src/b.rs",
            "feat-b: [conflict-detector] forward conflict: agent feat-a also intends to modify these files: src/a.rs, src/b.rs",
        ]
    );
    assert_eq!(detector.tell(intent("feat-b", &["src/a.rs", "src/b.rs"], 900)), [], "nothing new");
    assert_eq!(detector.tell(intent("feat-b", &["src/a.rs", "src"], 900)), [], "still nothing new");
}

#[test]
fn a_renewed_intent_warns_again() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(intent("feat-a", &["a"], 10));
    assert_eq!(detector.tell(intent("feat-b", &["a"], 900)).len(), 2);
    assert_eq!(detector.wait(10), []);
    assert_eq!(levels(&detector.tell(intent("feat-a", &["a"], 900))), [FORWARD; 2]);
    assert_eq!(detector.tell(only("feat-a", &["b"])), []);
    assert_eq!(levels(&detector.tell(intent("feat-a", &["a"], 900))), [FORWARD; 2]);
}

#[test]
fn intents_of_an_agent_add_up_until_it_clears_them_or_they_expire() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(intent("feat-a", &["a"], 10));
    detector.tell(intent("feat-a", &["b"], 900));
    assert_eq!(
        levels(&detector.tell(intent("feat-b", &["a"], 900))),
        [FORWARD; 2],
        "the first one still holds"
    );
    detector.wait(10);
    assert_eq!(
        levels(&detector.tell(intent("feat-c", &["a"], 900))),
        [FORWARD; 2],
        "only feat-b holds it now"
    );
    assert_eq!(levels(&detector.tell(intent("feat-c", &["b"], 900))), [FORWARD; 2]);
    assert_eq!(detector.tell(only("feat-a", &[])), []);
    assert_eq!(detector.tell(intent("feat-d", &["b"], 900)).len(), 2, "only feat-c is left");
}

#[test]
fn intents_conflict_only_if_their_regions_overlap() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(with_region("feat-a", "x.rs", function("parse")));
    assert_eq!(detector.tell(with_region("feat-b", "x.rs", function("render"))), []);
    let said = detector.tell(with_region("feat-c", "x.rs", function("fn Parse()")));
    assert_eq!(
        texts(&said)[0],
        "feat-a: [conflict-detector] forward conflict: agent feat-c also intends to modify: x.rs (regions: function fn Parse())"
    );
    let said = detector.tell(with_region("feat-d", "x.rs", Region::Range { start_line: 1, end_line: 9 }));
    assert_eq!(said.len(), 6, "a range may be anywhere");
    assert!(texts(&said)[1].contains("x.rs (regions: function parse). A name and a range"), "{said:?}");
}

#[test]
fn an_intent_for_a_directory_covers_the_files_in_it() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(intent("feat-a", &["src/auth/"], 900));
    assert_eq!(detector.tell(intent("feat-b", &["src/authority.rs"], 900)), []);
    assert_eq!(levels(&detector.tell(intent("feat-b", &["src/auth/token.rs"], 900))), [FORWARD; 2]);
}

#[test]
fn intent_warnings_can_be_turned_off() {
    let mut detector = TestDetector::new(ConflictConfig { warn_on_intent_overlap: false, ..config(120) });
    detector.tell(intent("feat-a", &["a"], 900));
    assert_eq!(detector.tell(intent("feat-b", &["a"], 900)), []);
}

#[test]
fn an_overlap_without_snapshots_warns_both_agents_and_escalates_after_the_window() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(status("feat-a", &["a", "b"]));
    let said = detector.tell(status("feat-b", &["a"]));
    assert_eq!(
        texts(&said),
        [
            "feat-a: [conflict-detector] in-flight conflict: file a is being modified by both you and feat-b",
            "feat-b: [conflict-detector] in-flight conflict: file a is being modified by both you and feat-a",
        ]
    );
    assert_eq!(detector.wait(119), []);
    assert_eq!(
        texts(&detector.wait(1)),
        [
            "?: [conflict-detector] in-flight conflict on a between feat-a and feat-b has not resolved within 120s. Human input requested."
        ]
    );
    assert_eq!(detector.wait(1_000), [], "asked once");
}

#[test]
fn a_status_without_files_changes_nothing() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(status("feat-a", &["a"]));
    detector.tell(status("feat-b", &["a"]));
    detector.tell(StatusMessage::new(id("feat-a"), "working"));
    assert_eq!(levels(&detector.wait(120)), [ASKED]);
}

#[test]
fn files_from_the_watcher_take_precedence_over_declared_files() {
    let mut detector = TestDetector::new(config(120));
    detector.work("feat-a", "c1", &["a"]);
    detector.tell(status("feat-b", &["a"]));
    detector.tell(status("feat-a", &[]));
    assert_eq!(levels(&detector.wait(120)), [ASKED]);
}

#[test]
fn git_decides_whether_a_shared_file_conflicts_and_the_warning_lists_the_lines() {
    let mut detector = TestDetector::new(config(120));
    assert_eq!(detector.work("feat-a", "c1", &["x.rs"]), []);
    assert_eq!(detector.work("feat-b", "c2", &["x.rs"]), [], "no report before the merge check");
    assert_eq!(detector.asks.last().unwrap().works, ("c1".to_owned(), "c2".to_owned()));
    let said = detector.verdict(conflict("x.rs"));
    assert_eq!(
        texts(&said),
        [
            "feat-a: [conflict-detector] in-flight conflict: file x.rs is being modified by both you and feat-b: your lines 3-5 and their line 4 do not merge",
            "feat-b: [conflict-detector] in-flight conflict: file x.rs is being modified by both you and feat-a: your line 4 and their lines 3-5 do not merge",
        ]
    );
    let facts = ConflictReport::find(&said[1]).unwrap();
    assert_eq!((facts.you, facts.other), (id("feat-b"), id("feat-a")));
    assert_eq!(facts.files[0].your_lines, [LineRange(4, 4)]);
}

#[test]
fn additive_changes_are_reported_once_and_never_escalated() {
    let mut detector = TestDetector::new(config(120));
    detector.work("feat-a", "c1", &["x.rs"]);
    detector.work("feat-b", "c2", &["x.rs"]);
    let said = detector.verdict(MergeCheckResult::Clean);
    assert_eq!(levels(&said), [ADDITIVE; 2]);
    assert!(
        texts(&said)[0]
            .starts_with("feat-a: [conflict-detector] shared file, additive — resolve at merge: x.rs")
    );
    assert_eq!(detector.wait(10_000), []);
    detector.work("feat-a", "c3", &["x.rs"]);
    assert_eq!(detector.verdict(MergeCheckResult::Clean), [], "reported once");
    detector.work("feat-a", "c4", &["x.rs"]);
    assert_eq!(levels(&detector.verdict(conflict("x.rs"))), [CONFLICT; 2], "it became a conflict");
}

#[test]
fn a_conflict_is_cleared_after_the_quiet_period_and_warns_again_when_it_returns() {
    let mut detector = TestDetector::new(config(120));
    detector.work("feat-a", "c1", &["x.rs"]);
    detector.work("feat-b", "c2", &["x.rs"]);
    detector.verdict(conflict("x.rs"));
    // A save and a short quiet time are not reported.
    detector.work("feat-a", "c3", &["x.rs"]);
    assert_eq!(detector.verdict(MergeCheckResult::Clean), []);
    detector.wait(2);
    detector.work("feat-a", "c4", &["x.rs"]);
    assert_eq!(detector.verdict(conflict("x.rs")), []);
    detector.work("feat-a", "c5", &["x.rs"]);
    detector.verdict(MergeCheckResult::Clean);
    assert_eq!(detector.wait(4), []);
    let said = detector.wait(1);
    assert_eq!(
        texts(&said)[0],
        "feat-a: [conflict-detector] resolved: x.rs no longer conflicts with the work of feat-b"
    );
    assert_eq!(levels(&said), [CLEARED; 2]);
    assert_eq!(detector.wait(1_000), []);
    detector.work("feat-a", "c6", &["x.rs"]);
    assert_eq!(levels(&detector.verdict(conflict("x.rs"))), [CONFLICT; 2]);
    assert_eq!(levels(&detector.wait(120)), [ASKED], "the escalation time starts again");
}

#[test]
fn a_reverted_file_clears_the_conflict() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(status("feat-a", &["a"]));
    detector.tell(status("feat-b", &["a"]));
    detector.tell(status("feat-b", &[]));
    assert_eq!(detector.wait(4), []);
    assert_eq!(levels(&detector.wait(1)), [CLEARED; 2]);
}

#[test]
fn a_conflict_without_a_shared_path_is_reported() {
    let mut detector = TestDetector::new(config(120));
    detector.work("feat-a", "c1", &["place"]);
    detector.work("feat-b", "c2", &["place/inside"]);
    assert_eq!(levels(&detector.verdict(conflict("place"))), [CONFLICT; 2]);
}

#[test]
fn a_shared_file_is_an_overlap_if_git_cannot_tell() {
    let mut detector = TestDetector::new(config(120));
    detector.work("feat-a", "c1", &["x"]);
    detector.work("feat-b", "c2", &["x"]);
    assert_eq!(levels(&detector.verdict(MergeCheckResult::Unknown)), [OVERLAP; 2]);
    detector.work("feat-b", "c3", &["x"]);
    assert_eq!(levels(&detector.verdict(conflict("x"))), [CONFLICT; 2], "git can tell now");
}

#[test]
fn a_shared_file_with_different_announced_regions_is_additive() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(with_region("feat-a", "x.rs", function("parse")));
    detector.tell(with_region("feat-b", "x.rs", function("render")));
    detector.tell(status("feat-a", &["x.rs"]));
    assert_eq!(levels(&detector.tell(status("feat-b", &["x.rs"]))), [ADDITIVE; 2]);
}

#[test]
fn committed_files_are_compared_too() {
    let mut detector = TestDetector::new(config(120));
    let mut artifact = ArtifactMessage::new(id("feat-a"), "committed");
    artifact.modified_files = vec!["a".into()];
    detector.tell(artifact);
    assert_eq!(levels(&detector.tell(status("feat-b", &["a"]))), [OVERLAP; 2]);
}

#[test]
fn an_ownership_violation_warns_the_violator_and_asks_the_user() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(intent("feat-a", &["src"], 900));
    let said = detector.tell(status("feat-b", &["src/a.rs", "other"]));
    assert_eq!(
        texts(&said),
        [
            "feat-b: [conflict-detector] ownership violation: you edited src/a.rs but agent feat-a declared intent over it. Update your agent.intent to declare this file or back off.",
            "?: [conflict-detector] ownership violation: feat-b edited src/a.rs which is in feat-a's intent. Human review requested.",
        ]
    );
    assert_eq!(detector.tell(status("feat-b", &["src/a.rs"])), [], "reported once");
    assert_eq!(levels(&detector.tell(intent("feat-b", &["src/a.rs"], 900))), [FORWARD; 2], "announced now");
    detector.wait(1);
    assert_eq!(detector.tell(only("feat-b", &["other"])), [], "quiet only for a moment");
    detector.tell(intent("feat-b", &["src/a.rs"], 900));
    detector.wait(5);
    assert_eq!(detector.tell(only("feat-b", &["other"])).len(), 2, "back again");
}

#[test]
fn escalation_of_violations_can_be_turned_off() {
    let mut detector = TestDetector::new(ConflictConfig { escalate_on_violation: false, ..config(120) });
    detector.tell(intent("feat-a", &["a"], 900));
    assert_eq!(
        levels(&detector.tell(status("feat-b", &["a"]))),
        [(ConflictCategory::Ownership, ConflictLevel::Conflict)]
    );
}

#[test]
fn other_sessions_and_reserved_ids_are_ignored() {
    let mut detector = TestDetector::new(config(120));
    let other = detector.stored("another", status("feat-a", &["a"]).into());
    assert_eq!(detector.inner.on_message(&other, detector.now), DetectorOutput::default());
    detector.tell(status("supervisor", &["a"]));
    detector.tell(status("operator", &["a"]));
    assert_eq!(detector.tell(status("feat-b", &["a"])), []);
}

#[test]
fn conflicts_with_an_agent_that_left_are_cleared() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(status("feat-a", &["a"]));
    detector.tell(status("feat-b", &["a"]));
    let outcome = detector.inner.on_gone(&id("feat-b"), detector.now);
    let said = detector.heard(outcome);
    assert_eq!(
        texts(&said),
        ["feat-a: [conflict-detector] resolved: a no longer conflicts with the work of feat-b"]
    );
    assert_eq!(detector.tell(gone_message(&id("feat-b"))), [], "reported once");
    assert_eq!(detector.wait(1_000), []);
}

#[test]
fn conflicts_with_an_agent_that_left_before_a_restart_are_cleared() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(watched("feat-a", &["a", "b"]));
    detector.tell(watched("feat-b", &["a"]));
    detector.tell(intent("feat-b", &["b"], 900));
    let mut again = TestDetector::new(config(120));
    detector.history.iter().for_each(|stored| again.inner.replay(stored));
    again.now = detector.now;
    let said = again.tell(gone_message(&id("feat-b")));
    assert_eq!(levels(&said), [(ConflictCategory::InFlight, ConflictLevel::Cleared)]);
    assert_eq!(again.work("feat-a", "c1", &["a", "b"]), []);
    assert_eq!(again.tell(intent("feat-a", &["a"], 900)), []);
    assert_eq!(again.wait(1_000), []);
    // The next detector reports nothing.
    let mut third = TestDetector::new(config(120));
    detector.history.iter().chain(&again.history).for_each(|stored| third.inner.replay(stored));
    assert_eq!(third.tell(gone_message(&id("feat-b"))), []);
    assert_eq!(third.work("feat-a", "c1", &["a", "b"]), []);
}

#[test]
fn replayed_changes_cause_no_violation() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(watched("feat-a", &["a"]));
    let mut again = TestDetector::new(config(120));
    detector.history.iter().for_each(|stored| again.inner.replay(stored));
    assert_eq!(again.tell(intent("feat-b", &["a"], 900)), [], "the change may have been reverted");
    assert_eq!(again.work("feat-a", "c1", &["a"]).len(), 2, "the watcher confirms the change");
}

#[test]
fn a_replayed_conflict_is_not_escalated_before_it_is_confirmed() {
    let mut detector = TestDetector::new(config(120));
    detector.work("feat-a", "c1", &["a"]);
    detector.tell(watched("feat-a", &["a"]));
    detector.work("feat-b", "c2", &["a"]);
    detector.tell(watched("feat-b", &["a"]));
    assert_eq!(levels(&detector.verdict(conflict("a"))), [CONFLICT; 2]);
    let mut again = TestDetector::new(config(120));
    detector.history.iter().for_each(|stored| again.inner.replay(stored));
    again.now = detector.now;
    assert_eq!(again.inner.next_tick(), None, "nothing is due before the watcher reports");
    assert_eq!(again.wait(1_000), []);
    assert_eq!(again.work("feat-a", "c3", &["a"]), []);
    assert_eq!(again.work("feat-b", "c4", &["a"]), []);
    assert_eq!(again.verdict(MergeCheckResult::Clean), []);
    assert_eq!(levels(&again.wait(5)), [(ConflictCategory::InFlight, ConflictLevel::Cleared); 2]);
}

#[test]
fn a_restart_repeats_no_warning_and_keeps_the_escalation_time() {
    let mut detector = TestDetector::new(config(120));
    detector.tell(intent("feat-a", &["i"], 900));
    detector.tell(intent("feat-b", &["i"], 900));
    detector.tell(intent("feat-c", &["c"], 900));
    detector.tell(status("feat-a", &["a", "c"]));
    detector.tell(status("feat-b", &["a"]));
    detector.tell(watched("feat-d", &["d", "e"]));
    detector.tell(watched("feat-e", &["d", "e"]));
    let mut detector = TestDetector { inner: TestDetector::new(config(120)).inner, ..detector };
    detector.history.retain(|stored| {
        ConflictReport::find(&stored.message).is_none_or(|facts| facts.files[0].path != "d")
    });
    for stored in &detector.history {
        detector.inner.replay(stored);
    }
    detector.work("feat-d", "c1", &["d", "e"]);
    detector.work("feat-e", "c2", &["d", "e"]);
    assert_eq!(levels(&detector.verdict(conflict("d"))), [CONFLICT, CONFLICT, ADDITIVE, ADDITIVE]);
    let mut again = TestDetector::new(config(120));
    detector.history.iter().for_each(|stored| again.inner.replay(stored));
    again.now = detector.now;
    assert_eq!(again.work("feat-d", "c1", &["d", "e"]), [], "the other agent is not confirmed yet");
    assert_eq!(again.wait(60), [], "nothing is cleared before the watcher reports");
    assert_eq!(again.work("feat-e", "c2", &["d", "e"]), []);
    assert_eq!(again.verdict(conflict("d")), []);
    assert_eq!(levels(&again.wait(60)), [ASKED, ASKED]);
}

#[test]
fn pairs_whose_paths_cannot_conflict_are_not_judged() {
    let mut detector = TestDetector::new(config(120));
    detector.work("feat-a", "c1", &["src/a.rs", "doc"]);
    detector.work("feat-b", "c2", &["src/b.rs"]);
    detector.work("feat-c", "c3", &["src/a.rs.orig"]);
    assert_eq!(detector.asks, []);
    // A file where another agent has a directory.
    detector.work("feat-b", "c4", &["doc/guide.md"]);
    assert_eq!(detector.asks.pop().unwrap().works, ("c1".to_owned(), "c4".to_owned()));
    // An edit of the same paths is judged again, with this pair only.
    detector.work("feat-b", "c5", &["doc/guide.md"]);
    assert_eq!(detector.asks.len(), 1);
}

#[test]
fn a_conflict_is_cleared_when_the_paths_no_longer_meet() {
    let mut detector = TestDetector::new(config(120));
    detector.work("feat-a", "c1", &["x.rs"]);
    detector.work("feat-b", "c2", &["x.rs"]);
    detector.verdict(conflict("x.rs"));
    detector.work("feat-b", "c3", &["y.rs"]);
    assert_eq!(detector.asks, []);
    let said = detector.wait(5);
    assert_eq!(levels(&said), [CLEARED, CLEARED]);
}
