"""A session with one agent, from its start to its end, by the commands that people use. One function for each capability."""

import json
import time
from pathlib import Path

from approvals import APPROVALS, narrow
from checks import Failed, NotOffered, check, expect
from lab import AGENT, BRANCH
from model import bash, hold, refuse, say, write

LATE = 95


@check("launch in panes")
def launch(lab):
    lab.model.learn(r"\bjob-start\b", say("job-start is done"))
    lab.paw("start", "--cli", lab.cli.name, "--branches", BRANCH, "--prompt", "Please do job-start.")

    def up():
        seen = lab.ask("status")
        agents = [seen["supervisor"], *seen["worktrees"]]
        return seen["broker"]["running"] and all(one["state"] == "running" for one in agents)

    lab.wait("supervisor, agent and broker run", up)


@check("boot prompt delivered")
def boot(lab):
    if lab.cli.greeting:
        shown, keys = lab.cli.greeting
        lab.wait(f"'{shown}' in the pane", lambda: shown in lab.screen())
        expect(lab.agent()["prompt"] != "delivered", "the prompt was typed into a dialog")
        lab.keys(*keys)
    lab.wait("the agent's prompt is delivered", lambda: lab.agent()["prompt"] == "delivered")
    lab.wait("the supervisor's as well", lambda: lab.ask("status")["supervisor"]["prompt"] == "delivered")
    for words in (f"You are agent {AGENT} on branch {BRANCH}", "You are the supervisor of 1 agent"):
        lab.wait(f"the model hears '{words}'", lambda words=words: lab.model.heard(words))
    lab.wait_for_state("idle")


@check("task given at the start")
def first_task(lab):
    lab.wait("the model hears of it", lambda: lab.model.heard(f"You are agent {AGENT}", "Please do job-start."))
    lab.wait("it is done", lambda: "job-start is done" in lab.screen())


@check("hooks, events heard")
def hooks(lab):
    if not lab.cli.tells:
        raise NotOffered
    told = [note[lab.cli.kind_of] for note in lab.notes()]
    for event in lab.cli.tells:
        expect(event in told, f"{event} was not told (heard: {', '.join(told)})")
    source = lab.state()["source"]
    expect(source == lab.cli.way, f"the state is known by {source}, not by {lab.cli.way}")


@check("working, then done")
def work(lab):
    lab.give("job-slow", hold("slow", say("job-slow is done")))
    lab.wait_for_state("working")
    lab.model.open("slow")
    lab.wait_for_state("idle")
    lab.wait("its last words are on the screen", lambda: "job-slow is done" in lab.screen())


@check("reaches the broker")
def speak(lab):
    text = "the agent speaks"
    lab.give("job-say", bash(f"git paw say status working --message '{text}'"), say("job-say is done"))

    def said():
        lines = (lab.repo / ".git-paw/broker.log").read_text().splitlines()
        return any(text in line and f'"{AGENT}"' in line for line in lines)

    lab.wait("its message is in the log", said)
    lab.wait_for_state("idle")


@check("writes and commits")
def commit(lab):
    steps = write("notes.txt", "hello"), bash("git add notes.txt"), bash("git commit --quiet --message agents-work")
    lab.give("job-commit", *steps, say("job-commit is done"))
    log = lambda: lab.git("log", "--format=%s", "--max-count=1", BRANCH).strip()  # noqa: E731
    lab.wait("its commit is on the branch", lambda: log() == "agents-work")
    lab.wait_for_state("idle")
    expect(lab.git("show", "--format=", "--name-only", BRANCH).split() == ["notes.txt"], "more was committed")


@check("sandbox holds the rest")
def sandbox(lab):
    if not lab.cli.sandboxed:
        raise NotOffered
    outside = lab.root / "outside"
    lab.give("job-outside", bash("touch ../outside"), say("job-outside is done"))
    lab.wait("it has tried", lambda: "job-outside is done" in lab.screen())
    lab.wait_for_state("idle")
    expect(not outside.exists(), "it has written outside of its worktree")


@check("stall noticed")
def stall(lab):
    told = lambda: lab.for_supervisor(f"[stall] {AGENT}")  # noqa: E731
    before = len(told())
    lab.give("job-stall", hold("stall", say("job-stall is done")))
    lab.wait("the supervisor is told of it", lambda: len(told()) > before)
    expect("without progress" in json.dumps(told()[-1]), f"another stall: {told()[-1]}")
    lab.model.open("stall")
    lab.wait_for_state("idle")


@check("limit noticed, then over")
def limit(lab):
    if not lab.cli.tells_limits:
        raise NotOffered
    told = lambda: lab.for_supervisor(f"[stall] {AGENT}: rate-limited")  # noqa: E731
    refused = refuse("limit", say("job-limit is done"), 429, "This would exceed your rate limit.", retry_after="5")
    lab.give("job-limit", refused)
    lab.wait_for_state("rate_limited")
    lab.wait("the supervisor is told of it", told)
    lab.model.open("limit")
    if lab.cli.retries:
        lab.wait("it continues by itself", lambda: "job-limit is done" in lab.screen())
    else:
        lab.tell("Please do job-limit again.")
        lab.wait("it continues when told to", lambda: "job-limit is done" in lab.screen())
    lab.wait_for_state("idle")


