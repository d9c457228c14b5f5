use std::time::Duration;

use paw_core::BranchName;
use proptest::prelude::*;

use super::super::budget::{Budget, Spending};
use super::super::state::RunRequest;
use super::*;
use crate::evidence::green::tests::sample_proof;
use crate::tasks::{TagName, TaskId};

pub(crate) fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

pub(crate) fn new_run(steps: usize) -> Run {
    let order = RunRequest {
        task: TaskId::new("42").unwrap(),
        tag: TagName::new("analytics").unwrap(),
        title: "User metrics tracking".into(),
        default_branch: Some(branch("main")),
        max_attempts: 3,
        budget: Budget { time: Some(Duration::from_mins(10)), cost: None },
        push: true,
        pull_request: true,
    };
    let subtasks = (1..=steps).map(|n| (format!("42.{n}").parse().unwrap(), format!("Part {n}"))).collect();
    Run::new(order, subtasks).unwrap()
}

pub(crate) fn begun(steps: usize) -> Run {
    let mut run = new_run(steps);
    run.step(RunEvent::PreflightPassed).unwrap();
    run.step(RunEvent::BranchMade { branch: branch("analytics/task-42-x"), head: "c0".into() }).unwrap();
    run
}

pub(crate) fn red() -> RunEvent {
    RunEvent::RedJudged(RedJudgement::Proven(RedProof {
        tests: ["x".to_owned()].into(),
        ..RedProof::default()
    }))
}

pub(crate) fn committed(sha: &str) -> RunEvent {
    RunEvent::Committed { branch: Some(branch("analytics/task-42-x")), sha: sha.into() }
}

fn refused(objections: usize) -> RunEvent {
    RunEvent::RedJudged(RedJudgement::Refused(vec![Objection::NoTestsRan; objections]))
}

fn not_green() -> RunEvent {
    RunEvent::GreenJudged(Err(vec![Objection::StillFailing { tests: vec!["x".into()] }]))
}

#[test]
fn run_goes_from_preflight_to_pull_request() {
    let mut run = begun(2);
    for sha in ["c1", "c2"] {
        assert_eq!(run.action(), RunAction::WriteTests { insist: false });
        assert_eq!(run.step(red()).unwrap(), RunAction::WriteCode);
        assert_eq!(run.step(RunEvent::GreenJudged(Ok(sample_proof()))).unwrap(), RunAction::Commit);
        run.step(committed(sha)).unwrap();
    }
    assert_eq!(run.action(), RunAction::Finalize);
    assert_eq!(run.step(RunEvent::FinalPassed).unwrap(), RunAction::Push);
    assert_eq!(run.step(RunEvent::Pushed).unwrap(), RunAction::OpenPullRequest);
    let url = "https://example.invalid/123".to_owned();
    assert_eq!(run.step(RunEvent::PullRequestMade { url: url.clone() }).unwrap(), RunAction::Stop);
    assert_eq!(run.stage, RunStage::Done { pull_request: Some(url) });
    assert!(run.step(RunEvent::Abort).is_err());
}

#[test]
fn run_pauses_with_objections_after_three_failed_attempts() {
    let mut run = begun(1);
    run.step(red()).unwrap();
    for attempt in [2, 3] {
        assert_eq!(run.step(not_green()).unwrap(), RunAction::WriteCode);
        assert!(matches!(run.stage, RunStage::Green { attempt: now, .. } if now == attempt));
    }
    assert_eq!(run.step(not_green()).unwrap(), RunAction::Stop);
    let RunStage::Paused { reason: PauseReason::MaxAttempts { objections }, at } = &run.stage else {
        panic!("{run:?}")
    };
    assert!(objections.len() == 1 && matches!(**at, RunStage::Green { attempt: 3, .. }));
    assert!(run.step(red()).is_err());
}

#[test]
fn attempts_count_per_phase() {
    let mut run = begun(1);
    run.step(refused(1)).unwrap();
    run.step(refused(1)).unwrap();
    run.step(red()).unwrap();
    assert!(matches!(run.stage, RunStage::Green { attempt: 1, .. }));
}

