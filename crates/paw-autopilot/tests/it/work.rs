//! The steps of a run as an agent uses them, each in its own process.

use std::path::Path;

use paw_autopilot::engine::{RunAction, RunStage};
use paw_autopilot::evidence::Objection;
use paw_autopilot::work::finish::FinalCommands;
use paw_autopilot::work::{
    ActiveRun, PhaseJudgement, ProjectContext, Relaxation, RunOptions, WorkError, next_steps, plan,
};
use paw_core::PawError;
use paw_core::paths::DataDir;
use paw_host::git::Repo;
use paw_host::trust::TrustSubject;
use paw_testkit::{Sandbox, TestRepo};

const TASKS: &str = r#"{"analytics": {"tasks": [{"id": 42, "title": "Metrics", "subtasks": [
    {"id": 1, "title": "Subtract", "details": "In metrics.py", "acceptanceCriteria": "- 3 - 1 is 2"},
    {"id": 2, "title": "Multiply", "dependencies": [1]}]}]}}"#;

const TEST: &str = "import unittest\nimport metrics\n\nclass New(unittest.TestCase):\n    def test_new(self):\n        self.assertEqual(metrics.subtract(3, 1), 2)\n";
const CODE: &str = "def subtract(a, b):\n    return a - b\n";

struct World {
    _sandbox: Sandbox,
    repo: TestRepo,
}

