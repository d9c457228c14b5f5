"""A day in minutes: four CLIs work through twelve tasks, supervised by one of them. Called by scripts/test-day.

day.py HOMES GIT_PAW HEADLESS_TURN NAME=BIN_DIRECTORY…
The CLI that supervises is the variable DAY_SUPERVISOR.

The person of this day hands out the first four tasks, approves one command, and is needed for nothing else: questions, a failing
gate, a conflict, a rate limit, a killed CLI and a killed session process are the supervisor's and git paw's.
"""

import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from checks import Failed, expect
from clis import KINDS
from day_supervisor import Supervisor
from lab import Lab
from main import raise_loopback, say as tell
from model import bash, edit, hold, refuse, say, write

AGENTS = {"claude": "feat/a", "codex": "feat/b", "gemini": "feat/c", "opencode": "feat/d"}
TASKS = {f"feat-{letter}": [f"task-{letter}{number}" for number in (1, 2, 3)] for letter in "abcd"}
LONGEST = 15 * 60
# What calls a person because nothing continues without them.
NEEDS = ("approval", "question", "input", "prompt", "exited", "supervisor_waits")
EXPECTED_NEEDS = ["approval feat-a rm -r build"]
CHECK = """\
! grep -rq broken tasks || { echo 'a task is broken'; exit 1; }
! grep -q '^<<<<<<<' shared.txt || { echo 'shared.txt has conflicts'; exit 1; }
"""


class Team:
    """All CLIs in one home, with the interface of one."""

    def __init__(self, clis, supervisor):
        self.clis = clis
        self.name = supervisor
        self.bin = ":".join(cli.bin for cli in clis)

    def environment(self, url):
        return {name: value for cli in self.clis for name, value in cli.environment(url).items()}

    def seed(self, lab):
        for cli in self.clis:
            cli.seed(lab)