#[test]
fn subtask_counts_as_implemented_when_new_tests_pass_twice() {
    let mut run = begun(2);
    let insisted = run.step(RunEvent::RedJudged(RedJudgement::AlreadyGreen)).unwrap();
    assert_eq!(insisted, RunAction::WriteTests { insist: true });
    assert!(matches!(run.stage, RunStage::Red { attempt: 1, .. }));
    let action = run.step(RunEvent::RedJudged(RedJudgement::AlreadyGreen)).unwrap();
    assert_eq!((action, run.stage.step()), (RunAction::WriteTests { insist: false }, Some(1)));
    assert_eq!(run.steps[0].outcome, StepOutcome::AlreadyImplemented);
}

#[test]
fn run_pauses_on_the_default_branch() {
    let mut run = new_run(1);
    run.step(RunEvent::PreflightPassed).unwrap();
    let action = run.step(RunEvent::BranchMade { branch: branch("main"), head: "c0".into() }).unwrap();
    assert_eq!(action, RunAction::Stop);
    assert!(matches!(run.stage, RunStage::Paused { reason: PauseReason::DefaultBranch { .. }, .. }));
}

#[test]
fn run_pauses_after_a_commit_on_another_branch() {
    let mut run = begun(1);
    run.step(red()).unwrap();
    run.step(RunEvent::GreenJudged(Ok(sample_proof()))).unwrap();
    run.step(RunEvent::Committed { branch: Some(branch("main")), sha: "c1".into() }).unwrap();
    assert!(matches!(run.stage, RunStage::Paused { reason: PauseReason::HeadMoved { .. }, .. }));
    assert_eq!(run.steps[0].outcome, StepOutcome::Open);
}

#[test]
fn run_pauses_when_the_executor_commits() {
    let mut run = begun(1);
    assert_eq!(run.step(RunEvent::HeadMoved { what: "HEAD is c9".into() }).unwrap(), RunAction::Stop);
    assert!(matches!(run.stage, RunStage::Paused { reason: PauseReason::HeadMoved { .. }, .. }));
}

#[test]
fn run_retries_temporary_executor_failures_and_then_pauses() {
    let mut run = begun(1);
    let failed = || RunEvent::ExecutorFailed { why: "overloaded".into(), temporary: true };
    for _ in 0..MAX_RETRIES {
        assert!(matches!(run.step(failed()).unwrap(), RunAction::Wait(_)));
        assert!(matches!(run.stage, RunStage::Red { attempt: 1, .. }));
    }
    assert_eq!(run.step(failed()).unwrap(), RunAction::Stop);
    let mut other = begun(1);
    other.step(RunEvent::ExecutorFailed { why: "no such program".into(), temporary: false }).unwrap();
    assert!(matches!(other.stage, RunStage::Paused { reason: PauseReason::Executor { .. }, .. }));
}

#[test]
fn run_pauses_when_the_budget_is_spent() {
    let mut run = begun(1);
    let spend = |secs| RunEvent::Spent(Spending { time: Duration::from_secs(secs), cost: 0 });
    assert!(matches!(run.step(spend(600)).unwrap(), RunAction::WriteTests { .. }));
    assert_eq!(run.step(spend(1)).unwrap(), RunAction::Stop);
}

#[test]
fn run_without_push_ends_after_the_final_checks() {
    let mut run = begun(1);
    run.request.push = false;
    run.step(red()).unwrap();
    run.step(RunEvent::GreenJudged(Ok(sample_proof()))).unwrap();
    run.step(committed("c1")).unwrap();
    assert_eq!(run.step(RunEvent::FinalPassed).unwrap(), RunAction::Stop);
    assert_eq!(run.stage, RunStage::Done { pull_request: None });
}

