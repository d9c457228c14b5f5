"""Jobs: the model's answers, step by step, to a prompt that names the job.

Which step comes next is read from the conversation itself (how often the model has answered since the job was named), so
that a CLI that asks twice gets the same answer twice, and a restarted one continues where it was.
"""

import re
import threading
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Step:
    """One answer: a word to say, a tool to use, or a refusal. A step with a gate is answered once the gate is open."""

    kind: str
    text: str = ""
    path: str = ""
    old: str = ""
    escalate: bool = False
    gate: str = ""
    status: int = 200
    headers: tuple = ()
    then: object = None


def say(text):
    return Step("say", text=text)


def bash(command, escalate=False):
    """A shell command; `escalate` asks codex to leave its sandbox for it."""
    return Step("bash", text=command, escalate=escalate)


def write(path, text):
    return Step("write", path=path, text=text)


def edit(path, old, new):
    return Step("edit", path=path, old=old, text=new)


def ask(question):
    return Step("ask", text=question)


def refuse(gate, then, status, text, **headers):
    """`then`, but no answer other than this status and reason before the gate is opened, however often it is tried."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Step("refuse", text=text, gate=gate, status=status, headers=named, then=then)


def hold(gate, then):
    """`then`, but not before the gate is opened."""
    return replace(then, gate=gate)


@dataclass(frozen=True)
class Job:
    """Steps in this order, or `choose(number, result)`: the step with this number, after the result of the one before."""

    pattern: str
    steps: tuple = ()
    choose: object = None

    def step(self, turns):
        """The step after these turns, which follow the prompt that named the job."""
        done = sum(turn.role == "assistant" for turn in turns)
        if self.choose:
            return self.choose(done, last_results(turns))
        return self.steps[done] if done < len(self.steps) else say("That is all.")


def last_results(turns):
    """What the tools have answered since the model spoke last."""
    told = []
    for turn in reversed(turns):
        if turn.role == "assistant":
            break
        told.append(turn.results)
    return "\n".join(reversed(told))


@dataclass(frozen=True)
class Turn:
    role: str
    text: str
    # What the tools have answered that the CLI ran before it asked.
    results: str = ""


@dataclass(frozen=True)
class Request:
    """What a CLI has asked, in words that hold for every wire format."""

    api: str
    turns: tuple
    tools: dict
    system: str = ""

    @property
    def is_aside(self):
        """Titles, summaries and probes quote the prompt, but offer no tool to do anything with."""
        return not any(tool in TOOLS for tool in self.tools)

    def says(self, text):
        return any(text in turn.text for turn in self.turns)


TOOLS = ("Bash", "bash", "exec_command", "shell_command", "run_shell_command", "shell", "Read", "read_file")
IDLE_ANSWER = "Ready."


@dataclass
class Model:
    jobs: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    gates: dict = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def learn(self, pattern, *steps):
        with self.lock:
            self.jobs.append(Job(pattern, steps))

    def decide(self, pattern, choose):
        """A job whose steps depend on what the tools answer. `choose` gets the same number again if a CLI asks twice."""
        with self.lock:
            self.jobs.append(Job(pattern, choose=choose))

    def gate(self, name):
        with self.lock:
            return self.gates.setdefault(name, threading.Event())

    def open(self, name):
        self.gate(name).set()

    def open_all(self):
        with self.lock:
            for gate in self.gates.values():
                gate.set()

    def heard(self, *texts):
        """Whether one request said all of this."""
        with self.lock:
            asked = list(self.requests)
        return any(all(request.says(text) for text in texts) for request in asked if not request.is_aside)

    def answer(self, request):
        with self.lock:
            self.requests.append(request)
            jobs = list(self.jobs)
        return say("ok") if request.is_aside else next_step(request.turns, jobs)


def next_step(turns, jobs):
    """The step that the conversation has come to: of the job that was named last."""
    for at in range(len(turns) - 1, -1, -1):
        if turns[at].role != "user":
            continue
        for job in reversed(jobs):
            if re.search(job.pattern, turns[at].text):
                return job.step(turns[at + 1 :])
    return say(IDLE_ANSWER)
