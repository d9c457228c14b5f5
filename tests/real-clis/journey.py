"""A session with one agent, from its start to its end, by the commands that people use. One function for each capability."""

import json
import time
from pathlib import Path

from checks import Failed, NotOffered, check, expect
from lab import AGENT, BRANCH
from model import bash, hold, refuse, say, write


def give(lab, job, *steps):
    """Teaches the model a job and tells the agent to do it."""
    lab.model.learn(rf"\b{job}\b", *steps)
    lab.tell(f"Please do {job}.")


@check("launch in panes")
def launch(lab):
    lab.paw("start", "--cli", lab.cli.name, "--branches", BRANCH)

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
    give(lab, "job-slow", hold("slow", say("job-slow is done")))
    lab.wait_for_state("working")
    lab.model.open("slow")
    lab.wait_for_state("idle")
    lab.wait("its last words are on the screen", lambda: "job-slow is done" in lab.screen())


@check("safe command approved")
def approve(lab):
    command = "cargo test"
    give(lab, "job-safe", bash(command, escalate=True), say("job-safe is done"))
    lab.wait("the command runs without a question", (lab.worktree / "cargo-ran").exists)
    lab.wait_for_state("idle")
    given = [one["verdict"] for one in lab.verdicts(command)]
    expect(given == ["allow"], f"verdicts on '{command}': {given}")
    expect(not lab.for_supervisor(command), "the supervisor was asked all the same")


@check("unsafe one held, asked once")
def hold_back(lab):
    command = "rm -rf build"
    (lab.worktree / "build").mkdir(exist_ok=True)
    give(lab, "job-unsafe", bash(command, escalate=True), say("job-unsafe is done"))
    asked = lambda: lab.for_supervisor(f"[approval] {AGENT}")  # noqa: E731
    lab.wait_for_state("waiting_approval")
    known = lab.wait("its prompt is drawn", lambda: (known := lab.state()).get("command") and known)
    expect(known["command"] == command, f"it is said to ask for {known['command']!r}")
    expect(known["verdict"] == "ask", f"the verdict is {known['verdict']!r}")
    lab.wait("the supervisor is asked", lambda: lab.for_supervisor(command))
    # The monitor looks several more times: each could raise a second question.
    time.sleep(8)
    for what, found in (("questions", asked()), ("verdicts", lab.verdicts(command))):
        expect(len(found) == 1, f"{len(found)} {what} about it: {json.dumps(found)}")
    expect((lab.worktree / "build").is_dir(), "it was run")
    expect(lab.state()["state"] == "waiting_approval", "it does not wait any more")


@check("denied by a person")
def deny(lab):
    expect(lab.state()["state"] == "waiting_approval", "there is nothing to deny")
    lab.keys(*lab.cli.no)
    lab.wait_for_state("idle")
    give(lab, "job-afterwards", say("job-afterwards is done"))
    lab.wait("it continues with something else", lambda: "job-afterwards is done" in lab.screen())
    lab.wait_for_state("idle")
    expect((lab.worktree / "build").is_dir(), "it was run all the same")
    expect(len(lab.for_supervisor("rm -rf build")) == 1, "the supervisor was asked again")


@check("approved by a person")
def approve_by_hand(lab):
    (lab.worktree / "build").mkdir(exist_ok=True)
    give(lab, "job-by-hand", bash("rm -r build", escalate=True), say("job-by-hand is done"))
    lab.wait_for_state("waiting_approval")
    lab.wait("git paw sweep approve answers it", lambda: lab.paw("sweep", "approve", AGENT))
    lab.wait("the command runs", lambda: not (lab.worktree / "build").exists())
    lab.wait_for_state("idle")


@check("reaches the broker")
def speak(lab):
    text = "the agent speaks"
    give(lab, "job-say", bash(f"git paw say status working --message '{text}'"), say("job-say is done"))

    def said():
        lines = (lab.repo / ".git-paw/broker.log").read_text().splitlines()
        return any(text in line and f'"{AGENT}"' in line for line in lines)

    lab.wait("its message is in the log", said)
    lab.wait_for_state("idle")


@check("writes and commits")
def commit(lab):
    steps = write("notes.txt", "hello"), bash("git add notes.txt"), bash("git commit --quiet --message agents-work")
    give(lab, "job-commit", *steps, say("job-commit is done"))
    log = lambda: lab.git("log", "--format=%s", "--max-count=1", BRANCH).strip()  # noqa: E731
    lab.wait("its commit is on the branch", lambda: log() == "agents-work")
    lab.wait_for_state("idle")
    expect(lab.git("show", "--format=", "--name-only", BRANCH).split() == ["notes.txt"], "more was committed")


@check("sandbox holds the rest")
def sandbox(lab):
    if not lab.cli.sandboxed:
        raise NotOffered
    outside = lab.root / "outside"
    give(lab, "job-outside", bash("touch ../outside"), say("job-outside is done"))
    lab.wait("it has tried", lambda: "job-outside is done" in lab.screen())
    lab.wait_for_state("idle")
    expect(not outside.exists(), "it has written outside of its worktree")


@check("stall noticed")
def stall(lab):
    told = lambda: lab.for_supervisor(f"[stall] {AGENT}")  # noqa: E731
    before = len(told())
    give(lab, "job-stall", hold("stall", say("job-stall is done")))
    lab.wait("the supervisor is told of it", lambda: len(told()) > before)
    expect("without progress" in json.dumps(told()[-1]), f"another stall: {told()[-1]}")
    lab.model.open("stall")
    lab.wait_for_state("idle")


@check("limit noticed, then over")
def limit(lab):
    if not lab.cli.tells_limits:
        raise NotOffered
    told = lambda: lab.for_supervisor(f"[stall] {AGENT}: has used up")  # noqa: E731
    refused = refuse("limit", say("job-limit is done"), 429, "This would exceed your rate limit.", retry_after="5")
    give(lab, "job-limit", refused)
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
    give(lab, "job-resumed", say("job-resumed is done"))
    lab.wait("it takes a prompt", lambda: "job-resumed is done" in lab.screen())
    lab.wait_for_state("idle")


@check("resumed after kill-server")
def resume(lab):
    give(lab, "job-remember-quagga", say("job-remember-quagga is done"))
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
    give(lab, "job-recall", say("job-recall is done"))
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


JOURNEY = (
    launch, boot, hooks, work, approve, hold_back, deny, approve_by_hand, speak, commit, sandbox, stall, limit, pause, resume,
    leave, purge,
)  # fmt: skip