#[test]
fn checkpoint_can_be_stored_at_every_stage() {
    let mut run = begun(1);
    let stored = |run: &Run| -> Run {
        serde_json::from_str(&serde_json::to_string(&run.checkpoint()).unwrap()).unwrap()
    };
    assert_eq!(stored(&run), run);
    run.step(red()).unwrap();
    assert_eq!(stored(&run), run);
    run.step(RunEvent::GreenJudged(Ok(sample_proof()))).unwrap();
    assert!(matches!(stored(&run).stage, RunStage::Green { attempt: 0, .. }));
    run.step(RunEvent::Pause).unwrap();
    let RunStage::Paused { at, .. } = stored(&run).stage else { panic!() };
    assert!(matches!(*at, RunStage::Green { attempt: 0, .. }));
}

pub(crate) fn any_event() -> impl Strategy<Value = RunEvent> {
    prop_oneof![
        3 => Just(RunEvent::PreflightPassed),
        1 => Just(RunEvent::PreflightFailed { problems: vec!["dirty".into()] }),
        3 => ("main|analytics/task-42-x|other", "c[0-3]")
            .prop_map(|(name, head)| RunEvent::BranchMade { branch: branch(&name), head }),
        6 => Just(red()),
        2 => Just(refused(1)),
        2 => Just(RunEvent::RedJudged(RedJudgement::AlreadyGreen)),
        6 => Just(RunEvent::GreenJudged(Ok(sample_proof()))),
        2 => Just(not_green()),
        6 => ("main|analytics/task-42-x|other", "c[0-3]")
            .prop_map(|(name, sha)| RunEvent::Committed { branch: Some(branch(&name)), sha }),
        1 => Just(RunEvent::Committed { branch: None, sha: "c1".into() }),
        1 => Just(RunEvent::CommitRefused { why: "hook".into() }),
        3 => Just(RunEvent::FinalPassed),
        1 => Just(RunEvent::FinalFailed { why: "red".into() }),
        3 => Just(RunEvent::Pushed),
        1 => Just(RunEvent::PullRequestMade { url: "u".into() }),
        1 => Just(RunEvent::NoPullRequest),
        1 => Just(RunEvent::ExecutorFailed { why: "x".into(), temporary: true }),
        1 => Just(RunEvent::HeadMoved { what: "x".into() }),
        1 => Just(RunEvent::Closed { what: "x".into() }),
        1 => Just(RunEvent::NotMeasured { why: "x".into() }),
        1 => Just(RunEvent::Spent(Spending { time: Duration::from_secs(100), cost: 1 })),
        1 => Just(RunEvent::Pause),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn run_never_commits_without_proof_or_to_the_default_branch(events in proptest::collection::vec(any_event(), 0..60)) {
        let mut run = new_run(2);
        // What was actually proven for the current subtask.
        let (mut is_red, mut is_green) = (false, false);
        for event in events {
            let before = run.clone();
            let step = run.current().map(|step| step.id.clone());
            let Ok(action) = run.step(event.clone()) else {
                prop_assert_eq!(&run, &before);
                continue;
            };
            match &event {
                RunEvent::RedJudged(RedJudgement::Proven(_)) => (is_red, is_green) = (true, false),
                RunEvent::GreenJudged(Ok(_)) => is_green = is_red,
                _ => {}
            }
            let is_on_own_branch = run.branch.as_ref().is_some_and(|on| *on != branch("main"));
            if action == RunAction::Commit {
                prop_assert!(is_red && is_green && is_on_own_branch, "{:?}", event);
                prop_assert_eq!(&run.current().unwrap().outcome, &StepOutcome::Open);
            }
            if matches!(action, RunAction::Push | RunAction::OpenPullRequest) {
                prop_assert!(is_on_own_branch);
                prop_assert!(run.steps.iter().all(|step| step.outcome != StepOutcome::Open));
            }
            if run.current().map(|step| step.id.clone()) != step {
                (is_red, is_green) = (false, false);
            }
            prop_assert_eq!(matches!(action, RunAction::Stop), matches!(run.stage, RunStage::Paused { .. } | RunStage::Done { .. } | RunStage::Aborted));
        }
    }
}
