"""A task that autopilot does test-first, killed on the way."""

import json
import random

from world import Findings

TASKS = ".taskmaster/tasks/tasks.json"
EXECUTOR = """#!/bin/sh
cat > /dev/null
n=${PAW_SUBTASK#*.}
case $PAW_PHASE in
RED) printf 'import unittest\\n\\nfrom app import part%s\\n\\n\\nclass Part%s(unittest.TestCase):\\n    def test_value(self):\\n        self.assertEqual(part%s.value(), %s)\\n' $n $n $n $n > tests/test_part$n.py ;;
GREEN) printf 'def value():\\n    return %s\\n' $n > app/part$n.py ;;
esac
"""
OLD_TEST = "import unittest\n\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertEqual(1 + 1, 2)\n"
SUBTASKS = 2
AUTOPILOT = ["autopilot", "42", "--executor", "scripted", "--no-confirm", "--no-push", "--no-pr"]


def make_task(world):
    """A project with a test that passes, a task of two subtasks, and an executor that solves them."""
    world.make_repo(20)
    subtasks = [{"id": n + 1, "title": f"Add part {n + 1}", "status": "pending"} for n in range(SUBTASKS)]
    task = {"id": 42, "title": "Parts", "status": "pending", "dependencies": [], "subtasks": subtasks}
    files = {
        "app/__init__.py": "",
        "tests/__init__.py": "",
        "tests/test_old.py": OLD_TEST,
        ".gitignore": "__pycache__/\n",
        TASKS: json.dumps({"master": {"tasks": [task]}}, indent=2),
    }
    for name, text in files.items():
        (world.repo / name).parent.mkdir(parents=True, exist_ok=True)
        (world.repo / name).write_text(text)
    world.git("add", "-A")
    world.git("commit", "--quiet", "-m", "project")
    program = world.home / "bin/scripted"
    program.write_text(EXECUTOR)
    program.chmod(0o755)
    world.configure(f'[autopilot.executors.scripted]\ncommand = ["{program}"]\n')


def autopilot(world):
    """A run that is killed, up to three times, is finished by the same command or by `--resume`."""
    make_task(world)
    main, found = world.git("rev-parse", "main"), Findings()
    command = AUTOPILOT
    for _ in range(random.randrange(1, 4)):
        world.kill_during(*command, within=8)
        command = next_command(world)
        if not command:
            break
    if command:
        done = world.paw(*command)
        if done.returncode:
            found.other.append(f"{command}: {done.stdout.strip()[-300:]} {done.stderr.strip()[-300:]}")
    if world.git("rev-parse", "main") != main:
        found.lost.append("main moved")
    subjects = world.git("log", "--format=%s", "main..HEAD").split("\n")
    for number in range(1, SUBTASKS + 1):
        times = sum(f"(task 42.{number})" in subject for subject in subjects)
        if times == 0:
            found.lost.append(f"subtask {number}")
        elif times > 1:
            found.twice.append(f"subtask {number}")
    tasks = json.loads(world.git("show", f"HEAD:{TASKS}"))["master"]["tasks"]
    if tasks[0]["status"] != "done":
        found.lost.append(f"the task is {tasks[0]['status']}")
    if changed := world.git("status", "--porcelain"):
        found.left.append(f"changes: {changed}")
    checkouts = world.home / ".local/share/git-paw/autopilot"
    found.left += [f"checkout {entry.name}" for entry in checkouts.glob("*")] + world.strays()
    return found


def next_command(world):
    """What a person types after a kill: the same again, unless a run has begun or is finished."""
    runs = [file for file in (world.repo / ".taskmaster/reports/runs").glob("*/manifest.json")]
    states = [json.loads(file.read_text()).get("status") for file in runs]
    if "completed" in states:
        return None
    return ["autopilot", "--resume", "--no-confirm"] if states else AUTOPILOT


KINDS = {"autopilot": autopilot}
