"""Prompts that ask whether the agent may do something: answered by rules, by keys and by commands."""

import json
import shutil
import sys
import time
from pathlib import Path

from checks import Failed, NotOffered, check, expect
from lab import AGENT, BRANCH
from model import bash, say

NARROW = 40


@check("safe command approved")
def approve(lab):
    command = "cargo test"
    lab.give("job-safe", bash(command, escalate=True), say("job-safe is done"))
    lab.wait("the command runs without a question", (lab.worktree / "cargo-ran").exists)
    lab.wait_for_state("idle")
    given = [one["verdict"] for one in lab.verdicts(command)]
    expect(given == ["allow"], f"verdicts on '{command}': {given}")
    expect(not lab.for_supervisor(command), "the supervisor was asked all the same")


@check("unsafe one held, asked once")
def hold_back(lab):
    command = "rm -rf build"
    (lab.worktree / "build").mkdir(exist_ok=True)
    lab.give("job-unsafe", bash(command, escalate=True), say("job-unsafe is done"))
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
    lab.give("job-afterwards", say("job-afterwards is done"))
    lab.wait("it continues with something else", lambda: "job-afterwards is done" in lab.screen())
    lab.wait_for_state("idle")
    expect((lab.worktree / "build").is_dir(), "it was run all the same")
    expect(not lab.for_supervisor("rm -rf build"), "the question is still open, or was asked again")


@check("approved by a person")
def approve_by_hand(lab):
    (lab.worktree / "build").mkdir(exist_ok=True)
    lab.give("job-by-hand", bash("rm -r build", escalate=True), say("job-by-hand is done"))
    lab.wait_for_state("waiting_approval")
    lab.wait("git paw sweep approve answers it", lambda: lab.paw("sweep", "approve", AGENT))
    lab.wait("the command runs", lambda: not (lab.worktree / "build").exists())
    lab.wait_for_state("idle")


def ask_to_remove(lab, job):
    """Makes the agent ask whether it may remove a directory. Returns that directory and the command."""
    directory, command = lab.worktree / "build", "rm -r build"
    directory.mkdir(exist_ok=True)
    lab.give(job, bash(command, escalate=True), say(f"{job} is done"))
    lab.wait_for_state("waiting_approval")
    return directory, command


def verdict_says(lab, command, words):
    said = [one["reason"] for one in lab.verdicts(command)]
    expect(any(words in reason for reason in said), f"no verdict says '{words}': {said}")


@check("approved by command")
def approve_by_command(lab):
    directory, command = ask_to_remove(lab, "job-yes")
    lab.wait("git paw approve answers it", lambda: lab.paw("approve", AGENT, "--yes"))
    lab.wait("the command runs", lambda: not directory.exists())
    lab.wait_for_state("idle")
    verdict_says(lab, command, "approved by")


@check("denied by command")
def deny_by_command(lab):
    directory, command = ask_to_remove(lab, "job-no")
    lab.wait("git paw deny answers it", lambda: lab.paw("deny", AGENT))
    lab.wait_for_state("idle")
    expect(directory.is_dir(), "it was run all the same")
    verdict_says(lab, command, "denied by")


def pane_of(lab, whose):
    panes = lab.tmux("list-panes", "-a", "-F", "#{@paw_agent} #{pane_id}").splitlines()
    return next(pane for owner, pane in (line.split(" ") for line in panes) if owner == whose)


def press_in_dashboard(lab, key):
    """Opens the prompt with the key, and presses it once more when the whole command is shown."""
    dashboard = pane_of(lab, "dashboard")
    lab.wait("the dashboard shows that it waits", lambda: "needs approval" in lab.screen(dashboard))
    # The first key selects the agent that waits, the second one reads its prompt.
    lab.keys("n", key, pane=dashboard)
    shown = lambda: f"{AGENT} ({lab.cli.name}) wants" in lab.screen(dashboard)  # noqa: E731
    lab.wait("the dashboard shows the prompt", shown)
    expect("rm -r build" in lab.screen(dashboard), "the command is not shown")
    lab.keys(key, pane=dashboard)
    lab.wait("the prompt is closed", lambda: not shown())


@check("approved in the dashboard")
def approve_in_dashboard(lab):
    directory, command = ask_to_remove(lab, "job-dash-yes")
    press_in_dashboard(lab, "a")
    lab.wait("the command runs", lambda: not directory.exists())
    lab.wait_for_state("idle")
    verdict_says(lab, command, "approved by")


@check("denied in the dashboard")
def deny_in_dashboard(lab):
    directory, command = ask_to_remove(lab, "job-dash-no")
    press_in_dashboard(lab, "d")
    lab.wait_for_state("idle")
    expect(directory.is_dir(), "it was run all the same")
    verdict_says(lab, command, "denied by")