fn world() -> Option<World> {
    let sandbox = Sandbox::new();
    if !sandbox.install_python() {
        return None;
    }
    let repo = sandbox.repo("app");
    repo.commit_file("metrics.py", "", "code");
    repo.commit_file(
        "test_old.py",
        "import unittest\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        pass\n",
        "test",
    );
    repo.commit_file(".taskmaster/tasks/tasks.json", TASKS, "tasks");
    Some(World { _sandbox: sandbox, repo })
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of an answer that can fail")]
fn yes(_: &TrustSubject) -> Result<bool, PawError> {
    Ok(true)
}

fn context(root: &Path) -> ProjectContext {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let context = ProjectContext::find(Repo::discover(root).unwrap(), root, &path).unwrap();
    ProjectContext { data: DataDir::of(root.parent().unwrap().join("data")), ..context }
}

fn options() -> RunOptions {
    RunOptions {
        task: Some("42".into()),
        tag: Some("analytics".into()),
        runner: Some("unittest".into()),
        max_attempts: Some(2),
        ..RunOptions::default()
    }
}

impl World {
    fn begin(&self) -> ActiveRun {
        let context = context(&self.repo.root);
        let plan = plan(&context, &options(), &[], &FinalCommands::default()).unwrap();
        assert_eq!(plan.problems(), [""; 0]);
        ActiveRun::begin(context, &plan, options(), &yes).unwrap()
    }

    /// Runs up to the commit: the test failed, and passes with the code.
    fn prove(&self) {
        let mut work = self.begin();
        self.repo.write("test_new.py", TEST);
        work.complete().unwrap();
        self.repo.write("metrics.py", CODE);
        work.complete().unwrap();
    }

    fn load(&self) -> ActiveRun {
        ActiveRun::load(context(&self.repo.root), &yes).unwrap()
    }
}

#[test]
fn agent_steps_through_a_run_and_tests_run_for_it() {
    let Some(world) = world() else { return };
    let work = world.begin();
    let unit = work.next().unwrap().unwrap();
    assert_eq!((unit.phase, unit.subtask.to_string().as_str()), ("RED", "42.1"));
    assert_eq!(unit.action, "Generate failing tests for Subtract");
    assert_eq!(unit.context["testFile"], "test_metrics.py");
    assert_eq!(unit.context["acceptanceCriteria"][0], "3 - 1 is 2");
    let busy = ActiveRun::load(context(&world.repo.root), &yes).unwrap_err();
    assert!(matches!(busy, WorkError::Busy(_)), "{busy}");
    drop(work);

    world.repo.write("test_new.py", TEST);
    let judged = world.load().complete().unwrap();
    assert_eq!(judged.judgement, PhaseJudgement::Proven);
    world.repo.write("metrics.py", CODE);
    let mut work = world.load();
    assert_eq!(work.next().unwrap().unwrap().phase, "GREEN");
    assert_eq!(work.complete().unwrap().judgement, PhaseJudgement::Proven);
    drop(work);

    let mut work = world.load();
    assert_eq!((work.next().unwrap().unwrap().phase, work.action_name()), ("COMMIT", "commit_changes"));
    assert_eq!(work.status().tdd_phase, Some("COMMIT"));
    let committed = work.commit(Some("Teach it to subtract")).unwrap().unwrap();
    assert_eq!(committed.subject, "Teach it to subtract");
    assert!(world.repo.git(["log", "-1", "--format=%(trailers:only)"]).contains("Subtask: 42.1"));
    assert_eq!(work.next().unwrap().unwrap().subtask.to_string(), "42.2");
    assert!(next_steps(&work).contains("Write failing tests"));
    let early = work.finalize(&FinalCommands::default()).unwrap_err();
    assert!(early.to_string().contains("cannot finalize now"), "{early}");
}

#[test]
fn run_pauses_when_every_attempt_writes_nothing() {
    let Some(world) = world() else { return };
    let mut work = world.begin();
    let judged = work.complete().unwrap();
    let PhaseJudgement::Refused(objections) = judged.judgement else { panic!("{judged:?}") };
    assert_eq!(objections, [Objection::NoTestsChanged]);
    assert!(matches!(work.run.stage, RunStage::Red { attempt: 2, .. }));
    assert_eq!(work.next().unwrap().unwrap().context["objections"][0], "no test was written or changed");
    work.complete().unwrap();
    assert!(matches!(work.run.stage, RunStage::Paused { .. }));
    assert!(matches!(work.complete(), Err(WorkError::Paused(_))));
    drop(work);
    let work = ActiveRun::resume(context(&world.repo.root), &yes, &[]).unwrap();
    assert_eq!(work.run.action(), RunAction::WriteTests { insist: false }, "there is nothing to test");
    drop(work);
    world.repo.write("test_new.py", TEST);
    let work = ActiveRun::resume(context(&world.repo.root), &yes, &[]).unwrap();
    assert_eq!(work.run.action(), RunAction::RunTests, "a test was written by hand");
}

#[test]
fn commit_refuses_a_proof_invalidated_by_a_change() {
    let Some(world) = world() else { return };
    world.prove();
    world.repo.write("metrics.py", "def subtract(a, b):\n    return 7\n");
    let before = world.repo.git(["rev-parse", "HEAD"]);
    let refused = world.load().commit(None).unwrap_err();
    assert!(matches!(refused, WorkError::NotProven(_)), "{refused}");
    assert_eq!(world.repo.git(["rev-parse", "HEAD"]), before);
    assert_eq!(world.load().action_name(), "implement_code");
}

#[test]
fn coverage_command_cannot_change_what_is_committed() {
    let Some(world) = world() else { return };
    world.prove();
    let mut work = world.load();
    let coverage = Some("echo '# later' >> metrics.py".to_owned());
    work.set_coverage_command(&FinalCommands { coverage, ..FinalCommands::default() });
    work.commit(None).unwrap().unwrap();
    assert_eq!(world.repo.git(["show", "HEAD:metrics.py"]), CODE.trim_end());
    assert_eq!(std::fs::read_to_string(world.repo.root.join("metrics.py")).unwrap(), CODE);
}

#[test]
fn tests_that_change_the_code_prove_nothing() {
    let Some(world) = world() else { return };
    let mut work = world.begin();
    let disturbing =
        "import os\nif os.path.exists('always'):\n    print('# later', file=open('metrics.py', 'a'))\n";
    world.repo.write("test_new.py", &format!("{TEST}\n{disturbing}"));
    assert_eq!(work.complete().unwrap().judgement, PhaseJudgement::Proven);
    world.repo.write("metrics.py", CODE);
    world.repo.write("always", "");
    let PhaseJudgement::Refused(objections) = work.complete().unwrap().judgement else { panic!() };
    assert_eq!(objections, [Objection::ChangedWhileTested { file: "metrics.py".into() }]);
    std::fs::remove_file(world.repo.root.join("always")).unwrap();
    assert_eq!(work.complete().unwrap().judgement, PhaseJudgement::Proven);
    work.commit(None).unwrap().unwrap();
    assert_eq!(std::fs::read_to_string(world.repo.root.join("metrics.py")).unwrap(), CODE);
}

#[test]
fn green_refuses_changes_to_the_test_script() {
    let Some(world) = world() else { return };
    world.repo.commit_file("run.sh", "python3 -B -m unittest\n", "how tests are run");
    let options = RunOptions { runner: Some("sh run.sh".into()), ..options() };
    let context = context(&world.repo.root);
    let plan = plan(&context, &options, &[], &FinalCommands::default()).unwrap();
    let mut work = ActiveRun::begin(context, &plan, options, &yes).unwrap();
    world.repo.write("test_new.py", TEST);
    assert_eq!(work.complete().unwrap().judgement, PhaseJudgement::Proven);
    drop(work);
    world.repo.write("run.sh", "true\n");
    let PhaseJudgement::Refused(objections) = world.load().complete().unwrap().judgement else { panic!() };
    assert_eq!(objections, [Objection::HarnessChanged { files: vec!["run.sh".into()] }]);
}

#[test]
fn resume_refuses_a_foreign_commit_with_our_trailer() {
    let Some(world) = world() else { return };
    world.prove();
    world.repo.write("metrics.py", "broken(");
    world.repo.git(["add", "--all"]);
    world.repo.git(["commit", "--quiet", "--message", "x", "--message", "Subtask: 42.1"]);
    let refused = ActiveRun::resume(context(&world.repo.root), &yes, &[]).unwrap_err();
    assert!(refused.to_string().contains("the branch has moved"), "{refused}");
}

#[test]
fn aborted_run_ends_and_keeps_its_branch() {
    let Some(world) = world() else { return };
    let mut work = world.begin();
    work.abort().unwrap();
    drop(work);
    assert!(matches!(ActiveRun::load(context(&world.repo.root), &yes), Err(WorkError::NoRun)));
    assert_eq!(world.repo.git(["branch", "--show-current"]), "analytics/task-42-metrics");
}

#[test]
fn unfinished_run_is_abandoned_only_with_force() {
    let Some(world) = world() else { return };
    drop(world.begin());
    let context = || context(&world.repo.root);
    let begin = |options: RunOptions| {
        let plan = plan(&context(), &options, &[], &FinalCommands::default()).unwrap();
        ActiveRun::begin(context(), &plan, options, &yes)
    };
    assert!(matches!(begin(options()), Err(WorkError::Unfinished { .. })));
    begin(RunOptions { relax: vec![Relaxation::Run], ..options() }).unwrap();
}
