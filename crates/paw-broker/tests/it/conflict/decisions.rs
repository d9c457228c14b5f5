//! What the radar says, and when it is silent.

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

/// A radar with a clock, which numbers what it is told.
pub(super) struct Tower {
    pub(super) radar: ConflictDetector,
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

impl Tower {
    pub(super) fn new(config: ConflictConfig) -> Self {
        let session = SessionId::new("s");
        let radar = ConflictDetector::new(session, config);
        Self { radar, now: Timestamp::from_second(1_000_000).unwrap(), history: Vec::new(), asks: Vec::new() }
    }

    pub(super) fn wait(&mut self, seconds: i64) -> Vec<Message> {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
        let outcome = self.radar.on_tick(self.now);
        self.heard(outcome)
    }

    pub(super) fn tell(&mut self, message: impl Into<Message>) -> Vec<Message> {
        let stored = self.stored("s", message.into());
        let outcome = self.radar.on_message(&stored, self.now);
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
        let outcome = self.radar.on_work(&id(agent), commit, &files, self.now);
        self.heard(outcome)
    }

    pub(super) fn verdict(&mut self, verdict: MergeCheckResult) -> Vec<Message> {
        let ask = self.asks.pop().expect("a question");
        let outcome = self.radar.on_merge_result(ask, verdict, self.now);
        self.heard(outcome)
    }

