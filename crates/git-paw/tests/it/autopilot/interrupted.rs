//! `kill -9` at every step of a run, then `--resume`.

use super::world::{World, is_gone};

/// Kills the run when the executor reaches this point, then resumes it.
fn killed_at(point: &str) {
    let Some(world) = World::find() else { return };
    let die = format!(
        "at=$PAW_PHASE-$PAW_SUBTASK\ndie() {{ [ -e \"$HOME/died\" ] && return; [ \"$1-$at\" = '{point}' ] || return; touch \"$HOME/died\"; kill -9 $PPID; sleep 1000; }}\n\
         die before\ncase $PAW_PHASE in RED) red ;; GREEN) green ;; esac\ndie after\n"
    );
    world.executor(&die);
    let ran = world.run();
    assert_eq!(ran.code, -1, "{point}: {ran}");
    finish(&world, point);
}

fn finish(world: &World, point: &str) {
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{point}: {resumed}");
    assert_eq!(
        world.subjects(),
        [
            "feat(metrics): add metrics schema (task 42.1)",
            "feat(metrics): add collection endpoint (task 42.2)",
            "feat(metrics): add dashboard widget (task 42.3)",
        ],
        "{point}: {resumed}"
    );
    assert_eq!(world.repo.git(["status", "--porcelain"]), "", "{point}");
    assert_eq!(world.report("commits.txt").lines().count(), 3, "{point}");
    assert_eq!(
        (world.status_of("HEAD", 0), world.manifest()["status"].as_str()),
        ("done".into(), Some("completed"))
    );
}

#[test]
fn run_killed_while_writing_tests_resumes() {
    killed_at("before-RED-42.1");
    killed_at("after-RED-42.2");
}

#[test]
fn run_killed_while_writing_code_resumes() {
    killed_at("before-GREEN-42.1");
    killed_at("after-GREEN-42.2");
}

#[test]
fn run_killed_by_its_own_tests_resumes() {
    let Some(world) = World::find() else { return };
    // The test runner's parent contains what it starts, and git paw is above it.
    world.executor(
        "case $PAW_PHASE in RED) red; if [ $n = 2 ]; then printf 'import os, signal\\nif not os.path.exists(os.environ[\"HOME\"] + \"/died\"):\\n    open(os.environ[\"HOME\"] + \"/died\", \"w\").close()\\n    above = open(\"/proc/\" + str(os.getppid()) + \"/stat\").read().rsplit(\")\", 1)[1].split()[1]\\n    os.kill(int(above), signal.SIGKILL)\\n' >> tests/test_part2.py; fi ;; GREEN) green ;; esac\n",
    );
    // In a sandbox the tests could not reach it.
    world.configure("[sandbox]\nruns = \"off\"\n");
    let ran = world.run();
    assert_eq!(ran.code, -1, "{ran}");
    finish(&world, "tests");
}

#[test]
fn run_killed_around_a_commit_resumes() {
    for (name, hook) in [("pre-commit", "before"), ("post-commit", "after")] {
        let Some(world) = World::find() else { return };
        let path = world.repo.root.join(".git/hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let home = world.sandbox.home();
        // git is a child of git paw, and the hook a child of git.
        let script = format!(
            "#!/bin/sh\n[ -e '{0}/died' ] && exit 0\ntouch '{0}/died'\nkill -9 $(ps -o ppid= -p $PPID)\nsleep 0.2\nexit 0\n",
            home.display()
        );
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let ran = world.run();
        assert_eq!(ran.code, -1, "{hook}: {ran}");
        // git was not killed and may still be running.
        paw_testkit::wait_until("git has let go of its lock", || {
            (!world.repo.root.join(".git/index.lock").exists()).then_some(())
        });
        paw_testkit::wait_until("the commit is there", || (world.subjects().len() == 1).then_some(()));
        finish(&world, hook);
    }
}

#[test]
fn resume_kills_processes_of_a_killed_run() {
    let Some(world) = World::find() else { return };
    world.executor(
        "if [ ! -e \"$HOME/died\" ]; then touch \"$HOME/died\"; setsid sleep 1000 > /dev/null 2>&1 & echo $! > \"$HOME/left\"; kill -9 $PPID; exec sleep 1000; fi\ncase $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n",
    );
    assert_eq!(world.run().code, -1);
    let pid = std::fs::read_to_string(world.sandbox.home().join("left")).unwrap();
    assert!(!is_gone(&pid));
    finish(&world, "left");
    assert!(is_gone(&pid), "process {pid} is still there");
}

#[test]
fn unfinished_run_blocks_a_new_one_unless_forced() {
    let Some(world) = World::find() else { return };
    world.executor(":\n");
    assert_eq!(world.run().code, 1);
    let refused = world.run();
    assert!(refused.stderr.contains("is not finished") && refused.stderr.contains("--resume"), "{refused}");
    let forced =
        world.autopilot(&["42", "--executor", "scripted", "--no-confirm", "--no-push", "--force=run"]);
    assert!(forced.stdout.contains("Could not achieve red state"), "{forced}");
    assert_eq!(world.runs().len(), 2);
    let nothing = world.autopilot(&["--resume", "--no-confirm", "--json"]);
    assert_eq!(nothing.code, 1);
    let document: serde_json::Value = serde_json::from_str(&nothing.stdout).unwrap();
    assert_eq!(document["paused"]["reason"], "max_attempts");
}
