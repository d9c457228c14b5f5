//! A Python project with tasks of one subtask each, and an executor that is a shell script.

use std::path::PathBuf;

use paw_testkit::{RunOutput, Sandbox, TestRepo, git};
use serde_json::{Value, json};

use crate::paw::paw;

const OLD_TEST: &str = "import unittest\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertEqual(1 + 1, 2)\n";

/// Writes a failing test in RED and the code in GREEN, each named after the task.
const GOOD: &str = r"#!/bin/sh
cat > /dev/null
n=$PAW_TASK
red() {
  printf 'import unittest\n\nclass Part%s(unittest.TestCase):\n    def test_a(self):\n        from app import part%s\n        self.assertEqual(part%s.value(), %s)\n' $n $n $n $n > tests/test_part$n.py
}
green() {
  printf 'def value():\n    return %s\n' $n > app/part$n.py
}
work() { case $PAW_PHASE in RED) red ;; GREEN) green ;; esac; }
";

pub(super) struct World {
    pub(super) sandbox: Sandbox,
    pub(super) repo: TestRepo,
}

/// A task with one subtask.
pub(super) fn task(id: u32, after: &[u32]) -> Value {
    json!({"id": id, "title": format!("Part {id}"), "status": "pending", "dependencies": after,
        "subtasks": [{"id": 1, "title": format!("Add part {id}"), "status": "pending"}]})
}

impl World {
    pub(super) fn find(tasks: &[Value]) -> Option<Self> {
        let sandbox = Sandbox::new();
        if !sandbox.install_python() {
            return None;
        }
        let repo = sandbox.repo("app");
        repo.commit_file("app/__init__.py", "", "package");
        repo.commit_file("tests/__init__.py", "", "tests");
        repo.commit_file("tests/test_old.py", OLD_TEST, "test");
        repo.commit_file(".gitignore", "__pycache__/\n", "ignore");
        let world = Self { sandbox, repo };
        world.tasks(tasks);
        world.executor("work\n");
        Some(world)
    }

    /// One line per task, so that parallel tasks change adjacent lines.
    pub(super) fn tasks(&self, tasks: &[Value]) {
        let lines: Vec<String> = tasks.iter().map(ToString::to_string).collect();
        let text = format!("{{\"master\": {{\"tasks\": [\n{}\n]}}}}\n", lines.join(",\n"));
        self.repo.commit_file(".taskmaster/tasks/tasks.json", &text, "tasks");
        self.repo.commit_file(".taskmaster/state.json", "{\n  \"currentTag\": \"master\"\n}\n", "state");
    }

    pub(super) fn executor(&self, script: &str) {
        let program = self.sandbox.install_program("scripted", &format!("{GOOD}{script}"));
        let config = format!(
            "[autopilot]\nexecutor = \"scripted\"\n[autopilot.executors.scripted]\ncommand = [\"{}\"]\n",
            program.display()
        );
        self.sandbox.write("home/.config/git-paw/config.toml", &config);
    }

    pub(super) fn autopilot(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, &[&["autopilot"], args].concat())
    }

    /// No questions, no push.
    pub(super) fn run(&self, args: &[&str]) -> RunOutput {
        self.autopilot(&[args, &["--no-confirm", "--no-push"]].concat())
    }

    pub(super) fn worktree(&self, task: u32) -> PathBuf {
        self.repo.root.with_file_name(format!("app-master-task-{task}-part-{task}"))
    }

    pub(super) fn branch(task: u32) -> String {
        format!("master/task-{task}-part-{task}")
    }

    pub(super) fn subjects(&self, task: u32) -> Vec<String> {
        let output = self.repo.git([
            "log",
            "--reverse",
            "--no-merges",
            "--format=%s",
            &format!("main..{}", Self::branch(task)),
        ]);
        output.lines().map(str::to_owned).collect()
    }

    /// An `origin` with the current branch.
    pub(super) fn remote(&self) -> PathBuf {
        let (root, origin) = (self.sandbox.root(), self.sandbox.root().join("origin.git"));
        git(&root, ["init", "--quiet", "--bare", "--initial-branch=main", origin.to_str().unwrap()]);
        self.repo.git(["remote", "add", "origin", origin.to_str().unwrap()]);
        self.repo.git(["push", "--quiet", "origin", "main"]);
        origin
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.sandbox.home().join(name)
    }
}
