"""A NATS cluster with one server on each machine, and an administrator of it."""

import json

from network import kill, wait

USER, PASSWORD = "paw", "a-password"


class Cluster:
    """Three servers that store every entry three times."""

    def __init__(self, machines):
        self.machines, self.servers = machines, {}
        for machine in machines:
            self.configure(machine)
            self.start(machine)

    def urls(self):
        return [f"nats://{USER}:{PASSWORD}@{machine.address}:4222" for machine in self.machines]

    def configure(self, machine):
        directory = machine.home / "nats"
        directory.mkdir()
        routes = [f'"nats://{other.address}:6222"' for other in self.machines if other is not machine]
        (directory / "config").write_text(
            f'listen: "{machine.address}:4222"\nserver_name: "{machine.name}"\nlog_file: "{directory / "log"}"\nmax_payload: 2MB\n'
            f'jetstream {{ store_dir: "{directory / "store"}", sync_interval: always }}\n'
            f'authorization {{ users: [ {{ user: "{USER}", password: "{PASSWORD}" }} ] }}\n'
            f'cluster {{ name: "paw", listen: "{machine.address}:6222", routes: [{", ".join(routes)}] }}\n'
        )

    def start(self, machine):
        running = self.servers.get(machine.name)
        if running and running.poll() is None:
            return
        # `ip netns exec` becomes the program it runs.
        server = machine.spawn("nats-server", "-c", machine.home / "nats/config")
        self.servers[machine.name] = server
        machine.spared = {server.pid}

    def kill(self, machine):
        server = self.servers[machine.name]
        kill(server.pid)
        server.wait()

    def end(self):
        for machine in self.machines:
            self.kill(machine)

    def leader(self, name):
        """The machine whose server leads the stream with this name, if there is one now."""
        for machine in self.machines:
            try:
                answer = request(machine, machine.address, 4222, (USER, PASSWORD), f"$JS.API.STREAM.INFO.{name}")
            except OSError:
                continue
            leader = answer.get("cluster", {}).get("leader")
            if leader:
                return next(one for one in self.machines if one.name == leader)
        return None

    def wait_until_ready(self):
        def is_ready():
            try:
                machine = self.machines[0]
                answer = request(machine, machine.address, 4222, (USER, PASSWORD), "$JS.API.INFO")
                return "error" not in answer
            except OSError:
                return False

        wait("the NATS cluster has a leader", is_ready)


def request(machine, address, port, login, subject, payload=b"", seconds=5):
    """Asks a NATS server, from this machine. The answer is JSON."""
    connection = machine.dial(port, address)
    connection.settimeout(seconds)
    with connection, connection.makefile("rb") as lines:
        lines.readline()
        options = {"verbose": False, "pedantic": False, "user": login[0], "pass": login[1], "lang": "python", "version": "1"}
        hello = f"CONNECT {json.dumps(options)}\r\nSUB _INBOX.admin 1\r\nPUB {subject} _INBOX.admin {len(payload)}\r\n"
        connection.sendall(hello.encode() + payload + b"\r\n")
        while True:
            line = lines.readline()
            if line.startswith(b"MSG "):
                return json.loads(lines.read(int(line.split()[-1])))
            if line.startswith(b"PING"):
                connection.sendall(b"PONG\r\n")
            elif not line or line.startswith(b"-ERR"):
                raise OSError(f"NATS: {line.decode(errors='replace').strip() or 'the connection was closed'}")
