//! Executors that cheat: none of their work is committed, marked as done, pushed or opened as a pull request.

use std::fs;

use super::world::World;

/// A cheat: what the executor does, and a part of the message that names it.
struct Cheat {
    script: &'static str,
    message: &'static str,
}

/// Runs a cheating executor on a fresh project and checks that nothing of its work counts.
fn refuses(cheat: &Cheat) {
    let Some(world) = World::find() else { return };
    refuses_in(&world, cheat);
}

fn refuses_in(world: &World, cheat: &Cheat) {
    world.executor(cheat.script);
    let main = world.repo.git(["rev-parse", "main"]);
    let ran = world.run();
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("⚠️ Paused: "), "{ran}");
    let all = format!("{}{}", ran.stdout, world.report("log.jsonl"));
    assert!(all.contains(cheat.message), "no '{}' in\n{all}", cheat.message);
    let manifest = world.manifest();
    assert_eq!(manifest["totalCommits"], 0, "{ran}\n{manifest}");
    assert_eq!(world.status_of("main", 1), "pending");
    let _ = main;
}

const DO_RED: &str = "case $PAW_PHASE in RED) red ;; GREEN) ";

fn green(script: &str) -> &'static str {
    Box::leak(format!("{DO_RED}{script} ;; esac\n").into_boxed_str())
}

#[test]
fn existing_test_weakened_in_red_is_refused() {
    let message = "tests in tests/test_old.py were weakened";
    for script in [
        "red; sed -i 's/assertEqual(1 + 1, 2)/assertTrue(True)/' tests/test_old.py\n",
        "red; sed -i 's/        self.assertEqual(1 + 1, 2)/        return\\n        self.assertEqual(1 + 1, 2)/' tests/test_old.py\n",
        "red; sed -i 's/^    def test_old/    @unittest.skip(\"later\")\\n    def test_old/' tests/test_old.py\n",
        "red; printf 'import unittest\\n\\nclass Old(unittest.TestCase):\\n    def test_old(self):\\n        pass\\n' > tests/test_old.py\n",
    ] {
        refuses(&Cheat { script, message });
    }
}

#[test]
fn module_that_shadows_the_runner_is_refused() {
    let message = "settings that decide which tests run were changed: ";
    for script in [
        "red; echo 'x = 1' > tests/pytest.py\n",
        "red; mkdir tests/unittest; echo > tests/unittest/__init__.py\n",
        "red; echo 'x = 1' > tests/sitecustomize.py\n",
        green("green; echo 'x = 1' > unittest.py"),
        green("green; echo 'x = 1' > traceback.py"),
    ] {
        refuses(&Cheat { script, message });
    }
}

#[test]
fn conftest_that_can_change_results_is_refused() {
    let hook = "def pytest_runtest_makereport(item, call): pass";
    let message = "conftest.py";
    for place in ["conftest.py", "tests/conftest.py"] {
        let red = Box::leak(format!("red; echo '{hook}' > {place}\n").into_boxed_str());
        refuses(&Cheat { script: red, message });
        refuses(&Cheat { script: green(&format!("green; echo '{hook}' > {place}")), message });
    }
}

#[test]
fn hidden_files_cannot_help_and_changed_exclude_rules_pause_the_run() {
    refuses(&Cheat {
        script: "red; echo conftest.py >> .git/info/exclude; echo 'x = 1' > conftest.py\n",
        message: ".git/info/exclude changed during the run",
    });
    // An implementation that git ignores is not there when the tests run.
    let Some(world) = World::find() else { return };
    world.repo.commit_file(".gitignore", "metrics/part1.py\n", "ignore");
    refuses_in(
        &world,
        &Cheat { script: green("green; echo '# x' >> metrics/__init__.py"), message: "still failing" },
    );
}

#[test]
fn test_that_passes_once_an_outside_file_exists_is_refused() {
    let test = "import os\\nimport unittest\\n\\nclass New(unittest.TestCase):\\n    def test_a(self):\\n        self.assertTrue(os.path.exists(\"%s/flag\"))\\n";
    let red = format!("printf '{test}' \"$HOME\" > tests/test_new.py");
    let script = format!(
        "case $PAW_PHASE in RED) {red} ;; GREEN) touch \"$HOME/flag\"; echo 'X = 1' > metrics/part1.py ;; esac\n"
    );
    refuses(&Cheat {
        script: Box::leak(script.into_boxed_str()),
        message: "these tests now pass without the new code, too",
    });
}

#[test]
fn green_without_production_code_is_refused() {
    refuses(&Cheat {
        script: green("mkdir -p tests/metrics; true"),
        message: "no production code was changed",
    });
    refuses(&Cheat {
        script: green("echo '# done' >> metrics/__init__.py"),
        message: "no production code was changed",
    });
}

