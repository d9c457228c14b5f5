"""What the model of the day's supervisor does: it follows the supervisor's skill, by what the tools answer."""

import json
import re

from model import bash, say

ONLINE = 'git paw say status working --phase baseline --message "supervisor online"'
# Shorter than any time limit of a CLI for its commands.
WAIT = 20


class Supervisor:
    """`choose` is a job of the model. It remembers its steps, because a CLI may ask twice for the same one."""

    def __init__(self, tasks):
        # The tasks of each agent that are not handed out yet; the first one is its first prompt.
        self.open = {agent: list(named[1:]) for agent, named in tasks.items()}
        self.current = {agent: named[0] for agent, named in tasks.items()}
        self.merged = []
        self.last_seq = 0
        self.queue = [ONLINE]
        self.steps = []
        self.asked = ""
        self.finished = False

    def choose(self, number, result):
        if number < len(self.steps):
            return self.steps[number]
        self.read(self.asked, result)
        if self.finished and not self.queue:
            step, self.asked = say("All tasks are merged."), ""
        else:
            self.asked = self.queue.pop(0) if self.queue else f"git paw inbox --json --since {self.last_seq} --wait {WAIT}"
            # codex runs gates and merges outside of its sandbox.
            step = bash(self.asked, escalate=bool(re.match(r"git paw (verify|merge|sweep|tell)\b", self.asked)))
        self.steps.append(step)
        return step

    def tell(self, agent, text):
        self.queue.append(f'git paw tell {agent} --now "{text}"')

    def read(self, command, result):
        if command.startswith("git paw inbox"):
            self.read_inbox(result)
        elif found := re.match(r"git paw verify (\S+)", command):
            agent = found[1].replace("/", "-")
            if f"failed {found[1]} at" in result:
                self.tell(agent, f"Please fix {self.current[agent]}.")
            elif f"verified {found[1]} at" in result:
                self.queue.insert(0, f"git paw merge {found[1]} --rebase")
            else:
                # The session's process was killed while the gates ran.
                self.queue.insert(0, command)
        elif found := re.match(r"git paw merge (\S+)", command):
            agent = found[1].replace("/", "-")
            if "main is now at" in result:
                self.hand_out_next(agent)
            elif re.search(r"skipped|regression", result):
                self.tell(agent, f"Please fix {self.current[agent]}.")
            else:
                self.queue.insert(0, command)

    def hand_out_next(self, agent):
        self.merged.append(self.current[agent])
        if self.open[agent]:
            self.current[agent] = self.open[agent].pop(0)
            self.tell(agent, f"Please do {self.current[agent]}.")
        elif not any(self.open.values()) and len(self.merged) == len(set(self.merged)) == self.total():
            self.queue.append(f'git paw say status done --phase summary --message "{self.total()} of {self.total()} merged"')
            self.finished = True

    def total(self):
        return sum(map(len, self.open.values())) + len(set(self.merged) | set(self.current.values()))

    def read_inbox(self, result):
        found = re.search(r"\{.*\}", result, re.DOTALL)
        try:
            inbox = json.loads(found[0]) if found else {}
        except ValueError:
            # A CLI that cuts long answers: the next ones are shorter.
            inbox = {}
        self.last_seq = inbox.get("last_seq", self.last_seq)
        for one in inbox.get("messages", []):
            self.handle(one["message"])

    def handle(self, message):
        kind, agent, payload = message["type"], message.get("agent_id", ""), message.get("payload", {})
        if kind == "supervisor.verify-now":
            self.add(f"git paw verify {branch_of(message.get('branch_id') or payload.get('branch_id'))}")
        elif kind == "agent.question" and payload["question"].startswith("[approval]"):
            # It deletes files: that is for the user.
            self.add(f"git paw sweep capture {agent}")
        elif kind == "agent.question":
            self.add(f'git paw say answer {agent} "yes, do it" --re "{payload["question"]}"')
        elif kind == "agent.feedback" and agent == "supervisor":
            for text in payload["errors"]:
                self.handle_report(payload["from"], text)

    def handle_report(self, agent, text):
        if text.startswith("[stall]") and "exited" in text:
            self.add(f"git paw sweep restart {agent}")
            self.tell(agent, f"Please continue {self.current[agent]}.")
        elif text.startswith("[conflict-detector]"):
            self.add('git paw tell feat-b --inbox "feat-c changes shared.txt first: rebase when it is merged"')
        elif text.startswith("[stall]"):
            self.add("git paw sweep detect-stuck")

    def add(self, command):
        if command not in self.queue:
            self.queue.append(command)


def branch_of(agent):
    return agent.replace("-", "/", 1)