# The button whose text begins with the word, once the page shows the whole command.
BUTTON = """
if (!document.body.innerText.includes(arguments[0])) return false;
const found = [...document.querySelectorAll("button")].find((one) => one.innerText.startsWith(arguments[1]) && !one.disabled);
found?.click();
return Boolean(found);
"""


@check("decided in the browser")
def decide_in_browser(lab):
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        raise NotOffered("chromium and chromedriver are not installed")
    sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))
    from chromium import Browser

    link = lab.ask("web")["link"]
    try:
        with Browser(lab.root / "browser") as browser:
            browser.open(link)
            for job, label, word in (("job-web-yes", "Approve", "approved by"), ("job-web-no", "Deny", "denied by")):
                directory, command = ask_to_remove(lab, job)
                browser.wait(BUTTON, command, label)
                if label == "Approve":
                    lab.wait("the command runs", lambda: not directory.exists())
                lab.wait_for_state("idle")
                expect(directory.is_dir() == (label == "Deny"), f"{label} did something else")
                verdict_says(lab, command, word)
                browser.wait("return document.body.innerText.includes('Nothing needs you')")
    except SystemExit as problem:
        raise Failed(str(problem)) from None
    finally:
        lab.paw("web", "--revoke")


@check("pane made narrow while it runs")
def shrink(lab):
    """The pane loses its width while a prompt is shown, and again gets it back."""
    pane = lab.agent()["pane"]
    beside = lab.tmux("split-window", "-d", "-h", "-l", "160", "-t", pane, "-P", "-F", "#{pane_id}", "sleep 3600").strip()
    try:
        lab.tmux("resize-pane", "-t", beside, "-x", "20")
        directory, _ = ask_to_remove(lab, "job-shrink")
        lab.tmux("resize-pane", "-t", beside, "-x", "160")
        width = int(lab.tmux("display-message", "-p", "-t", pane, "#{pane_width}"))
        expect(width <= NARROW, f"the pane has {width} columns")
        lab.wait("git paw approve answers it", lambda: lab.paw("approve", AGENT, "--yes"))
        lab.wait("the command runs", lambda: not directory.exists())
        lab.wait_for_state("idle")
        directory, _ = ask_to_remove(lab, "job-shrunk")
        lab.wait("git paw deny answers it", lambda: lab.paw("deny", AGENT))
        lab.wait_for_state("idle")
        expect(directory.is_dir(), "it was run all the same")
    finally:
        lab.tmux("kill-pane", "-t", beside)


@check("approvals at 40 columns")
def narrow(lab):
    """In a session of its own: five agents share a window of 200 columns."""
    lab.program("idler", "exec sleep 3600\n")
    lab.paw("add-cli", "idler", "idler")
    others = (f"feat/idle-{number}=idler" for number in range(4))
    lab.model.learn(r"\bjob-wake\b", say("job-wake is done"))
    lab.paw("start", "--branches", ",".join((f"{BRANCH}={lab.cli.name}", *others)), "--prompt", "Please do job-wake.")
    pane = lab.agent()["pane"]
    width = lambda: int(lab.tmux("display-message", "-p", "-t", pane, "#{pane_width}"))  # noqa: E731
    try:
        before = width()
        expect(before <= NARROW, f"the pane has {before} columns")
        lab.wait("its prompt is delivered", lambda: lab.agent()["prompt"] == "delivered")
        lab.wait_for_state("idle")
        directory, _ = ask_to_remove(lab, "job-narrow")
        lab.wait("git paw approve answers it", lambda: lab.paw("approve", AGENT, "--yes"))
        lab.wait("the command runs", lambda: not directory.exists())
        lab.wait_for_state("idle")
        (lab.worktree / "cargo-ran").unlink(missing_ok=True)
        lab.give("job-narrow-test", bash("cargo test", escalate=True), say("job-narrow-test is done"))
        lab.wait("a safe command runs without a question", (lab.worktree / "cargo-ran").exists)
        lab.wait_for_state("idle")
        directory, _ = ask_to_remove(lab, "job-narrow-no")
        lab.wait("git paw deny answers it", lambda: lab.paw("deny", AGENT))
        lab.wait_for_state("idle")
        expect(directory.is_dir(), "it was run all the same")
        expect(width() == before, f"the pane is left with {width()} columns")
    except Failed:
        lab.keep_evidence("approvals at 40 columns, before the purge")
        raise
    finally:
        lab.paw("purge", "--force")


APPROVALS = (
    approve, hold_back, deny, approve_by_hand, approve_by_command, deny_by_command, approve_in_dashboard, deny_in_dashboard,
    decide_in_browser, shrink,
)  # fmt: skip