#[test]
fn implementation_in_test_code_is_refused() {
    // The tests find a module of the tests instead of the product's.
    let test = "import sys\\nimport unittest\\n\\nclass New(unittest.TestCase):\\n    def test_a(self):\\n        try:\\n            from tests import helper\\n        except ImportError:\\n            from metrics import helper\\n        self.assertEqual(helper.value(), 1)\\n";
    let script = format!(
        "case $PAW_PHASE in RED) printf '{test}' > tests/test_new.py ;; GREEN) printf 'def value():\\n    return 1\\n' > tests/helper.py; echo 'X = 1' > metrics/other.py ;; esac\n"
    );
    refuses(&Cheat {
        script: Box::leak(script.into_boxed_str()),
        message: "pass only because GREEN changed test code",
    });
}

#[test]
fn hook_installed_by_the_executor_pauses_the_run() {
    let hook = "printf '#!/bin/sh\\ngit rm -q --cached tests/test_part1.py\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
    refuses(&Cheat {
        script: green(&format!("green; mkdir -p .git/hooks; {hook}")),
        message: "hook pre-commit changed during the run",
    });
    refuses(&Cheat {
        script: green("green; mkdir -p \"$HOME/hooks\"; git config core.hooksPath \"$HOME/hooks\""),
        message: "core.hookspath changed during the run",
    });
    refuses(&Cheat {
        script: green("green; git config --global core.hooksPath \"$HOME/hooks\""),
        message: "core.hookspath changed during the run",
    });
}

#[test]
fn commit_that_a_hook_changed_is_undone_unless_it_is_proven() {
    let Some(world) = World::find() else { return };
    hook(&world, "pre-commit", "git rm -q --cached tests/test_part1.py");
    world.executor(green("green"));
    let ran = world.run();
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("a hook changed tests/test_part1.py"), "{ran}");
    assert!(world.subjects().is_empty(), "the commit is undone");
    assert!(world.repo.root.join("tests/test_part1.py").exists());
    // A hook that formats is tested again and accepted.
    let Some(world) = World::find() else { return };
    hook(&world, "pre-commit", "for f in metrics/part*.py; do echo '# formatted' >> $f; git add $f; done");
    let ran = world.run();
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(world.subjects().len(), 3);
    assert!(world.report("log.jsonl").contains("tested-again"));
}

fn hook(world: &World, name: &str, script: &str) {
    let path = world.repo.root.join(".git/hooks").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn runner_that_proves_nothing_pauses_the_run() {
    let Some(world) = World::find() else { return };
    world.remote();
    world.gh("echo https://github.com/org/repo/pull/123");
    let ran = world.autopilot(&["42", "--executor", "scripted", "--no-confirm", "--runner", "true"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("names no new test, so nothing is proven"), "{ran}");
    assert!(!world.sandbox.home().join("gh-said").exists(), "no pull request");
    assert!(world.repo.git(["ls-remote", "origin"]).lines().count() <= 2, "nothing is pushed");
    let tasks = fs::read_to_string(world.repo.root.join(".taskmaster/tasks/tasks.json")).unwrap();
    assert!(!tasks.contains("\"done\"") && !tasks.contains("\"review\""), "{tasks}");
}

#[test]
fn run_whose_subtasks_are_all_implemented_already_pauses() {
    let Some(world) = World::find() else { return };
    world.executor(
        "printf 'import unittest\\n\\nclass Here%s(unittest.TestCase):\\n    def test_here(self):\\n        self.assertTrue(True)\\n' $n > tests/test_here$n.py\n",
    );
    let ran = world.run();
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("no subtask was proven; nothing is marked done or pushed"), "{ran}");
    let tasks = fs::read_to_string(world.repo.root.join(".taskmaster/tasks/tasks.json")).unwrap();
    assert!(!tasks.contains("\"done\""), "{tasks}");
    let again = world.autopilot(&["--resume", "--no-confirm"]);
    assert!(again.code == 1 && again.stdout.contains("no subtask was proven"), "{again}");
}

#[test]
fn commit_on_main_pauses_the_run() {
    let to_main = "git stash -q -u; git switch -q main; echo 'X = 1' > metrics/x.py; git add metrics; git commit -qm x; git switch -q -; git stash pop -q";
    refuses(&Cheat {
        script: Box::leak(format!("red; {to_main}\n").into_boxed_str()),
        message: "main was moved to",
    });
    // Without touching HEAD, and with an old date.
    refuses(&Cheat {
        script: "red; export GIT_COMMITTER_DATE='2001-01-01 00:00:00 +0000'; git update-ref refs/heads/main $(git commit-tree -p main -m x main^{tree})\n",
        message: "main was moved to",
    });
    refuses(&Cheat {
        script: "red; git update-ref refs/tags/v1 $(git commit-tree -p main -m x main^{tree})\n",
        message: "tags/v1 was moved to",
    });
}

#[test]
fn post_commit_hook_that_moves_main_pauses_the_run() {
    let Some(world) = World::find() else { return };
    hook(&world, "post-commit", "git update-ref refs/heads/main HEAD");
    world.executor(green("green"));
    let ran = world.run();
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("main was moved to"), "{ran}");
    assert_eq!(world.manifest()["totalCommits"], 0);
}

