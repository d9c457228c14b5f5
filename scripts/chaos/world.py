"""A home, a tmux server and a repository for one round, and what a round can find."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

FILES = 400
AGENT = '#!/bin/sh\necho "agent in $PWD"\nexec sleep 100000\n'


class Skip(Exception):
    pass


class Findings:
    """What a round has found: each list holds sentences."""

    def __init__(self):
        self.lost, self.twice, self.left, self.other = [], [], [], []

    def add(self, more):
        for name in vars(self):
            getattr(self, name).extend(getattr(more, name))

    def bad(self):
        return any(vars(self).values())

    def text(self):
        return "; ".join(f"{name}: {', '.join(found)}" for name, found in vars(self).items() if found)


class World:
    def __init__(self, home, program, number=0):
        self.home, self.program, self.repo, self.number = home, program, home / "app", number
        self.processes = []
        for name in ["bin", "tmux", "tmp", ".config/git-paw"]:
            (home / name).mkdir(parents=True)
        (home / "bin/claude").write_text(AGENT)
        (home / "bin/claude").chmod(0o755)
        self.environment = {
            **{name: os.environ[name] for name in ["LANG", "LC_ALL"] if name in os.environ},
            "HOME": str(home),
            "PATH": f"{home}/bin:{os.environ['PATH']}",
            "TMPDIR": str(home / "tmp"),
            "TMUX_TMPDIR": str(home / "tmux"),
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        (home / ".gitconfig").write_text("[user]\n\tname = Chaos\n\temail = chaos@localhost\n[gc]\n\tauto = 0\n")
        (home / ".profile").write_text(f"PATH='{self.environment['PATH']}'\n")

    def make_repo(self, files=FILES):
        self.git("init", "--quiet", "--initial-branch=main", str(self.repo), cwd=self.home)
        for number in range(files):
            file = self.repo / f"dir{number // 50}/file{number}.txt"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"line of {number}\n" * 50)
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "files")

    def configure(self, text):
        (self.home / ".config/git-paw/config.toml").write_text(text)

    def git(self, *args, cwd=None, check=True):
        command = ["git", *args]
        done = subprocess.run(
            command, cwd=cwd or self.repo, env=self.environment, capture_output=True, text=True, errors="replace"
        )
        if check and done.returncode:
            raise RuntimeError(f"{command}: {done.stderr}")
        return done.stdout.strip()

    def paw(self, *args, cwd=None, timeout=120):
        return subprocess.run(
            [self.program, *args],
            cwd=cwd or self.repo,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
        )

    def must(self, *args, **more):
        done = self.paw(*args, **more)
        if done.returncode:
            raise RuntimeError(f"git paw {' '.join(args)}: {done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *args):
        return json.loads(self.must(*args, "--json"))

    def spawn(self, *args):
        process = subprocess.Popen(
            [self.program, *args],
            cwd=self.repo,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def kill_during(self, *args, within):
        """Starts a command and kills at a random moment: it alone, everything it has started, or one of its children."""
        process = self.spawn(*args)
        try:
            process.wait(timeout=random.uniform(0, within))
        except subprocess.TimeoutExpired:
            pass
        victims = [pid for pid in self.of_session(process.pid) if pid != process.pid]
        if process.poll() is None:
            chosen = random.choice(["alone", "all", "child"])
            if chosen == "child" and victims:
                kill(random.choice(victims))
            elif chosen == "all":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait(timeout=120)

    def of_session(self, session):
        """Processes of a session, in the sense of setsid."""
        for entry in processes():
            try:
                if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[3]) == session:
                    yield int(entry.name)
            except OSError:
                pass

    def running(self):
        """Programs that this round has started and that have not ended, tmux apart."""
        found, home = {}, f"HOME={self.home}".encode()
        for entry in processes():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if home in (entry / "environ").read_bytes().split(b"\0") and not words[0].startswith(b"tmux"):
                    found[int(entry.name)] = b" ".join(words).decode(errors="replace").strip()
            except OSError:
                pass
        return found

    def strays(self, seconds=15):
        """What still runs after everything should have ended."""
        try:
            self.wait("every process has ended", lambda: not self.running(), seconds, every=0.5)
            return []
        except RuntimeError:
            return [f"process {line[:120]}" for line in self.running().values()]

    def tmux(self, *args):
        return subprocess.run(
            ["tmux", *args], cwd=self.home, env=self.environment, capture_output=True, text=True
        ).stdout

    def panes(self):
        return sorted(filter(None, self.tmux("list-panes", "-a", "-F", "#{@paw_agent}").split("\n")))

    def wait(self, what, condition, seconds=30, every=0.05):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(every)
        raise RuntimeError(f"waited in vain: {what}")

    def traces(self, branches=()):
        """Everything that a command could leave behind, as sentences."""
        found = []
        listed = self.git("worktree", "list", "--porcelain").count("worktree ")
        if listed > 1:
            found.append(f"git lists {listed - 1} worktrees")
        rows = self.json("worktree", "list")
        if rows.get("worktrees"):
            found.append(f"{len(rows['worktrees'])} rows")
        kept = {"app", "bin", "tmux", "tmp"}
        found += [f"directory {entry.name}" for entry in self.home.iterdir() if entry.name[0] != "." and entry.name not in kept]
        here = self.git("branch", "--format=%(refname:short)").split()
        found += [f"branch {branch}" for branch in here if branch != "main" and branch not in branches]
        sessions = self.home / ".local/share/git-paw/sessions"
        found += [f"receipt {file.name}" for file in sessions.glob("*.json")]
        return found

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.tmux("kill-server")
        for pid in self.running():
            kill(pid)


def processes():
    return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def work_of(directory, number=0):
    """Uncommitted work: new, changed and deleted files. Returns the contents to find again."""
    made = {}
    for index in range(20):
        made[f"new-{index}"] = f"work {number} {index}\n" * 40
    made["dir0/file0.txt"] = f"changed {number}\n"
    for name, text in made.items():
        (directory / name).write_text(text)
    return made


def missing_from(directory, work):
    def is_there(name, text):
        file = directory / name
        return file.is_file() and file.read_text(errors="replace") == text

    return [name for name, text in work.items() if not is_there(name, text)]
