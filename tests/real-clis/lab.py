"""A place of its own for one CLI: home, repository, tmux server and model, with the commands of git paw to act in it."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from checks import Failed
from model import Model, serve

# Long enough for a machine that is busy with something else. Nothing is awaited for its speed.
PATIENCE = 120
COMMAND_LIMIT = 180
GLANCE = 0.3

BRANCH, AGENT = "feat/a", "feat-a"


class Lab:
    def __init__(self, root, cli, git_paw, turn):
        self.root, self.cli, self.turn = Path(root), cli, turn
        self.home, self.repo = self.root / "home", self.root / "app"
        self.worktree = self.root / "app-feat-a"
        self.common_dir = self.repo / ".git"
        bin_dir = self.root / "bin"
        for path in (self.home, bin_dir, self.root / "tmux"):
            path.mkdir(parents=True)
        (self.root / "tmux").chmod(0o700)
        # A copy, so that a build in the meantime does not change the program of a session.
        shutil.copy2(git_paw, bin_dir / "git-paw")
        self.model = Model()
        self.server = serve(self.model)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        path = f"{bin_dir}:{cli.bin}:{os.path.dirname(shutil.which('node'))}:/usr/local/bin:/usr/bin:/bin"
        self.env = {
            "PATH": path,
            "HOME": str(self.home),
            "TMUX_TMPDIR": str(self.root / "tmux"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            **cli.environment(self.url),
        }
        # Login shells, of panes and of CLIs, begin with a PATH of their own.
        (self.home / ".bash_profile").write_text(f"export PATH='{path}'\n")
        (self.home / ".gitconfig").write_text("[init]\n\tdefaultBranch = main\n")
        # The project's tests: they leave a trace when they run.
        self.program("cargo", 'echo "$@" >> cargo-ran\necho "test result: ok. 1 passed; 0 failed"\n')
        self.make_repository()
        cli.seed(self)

    def program(self, name, body):
        file = self.root / "bin" / name
        file.write_text(f"#!/bin/sh\n{body}")
        file.chmod(0o755)

    def make_repository(self):
        self.repo.mkdir()
        self.git("init", "--quiet")
        # In the repository: gemini's shell does not see the user's own configuration.
        self.git("config", "user.name", "Lab")
        self.git("config", "user.email", "lab@example.com")
        (self.repo / "lib.rs").write_text("pub fn one() -> i32 {\n    1\n}\n")
        (self.repo / ".gitignore").write_text("cargo-ran\nbuild/\n")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "first")
        config = self.home / ".config/git-paw/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(
            f'[supervisor]\nenabled = true\ncli = "{self.cli.name}"\nno_progress_window_seconds = 15\n'
            "[supervisor.auto_approve]\nenabled = true\n"
        )

    def run(self, *words, cwd=None, limit=COMMAND_LIMIT):
        try:
            return subprocess.run(
                words, cwd=cwd or self.repo, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=limit, errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{' '.join(map(str, words))}: not done after {limit} s") from late

    def begin(self, *words):
        """A command that keeps running while others run."""
        return subprocess.Popen(
            words, cwd=self.repo, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace",
        )  # fmt: skip

    def must(self, *words, cwd=None):
        ran = self.run(*words, cwd=cwd)
        if ran.returncode != 0:
            first = (ran.stderr.strip().splitlines() or ["nothing is said"])[0]
            raise Failed(f"{' '.join(map(str, words))}: exit code {ran.returncode}: {first}")
        return ran.stdout

    def git(self, *words, cwd=None):
        return self.must("git", *words, cwd=cwd)

    def paw(self, *words):
        return self.must("git", "paw", *words)

    def ask(self, *words):
        """The document that a command answers with."""
        return json.loads(self.paw(*words, "--json"))

    def tmux(self, *words):
        return self.must("tmux", *words)

    def wait(self, what, condition, limit=PATIENCE):
        """The first truthy value of the condition, or a failure with its last value."""
        until = time.monotonic() + limit
        last = None
        while True:
            try:
                found = condition()
                if found:
                    return found
                last = found
            except (Failed, OSError, ValueError, LookupError) as problem:
                last = problem
            if time.monotonic() > until:
                raise Failed(f"{what}: not within {limit} s" + (f" (last: {last})" if last else ""))
            time.sleep(GLANCE)

    # What is known about the agent.

    def agent(self):
        return next(one for one in self.ask("status")["worktrees"] if one["agent_id"] == AGENT)

    def state(self):
        return self.ask("explain", AGENT)

    def wait_for_state(self, *names, limit=PATIENCE):
        last = {}

        def reached():
            last.update(self.state())
            return last if last["state"] in names else None

        try:
            return self.wait(f"state {' or '.join(names)}", reached, limit)
        except Failed as problem:
            raise Failed(f"{problem}; it is {last.get('state')}: {last.get('reason')}") from None

    def screen(self, pane=None):
        return self.tmux("capture-pane", "-p", "-t", pane or self.agent()["pane"])

    def keys(self, *keys, pane=None):
        self.tmux("send-keys", "-t", pane or self.agent()["pane"], *keys)

    def tell(self, text):
        """As a person does: typed into the agent's pane."""
        self.paw("tell", AGENT, "--now", text)

    def give(self, job, *steps):
        """Teaches the model a job and tells the agent to do it."""
        self.model.learn(rf"\b{job}\b", *steps)
        self.tell(f"Please do {job}.")

    def verdicts(self, command):
        return [one for one in self.ask("approvals")["verdicts"] if one["command"] == command]

    def for_supervisor(self, text):
        """What waits for the supervisor and says this."""
        messages = self.ask("sweep", "inbox")["messages"]
        return [one for one in messages if text in json.dumps(one["message"], ensure_ascii=False)]

    def notes(self):
        """What the hooks have told, oldest first."""
        file = self.common_dir / "paw/agents" / f"{AGENT}.jsonl"
        return [json.loads(line)["record"] for line in file.read_text().splitlines()] if file.exists() else []

    def keep_evidence(self, name):
        """Everything that helps to understand a failure, in a directory of the lab."""
        kept = self.root / "evidence" / name.replace(",", "").replace(" ", "-")
        kept.mkdir(parents=True, exist_ok=True)
        panes = self.run("tmux", "list-panes", "-a", "-F", "#{pane_id} #{@paw_agent}").stdout.splitlines()
        for line in panes:
            pane, whose = line.split(" ", 1)
            shown = self.run("tmux", "capture-pane", "-p", "-e", "-t", pane).stdout
            plain = self.run("tmux", "capture-pane", "-p", "-t", pane).stdout
            (kept / f"{whose}.ansi.txt").write_text(shown)
            (kept / f"{whose}.txt").write_text(plain)
        for words in (("status",), ("explain", AGENT), ("approvals",), ("sweep", "inbox")):
            ran = self.run("git", "paw", *words, "--json", limit=30)
            (kept / f"{words[0]}.json").write_text(ran.stdout + ran.stderr)
        for file in (self.repo / ".git-paw/broker.log", *(self.common_dir / "paw/agents").glob("*.jsonl")):
            if file.exists():
                shutil.copy2(file, kept)
        asked = [{"api": one.api, "turns": [turn.__dict__ for turn in one.turns]} for one in self.model.requests]
        (kept / "model.json").write_text(json.dumps(asked, indent=1, ensure_ascii=False))
        return kept

    def close(self):
        self.model.open_all()
        # The session's process survives the end of tmux.
        self.run("git", "paw", "purge", "--force")
        self.run("tmux", "kill-server", limit=30)
        self.server.shutdown()