    /// What was published comes back on the stream, as everything does.
    fn heard(&mut self, outcome: DetectorOutput) -> Vec<Message> {
        self.asks.extend(outcome.queries);
        for message in &outcome.publish {
            let stored = self.stored("s", message.clone());
            assert_eq!(
                self.radar.on_message(&stored, self.now),
                DetectorOutput::default(),
                "it answers itself"
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

/// As the watcher says it.
fn watched(agent: &str, files: &[&str]) -> StatusMessage {
    let mut status = status(agent, files);
    status.extra.payload.insert("source".into(), paw_broker::watch::SOURCE.into());
    status
}

pub(super) fn intent(agent: &str, files: &[&str], seconds: u64) -> IntentMessage {
    let files = files.iter().map(|file| IntentFile::whole(*file)).collect();
    IntentMessage { valid_for_seconds: seconds, ..IntentMessage::new(id(agent), files, "work") }
}

fn with_region(agent: &str, file: &str, region: Region) -> IntentMessage {
    let file = IntentFile { regions: vec![region], ..IntentFile::whole(file) };
    IntentMessage::new(id(agent), vec![file], "work")
}

fn function(name: &str) -> Region {
    Region::Function { name: name.to_owned() }
}

/// The sentences, each with who hears it.
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

fn clash(path: &str) -> MergeCheckResult {
    let (first, second) = (vec![LineRange(3, 5)], vec![LineRange(4, 4)]);
    MergeCheckResult::Conflict(vec![FileConflict {
        path: path.into(),
        conflict_type: "contents".into(),
        first,
        second,
    }])
}

#[test]
fn two_intents_over_the_same_files_warn_both_once() {
    let mut tower = Tower::new(config(120));
    assert_eq!(tower.tell(intent("feat-a", &["src/a.rs", "src/b.rs"], 900)), []);
    let said = tower.tell(intent("feat-b", &["./src//b.rs", "src/a.rs", "c"], 900));
    assert_eq!(
        texts(&said),
        [
            "feat-a: [conflict-detector] forward conflict: agent feat-b also intends to modify these files: src/a.rs, src/b.rs",
            "feat-b: [conflict-detector] forward conflict: agent feat-a also intends to modify these files: src/a.rs, src/b.rs",
        ]
    );
    assert_eq!(tower.tell(intent("feat-b", &["src/a.rs", "src/b.rs"], 900)), [], "nothing new");
    assert_eq!(tower.tell(intent("feat-b", &["src/a.rs", "src"], 900)), [], "nor now");
}

#[test]
fn an_intent_that_ended_or_was_withdrawn_and_comes_back_warns_again() {
    let mut tower = Tower::new(config(120));
    tower.tell(intent("feat-a", &["a"], 10));
    assert_eq!(tower.tell(intent("feat-b", &["a"], 900)).len(), 2);
    assert_eq!(tower.wait(10), []);
    assert_eq!(levels(&tower.tell(intent("feat-a", &["a"], 900))), [FORWARD; 2]);
    assert_eq!(tower.tell(intent("feat-a", &["b"], 900)), []);
    assert_eq!(levels(&tower.tell(intent("feat-a", &["a"], 900))), [FORWARD; 2]);
}

#[test]
fn intents_over_different_functions_are_fine_and_over_one_function_are_not() {
    let mut tower = Tower::new(config(120));
    tower.tell(with_region("feat-a", "x.rs", function("parse")));
    assert_eq!(tower.tell(with_region("feat-b", "x.rs", function("render"))), []);
    let said = tower.tell(with_region("feat-c", "x.rs", function("fn Parse()")));
    assert_eq!(
        texts(&said)[0],
        "feat-a: [conflict-detector] forward conflict: agent feat-c also intends to modify: x.rs (regions: function fn Parse())"
    );
    let said = tower.tell(with_region("feat-d", "x.rs", Region::Range { start_line: 1, end_line: 9 }));
    assert_eq!(said.len(), 6, "a range may be anywhere");
    assert!(texts(&said)[1].contains("x.rs (regions: function parse). A name and a range"), "{said:?}");
}

#[test]
fn an_intent_over_a_directory_holds_for_what_is_in_it() {
    let mut tower = Tower::new(config(120));
    tower.tell(intent("feat-a", &["src/auth/"], 900));
    assert_eq!(tower.tell(intent("feat-b", &["src/authority.rs"], 900)), []);
    assert_eq!(levels(&tower.tell(intent("feat-b", &["src/auth/token.rs"], 900))), [FORWARD; 2]);
}

#[test]
fn warnings_about_intents_can_be_turned_off() {
    let mut tower = Tower::new(ConflictConfig { warn_on_intent_overlap: false, ..config(120) });
    tower.tell(intent("feat-a", &["a"], 900));
    assert_eq!(tower.tell(intent("feat-b", &["a"], 900)), []);
}

#[test]
fn a_shared_file_that_nobody_can_look_into_warns_both_and_asks_after_the_window() {
    let mut tower = Tower::new(config(120));
    tower.tell(status("feat-a", &["a", "b"]));
    let said = tower.tell(status("feat-b", &["a"]));
    assert_eq!(
        texts(&said),
        [
            "feat-a: [conflict-detector] in-flight conflict: file a is being modified by both you and feat-b",
            "feat-b: [conflict-detector] in-flight conflict: file a is being modified by both you and feat-a",
        ]
    );
    assert_eq!(tower.wait(119), []);
    assert_eq!(
        texts(&tower.wait(1)),
        [
            "?: [conflict-detector] in-flight conflict on a between feat-a and feat-b has not resolved within 120s. Human input requested."
        ]
    );
    assert_eq!(tower.wait(1_000), [], "asked once");
}

#[test]
fn a_heartbeat_without_files_leaves_everything_as_it_is() {
    let mut tower = Tower::new(config(120));
    tower.tell(status("feat-a", &["a"]));
    tower.tell(status("feat-b", &["a"]));
    tower.tell(StatusMessage::new(id("feat-a"), "working"));
    assert_eq!(levels(&tower.wait(120)), [ASKED]);
}

#[test]
fn what_the_watcher_sees_beats_the_empty_list_of_an_old_heartbeat() {
    let mut tower = Tower::new(config(120));
    tower.work("feat-a", "c1", &["a"]);
    tower.tell(status("feat-b", &["a"]));
    tower.tell(status("feat-a", &[]));
    assert_eq!(levels(&tower.wait(120)), [ASKED]);
}

#[test]
fn git_decides_whether_a_shared_file_conflicts_and_the_warning_names_the_lines() {
    let mut tower = Tower::new(config(120));
    assert_eq!(tower.work("feat-a", "c1", &["x.rs"]), []);
    assert_eq!(tower.work("feat-b", "c2", &["x.rs"]), [], "not before git has spoken");
    assert_eq!(tower.asks.last().unwrap().commits, ("c1".to_owned(), "c2".to_owned()));
    let said = tower.verdict(clash("x.rs"));
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
fn changes_that_merge_only_inform_and_are_never_asked_about() {
    let mut tower = Tower::new(config(120));
    tower.work("feat-a", "c1", &["x.rs"]);
    tower.work("feat-b", "c2", &["x.rs"]);
    let said = tower.verdict(MergeCheckResult::Clean);
    assert_eq!(levels(&said), [ADDITIVE; 2]);
    assert!(
        texts(&said)[0]
            .starts_with("feat-a: [conflict-detector] shared file, additive — resolve at merge: x.rs")
    );
    assert_eq!(tower.wait(10_000), []);
    tower.work("feat-a", "c3", &["x.rs"]);
    assert_eq!(tower.verdict(MergeCheckResult::Clean), [], "informed once");
    tower.work("feat-a", "c4", &["x.rs"]);
    assert_eq!(levels(&tower.verdict(clash("x.rs"))), [CONFLICT; 2], "it has become one");
}

#[test]
fn a_conflict_is_cleared_when_it_stays_away_and_warns_again_when_it_returns() {
    let mut tower = Tower::new(config(120));
    tower.work("feat-a", "c1", &["x.rs"]);
    tower.work("feat-b", "c2", &["x.rs"]);
    tower.verdict(clash("x.rs"));
    // A save in between, and a moment of calm: nobody hears of it.
    tower.work("feat-a", "c3", &["x.rs"]);
    assert_eq!(tower.verdict(MergeCheckResult::Clean), []);
    tower.wait(2);
    tower.work("feat-a", "c4", &["x.rs"]);
    assert_eq!(tower.verdict(clash("x.rs")), []);
    tower.work("feat-a", "c5", &["x.rs"]);
    tower.verdict(MergeCheckResult::Clean);
    assert_eq!(tower.wait(4), []);
    let said = tower.wait(1);
    assert_eq!(
        texts(&said)[0],
        "feat-a: [conflict-detector] resolved: x.rs no longer conflicts with the work of feat-b"
    );
    assert_eq!(levels(&said), [CLEARED; 2]);
    assert_eq!(tower.wait(1_000), []);
    tower.work("feat-a", "c6", &["x.rs"]);
    assert_eq!(levels(&tower.verdict(clash("x.rs"))), [CONFLICT; 2]);
    assert_eq!(levels(&tower.wait(120)), [ASKED], "and its time begins anew");
}

#[test]
fn a_file_that_is_given_up_clears_the_conflict() {
    let mut tower = Tower::new(config(120));
    tower.tell(status("feat-a", &["a"]));
    tower.tell(status("feat-b", &["a"]));
    tower.tell(status("feat-b", &[]));
    assert_eq!(tower.wait(4), []);
    assert_eq!(levels(&tower.wait(1)), [CLEARED; 2]);
}

#[test]
fn a_conflict_that_no_path_shows_is_found_too() {
    let mut tower = Tower::new(config(120));
    tower.work("feat-a", "c1", &["place"]);
    tower.work("feat-b", "c2", &["place/inside"]);
    assert_eq!(levels(&tower.verdict(clash("place"))), [CONFLICT; 2]);
}

#[test]
fn where_git_cannot_tell_a_shared_file_is_warned_about() {
    let mut tower = Tower::new(config(120));
    tower.work("feat-a", "c1", &["x"]);
    tower.work("feat-b", "c2", &["x"]);
    assert_eq!(levels(&tower.verdict(MergeCheckResult::Unknown)), [OVERLAP; 2]);
    tower.work("feat-b", "c3", &["x"]);
    assert_eq!(levels(&tower.verdict(clash("x"))), [CONFLICT; 2], "now it can");
}

#[test]
fn announced_apart_a_shared_file_is_additive() {
    let mut tower = Tower::new(config(120));
    tower.tell(with_region("feat-a", "x.rs", function("parse")));
    tower.tell(with_region("feat-b", "x.rs", function("render")));
    tower.tell(status("feat-a", &["x.rs"]));
    assert_eq!(levels(&tower.tell(status("feat-b", &["x.rs"]))), [ADDITIVE; 2]);
}

#[test]
fn committed_files_count_as_well() {
    let mut tower = Tower::new(config(120));
    let mut artifact = ArtifactMessage::new(id("feat-a"), "committed");
    artifact.modified_files = vec!["a".into()];
    tower.tell(artifact);
    assert_eq!(levels(&tower.tell(status("feat-b", &["a"]))), [OVERLAP; 2]);
}

#[test]
fn whoever_edits_what_another_announced_is_told_and_a_person_is_asked() {
    let mut tower = Tower::new(config(120));
    tower.tell(intent("feat-a", &["src"], 900));
    let said = tower.tell(status("feat-b", &["src/a.rs", "other"]));
    assert_eq!(
        texts(&said),
        [
            "feat-b: [conflict-detector] ownership violation: you edited src/a.rs but agent feat-a declared intent over it. Update your agent.intent to declare this file or back off.",
            "?: [conflict-detector] ownership violation: feat-b edited src/a.rs which is in feat-a's intent. Human review requested.",
        ]
    );
    assert_eq!(tower.tell(status("feat-b", &["src/a.rs"])), [], "told once");
    assert_eq!(levels(&tower.tell(intent("feat-b", &["src/a.rs"], 900))), [FORWARD; 2], "announced now");
    tower.wait(1);
    assert_eq!(tower.tell(intent("feat-b", &["other"], 900)), [], "calm for a moment only");
    tower.tell(intent("feat-b", &["src/a.rs"], 900));
    tower.wait(5);
    assert_eq!(tower.tell(intent("feat-b", &["other"], 900)).len(), 2, "back again");
}

#[test]
fn violations_need_not_be_escalated() {
    let mut tower = Tower::new(ConflictConfig { escalate_on_violation: false, ..config(120) });
    tower.tell(intent("feat-a", &["a"], 900));
    assert_eq!(
        levels(&tower.tell(status("feat-b", &["a"]))),
        [(ConflictCategory::Ownership, ConflictLevel::Conflict)]
    );
}

#[test]
fn other_sessions_and_reserved_ids_are_not_looked_at() {
    let mut tower = Tower::new(config(120));
    let other = tower.stored("another", status("feat-a", &["a"]).into());
    assert_eq!(tower.radar.on_message(&other, tower.now), DetectorOutput::default());
    tower.tell(status("supervisor", &["a"]));
    tower.tell(status("operator", &["a"]));
    assert_eq!(tower.tell(status("feat-b", &["a"])), []);
}

#[test]
fn an_agent_that_left_collides_with_nobody() {
    let mut tower = Tower::new(config(120));
    tower.tell(status("feat-a", &["a"]));
    tower.tell(status("feat-b", &["a"]));
    let outcome = tower.radar.on_gone(&id("feat-b"), tower.now);
    let said = tower.heard(outcome);
    assert_eq!(
        texts(&said),
        ["feat-a: [conflict-detector] resolved: a no longer conflicts with the work of feat-b"]
    );
    assert_eq!(tower.tell(gone_message(&id("feat-b"))), [], "said once");
    assert_eq!(tower.wait(1_000), []);
}

#[test]
fn an_agent_that_left_while_nobody_watched_is_forgotten_and_who_was_warned_of_it_is_told() {
    let mut tower = Tower::new(config(120));
    tower.tell(watched("feat-a", &["a", "b"]));
    tower.tell(watched("feat-b", &["a"]));
    tower.tell(intent("feat-b", &["b"], 900));
    let mut again = Tower::new(config(120));
    tower.history.iter().for_each(|stored| again.radar.replay(stored));
    again.now = tower.now;
    let said = again.tell(gone_message(&id("feat-b")));
    assert_eq!(levels(&said), [(ConflictCategory::InFlight, ConflictLevel::Cleared)]);
    assert_eq!(again.work("feat-a", "c1", &["a", "b"]), []);
    assert_eq!(again.tell(intent("feat-a", &["a"], 900)), []);
    assert_eq!(again.wait(1_000), []);
    // With that said, the next one has nothing to say.
    let mut third = Tower::new(config(120));
    tower.history.iter().chain(&again.history).for_each(|stored| third.radar.replay(stored));
    assert_eq!(third.tell(gone_message(&id("feat-b"))), []);
    assert_eq!(third.work("feat-a", "c1", &["a", "b"]), []);
}

#[test]
fn what_is_known_from_the_past_alone_is_held_against_nobody() {
    let mut tower = Tower::new(config(120));
    tower.tell(watched("feat-a", &["a"]));
    let mut again = Tower::new(config(120));
    tower.history.iter().for_each(|stored| again.radar.replay(stored));
    assert_eq!(again.tell(intent("feat-b", &["a"], 900)), [], "it may have been given up");
    assert_eq!(again.work("feat-a", "c1", &["a"]).len(), 2, "it was not");
}

#[test]
fn nobody_is_asked_about_a_conflict_that_was_resolved_while_nobody_watched() {
    let mut tower = Tower::new(config(120));
    tower.work("feat-a", "c1", &["a"]);
    tower.tell(watched("feat-a", &["a"]));
    tower.work("feat-b", "c2", &["a"]);
    tower.tell(watched("feat-b", &["a"]));
    assert_eq!(levels(&tower.verdict(clash("a"))), [CONFLICT; 2]);
    let mut again = Tower::new(config(120));
    tower.history.iter().for_each(|stored| again.radar.replay(stored));
    again.now = tower.now;
    assert_eq!(again.radar.next_tick(), None, "nothing can be said before somebody looks");
    assert_eq!(again.wait(1_000), []);
    assert_eq!(again.work("feat-a", "c3", &["a"]), []);
    assert_eq!(again.work("feat-b", "c4", &["a"]), []);
    assert_eq!(again.verdict(MergeCheckResult::Clean), []);
    assert_eq!(levels(&again.wait(5)), [(ConflictCategory::InFlight, ConflictLevel::Cleared); 2]);
}

#[test]
fn after_a_restart_nothing_is_said_twice_and_the_clock_goes_on() {
    let mut tower = Tower::new(config(120));
    tower.tell(intent("feat-a", &["i"], 900));
    tower.tell(intent("feat-b", &["i"], 900));
    tower.tell(intent("feat-c", &["c"], 900));
    tower.tell(status("feat-a", &["a", "c"]));
    tower.tell(status("feat-b", &["a"]));
    tower.tell(watched("feat-d", &["d", "e"]));
    tower.tell(watched("feat-e", &["d", "e"]));
    let mut tower = Tower { radar: Tower::new(config(120)).radar, ..tower };
    tower.history.retain(|stored| {
        ConflictReport::find(&stored.message).is_none_or(|facts| facts.files[0].path != "d")
    });
    for stored in &tower.history {
        tower.radar.replay(stored);
    }
    tower.work("feat-d", "c1", &["d", "e"]);
    tower.work("feat-e", "c2", &["d", "e"]);
    assert_eq!(levels(&tower.verdict(clash("d"))), [CONFLICT, CONFLICT, ADDITIVE, ADDITIVE]);
    let mut again = Tower::new(config(120));
    tower.history.iter().for_each(|stored| again.radar.replay(stored));
    again.now = tower.now;
    assert_eq!(again.work("feat-d", "c1", &["d", "e"]), [], "the other one was not looked at yet");
    assert_eq!(again.wait(60), [], "before the watcher has looked, nothing is over");
    assert_eq!(again.work("feat-e", "c2", &["d", "e"]), []);
    assert_eq!(again.verdict(clash("d")), []);
    assert_eq!(levels(&again.wait(60)), [ASKED, ASKED]);
}