class Day(Lab):
    def make_repository(self):
        super().make_repository()
        self.calls = self.root / "calls"
        (self.repo / "check.sh").write_text(CHECK)
        (self.repo / "shared.txt").write_text("first\nfree\nlast\n")
        (self.repo / "tasks").mkdir()
        (self.repo / "tasks/README").write_text("One file for each task.\n")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "checks")
        config = self.home / ".config/git-paw/config.toml"
        config.write_text(
            f'[supervisor]\nenabled = true\ncli = "{self.cli.name}"\nmerge = true\ntest_command = "sh check.sh"\n'
            "[supervisor.auto_approve]\nenabled = true\n[supervisor.learnings]\nenabled = true\n"
            f"[notify]\nbell = false\ncommand = 'echo \"$PAW_EVENT $PAW_AGENT $PAW_TEXT\" >> {self.calls}'\n"
        )

    def worktree_of(self, letter):
        return self.root / f"app-feat-{letter}"

    def state_of(self, agent):
        return self.ask("explain", agent)["state"]

    def pane_of(self, agent):
        return next(one["pane"] for one in self.ask("status")["worktrees"] if one["agent_id"] == agent)

    def on_main(self, path):
        ran = self.run("git", "show", f"main:{path}")
        return ran.stdout if ran.returncode == 0 else None

    def trail(self):
        file = self.repo / ".git-paw/broker.log"
        lines = file.read_text().splitlines() if file.exists() else []
        return [one.get("message", one) for one in map(json.loads, lines)]

    def needs(self):
        """The calls that a person had to answer, without those of the setup."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line for line in lines if line.split(" ")[0] in NEEDS][self.setup_calls :]

    setup_calls = 0


def task(name, *before):
    """The steps of a task: a file, and a commit."""
    path = f"tasks/{name}.txt"
    steps = write(path, f"{name} is done"), bash(f"git add {path}"), bash(f"git commit --quiet --message {name}")
    return *before, *steps, say(f"{name} is committed")


def asks(name):
    """A task that is done the way the supervisor answers."""
    steps = task(name)

    def choose(number, result):
        if number == 0:
            return bash(f'git paw say question "may {name} be done this way?"')
        answered = asks.answered.get(name)
        if answered is None and "yes, do it" in result:
            answered = asks.answered[name] = number
        if answered is None:
            return bash("git paw inbox --json --wait 20")
        return steps[number - answered] if number - answered < len(steps) else say("That is all.")

    return choose


asks.answered = {}


def teach(lab, supervisor):
    def learn(words, *steps):
        lab.model.learn(rf"Please {words}\.", *steps)

    lab.model.decide(r"You are the supervisor of ", supervisor.choose)
    learn("do task-c1", *task("task-c1"))
    lab.model.decide(r"Please do task-a1\.", asks("task-a1"))
    # A failing gate, fixed after the feedback.
    bad = write("tasks/task-b1.txt", "broken"), bash("git add tasks/task-b1.txt"), bash("git commit --quiet --message task-b1")
    learn("do task-b1", *bad, say("task-b1 is committed"))
    fixed = bash("git add tasks/task-b1.txt"), bash("git commit --quiet --message task-b1-fixed")
    learn("fix task-b1", edit("tasks/task-b1.txt", "broken", "task-b1 is done"), *fixed, say("task-b1 is fixed"))
    # A rate limit that ends by itself.
    first, *rest = task("task-d1")
    limited = refuse("limit", first, 429, "This would exceed your rate limit.", retry_after="5")
    learn("do task-d1", limited, *rest)
    # A command that a person has to approve.
    learn("do task-a2", *task("task-a2", bash("rm -r build")))
    # Two changes of the same line. One is merged first, the other one is rebased. Not by gemini: it asks a person before it uses
    # words that a conflict has printed, and only a person may answer that.
    first = edit("shared.txt", "free", "taken by c"), bash("git add shared.txt")
    learn("do task-c2", hold("b has edited", first[0]), first[1], *task("task-c2"))
    later = edit("shared.txt", "free", "taken by b"), bash("git add shared.txt")
    head, *tail = task("task-b2")
    learn("do task-b2", *later, hold("c2 is merged", head), *tail)
    resolved = bash("printf 'first\\ntaken by b and c\\nlast\\n' > shared.txt"), bash("git add shared.txt")
    learn("fix task-b2", bash("git rebase main"), *resolved, bash("GIT_EDITOR=true git rebase --continue"), say("rebased"))
    # The session's process is killed in the middle of one, and the CLI in the middle of another.
    first, *rest = task("task-d2")
    learn("do task-d2", hold("the process is back", first), *rest)
    first, *rest = task("task-a3")
    learn("do task-a3", hold("never", first), *rest)
    learn("continue task-a3", *task("task-a3"))
    learn("do task-b3", *task("task-b3", bash('git paw say intent tasks/task-b3.txt --summary "the last of b"')))
    learned = bash('git paw say learning "build has to be removed by hand" --category tooling-friction')
    learn("do task-c3", *task("task-c3", learned))
    lab.model.decide(r"Please do task-d3\.", asks("task-d3"))


def prepare_home(lab, clis):
    """A codex or opencode that prepares an empty home next to another one can wait for ever, with an empty screen."""
    lab.model.learn(r"\bjob-first\b", say("job-first is done"))
    for cli in clis:
        if cli.name == lab.cli.name and cli.name in ("codex", "opencode"):
            lab.must(lab.turn, cli.name, os.path.join(cli.bin, cli.name), str(lab.repo), "Please do job-first.")


def start(lab, clis):
    prepare_home(lab, clis)
    codex = next(cli for cli in clis if cli.name == "codex")
    agents = "".join(
        f'[[agent]]\nbranch = "{branch}"\ncli = "{cli}"\nprompt = "Please do task-{branch[-1]}1."\n' for cli, branch in AGENTS.items()
    )
    file = lab.root / "day.toml"
    file.write_text(agents)
    lab.paw("start", "--supervisor", "--layout", "windows", "--agents", str(file))
    (lab.worktree_of("a") / "build").mkdir()
    # Not part of the day: a new user tells codex once to trust git paw's hooks.
    shown, keys = codex.greeting
    pane = lab.pane_of("feat-b")
    lab.wait(f"'{shown}' in the pane", lambda: shown in lab.screen(pane))
    lab.keys(*keys, pane=pane)
    lab.setup_calls = len(lab.needs())


class Events:
    """What happens to the session during the day, each once, as soon as it can."""

    def __init__(self, lab):
        self.lab = lab
        self.open = [self.limit_ends, self.approve, self.conflict, self.merged_first, self.kill_process, self.kill_cli]
        self.done = []

    def step(self):
        for event in list(self.open):
            try:
                happened = event()
            except (Failed, OSError, ValueError, LookupError, StopIteration):
                happened = False
            if happened:
                self.open.remove(event)
                self.done.append(event.__name__)
                tell(f"day: {event.__name__}")

    def limit_ends(self):
        if self.lab.state_of("feat-d") != "rate_limited":
            return False
        self.lab.model.open("limit")
        return True

    def approve(self):
        """The only thing that a person does. They come when they are called."""
        called = EXPECTED_NEEDS[0] in self.lab.needs()
        return called and self.lab.run("git", "paw", "approve", "feat-a", "--yes").returncode == 0

    def conflict(self):
        if "taken by b" not in (self.lab.worktree_of("b") / "shared.txt").read_text():
            return False
        self.lab.model.open("b has edited")
        return True

    def merged_first(self):
        if "taken by c" not in (self.lab.on_main("shared.txt") or ""):
            return False
        self.lab.model.open("c2 is merged")
        return True

    def kill_process(self):
        if not self.lab.model.heard("Please do task-d2."):
            return False
        before = self.lab.ask("status")["broker"]["pid"]
        os.kill(before, signal.SIGKILL)
        # Not by a command of ours: that would restart it.
        endpoint = self.lab.common_dir / "paw/endpoint.json"
        back = lambda: json.loads(endpoint.read_text())["pid"] not in (before, None)  # noqa: E731
        self.lab.wait("the session's process is back", back)
        self.lab.model.open("the process is back")
        return True

    def kill_cli(self):
        if not self.lab.model.heard("Please do task-a3."):
            return False
        pane = self.lab.pane_of("feat-a")
        shell = int(self.lab.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))
        children = [int(one) for one in Path(f"/proc/{shell}/task/{shell}/children").read_text().split()]
        expect(children, "no CLI runs in the pane of feat-a")
        for child in children:
            os.kill(child, signal.SIGKILL)
        return True


def live(lab, supervisor):
    """Until the supervisor reports that all is merged."""
    events, until = Events(lab), time.monotonic() + LONGEST
    seen = 0
    while not any("12 of 12 merged" in json.dumps(one) for one in lab.trail()):
        left = [one.__name__ for one in events.open]
        expect(time.monotonic() < until, f"not done after {LONGEST // 60} minutes; merged: {supervisor.merged}; open: {left}")
        events.step()
        for name in supervisor.merged[seen:]:
            tell(f"day: {name} is merged")
        seen = len(supervisor.merged)
        time.sleep(0.5)
    expect(not events.open, f"did not happen: {[one.__name__ for one in events.open]}")


def judge(lab, supervisor):
    """What has to be true in the evening."""
    for name in (name for tasks in TASKS.values() for name in tasks):
        text = lab.on_main(f"tasks/{name}.txt")
        expect(text is not None and text.strip() == f"{name} is done", f"main has {text!r} for {name}")
    expect("taken by b and c" in lab.on_main("shared.txt"), "main does not have both changes of shared.txt")
    proof = lab.ask("proof", "show", "main")["record"]
    expect(proof["result"] == "verified" and proof["commit"] == lab.git("rev-parse", "main").strip(), f"main is {proof['result']}")
    lab.paw("proof", "check", "main")
    expect(lab.needs() == EXPECTED_NEEDS, f"a person was called for {lab.needs()}")
    to_person = [one for one in lab.trail() if one.get("agent_id") == "operator" and one["type"] in ("agent.feedback", "agent.question")]
    expect(not to_person, f"messages to the person: {to_person}")
    report(lab)


def report(lab):
    """git paw's own report says what happened."""
    print(lab.paw("report"))
    told = lab.ask("report")
    sums = {name: sum(one[name] for one in told["agents"].values()) for name in told["agents"]["feat-a"]}
    for name, least, most in (
        ("verified", 12, 99), ("gates_failed", 1, 1), ("merged", 12, 12), ("not_merged", 1, 1), ("questions", 2, 2),
        ("conflicts", 2, 9), ("rate_limits", 1, 9), ("exits", 1, 1), ("approved", 12, 999),
    ):  # fmt: skip
        expect(least <= sums[name] <= most, f"the report counts {sums[name]} for '{name}'")
    decided = [(one["agent"], one["kind"], one["text"]) for one in told["decisions"]]
    expect(decided == [("feat-a", "approved", "rm -r build")], f"the report says that the person decided {decided}")
    # The session's process writes them now and then, and when it ends.
    lab.paw("pause")
    learned = (lab.repo / ".git-paw/session-learnings.md").read_text()
    for words in ("shared.txt", "build has to be removed by hand"):
        expect(words in learned, f"the learnings do not mention {words}:\n{learned}")