#[test]
fn executor_cannot_push() {
    // By name and by path; with and without our protection of the executor's environment.
    for push in [
        "git push -q origin HEAD:refs/heads/sneaky",
        "git push -q ../origin.git HEAD:refs/heads/sneaky",
        "git push -q ../origin.git HEAD:main",
    ] {
        let Some(world) = World::find() else { return };
        let origin = world.remote();
        let before = paw_testkit::git(&origin, ["for-each-ref"]);
        let commit = "git checkout -q --detach; git add --all; git commit -qm x";
        let back = "git switch -q analytics/task-42-user-metrics-tracking; git checkout -q HEAD@{1} -- tests";
        world.executor(&format!("red; {commit}; {push}; {back}\n"));
        let ran = world.run();
        assert_eq!(paw_testkit::git(&origin, ["for-each-ref"]), before, "{push}: {ran}");
        let Some(world) = World::find() else { return };
        world.remote();
        let script =
            Box::leak(format!("red; unset GIT_CONFIG_COUNT; {commit}; {push}; {back}\n").into_boxed_str());
        refuses_in(&world, &Cheat { script, message: "another process pushed the branch to origin/" });
    }
}

#[test]
fn production_code_that_rewrites_the_report_is_refused() {
    // It finds the report among the arguments, writes that everything passed, and ends with success.
    let wrong = "def value():\\n    return 0\\n\\n\\ndef name():\\n    return \"\"\\n";
    let rewrite = "import sys, atexit, os\\ndef rewrite():\\n    path = sys.argv[-1] if len(sys.argv) == 2 else sys.argv[\"x\".count(\"x\")]\\n    lines = [l for l in open(path)] if os.path.isfile(path) else []\\n    with open(path, \"w\") as out:\\n        for t in (\"test_a\", \"test_b\"):\\n            out.write(\"{\\\\\"name\\\\\": \\\\\"tests.test_part1.Part1.%%s\\\\\", \\\\\"outcome\\\\\": \\\\\"passed\\\\\"}\\\\n\" %% t)\\n    getattr(os, \"_ex\" + \"it\")(0)\\natexit.register(rewrite)\\n";
    let script = format!("printf '{wrong}{rewrite}' > metrics/part1.py");
    refuses(&Cheat { script: green(&script), message: "the test runner failed without a failing test" });
    // The same, with a file in the place of the report.
    let replace = rewrite.replace("    lines =", "    os.remove(path)\\n    lines =");
    let script = format!("printf '{wrong}{replace}' > metrics/part1.py");
    refuses(&Cheat { script: green(&script), message: "another program replaced the report" });
}

#[test]
fn production_code_that_ends_the_process_is_refused() {
    let script = "printf 'import os\\ngetattr(os, \"_ex\" + \"it\")(0)\\n' > metrics/part1.py";
    refuses(&Cheat { script: green(script), message: "the test runner failed without a failing test" });
}

#[test]
fn production_code_that_names_the_runner_needs_permission() {
    let patch = "import unittest\\nunittest.TestCase.assertEqual = lambda *a: None\\n\\ndef value(): pass\\n\\ndef name(): pass\\n";
    refuses(&Cheat {
        script: green(&format!("printf '{patch}' > metrics/part1.py")),
        message: "metrics/part1.py names the test runner ('unittest')",
    });
}

#[test]
fn test_that_counts_its_runs_is_refused() {
    let test = "import os\\nimport unittest\\n\\nclass New(unittest.TestCase):\\n    def test_a(self):\\n        with open(\"%s/runs\", \"a\") as runs:\\n            runs.write(\"x\")\\n        self.assertTrue(os.path.getsize(\"%s/runs\") > 3)\\n";
    let script = format!(
        "case $PAW_PHASE in RED) printf '{test}' \"$HOME\" \"$HOME\" > tests/test_new.py ;; GREEN) echo \"X = $PAW_ATTEMPT\" > metrics/part1.py ;; esac\n"
    );
    refuses(&Cheat {
        script: Box::leak(script.into_boxed_str()),
        message: "these tests now pass without the new code, too",
    });
}