@check("paused, taken up again")
def pause(lab):
    pane = lab.agent()["pane"]
    process = lambda: lab.tmux("display-message", "-p", "-t", pane, "#{pane_pid} #{pane_current_command}")  # noqa: E731
    before = process()
    lab.paw("pause")
    seen = lab.ask("status")
    expect(seen["status"] == "paused" and not seen["broker"]["running"], f"after a pause: {seen['status']}")
    expect(process() == before, "the CLI did not keep running")
    lab.paw("start")
    lab.wait("the broker runs", lambda: lab.ask("status")["broker"]["running"])
    expect(process() == before, "the CLI was restarted")
    lab.give("job-resumed", say("job-resumed is done"))
    lab.wait("it takes a prompt", lambda: "job-resumed is done" in lab.screen())
    lab.wait_for_state("idle")


@check("resumed after kill-server")
def resume(lab):
    lab.give("job-remember-quagga", say("job-remember-quagga is done"))
    lab.wait("the model hears it", lambda: lab.model.heard("job-remember-quagga"))
    lab.wait_for_state("idle")
    conversations = lab.cli.conversations(lab)
    expect(len(conversations) == 1, f"it keeps {len(conversations)} conversations")
    lab.tmux("kill-server")
    expect(lab.ask("status")["status"] == "stopped", "a dead session is said to live")
    lab.paw("start")
    lab.wait("the agent runs", lambda: lab.agent()["state"] == "running")
    if lab.cli.greeting and lab.cli.greeting[0] in lab.screen():
        raise Failed("it asks about hooks that it was told to trust")
    lab.wait("it has been told whatever it forgets", lambda: lab.agent()["prompt"] == "delivered")
    lab.wait_for_state("idle")
    lab.give("job-recall", say("job-recall is done"))
    lab.wait("the model is reminded of what was before", lambda: lab.model.heard("job-remember-quagga", "job-recall"))
    lab.wait_for_state("idle")
    expect(lab.cli.conversations(lab) == conversations, "it is another conversation")
    told = {lab.cli.conversation_of(note) for note in lab.notes()}
    expect(told <= conversations, f"it tells of another conversation: {told}")
    expect(lab.model.heard("job-recall", f"You are agent {AGENT}"), "it has lost who it is")


@check("end noticed")
def leave(lab):
    lab.keys("-l", "/quit")
    lab.wait("the words are in its input", lambda: "/quit" in lab.screen())
    time.sleep(1)
    lab.keys("Enter")
    lab.wait_for_state("exited")


@check("purged, nothing left")
def purge(lab):
    lab.paw("purge", "--force")
    expect(not lab.worktree.exists(), "the worktree is still there")
    expect(lab.ask("status")["session"] is None, "there is still a session")
    home = f"HOME={lab.home}".encode()

    def living():
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if home in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return found

    try:
        lab.wait("every process has ended", lambda: not living(), limit=30)
    except Failed:
        raise Failed(f"still running: {'; '.join(living())}") from None


@check("late trust dialog")
def late_trust(lab):
    if not lab.cli.trust:
        raise NotOffered
    shown, keys = lab.cli.trust
    lab.cli.distrust(lab)
    try:
        answer_late(lab, shown, keys)
    finally:
        lab.paw("purge", "--force")
        lab.cli.seed(lab)


def answer_late(lab, shown, keys):
    lab.model.learn(r"\bjob-late\b", say("job-late is done"))
    lab.paw("start", "--cli", lab.cli.name, "--branches", BRANCH, "--prompt", "Please do job-late.")
    panes = [lab.ask("status")["supervisor"]["pane"], lab.agent()["pane"]]
    for pane in panes:
        lab.wait(f"'{shown}' in the pane", lambda pane=pane: shown in lab.screen(pane))
    # Longer than one attempt at a delivery takes.
    time.sleep(LATE)
    expect(lab.agent()["prompt"] != "delivered", "the prompt was typed into a dialog")
    for pane in panes:
        lab.keys(*keys, pane=pane)
    try:
        lab.wait("the agent's prompt is delivered", lambda: lab.agent()["prompt"] == "delivered")
        lab.wait("the supervisor's as well", lambda: lab.ask("status")["supervisor"]["prompt"] == "delivered")
        lab.wait("the model hears of the task", lambda: lab.model.heard(f"You are agent {AGENT}", "Please do job-late."))
        lab.wait("the task is done", lambda: "job-late is done" in lab.screen())
        lab.wait_for_state("idle")
    except Failed:
        lab.keep_evidence("late trust dialog, before the purge")
        raise


JOURNEY = (
    launch, boot, first_task, hooks, work, *APPROVALS, speak, commit, sandbox, stall, limit, pause, resume, leave, purge,
    narrow, late_trust,
)  # fmt: skip
