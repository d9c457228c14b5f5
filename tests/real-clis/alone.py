"""A CLI without a person: headless turns, a task done test-first, a session that is followed to its end."""

import json
import os
import re

from checks import check, expect
from lab import AGENT, BRANCH
from model import bash, say, write


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


@check("unattended to the end")
def unattended(lab):
    config = lab.home / ".config/git-paw/config.toml"
    config.write_text(config.read_text().replace("[supervisor]\n", '[supervisor]\ntest_command = "test -f alone.txt"\n', 1))
    commit = bash("git commit --quiet --message alone")
    lab.model.learn(r"\bjob-alone\b", write("alone.txt", "done"), bash("git add alone.txt"), commit, say("job-alone is done"))
    words = ("--unattended", "--merge", "--json", "--time-limit", "10m", "--cli", lab.cli.name, "--branches", BRANCH)
    running = lab.begin("git", "paw", "start", *words)
    try:
        agents = lambda: lab.ask("status").get("worktrees") or []  # noqa: E731
        briefed = lambda: any(one["agent_id"] == AGENT and one["prompt"] == "delivered" for one in agents())  # noqa: E731
        lab.wait("the agent's prompt is delivered", briefed)
        lab.wait_for_state("idle")
        lab.tell("Please do job-alone.")
        said, noted = running.communicate(timeout=660)
    finally:
        running.kill()
    (lab.root / "unattended.txt").write_text(said + noted)
    expect(running.returncode == 0, f"exit code {running.returncode}: {(said or noted).strip()[-400:]}")
    summary = json.loads(said)
    results = [one["result"] for one in summary["agents"]]
    expect(summary["good"] and results == ["merged"], f"it ended as {summary['end']}: {results}")
    expect("alone.txt" in lab.git("ls-tree", "--name-only", "main").split(), "main does not have it")
    lab.paw("purge", "--force")


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
    config = lab.home / ".config/git-paw/config.toml"
    config.write_text(re.sub("test_command = .*", 'test_command = "python3 -m unittest"', config.read_text()))
    words = ("--executor", lab.cli.name, "--no-confirm", "--no-push", "--no-pr", "--json")
    ran = lab.run("git", "paw", "autopilot", "1", *words, cwd=project, limit=1200)
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
