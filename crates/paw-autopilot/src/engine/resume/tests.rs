use paw_core::BranchName;
use proptest::prelude::*;

use super::super::event::{RunAction, RunEvent};
use super::super::machine::tests::{any_event, begun, branch, committed, new_run, red};
use super::super::state::PauseReason;
use super::*;
use crate::evidence::green::tests::sample_proof;

fn found(run: &Run) -> ResumeContext {
    ResumeContext {
        branch: run.branch.clone(),
        head: run.head.clone().unwrap_or_else(|| "c0".into()),
        parent: None,
        finished: None,
        subtasks: run.steps.iter().map(|step| step.id.clone()).collect(),
    }
}

fn in_green() -> Run {
    let mut run = begun(2);
    run.step(red()).unwrap();
    run
}

#[test]
fn resumed_run_tests_first_and_resets_attempts() {
    let mut run = in_green();
    for _ in 0..3 {
        run.step(RunEvent::GreenJudged(Err(Vec::new()))).unwrap();
    }
    assert!(matches!(run.stage, RunStage::Paused { reason: PauseReason::MaxAttempts { .. }, .. }));
    let mut resumed = resume(&run, &found(&run)).unwrap();
    assert_eq!((resumed.action(), resumed.stage.step()), (RunAction::RunTests, Some(0)));
    let mut by_hand = resumed.clone();
    assert_eq!(by_hand.step(RunEvent::GreenJudged(Ok(sample_proof()))).unwrap(), RunAction::Commit);
    resumed.step(RunEvent::GreenJudged(Err(Vec::new()))).unwrap();
    assert!(matches!(resumed.stage, RunStage::Green { attempt: 1, .. }));
}

#[test]
fn resume_refuses_another_branch_a_moved_head_and_a_changed_task() {
    let run = in_green();
    let elsewhere = ResumeContext { branch: BranchName::new("main").ok(), ..found(&run) };
    let error = resume(&run, &elsewhere).unwrap_err().to_string();
    assert!(error.contains("'analytics/task-42-x', but 'main' is checked out"), "{error}");
    let detached = resume(&run, &ResumeContext { branch: None, ..found(&run) }).unwrap_err();
    assert!(detached.to_string().contains("but no branch is checked out"));
    let moved = ResumeContext { head: "c9".into(), parent: Some("c0".into()), ..found(&run) };
    assert!(matches!(resume(&run, &moved), Err(ResumeError::HeadMoved { .. })));
    let changed = ResumeContext { subtasks: Vec::new(), ..found(&run) };
    assert!(matches!(resume(&run, &changed), Err(ResumeError::TaskChanged(_))));
}

#[test]
fn resume_recovers_a_commit_made_before_a_crash() {
    let run = in_green();
    let item = run.steps[0].id.clone();
    let after =
        ResumeContext { head: "c1".into(), parent: Some("c0".into()), finished: Some(item), ..found(&run) };
    let resumed = resume(&run, &after).unwrap();
    assert_eq!(resumed.steps[0].outcome, StepOutcome::Committed { sha: "c1".into() });
    assert_eq!((resumed.action(), resumed.stage.step()), (RunAction::RunTests, Some(1)));
    let other = ResumeContext { finished: Some(run.steps[1].id.clone()), ..after };
    assert!(resume(&run, &other).is_err());
}

#[test]
fn resume_refuses_an_ended_run_and_restarts_preflight_without_a_branch() {
    let mut run = begun(1);
    run.step(RunEvent::Abort).unwrap();
    assert_eq!(resume(&run, &found(&run)), Err(ResumeError::Over));
    let mut early = new_run(1);
    early.step(RunEvent::PreflightFailed { problems: vec!["dirty".into()] }).unwrap();
    let at = ResumeContext { branch: Some(branch("main")), ..found(&early) };
    assert_eq!(resume(&early, &at).unwrap().action(), RunAction::Preflight);
}

proptest! {
    #[test]
    fn run_killed_at_any_point_can_be_resumed(events in proptest::collection::vec(any_event(), 0..40)) {
        let mut run = new_run(2);
        for event in events {
            let _ = run.step(event);
            let stored: Run = serde_json::from_str(&serde_json::to_string(&run.checkpoint()).unwrap()).unwrap();
            match resume(&stored, &found(&run)) {
                Ok(resumed) => {
                    let action = resumed.action();
                    prop_assert!(action != RunAction::Commit, "a proof does not outlive its process");
                    prop_assert_eq!(&resumed.steps, &run.steps);
                    prop_assert!(action != RunAction::Stop);
                }
                Err(error) => prop_assert_eq!((error, run.is_over()), (ResumeError::Over, true)),
            }
        }
    }
}

#[test]
fn resumed_run_skips_finished_steps() {
    let mut run = in_green();
    run.step(RunEvent::GreenJudged(Ok(sample_proof()))).unwrap();
    run.step(committed("c1")).unwrap();
    let resumed = resume(&run, &found(&run)).unwrap();
    assert_eq!(resumed.current().unwrap().id, run.steps[1].id);
}
