//! RED, GREEN and COMMIT with a real runner and repository: engine, evidence and runner together.

use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_autopilot::engine::{Run, RunAction, RunEvent, RunStage, StepOutcome};
use paw_autopilot::evidence::changes::since_head;
use paw_autopilot::evidence::{
    FileChange, FileRules, GreenProof, Objection, RedJudgement, RedProof, judge_green, judge_red,
};
use paw_autopilot::runners::detect::{detect, load_facts};
use paw_autopilot::runners::run::run;
use paw_autopilot::runners::{TestLimits, TestReport, TestRun, TestRunner, TestSelection, TestVerdict};
use paw_core::BranchName;
use paw_host::git::Git;
use paw_testkit::{Sandbox, TestRepo};

use crate::artifacts::order;

/// A project with one passing test.
struct World {
    repo: TestRepo,
    adapter: Box<dyn TestRunner>,
    baseline: TestReport,
}

impl World {
    /// `None` if Python is not installed.
    fn find(sandbox: &Sandbox) -> Option<Self> {
        if !sandbox.install_python() {
            return None;
        }
        let repo = sandbox.repo("app");
        repo.commit_file("metrics.py", "def add(a, b):\n    return a + b\n", "code");
        let test = "import unittest\nimport metrics\n\nclass Old(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(metrics.add(1, 1), 2)\n";
        repo.commit_file("test_old.py", test, "test");
        repo.git(["checkout", "--quiet", "-b", "analytics/task-42-user-metrics"]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let adapter = detect(&load_facts(&repo.root, &path, Some("unittest")), &repo.root, Some("unittest"))
            .unwrap()
            .adapter;
        let mut world = Self { repo, adapter, baseline: TestReport::default() };
        world.baseline = world.tests().report;
        Some(world)
    }

    fn tests(&self) -> TestRun {
        let limits = TestLimits::of(Duration::from_mins(1));
        run(None, self.adapter.as_ref(), &self.repo.root, &TestSelection::All, limits).unwrap()
    }

    /// Changes since the last commit.
    fn changes(&self) -> Vec<FileChange> {
        since_head(&Git::at(&self.repo.root)).unwrap().1
    }

    fn red(&self) -> RedJudgement {
        judge_red(&FileRules::default(), &self.baseline, &self.changes(), &self.tests())
    }

    fn green(&self, red: &RedJudgement) -> Result<GreenProof, Vec<Objection>> {
        judge_green(&FileRules::default(), &self.baseline, proven(red), &self.changes(), &self.tests())
    }
}

fn begun() -> Run {
    let mut run = Run::new(order(), vec![("42.1".parse().unwrap(), "Subtract".into())]).unwrap();
    run.step(RunEvent::PreflightPassed).unwrap();
    let branch = BranchName::new("analytics/task-42-user-metrics").unwrap();
    run.step(RunEvent::BranchMade { branch, head: "start".into() }).unwrap();
    run
}

const NEW_TEST: &str = "import unittest\nfrom metrics import subtract\n\nclass New(unittest.TestCase):\n    def test_subtract(self):\n        self.assertEqual(subtract(3, 1), 2)\n";

/// The module with a second function that returns this value.
fn with_subtract(returned: &str) -> String {
    format!("def add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return {returned}\n")
}

fn proven(judged: &RedJudgement) -> &RedProof {
    let RedJudgement::Proven(proof) = judged else { panic!("{judged:?}") };
    proof
}

#[test]
fn a_subtask_goes_through_red_green_and_commit() {
    let sandbox = Sandbox::new();
    let Some(world) = World::find(&sandbox) else { return };
    let mut run = begun();

    world.repo.write("test_new.py", NEW_TEST);
    let red = world.red();
    assert_eq!(
        proven(&red).files.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
        [Path::new("test_new.py")]
    );
    run.step(RunEvent::RedJudged(red.clone())).unwrap();

    world.repo.write("metrics.py", &with_subtract("a"));
    let wrong = world.green(&red);
    assert!(matches!(wrong.as_ref().unwrap_err()[0], Objection::NewFailures { .. }), "{wrong:?}");
    assert_eq!(run.step(RunEvent::GreenJudged(wrong)).unwrap(), RunAction::WriteCode);
    assert!(matches!(run.stage, RunStage::Green { attempt: 2, .. }));

    world.repo.write("metrics.py", &with_subtract("a - b"));
    let green = world.green(&red);
    assert!(green.as_ref().unwrap().proven().contains("test_new.New.test_subtract"));
    assert_eq!(run.step(RunEvent::GreenJudged(green)).unwrap(), RunAction::Commit);

    world.repo.git(["add", "--all"]);
    world.repo.git(["commit", "--quiet", "--message", "feat(metrics): subtract (task 42.1)"]);
    let sha = world.repo.git(["rev-parse", "HEAD"]);
    run.step(RunEvent::Committed { branch: run.branch.clone(), sha: sha.clone() }).unwrap();
    assert_eq!(run.steps[0].outcome, StepOutcome::Committed { sha });
    assert_eq!(run.stage, RunStage::Finalize);
}

#[test]
fn green_refuses_an_executor_that_changes_the_test() {
    let sandbox = Sandbox::new();
    let Some(world) = World::find(&sandbox) else { return };
    world.repo.write("test_new.py", NEW_TEST);
    let red = world.red();
    world.repo.write("test_new.py", &NEW_TEST.replace("3, 1), 2", "3, 1), 3"));
    world.repo.write("metrics.py", &with_subtract("a"));
    assert_eq!(world.tests().verdict, TestVerdict::Passed);
    let judged = world.green(&red).unwrap_err();
    assert!(matches!(judged[0], Objection::Weakened { .. }), "{judged:?}");
    // The next attempt changes nothing more and is still refused.
    let again = world.green(&red).unwrap_err();
    assert_eq!(again, judged);
    world.repo.write("test_new.py", NEW_TEST);
    world.repo.write("metrics.py", &with_subtract("a - b"));
    world.green(&red).unwrap();
}

#[test]
fn red_refuses_code_written_before_its_test() {
    let sandbox = Sandbox::new();
    let Some(world) = World::find(&sandbox) else { return };
    world.repo.write("test_new.py", NEW_TEST);
    world.repo.write("metrics.py", &with_subtract("a - b"));
    let judged = world.red();
    assert!(
        matches!(&judged, RedJudgement::Refused(objections) if matches!(objections[0], Objection::ProductionChanged { .. }))
    );
}

#[test]
fn changes_of_every_kind_are_found() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    for name in ["changed", "deleted", "moved", "same"] {
        repo.commit_file(name, &format!("{name}\n").repeat(9), "x");
    }
    repo.write(".gitignore", "ignored\n");
    repo.write("ignored", "x");
    repo.write("changed", "y\n");
    repo.write("dir/new \"file\"\n", "z\n");
    repo.git(["mv", "moved", "there"]);
    repo.git(["rm", "--quiet", "deleted"]);
    std::os::unix::fs::symlink("/etc/passwd", repo.root.join("link")).unwrap();
    let snapshot = since_head(&Git::at(&repo.root)).unwrap().1;
    let shown: Vec<_> = snapshot
        .iter()
        .map(|change| (change.path.to_str().unwrap(), change.before.is_some(), change.after.is_some()))
        .collect();
    assert_eq!(
        shown,
        [
            (".gitignore", false, true),
            ("changed", true, true),
            ("deleted", true, false),
            ("dir/new \"file\"\n", false, true),
            ("link", false, true),
            ("moved", true, false),
            ("there", false, true),
        ]
    );
    assert_eq!(
        snapshot[4].after.as_deref(),
        Some("/etc/passwd"),
        "a link is what it says, not where it leads"
    );
}

#[test]
fn repository_without_commits_has_only_new_files() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.git(["checkout", "--quiet", "--orphan", "empty"]);
    repo.git(["rm", "--quiet", "-r", "--cached", "."]);
    let snapshot = since_head(&Git::at(&repo.root)).unwrap().1;
    assert!(snapshot.len() == 1 && snapshot[0].before.is_none(), "{snapshot:?}");
}
