use proptest::prelude::*;

use super::*;
use crate::merge::order::MergeDependency;

fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

fn candidate(agent: &str, tip: &str) -> MergeCandidate {
    let branch = BranchName::new(format!("feat/{agent}")).unwrap();
    MergeCandidate { member: MergeMember { agent: id(agent), branch }, tip: tip.to_owned() }
}

fn verifications(edges: &[(&str, &str)]) -> Verifications {
    let mut verifications = Verifications::default();
    verifications
        .edges
        .extend(edges.iter().map(|(dependent, on)| MergeDependency { dependent: id(dependent), on: id(on) }));
    verifications
}

fn planned(edges: &[(&str, &str)], done: &[MergeEntry]) -> Vec<MergeEntry> {
    let candidates = [candidate("a", "1"), candidate("b", "2"), candidate("c", "3")];
    plan(&candidates, &verifications(edges), done).0
}

fn merged(commit: &str) -> MergeOutcome {
    MergeOutcome::Merged {
        from: "0".into(),
        commit: commit.into(),
        evidence: MergeEvidence::Tested,
        rebased_from: None,
    }
}

fn regression() -> MergeOutcome {
    MergeOutcome::Regression {
        commit: "1".into(),
        errors: Vec::new(),
        rescue: "refs/paw/rescue/x".into(),
        main_fails: false,
    }
}

#[test]
fn entries_are_in_merge_order_with_their_dependencies() {
    let entries = planned(&[("a", "c")], &[]);
    let order: Vec<_> = entries.iter().map(|entry| entry.agent.as_str()).collect();
    assert_eq!(order, ["b", "c", "a"]);
    assert_eq!(entries[2].needs, [id("c")]);
    assert!(entries.iter().all(|entry| entry.stage == MergeStage::Waiting && !entry.verified));
}

#[test]
fn entries_in_a_cycle_are_finished_from_the_start() {
    let entries = planned(&[("a", "b"), ("b", "a")], &[]);
    assert_eq!(entries[0].stage, MergeStage::Waiting);
    for entry in &entries[1..] {
        assert_eq!(entry.outcome(), Some(&MergeOutcome::Cycle { with: vec![id("a"), id("b")] }));
    }
}

#[test]
fn a_resumed_merge_keeps_merged_and_failed_branches_with_the_same_tip() {
    let mut done = planned(&[], &[]);
    done[0].stage = MergeStage::Over(merged("1"));
    done[1].stage = MergeStage::Over(MergeOutcome::Skipped { why: MergeSkip::Diverged });
    done[2].stage = MergeStage::Over(regression());
    let again = planned(&[], &done);
    assert_eq!((&again[0].stage, &again[1].stage), (&done[0].stage, &MergeStage::Waiting));
    assert_eq!(again[2].stage, done[2].stage);
    done[0].tip = "another".into();
    done[2].tip = "another".into();
    let again = planned(&[], &done);
    assert_eq!(again[0].stage, done[0].stage, "the branch has followed main");
    assert_eq!(again[2].stage, MergeStage::Waiting, "it has moved on");
}

#[test]
fn an_interrupted_move_is_completed_or_reset() {
    let advancing = || {
        let mut entry = planned(&[], &[]).remove(0);
        entry.stage =
            MergeStage::Advancing { from: "0".into(), to: "1'".into(), evidence: MergeEvidence::Tested };
        entry
    };
    let (mut moved, mut untouched) = (advancing(), advancing());
    settle_interrupted(&mut moved, true);
    settle_interrupted(&mut untouched, false);
    let Some(MergeOutcome::Merged { commit, rebased_from, .. }) = moved.outcome() else {
        panic!("{moved:?}")
    };
    assert_eq!((commit.as_str(), rebased_from.as_deref()), ("1'", Some("1")));
    assert_eq!(untouched.stage, MergeStage::Waiting);
}

#[test]
fn a_branch_is_fast_forwarded_rebased_on_request_or_skipped() {
    let entries = planned(&[], &[]);
    let next = |relation, rebase| next_action(&entries[0], &entries, relation, rebase);
    assert_eq!(next(BranchRelation::Contained, true), MergeAction::Nothing);
    assert_eq!(next(BranchRelation::Ahead, true), MergeAction::FastForward);
    assert_eq!(next(BranchRelation::Diverged, false), MergeAction::Skip(MergeSkip::Diverged));
    assert_eq!(next(BranchRelation::Diverged, true), MergeAction::Rebase);
}

#[test]
fn a_branch_is_skipped_until_its_dependency_is_merged() {
    let mut entries = planned(&[("c", "a")], &[]);
    let next = |entries: &[MergeEntry]| next_action(&entries[2], entries, BranchRelation::Ahead, false);
    assert_eq!(next(&entries), MergeAction::Skip(MergeSkip::Waits { on: id("a") }));
    for (outcome, expected) in [
        (merged("1"), MergeAction::FastForward),
        (MergeOutcome::UpToDate, MergeAction::FastForward),
        (regression(), MergeAction::Skip(MergeSkip::Waits { on: id("a") })),
        (MergeOutcome::Cycle { with: vec![id("a")] }, MergeAction::Skip(MergeSkip::Waits { on: id("a") })),
    ] {
        entries[0].stage = MergeStage::Over(outcome);
        assert_eq!(next(&entries), expected);
    }
}

#[test]
fn main_moves_only_to_tested_or_verified_commits() {
    let unproven = || CommitTestResult::Unproven { why: "no tests".into() };
    assert_eq!(decide(CommitTestResult::Passed, false), MergeDecision::Advance(MergeEvidence::Tested));
    assert_eq!(decide(unproven(), true), MergeDecision::Advance(MergeEvidence::Verified));
    assert_eq!(
        decide(unproven(), false),
        MergeDecision::Skip(MergeSkip::Unproven { why: "no tests".into() })
    );
    let failed = CommitTestResult::Failed { errors: vec!["e".into()] };
    assert_eq!(decide(failed, true), MergeDecision::Reject(vec!["e".into()]));
}

proptest! {
    #[test]
    fn a_merge_entry_round_trips_through_json(words in proptest::collection::vec(".*", 3)) {
        let stages = [
            MergeStage::Waiting,
            MergeStage::Advancing { from: words[0].clone(), to: words[1].clone(), evidence: MergeEvidence::Verified },
            MergeStage::Over(merged(&words[2])),
            MergeStage::Over(MergeOutcome::UpToDate),
            MergeStage::Over(MergeOutcome::Skipped { why: MergeSkip::Diverged }),
            MergeStage::Over(MergeOutcome::Skipped { why: MergeSkip::Refused { why: words[0].clone() } }),
            MergeStage::Over(MergeOutcome::Skipped { why: MergeSkip::Waits { on: id("b") } }),
            MergeStage::Over(MergeOutcome::Regression { commit: words[0].clone(), errors: words.clone(), rescue: words[1].clone(), main_fails: true }),
            MergeStage::Over(MergeOutcome::Cycle { with: vec![id("a")] }),
        ];
        for stage in stages {
            let entry = MergeEntry { stage, ..planned(&[("a", "b")], &[]).remove(2) };
            let text = serde_json::to_string(&entry).unwrap();
            prop_assert_eq!(serde_json::from_str::<MergeEntry>(&text).unwrap(), entry);
        }
    }

    #[test]
    fn reading_a_merge_entry_never_panics(text in ".*") {
        let _ = serde_json::from_str::<MergeEntry>(&text);
    }
}
