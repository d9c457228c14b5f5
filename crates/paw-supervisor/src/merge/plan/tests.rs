use proptest::prelude::*;

use super::*;
use crate::merge::order::Edge;

fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

fn candidate(agent: &str, tip: &str) -> Candidate {
    let branch = BranchName::new(format!("feat/{agent}")).unwrap();
    Candidate { member: Member { agent: id(agent), branch }, tip: tip.to_owned() }
}

fn testimony(edges: &[(&str, &str)]) -> Testimony {
    let mut testimony = Testimony::default();
    testimony.edges.extend(edges.iter().map(|(dependent, on)| Edge { dependent: id(dependent), on: id(on) }));
    testimony
}

fn planned(edges: &[(&str, &str)], done: &[Entry]) -> Vec<Entry> {
    let candidates = [candidate("a", "1"), candidate("b", "2"), candidate("c", "3")];
    plan(&candidates, &testimony(edges), done).0
}

fn merged(commit: &str) -> Outcome {
    Outcome::Merged { from: "0".into(), commit: commit.into(), ground: Ground::Tested, rebased_from: None }
}

fn regression() -> Outcome {
    Outcome::Regression {
        commit: "1".into(),
        errors: Vec::new(),
        rescue: "refs/paw/rescue/x".into(),
        main_fails: false,
    }
}

#[test]
fn entries_come_in_the_order_of_the_merge_and_know_what_they_need() {
    let entries = planned(&[("a", "c")], &[]);
    let order: Vec<_> = entries.iter().map(|entry| entry.agent.as_str()).collect();
    assert_eq!(order, ["b", "c", "a"]);
    assert_eq!(entries[2].needs, [id("c")]);
    assert!(entries.iter().all(|entry| entry.stage == Stage::Waiting && !entry.verified));
}

#[test]
fn whoever_is_in_a_cycle_is_over_before_it_begins() {
    let entries = planned(&[("a", "b"), ("b", "a")], &[]);
    assert_eq!(entries[0].stage, Stage::Waiting);
    for entry in &entries[1..] {
        assert_eq!(entry.outcome(), Some(&Outcome::Cycle { with: vec![id("a"), id("b")] }));
    }
}

#[test]
fn what_was_merged_or_failed_with_the_same_tip_is_not_done_again_and_everything_else_is() {
    let mut done = planned(&[], &[]);
    done[0].stage = Stage::Over(merged("1"));
    done[1].stage = Stage::Over(Outcome::Skipped { why: Skip::Diverged });
    done[2].stage = Stage::Over(regression());
    let again = planned(&[], &done);
    assert_eq!((&again[0].stage, &again[1].stage), (&done[0].stage, &Stage::Waiting));
    assert_eq!(again[2].stage, done[2].stage);
    done[0].tip = "another".into();
    done[2].tip = "another".into();
    let again = planned(&[], &done);
    assert_eq!(again[0].stage, done[0].stage, "the branch has followed main");
    assert_eq!(again[2].stage, Stage::Waiting, "it has moved on");
}

#[test]
fn an_interrupted_move_has_happened_or_has_not() {
    let advancing = || {
        let mut entry = planned(&[], &[]).remove(0);
        entry.stage = Stage::Advancing { from: "0".into(), to: "1'".into(), ground: Ground::Tested };
        entry
    };
    let (mut moved, mut untouched) = (advancing(), advancing());
    settle(&mut moved, true);
    settle(&mut untouched, false);
    let Some(Outcome::Merged { commit, rebased_from, .. }) = moved.outcome() else { panic!("{moved:?}") };
    assert_eq!((commit.as_str(), rebased_from.as_deref()), ("1'", Some("1")));
    assert_eq!(untouched.stage, Stage::Waiting);
}

#[test]
fn a_branch_is_fast_forwarded_rebased_if_wished_or_passed_over() {
    let entries = planned(&[], &[]);
    let next = |relation, rebase| next_move(&entries[0], &entries, relation, rebase);
    assert_eq!(next(Relation::Contained, true), Move::Nothing);
    assert_eq!(next(Relation::Ahead, true), Move::FastForward);
    assert_eq!(next(Relation::Diverged, false), Move::Skip(Skip::Diverged));
    assert_eq!(next(Relation::Diverged, true), Move::Rebase);
}

#[test]
fn a_branch_waits_until_what_it_depends_on_is_in() {
    let mut entries = planned(&[("c", "a")], &[]);
    let next = |entries: &[Entry]| next_move(&entries[2], entries, Relation::Ahead, false);
    assert_eq!(next(&entries), Move::Skip(Skip::Waits { on: id("a") }));
    for (outcome, expected) in [
        (merged("1"), Move::FastForward),
        (Outcome::UpToDate, Move::FastForward),
        (regression(), Move::Skip(Skip::Waits { on: id("a") })),
        (Outcome::Cycle { with: vec![id("a")] }, Move::Skip(Skip::Waits { on: id("a") })),
    ] {
        entries[0].stage = Stage::Over(outcome);
        assert_eq!(next(&entries), expected);
    }
}

#[test]
fn main_moves_only_to_what_was_tested_or_to_exactly_what_was_checked() {
    let unproven = || TestResult::Unproven { why: "no tests".into() };
    assert_eq!(judge(TestResult::Passed, false), Verdict::Advance(Ground::Tested));
    assert_eq!(judge(unproven(), true), Verdict::Advance(Ground::Verified));
    assert_eq!(judge(unproven(), false), Verdict::Skip(Skip::Unproven { why: "no tests".into() }));
    let failed = TestResult::Failed { errors: vec!["e".into()] };
    assert_eq!(judge(failed, true), Verdict::Reject(vec!["e".into()]));
}

proptest! {
    #[test]
    fn an_entry_survives_being_written_down(words in proptest::collection::vec(".*", 3)) {
        let stages = [
            Stage::Waiting,
            Stage::Advancing { from: words[0].clone(), to: words[1].clone(), ground: Ground::Verified },
            Stage::Over(merged(&words[2])),
            Stage::Over(Outcome::UpToDate),
            Stage::Over(Outcome::Skipped { why: Skip::Diverged }),
            Stage::Over(Outcome::Skipped { why: Skip::Refused { why: words[0].clone() } }),
            Stage::Over(Outcome::Skipped { why: Skip::Waits { on: id("b") } }),
            Stage::Over(Outcome::Regression { commit: words[0].clone(), errors: words.clone(), rescue: words[1].clone(), main_fails: true }),
            Stage::Over(Outcome::Cycle { with: vec![id("a")] }),
        ];
        for stage in stages {
            let entry = Entry { stage, ..planned(&[("a", "b")], &[]).remove(2) };
            let text = serde_json::to_string(&entry).unwrap();
            prop_assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in ".*") {
        let _ = serde_json::from_str::<Entry>(&text);
    }
}
