//! A Python project with a task of three subtasks, and an executor that is a shell script.

use std::fs;
use std::path::PathBuf;

use paw_testkit::{RunOutput, Sandbox, TestRepo, git};
use serde_json::Value;

use crate::paw::paw;

pub(super) const TASKS: &str = r#"{
  "analytics": {
    "tasks": [
      {
        "id": 42,
        "title": "User metrics tracking",
        "description": "Count what users do",
        "status": "pending",
        "dependencies": [],
        "subtasks": [
          {"id": 1, "title": "Add metrics schema", "details": "In metrics/schema.py", "status": "pending"},
          {"id": 2, "title": "Add collection endpoint", "details": "In metrics/endpoint.py", "status": "pending", "dependencies": [1],
           "acceptanceCriteria": ["answers 201"]},
          {"id": 3, "title": "Add dashboard widget", "details": "In metrics/widget.py", "status": "pending", "dependencies": [2]}
        ]
      }
    ]
  }
}"#;

const OLD_TEST: &str = "import unittest\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertEqual(1 + 1, 2)\n";

/// Writes tests with two assertions in RED, and the code in GREEN.
pub(super) const GOOD: &str = r#"#!/bin/sh
cat > "$HOME/prompt-$PAW_SUBTASK-$PAW_PHASE-$PAW_ATTEMPT"
n=${PAW_SUBTASK#*.}
red() {
  printf 'import unittest\n\nclass Part%s(unittest.TestCase):\n    def test_a(self):\n        from metrics import part%s\n        self.assertEqual(part%s.value(), %s)\n\n    def test_b(self):\n        from metrics import part%s\n        self.assertEqual(part%s.name(), "part")\n' $n $n $n $n $n $n > tests/test_part$n.py
}
green() {
  printf 'def value():\n    return %s\n\n\ndef name():\n    return "part"\n' $n > metrics/part$n.py
}
"#;

const AND_DO: &str = "case $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n";

pub(super) struct World {
    pub(super) sandbox: Sandbox,
    pub(super) repo: TestRepo,
}

impl World {
    /// `None` if Python is not installed.
    pub(super) fn find() -> Option<Self> {
        let sandbox = Sandbox::new();
        if !sandbox.install_python() {
            return None;
        }
        let repo = sandbox.repo("app");
        repo.commit_file("metrics/__init__.py", "", "package");
        repo.commit_file("tests/__init__.py", "", "tests");
        repo.commit_file("tests/test_old.py", OLD_TEST, "test");
        repo.commit_file(".taskmaster/tasks/tasks.json", TASKS, "tasks");
        repo.commit_file(".taskmaster/state.json", "{\n  \"currentTag\": \"analytics\"\n}\n", "state");
        let world = Self { sandbox, repo };
        world.executor(AND_DO);
        Some(world)
    }

    /// A custom executor: common functions, then this script.
    pub(super) fn executor(&self, script: &str) {
        let program = self.sandbox.install_program("scripted", &format!("{GOOD}{script}"));
        let config = format!("[autopilot.executors.scripted]\ncommand = [\"{}\"]\n", program.display());
        self.sandbox.write("home/.config/git-paw/config.toml", &config);
    }

    pub(super) fn configure(&self, text: &str) {
        let path = self.sandbox.user_config();
        let before = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("{text}\n{before}")).unwrap();
    }

    /// An `origin` to push to.
    pub(super) fn remote(&self) -> PathBuf {
        let origin = self.sandbox.root().join("origin.git");
        git(
            &self.sandbox.root(),
            ["init", "--quiet", "--bare", "--initial-branch=main", origin.to_str().unwrap()],
        );
        self.repo.git(["remote", "add", "origin", origin.to_str().unwrap()]);
        self.repo.git(["push", "--quiet", "origin", "main"]);
        origin
    }

    pub(super) fn gh(&self, script: &str) {
        self.sandbox.install_program(
            "gh",
            &format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> \"$HOME/gh-said\"\n{script}\n"),
        );
    }

    pub(super) fn autopilot(&self, args: &[&str]) -> RunOutput {
        let mut all = vec!["autopilot"];
        all.extend(args);
        let ran = paw(&self.sandbox, &self.repo.root, &all);
        RunOutput { stdout: self.without_times(&ran.stdout), ..ran }
    }

    /// The default: task 42, no questions, no push.
    pub(super) fn run(&self) -> RunOutput {
        self.autopilot(&["42", "--executor", "scripted", "--no-confirm", "--no-push"])
    }

    fn without_times(&self, text: &str) -> String {
        self.runs().into_iter().fold(text.to_owned(), |text, id| text.replace(&id, "[RUN]"))
    }

    /// Run ids, oldest first.
    pub(super) fn runs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.repo.root.join(".taskmaster/reports/runs"));
        let mut names: Vec<String> = entries
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }

    /// A file of the newest run.
    pub(super) fn report(&self, name: &str) -> String {
        let run = self.runs().pop().expect("a run");
        let path = self.repo.root.join(".taskmaster/reports/runs").join(run).join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(super) fn manifest(&self) -> Value {
        serde_json::from_str(&self.report("manifest.json")).unwrap()
    }

    /// The phase and status or reason of each line.
    pub(super) fn log(&self) -> Vec<String> {
        let lines = self.report("log.jsonl");
        let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records
            .inspect(|record| assert!(record["ts"].is_string(), "{record}"))
            .map(|record| {
                let word =
                    record["status"].as_str().or(record["reason"].as_str()).unwrap_or_default().to_owned();
                format!("{} {word}", record["phase"].as_str().unwrap())
            })
            .collect()
    }

    pub(super) fn subjects(&self) -> Vec<String> {
        let subjects = self.repo.git(["log", "--reverse", "--format=%s", "main..HEAD"]);
        subjects.lines().map(str::to_owned).collect()
    }

    pub(super) fn status_of(&self, revision: &str, subtask: usize) -> String {
        let text = self.repo.git(["show", &format!("{revision}:.taskmaster/tasks/tasks.json")]);
        let tasks: Value = serde_json::from_str(&text).unwrap();
        let task = &tasks["analytics"]["tasks"][0];
        let item = if subtask == 0 { task } else { &task["subtasks"][subtask - 1] };
        item["status"].as_str().unwrap().to_owned()
    }

    pub(super) fn branch(&self) -> String {
        self.repo.git(["branch", "--show-current"])
    }
}

/// Whether a process has ended, reaped or not.
pub(super) fn is_gone(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('Z'))
}
