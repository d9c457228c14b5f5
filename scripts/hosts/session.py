"""A session with an agent on each of three machines, and what its messages are compared with."""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

from nats import Cluster
from network import Network, wait

HERE = Path(__file__).resolve().parent
HUB, HOSTS = "hub", ["big", "gpu"]
# The clock of this machine is an hour ahead.
SKEWED = "gpu"
AGENTS = {"hub": "feat-a", "big": "feat-b", "gpu": "feat-c"}
SKEW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, now);
    if (!result && id == CLOCK_REALTIME) now->tv_sec += 3600;
    return result;
}
"""


class Findings:
    """What went wrong, as sentences."""

    def __init__(self):
        self.lost, self.twice, self.order, self.other = [], [], [], []

    def bad(self):
        return any(vars(self).values())

    def text(self):
        return "; ".join(f"{name}: {', '.join(found[:5])} ({len(found)})" for name, found in vars(self).items() if found)

    def sums(self):
        return f"{len(self.lost)} lost, {len(self.twice)} twice, {len(self.order)} out of order, {len(self.other)} other"


class Session:
    def __init__(self, directory, program):
        self.directory, self.cluster, self.counts, self.doing = directory, None, {}, "start"
        self.network = Network(directory)
        self.machines = [self.network.add(name, program) for name in [HUB, *HOSTS]]
        self.hub = self.machines[0]
        self.repo = self.hub.home / "app"

    def set_up(self, own_server, agent=HERE / "worker"):
        self.skew_clock()
        for machine in self.machines:
            shutil.copy(agent, machine.home / "bin/claude")
            machine.run_sshd()
        self.hub.know(self.machines)
        if not own_server:
            self.cluster = Cluster(self.machines)
            self.cluster.wait_until_ready()
        self.configure()
        self.make_repo()

    def skew_clock(self):
        library = self.directory / "skew.so"
        source = self.directory / "skew.c"
        source.write_text(SKEW)
        if shutil.which("cc") is None:
            return
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        machine = next(machine for machine in self.machines if machine.name == SKEWED)
        machine.environment["LD_PRELOAD"] = str(library)
        config = self.directory / "keys" / f"{machine.name}.config"
        config.write_text(config.read_text().rstrip("\n") + f" LD_PRELOAD={library}\n")

    def configure(self):
        hosts = "".join(f'[hosts.{name}]\nssh = "{name}"\n' for name in HOSTS)
        servers = f"[cluster]\nservers = {json.dumps(self.cluster.urls())}\nreplicas = 3\n" if self.cluster else ""
        (self.hub.home / ".config/git-paw/config.toml").write_text(f"{hosts}{servers}")

    def make_repo(self):
        self.hub.run("git", "init", "--quiet", "--initial-branch=main", self.repo, check=True)
        (self.repo / "README.md").write_text("a project\n")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "first")

    def git(self, *args, cwd=None):
        return self.hub.run("git", *args, cwd=cwd or self.repo, check=True).stdout.strip()

    def paw(self, *args, check=True, timeout=300):
        done = self.hub.run("git-paw", *args, cwd=self.repo, check=check, timeout=timeout)
        return done.stdout if check else done.stdout + done.stderr

    def json(self, *args):
        return json.loads(self.paw(*args, "--json"))

    def start(self):
        self.paw("start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a,feat/b@big,feat/c@gpu")
        wait("all machines are reachable", self.is_reachable, 90, 0.5)

    def is_reachable(self):
        hosts = self.json("cluster", "status")["hosts"]
        return all(host["reachable"] for host in hosts)

    def stream(self):
        return self.json("cluster", "status")["stream"]

    def clone(self, machine):
        """The repository of the session on a machine."""
        if machine is self.hub:
            return self.repo
        clones = machine.home / ".local/share/git-paw/clones"
        return next(path for path in clones.iterdir() if (path / ".git").is_dir())

    def worktree(self, machine):
        clone = self.clone(machine)
        return clone.with_name(f"{clone.name}-{AGENTS[machine.name]}")

    def process(self, machine):
        """The session's process on a machine, if it runs."""
        try:
            pid = json.loads((self.clone(machine) / ".git/paw/endpoint.json").read_text())["pid"]
        except (OSError, ValueError, StopIteration):
            return None
        words = machine.processes().get(pid, "")
        return pid if "git-paw" in words else None

    def own_server(self):
        """The NATS server that the session has started, with its port and the hub's login."""
        found = [pid for pid, words in self.hub.processes().items() if words.startswith("nats-server -c")]
        return found[0] if found else None

    def administrator(self):
        """Address, port and login of an administrator."""
        if self.cluster:
            return self.hub.address, 4222, ("paw", "a-password")
        access = json.loads((self.repo / ".git/paw/nats/access.json").read_text())
        return "127.0.0.1", access["port"], (HUB, access["passwords"][HUB])

    def publish(self, is_on):
        for machine in self.machines:
            if is_on:
                (machine.home / "go").touch()
            else:
                (machine.home / "go").unlink(missing_ok=True)

    def numbers(self, machine, name):
        try:
            text = (machine.home / "state" / name).read_text()
        except FileNotFoundError:
            return []
        # The last line may not be complete.
        return [int(line) for line in text[: text.rfind("\n") + 1].split()]

    def stored(self, machine, since=0):
        """The numbers of every agent in the log of a machine, in order, and where it ends."""
        path = self.clone(machine) / ".git/paw/broker.db"
        log = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
        try:
            rows = log.execute("SELECT seq, sender, body FROM message WHERE seq > ? ORDER BY seq", (since,)).fetchall()
        finally:
            log.close()
        found = {agent: [] for agent in AGENTS.values()}
        for _, sender, body in rows:
            status = json.loads(body).get("payload", {}).get("status", "")
            if sender in found and status[:1] == "n" and status[1:].isdigit():
                found[sender].append(int(status[1:]))
        return found, rows[-1][0] if rows else since

    def missing(self):
        """What is confirmed and not in every log yet."""
        confirmed = {machine.name: set(self.numbers(machine, "sent")) for machine in self.machines}

        def look():
            found = []
            for machine in self.machines:
                known, since = self.counts.get(machine.name, ({agent: set() for agent in AGENTS.values()}, 0))
                fresh, since = self.stored(machine, since)
                for agent, numbers in fresh.items():
                    known[agent].update(numbers)
                self.counts[machine.name] = (known, since)
                for name, numbers in confirmed.items():
                    late = numbers - known[AGENTS[name]]
                    if late:
                        found.append(f"{len(late)} of {name} on {machine.name}")
            return found

        return look

    def wait_until_delivered(self, seconds=150):
        look = self.missing()
        try:
            wait("messages arrive", lambda: not look(), seconds, 0.2)
        except RuntimeError:
            raise RuntimeError(f"not there after {seconds} s: {'; '.join(look())}") from None

    def compare(self):
        """Every confirmed message is in every log once, in the order of its sender; others are nowhere or everywhere."""
        found = Findings()
        logs = {machine.name: self.stored(machine)[0] for machine in self.machines}
        for sender in self.machines:
            agent = AGENTS[sender.name]
            confirmed = set(self.numbers(sender, "sent"))
            own = set(logs[sender.name][agent])
            for name, log in logs.items():
                numbers = log[agent]
                found.lost += [f"n{number} of {agent} on {name}" for number in sorted((confirmed | own) - set(numbers))]
                twice = {number for number in numbers if numbers.count(number) > 1} if len(numbers) != len(set(numbers)) else ()
                found.twice += [f"n{number} of {agent} on {name}" for number in sorted(twice)]
                found.order += [f"n{b} after n{a} of {agent} on {name}" for a, b in zip(numbers, numbers[1:]) if b < a]
        return found

    def total(self):
        return sum(len(self.numbers(machine, "sent")) for machine in self.machines)

    def revive(self):
        """What a person does after a crash: `git paw start`, until every machine has its session again."""

        def is_whole():
            if all(self.process(machine) for machine in self.machines):
                return True
            said.append(self.paw("start", check=False))
            return False

        said = []
        try:
            wait("every machine has its session again", is_whole, 180, 1)
        except RuntimeError as error:
            raise RuntimeError(f"{error}; git paw start said: {said[-1:]}") from None

    def logs(self):
        texts = []
        for machine in self.machines:
            try:
                text = (self.clone(machine) / ".git/paw/session.log").read_text(errors="replace")
            except (OSError, StopIteration):
                text = ""
            texts.append(f"--- {machine.name}\n{text[-3000:]}")
        return "\n".join(texts)

    def end(self):
        self.publish(False)
        if self.cluster:
            self.cluster.end()
        self.network.end()
