"""Machines on one computer: a network namespace each, with its own home, programs, ssh server and tmux server."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

NETWORK = "10.97.0"
SSHD = "/usr/sbin/sshd"
CLONE_NEWNET = 0x40000000


class Unfit(Exception):
    """This computer cannot run machines of its own."""


def require_tools():
    """Root, for namespaces, and the programs."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if os.geteuid() != 0:
        raise Unfit("network namespaces need root")
    for tool in ["ip", "sshd", "ssh", "ssh-keygen", "tmux", "git", "nats-server"]:
        if not shutil.which(tool):
            raise Unfit(f"{tool} is not installed (scripts/install-tools and scripts/install-runners install it)")


def ip(*args, check=True):
    subprocess.run(["ip", *args], check=check, capture_output=True)


class Network:
    """A switch, and a cable to each machine."""

    def __init__(self, directory):
        self.directory = directory
        self.label = f"paw{os.getpid()}"
        self.switch = f"{self.label}-switch"
        self.machines = []
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "br0", "type", "bridge")
        ip("-n", self.switch, "link", "set", "br0", "up")
        (directory / "keys").mkdir()
        self.make_key("user")

    def make_key(self, name):
        key = self.directory / "keys" / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        return key

    def add(self, name, program):
        machine = Machine(self, name, len(self.machines) + 1, program)
        self.machines.append(machine)
        return machine

    def cable(self, machine, state):
        """Pulls the cable of a machine ("down"), or plugs it in ("up"). Connections are not closed, as in a real partition."""
        ip("-n", self.switch, "link", "set", f"to-{machine.name}", state)

    def end(self):
        for machine in self.machines:
            machine.power_off()
            ip("netns", "delete", machine.namespace, check=False)
        ip("netns", "delete", self.switch, check=False)


class Machine:
    def __init__(self, network, name, number, program):
        self.network, self.name, self.program = network, name, program
        self.address = f"{NETWORK}.{number}"
        self.namespace = f"{network.label}-{name}"
        self.home = network.directory / name
        self.sshd, self.spared = None, set()
        for directory in ["bin", "tmux", "tmp", ".config/git-paw"]:
            (self.home / directory).mkdir(parents=True)
        for tool, path in [("git-paw", program), ("nats-server", shutil.which("nats-server"))]:
            (self.home / "bin" / tool).symlink_to(path)
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{self.home}/bin:/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(self.home / "tmp"),
            "TMUX_TMPDIR": str(self.home / "tmux"),
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        (self.home / ".profile").write_text(f"PATH='{self.environment['PATH']}'\n")
        (self.home / ".gitconfig").write_text("[user]\n\tname = Test\n\temail = test@localhost\n[gc]\n\tauto = 0\n")
        (self.home / ".tmux.conf").write_text("set -g default-command sh\n")
        self.connect()
        network.make_key(name)
        self.write_server_config()

    def connect(self):
        port = f"to-{self.name}"
        ip("netns", "add", self.namespace)
        ip("-n", self.namespace, "link", "set", "lo", "up")
        ip("-n", self.namespace, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.network.switch)
        ip("-n", self.namespace, "address", "add", f"{self.address}/24", "dev", "eth0")
        ip("-n", self.namespace, "link", "set", "eth0", "up")
        ip("-n", self.network.switch, "link", "set", port, "master", "br0", "up")

    def write_server_config(self):
        Path("/run/sshd").mkdir(exist_ok=True)
        keys, env = self.network.directory / "keys", self.environment
        names = ["HOME", "PATH", "TMPDIR", "TMUX_TMPDIR", "LANG", "GIT_CONFIG_NOSYSTEM"]
        (keys / f"{self.name}.config").write_text(
            f"ListenAddress {self.address}\nPort 22\nHostKey {keys / self.name}\nAuthorizedKeysFile {keys / 'user.pub'}\n"
            "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nMaxStartups 100\nPrintMotd no\n"
            f"SetEnv {' '.join(f'{name}={env[name]}' for name in names)}\n"
        )

    def know(self, others):
        """Gives this machine an ssh that knows the others by their names."""
        keys = self.network.directory / "keys"
        lines = [f"{other.address} {(keys / f'{other.name}.pub').read_text().strip()}\n" for other in others]
        (keys / "known").write_text("".join(lines))
        hosts = [f"Host {other.name}\nHostName {other.address}\n" for other in others]
        (keys / "client.config").write_text(
            f"{''.join(hosts)}Host *\nUser root\nIdentityFile {keys / 'user'}\nIdentitiesOnly yes\n"
            f"UserKnownHostsFile {keys / 'known'}\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\n"
        )
        (self.home / "bin/ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {keys / "client.config"} "$@"\n')
        (self.home / "bin/ssh").chmod(0o755)

    def install(self, name, text):
        (self.home / "bin" / name).write_text(text)
        (self.home / "bin" / name).chmod(0o755)

    def inside(self, *command):
        return ["ip", "netns", "exec", self.namespace, *map(str, command)]

    def spawn(self, *command, env=None, **more):
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(self.inside(*command), env=env or self.environment, start_new_session=True, **{**quiet, **more})

    def run_sshd(self):
        config = self.network.directory / "keys" / f"{self.name}.config"
        log = open(self.home / "sshd.log", "ab")
        self.sshd = self.spawn(SSHD, "-D", "-e", "-f", config, stderr=log)
        log.close()
        wait(f"sshd of {self.name} listens", self.answers)

    def answers(self):
        try:
            self.dial(22).close()
            return True
        except OSError:
            return False

    def dial(self, port, address=None):
        """A connection from within this machine."""
        import socket

        with entered(self.namespace):
            connection = socket.socket()
        connection.settimeout(2)
        connection.connect((address or self.address, port))
        return connection

    def run(self, *command, cwd=None, timeout=180, check=False):
        done = subprocess.run(
            self.inside(*command),
            cwd=cwd or self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))} on {self.name}: {done.stdout}{done.stderr}")
        return done

    def processes(self):
        """Processes of this machine, by their network. `spared` ones are not part of it."""
        found, own = {}, os.stat(f"/run/netns/{self.namespace}").st_ino
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) not in self.spared:
                with contextlib.suppress(OSError):
                    if os.stat(entry / "ns/net").st_ino == own:
                        words = (entry / "cmdline").read_bytes().split(b"\0")
                        found[int(entry.name)] = b" ".join(words).decode(errors="replace").strip()
        return found

    def power_off(self):
        """Ends everything at once. Repeated, because what is ending may be starting something."""
        for _ in range(20):
            running = self.processes()
            if not running:
                break
            for pid in running:
                kill(pid)
            time.sleep(0.05)
        if self.sshd:
            self.sshd.wait()
            self.sshd = None


@contextlib.contextmanager
def entered(namespace):
    """Sockets that are made here belong to the namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as own, open(f"/run/netns/{namespace}") as other:
        if libc.setns(other.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            yield
        finally:
            libc.setns(own.fileno(), CLONE_NEWNET)


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def wait(what, condition, seconds=60, every=0.05):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(every)
    raise RuntimeError(f"waited {seconds} s in vain: {what}")