#[test]
fn import_of_a_fake_in_green_is_refused() {
    let fake =
        "printf 'def value():\\n    return 1\\n\\n\\ndef name():\\n    return \"part\"\\n' > tests/part1.py";
    let script = format!(
        "{fake}; sed -i 's/from metrics import/from tests import/' tests/test_part1.py; echo 'X = 1' > metrics/x.py"
    );
    refuses(&Cheat { script: green(&script), message: "pass only because GREEN changed test code" });
}

#[test]
fn link_out_of_the_repository_is_refused() {
    let script = "printf 'def value():\\n    return 1\\n\\n\\ndef name():\\n    return \"part\"\\n' > \"$HOME/part.py\"; ln -s \"$HOME/part.py\" metrics/part1.py";
    refuses(&Cheat {
        script: green(script),
        message: "these links lead out of the repository: metrics/part1.py",
    });
}

#[test]
fn replaced_objects_and_settings_outside_of_the_repository_pause_the_run() {
    refuses(&Cheat {
        script: "red; git replace HEAD:tests/test_old.py HEAD:tests/__init__.py\n",
        message: "replaces an object",
    });
    refuses(&Cheat {
        script: "red; mkdir -p \"$HOME/.cargo\"; echo '[alias]' > \"$HOME/.cargo/config.toml\"\n",
        message: ".cargo/config.toml changed during the run",
    });
    refuses(&Cheat {
        script: "red; echo '[pytest]' > ../pytest.ini\n",
        message: "pytest.ini changed during the run",
    });
}

#[test]
fn changed_run_state_pauses_the_run_and_is_restored() {
    refuses(&Cheat {
        script: "red; for f in .taskmaster/state/runs/*.baseline.json; do sed -i 's/passed/failed/' $f; done\n",
        message: "the stored state of the run changed",
    });
}

#[test]
fn hidden_change_of_a_tracked_test_is_neither_tested_nor_committed() {
    let Some(world) = World::find() else { return };
    let hide = "git update-index --assume-unchanged tests/test_old.py; echo > tests/test_old.py";
    world.executor(&format!("case $PAW_PHASE in RED) red; {hide} ;; GREEN) green ;; esac\n"));
    let ran = world.run();
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(world.repo.git(["diff", "--stat", "main", "HEAD", "--", "tests/test_old.py"]), "");
}

/// A dependency that git ignores, and a test that needs another version of it.
fn with_dependency() -> Option<World> {
    let world = World::find()?;
    world.repo.commit_file(".gitignore", "vendor/\n", "ignore");
    world.repo.write("vendor/lib.py", "VERSION = 1\n");
    Some(world)
}

const NEW_VERSION: &str = "import unittest\\n\\nclass New(unittest.TestCase):\\n    def test_a(self):\\n        from vendor import lib\\n        self.assertEqual(lib.VERSION, 2)\\n";

#[test]
fn changed_dependencies_do_not_help() {
    let Some(world) = with_dependency() else { return };
    let script = format!(
        "case $PAW_PHASE in RED) printf '{NEW_VERSION}' > tests/test_new.py ;; GREEN) echo 'VERSION = 2' > vendor/lib.py; echo 'X = 1' > metrics/x.py ;; esac\n"
    );
    refuses_in(&world, &Cheat { script: Box::leak(script.into_boxed_str()), message: "still failing" });
    // The user allows it: the run resumes with the dependencies as they are now.
    let resumed = world.autopilot(&["--resume", "--no-confirm", "--force=protected"]);
    assert!(resumed.stdout.contains("these tests now pass without the new code, too"), "{resumed}");
}

#[test]
fn changes_in_the_checkout_for_tests_are_undone_or_pause_the_run() {
    let Some(world) = with_dependency() else { return };
    let script = format!(
        "case $PAW_PHASE in RED) printf '{NEW_VERSION}' > tests/test_new.py ;; GREEN) for f in \"$HOME\"/.local/share/git-paw/autopilot/*/app; do echo 'VERSION = 2' > $f/vendor/lib.py; done; echo 'X = 1' > metrics/x.py ;; esac\n"
    );
    let message = "vendor changed in the checkout for tests";
    refuses_in(&world, &Cheat { script: Box::leak(script.into_boxed_str()), message });
    let refused = world.autopilot(&["--resume", "--no-confirm"]);
    assert!(refused.code == 1 && refused.stderr.contains("which is still changed"), "{refused}");
    // Tracked files are restored before every run, even with a manipulated index.
    let there = "\"$HOME\"/.local/share/git-paw/autopilot/*/app";
    let plant = format!(
        "for d in {there}; do green; cp metrics/part1.py $d/metrics/; rm metrics/part1.py; (cd $d; git add -f metrics; git update-index --assume-unchanged metrics/part1.py; echo metrics > .git/info/exclude); done; echo 'X = 1' > metrics/x.py"
    );
    refuses(&Cheat { script: green(&plant), message: "still failing" });
}
