"""A CLI as the supervisor of a session, from the start to the merge, without a person."""

import json

from checks import check, expect
from model import bash, hold, say, write

BRANCH, AGENT = "feat/watched", "feat-watched"


@check("supervises to the merge")
def supervised(lab):
    config = lab.home / ".config/git-paw/config.toml"
    before = config.read_text()
    # Who waits for the other one here makes no progress for longer than elsewhere in the lab.
    patient = before.replace("no_progress_window_seconds = 15", "no_progress_window_seconds = 600")
    config.write_text(patient.replace("[supervisor]\n", '[supervisor]\nmerge = true\ntest_command = "test -f watched.txt"\n', 1))
    lab.model.learn(
        rf"You are agent {AGENT} ",
        write("watched.txt", "done"), bash("git add watched.txt"), bash("git commit --quiet --message watched"),
        say("the work is done"),
    )  # fmt: skip
    lab.model.learn(
        r"You are the supervisor of ",
        bash('git paw say status working --phase baseline --message "supervisor online"'),
        hold("committed", bash("git paw inbox --json")),
        bash(f"git paw diff {AGENT} --stat"),
        bash(f"git paw verify {BRANCH}", escalate=True),
        bash("git paw merge --rebase", escalate=True),
        bash('git paw say status done --phase summary --message "1 of 1 merged"'),
        say("all is merged"),
    )
    lab.paw("start", "--supervisor", "--cli", lab.cli.name, "--branches", BRANCH)
    try:
        trail = lambda: (lab.repo / ".git-paw/broker.log").read_text()  # noqa: E731
        lab.wait("the supervisor's first command runs", lambda: "supervisor online" in trail())
        tip = lambda: lab.git("log", "--format=%s", "--max-count=1", BRANCH).strip()  # noqa: E731
        lab.wait("the agent commits", lambda: tip() == "watched")
        lab.model.open("committed")
        lab.wait("main has the agent's work", lambda: "watched.txt" in lab.git("ls-tree", "--name-only", "main").split())
        lab.wait("the supervisor reports it", lambda: "1 of 1 merged" in trail())
        asked = [line for line in trail().splitlines() if is_for_a_person(line)]
        expect(not asked, f"a person was asked: {asked}")
    finally:
        (lab.root / "supervised.txt").write_text(trail() if (lab.repo / ".git-paw/broker.log").exists() else "")
        config.write_text(before)
    lab.paw("purge", "--force")


def is_for_a_person(line):
    """Whether this line of the audit trail waits for the user."""
    entry = json.loads(line)
    message = entry.get("message", entry)
    return message.get("type") == "agent.feedback" and message.get("agent_id") == "operator"
