//! Coverage of changed lines.

use std::os::unix::fs::symlink;
use std::path::Path;

use super::world::World;

/// Two lines of the first part are uncovered until more tests exist.
const COVER: &str = r"#!/bin/sh
for n in 1 2 3; do
  [ -e metrics/part$n.py ] || continue
  hits=1; [ $n = 1 ] && [ ! -e tests/test_more.py ] && hits=0
  printf 'TN:\nSF:metrics/part%s.py\nDA:1,1\nDA:2,1\nDA:5,%s\nDA:6,%s\nend_of_record\n' $n $hits $hits
done > lcov.info
";

const MORE: &str = "import unittest\n\nclass More(unittest.TestCase):\n    def test_name(self):\n        from metrics import part1\n        self.assertEqual(part1.name(), \"part\")\n";

fn measured(command: &str, more: &str) -> Option<World> {
    measured_by(COVER, command, more)
}

fn measured_by(cover: &str, command: &str, more: &str) -> Option<World> {
    let world = World::find()?;
    let program = world.sandbox.install_program("cover", cover);
    let command = command.replace("cover", &program.display().to_string());
    let all = format!(
        "case $PAW_PHASE in RED) red ;; GREEN) green; [ $PAW_ATTEMPT = 2 ] && cat > tests/test_more.py << 'END'\n{MORE}END\n ;; esac\n:\n"
    );
    world.executor(&all);
    world.configure(&format!("[autopilot]\ncoverage_command = \"{command}\"\n{more}"));
    Some(world)
}

#[test]
fn uncovered_code_is_refused_and_listed_in_the_next_prompt() {
    let Some(world) = measured("cover", "") else { return };
    let ran = world.run();
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("attempt 1 fails (the tests cover 2 of 4 changed lines, 80 % required; not covered: metrics/part1.py:5-6)"), "{ran}");
    let prompt = world.report("executor/subtask-42.1-green-attempt2.prompt.md");
    assert!(prompt.contains("Lines that no test runs:\n- metrics/part1.py:5-6\n"), "{prompt}");
    let result = world.report("test-results/subtask-42.1-green-attempt1.json");
    assert!(result.contains("\"lines\": 50.0"), "{result}");
    assert!(world.report("log.jsonl").contains("not covered: metrics/part1.py:5-6"));
    // Files of the coverage command are not committed.
    let committed = world.repo.git(["log", "--name-only", "--format=", "main..HEAD"]);
    assert!(committed.contains("tests/test_more.py") && !committed.contains("lcov.info"), "{committed}");
    assert!(!world.repo.root.join("lcov.info").exists(), "it is written in the checkout for tests");
}

#[test]
fn stale_coverage_report_is_ignored() {
    let Some(world) = measured("true", "coverage_report = \"old/lcov.info\"\n") else { return };
    world.repo.commit_file(".gitignore", "old/\n", "ignore");
    world.repo.write("old/lcov.info", "TN:\nSF:metrics/part1.py\nDA:1,0\nend_of_record\n");
    let long_ago = std::fs::File::open(world.repo.root.join("old/lcov.info")).unwrap();
    long_ago.set_modified(std::time::UNIX_EPOCH).unwrap();
    let ran = world.run();
    assert!(ran.code == 0 && ran.stdout.contains("not measured ('true' wrote no report)"), "{ran}");
}

#[test]
fn unlisted_file_does_not_count_as_covered() {
    let elsewhere = "#!/bin/sh\nprintf 'TN:\\nSF:other.py\\nDA:1,1\\nend_of_record\\n' > lcov.info\n";
    let Some(world) = measured_by(elsewhere, "cover", "") else { return };
    let ran = world.run();
    assert!(ran.code == 0 && ran.stdout.contains("the report does not list metrics/part1.py"), "{ran}");
}

#[test]
fn force_coverage_allows_uncovered_lines() {
    let Some(world) = measured("cover", "") else { return };
    let args = ["42", "--executor", "scripted", "--no-confirm", "--no-push", "--force=coverage"];
    let ran = world.autopilot(&args);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.stdout.contains("attempt 1 fails"), "{ran}");
}

#[test]
fn disabled_threshold_is_not_checked() {
    let Some(world) = measured("cover", "") else { return };
    let config = r#"{"test": {"coverageThresholds": {"lines": 0}}}"#;
    world.repo.commit_file(".taskmaster/config.json", config, "settings");
    let ran = world.run();
    assert!(ran.code == 0 && !ran.stdout.contains("attempt 1 fails"), "{ran}");
}

#[test]
fn unmeasured_coverage_is_reported_once_and_does_not_fail() {
    let Some(world) = measured("true", "") else { return };
    let ran = world.run();
    assert_eq!(ran.code, 0, "{ran}");
    let output = "coverage of changed lines: not measured ('true' wrote no report)";
    assert_eq!(ran.stdout.matches(output).count(), 1, "{ran}");
}

#[test]
fn missing_required_coverage_pauses_the_run() {
    let Some(world) = measured("no-such-tool-here", "coverage_required = true\n") else { return };
    let ran = world.run();
    assert_eq!(ran.code, 1, "{ran}");
    assert!(
        ran.stdout
            .contains("Paused: Coverage could not be measured: 'no-such-tool-here' exited with code 127"),
        "{ran}"
    );
    assert!(world.subjects().is_empty());
    assert!(!world.sandbox.home().join("prompt-42.1-GREEN-2").exists());
    measured_again(&world);
}

/// The tool is installed now.
fn measured_again(world: &World) {
    let program = world.sandbox.root().join("bin/cover");
    let path = world.sandbox.user_config();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("no-such-tool-here", &program.display().to_string())).unwrap();
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert_eq!(world.subjects().len(), 3);
}

#[test]
fn coverage_gate_works_without_configuration_if_the_runner_can_measure() {
    let Some(world) = World::find() else { return };
    let venv = std::env::var_os("PAW_RUNNERS").map(|runners| Path::new(&runners).join("venv"));
    let Some(venv) = venv.filter(|venv| venv.join("bin/coverage").exists()) else {
        return eprintln!("skipped: coverage.py is not installed (scripts/test does it)");
    };
    world.repo.commit_file(".gitignore", ".venv\n__pycache__/\n", "ignore");
    symlink(venv, world.repo.root.join(".venv")).unwrap();
    world.executor(
        "case $PAW_PHASE-$PAW_ATTEMPT in RED-*) red ;; GREEN-1) green; printf '\\n\\ndef extra():\\n    x = 1\\n    y = 2\\n    return x + y\\n' >> metrics/part$n.py ;; GREEN-*) green ;; esac\n",
    );
    let ran = world.autopilot(&[
        "42",
        "--executor",
        "scripted",
        "--no-confirm",
        "--no-push",
        "--runner",
        "unittest",
    ]);
    assert_eq!(ran.code, 0, "{ran}");
    for part in [
        "  coverage gate: 80 % of lines, branches, functions, statements, measured by coverage.py\n",
        "attempt 1 fails (the tests cover 5 of 8 changed lines, 80 % required; not covered: metrics/part1.py:10-12)",
        "✓ Coverage check → 100% (meets 80% threshold)",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{ran}");
    }
    assert_eq!(world.manifest()["finalCoverage"]["lines"], 100.0);
    assert_eq!(world.repo.git(["status", "--porcelain"]), "");
}
