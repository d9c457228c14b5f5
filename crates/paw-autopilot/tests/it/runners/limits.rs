//! Suites that hang, flood their output or read secrets, and flaky tests.

use std::fs;
use std::time::Duration;

use paw_autopilot::runners::detect::{detect, load_facts};
use paw_autopilot::runners::run::{run, run_twice};
use paw_autopilot::runners::{TestLimits, TestSelection, TestVerdict};
use paw_testkit::Sandbox;

use super::{LIMITS, all, has, project, search_path, shown};

#[test]
fn custom_command_is_judged_by_its_exit_code() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("x", "")]);
    assert_eq!(all(&root, Some("test -e x")).verdict, TestVerdict::Passed);
    let ran = all(&root, Some("echo no; echo luck >&2; exit 3"));
    assert_eq!(ran.verdict, TestVerdict::Failures);
    assert_eq!(ran.report.cases[0].message.as_deref(), Some("no\nluck"));
    assert_eq!(all(&root, Some("no-such-program-here")).verdict, TestVerdict::Crashed);
}

#[test]
fn hanging_suite_is_killed_with_its_children() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("x", "")]);
    let line = "sleep 600 & echo $! > pid; wait";
    let detected = detect(&load_facts(&root, &search_path(), Some(line)), &root, Some(line)).unwrap();
    let limits = TestLimits { time: Duration::from_millis(500), output: 1 << 20 };
    let ran = run(None, detected.adapter.as_ref(), &root, &TestSelection::All, limits).unwrap();
    assert_eq!(ran.verdict, TestVerdict::TimedOut);
    let pid = fs::read_to_string(root.join("pid")).unwrap();
    let alive =
        || fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "));
    paw_testkit::wait_until("the sleeper is gone", || (!alive()).then_some(()));
}

#[test]
fn suite_that_exceeds_the_output_limit_is_killed() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("x", "")]);
    let detected = detect(
        &load_facts(&root, &search_path(), Some("while :; do echo flood; done")),
        &root,
        Some("while :; do echo flood; done"),
    )
    .unwrap();
    let limits = TestLimits { time: Duration::from_mins(2), output: 1 << 20 };
    let ran = run(None, detected.adapter.as_ref(), &root, &TestSelection::All, limits).unwrap();
    assert_eq!(ran.verdict, TestVerdict::Crashed);
    assert!(ran.output.len() <= 20_000);
}

#[test]
fn test_that_fails_once_is_flaky() {
    if !has("python3", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let test = "import os\nimport unittest\n\nclass A(unittest.TestCase):\n    def test_flaky(self):\n        first = not os.path.exists('seen')\n        open('seen', 'w').close()\n        self.assertFalse(first)\n    def test_bad(self):\n        self.fail()\n";
    let root = project(&sandbox, &[("test_a.py", test)]);
    let detected =
        detect(&load_facts(&root, &search_path(), Some("unittest")), &root, Some("unittest")).unwrap();
    let ran = run_twice(None, detected.adapter.as_ref(), &root, &TestSelection::All, LIMITS).unwrap();
    assert_eq!(ran.flaky.iter().map(String::as_str).collect::<Vec<_>>(), ["test_a.A.test_flaky"]);
    assert_eq!(shown(&ran), "Failures\nFailed test_a.A.test_bad\nPassed test_a.A.test_flaky");
}

#[test]
fn tests_do_not_get_the_users_secrets() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("x", "")]);
    let ran = all(&root, Some("env; exit 1"));
    let names: Vec<_> =
        ran.output.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.contains(&"PATH") && !names.contains(&"CARGO_PKG_NAME"), "{names:?}");
}