def main(arguments):
    homes, git_paw, turn, *named = arguments
    raise_loopback()
    places = dict(word.split("=", 1) for word in named)
    missing = [f"{name}: {place[1:]}" for name, place in places.items() if place.startswith("!")]
    if missing or set(places) != set(AGENTS):
        tell(f"skipped: {'; '.join(missing) or 'all four CLIs are needed'}")
        return 3
    root = Path(tempfile.mkdtemp(prefix="day-", dir=homes))
    clis = [KINDS[name](name, place) for name, place in places.items()]
    supervising = os.environ.get("DAY_SUPERVISOR") or "claude"
    begun, lab = time.monotonic(), Day(root / "lab", Team(clis, supervising), git_paw, turn)
    supervisor = Supervisor(TASKS)
    teach(lab, supervisor)
    try:
        start(lab, clis)
        live(lab, supervisor)
        judge(lab, supervisor)
        print(f"supervised by {supervising}: twelve tasks in {(time.monotonic() - begun) / 60:.1f} minutes; a person was needed {len(lab.needs())} time")
    except (Failed, OSError, ValueError, LookupError, StopIteration) as problem:
        tell(f"FAILED: {type(problem).__name__}: {problem}")
        (root / "steps.txt").write_text("\n".join(re.sub(r"\s+", " ", one.text) for one in supervisor.steps))
        print(f"kept: {lab.keep_evidence('day')}")
        return 1
    finally:
        lab.close()
    shutil.rmtree(root, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
