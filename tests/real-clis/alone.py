"""A CLI without a pane: headless turns, and a task done test-first."""

import json
import os

from checks import check, expect
from model import say, write


@check("headless turns")
def headless(lab):
    program = os.path.join(lab.cli.bin, lab.cli.name)
    lab.model.learn(r"\bjob-head\b", say("job-head is done"))
    lab.model.learn(r"\bjob-tail\b", say("job-tail is done"))

    def turn(text, *conversation):
        words = (lab.turn, lab.cli.name, program, str(lab.repo), text, *conversation)
        done = json.loads(lab.must(*words))
        expect(done["ok"], f"the turn failed: {done['problem']}")
        return done

    first = turn("Please do job-head.")
    expect("job-head is done" in first["said"], f"it said {first['said']!r}")
    expect(first["conversation"], "it does not say what the conversation is called")
    second = turn("Please do job-tail.", first["conversation"])
    expect("job-tail is done" in second["said"], f"it said {second['said']!r}")
    expect(lab.model.heard("job-head", "job-tail"), "the second turn does not know of the first")


TEST = """\
import unittest

from double import double


class Double(unittest.TestCase):
    def test_two(self):
        self.assertEqual(double(2), 4)
"""
CODE = "def double(number):\n    return number * 2\n"
SUBTASK = {"id": 1, "title": "Add double", "description": "double(2) is 4", "status": "pending", "dependencies": []}
TASK = {"id": 1, "title": "Double numbers", "status": "pending", "dependencies": [], "subtasks": [SUBTASK]}
TASKS = ".taskmaster/tasks/tasks.json"


@check("autopilot, test-first")
def autopilot(lab):
    lab.model.learn(r"RED \(write failing tests\)", write("test_double.py", TEST), say("written"))
    lab.model.learn(r"GREEN \(write the code", write("double.py", CODE), say("written"))
    project = make_project(lab)
    words = ("--executor", lab.cli.name, "--no-confirm", "--no-push", "--no-pr", "--json")
    ran = lab.run("git", "paw", "autopilot", "1", *words, cwd=project, limit=600)
    (lab.root / "autopilot.txt").write_text(ran.stdout + ran.stderr)
    expect(ran.returncode == 0, f"exit code {ran.returncode}: {(ran.stdout or ran.stderr).strip()[-400:]}")
    branch = lab.git("branch", "--show-current", cwd=project).strip()
    expect(branch != "main", "it has worked on main")
    changed = set(lab.git("diff", "--name-only", "main", branch, cwd=project).split())
    expect({"test_double.py", "double.py", TASKS} == changed, f"its commit holds {sorted(changed)}")
    kept = json.loads(lab.git("show", f"{branch}:{TASKS}", cwd=project))
    expect(kept["master"]["tasks"][0]["subtasks"][0]["status"] == "done", "the subtask is not done")


def make_project(lab):
    """A project with a test that passes and a task of one subtask."""
    project = lab.root / "tool"
    passing = TEST.replace("from double import double\n\n", "").replace("double(2), 4", "1, 1")
    tasks = json.dumps({"master": {"tasks": [TASK]}}, indent=2)
    files = {TASKS: tasks, "test_one.py": passing, ".gitignore": "__pycache__/"}
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"{text}\n")
    lab.git("init", "--quiet", cwd=project)
    lab.git("config", "user.name", "Lab", cwd=project)
    lab.git("config", "user.email", "lab@example.com", cwd=project)
    lab.git("add", ".", cwd=project)
    lab.git("commit", "--quiet", "--message", "first", cwd=project)
    return project
