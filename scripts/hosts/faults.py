"""Faults of one machine, one program or one cable. Each starts a fault and returns a function that repairs it."""

import random
import signal

from nats import request
from network import kill


def nothing():
    pass


def session_process(session, machine):
    pid = session.process(machine)
    if pid:
        kill(pid)
    return nothing


def hub_process(session):
    return session_process(session, session.hub)


def host_process(session):
    return session_process(session, random.choice(session.machines[1:]))


def tunnel(session):
    """An ssh of the hub, or the server's part of a connection."""
    machine = random.choice(session.machines[1:])
    here = [pid for pid, words in session.hub.processes().items() if words.startswith("/usr/bin/ssh") and "link" in words]
    there = [pid for pid, words in machine.processes().items() if words.startswith("sshd: root")]
    victims = here if random.random() < 0.5 else there
    if victims:
        kill(random.choice(victims))
    return nothing


def server(session):
    """The leader of the stream, or the server of the session itself."""
    if not session.cluster:
        pid = session.own_server()
        if pid:
            kill(pid)
        return nothing
    machine = session.cluster.leader(session.stream_name) or random.choice(session.machines)
    session.cluster.kill(machine)
    return lambda: session.cluster.start(machine)


def upgrade(session):
    """Every server is ended and started again, one after the other, as for an update."""
    if not session.cluster:
        pid = session.own_server()
        if pid:
            kill(pid, signal.SIGTERM)
        return nothing
    for machine in session.machines:
        session.cluster.kill(machine)
        session.cluster.start(machine)
        session.cluster.wait_until_ready()
    return nothing


def stream(session):
    """An administrator deletes the stream."""
    address, port, login = session.administrator()
    try:
        request(session.hub, address, port, login, f"$JS.API.STREAM.DELETE.{session.stream_name}")
    except OSError:
        # The server has no leader right now.
        pass
    return nothing


def cable(session):
    machine = random.choice(session.machines)
    session.network.cable(machine, "down")
    return lambda: session.network.cable(machine, "up")


def frozen(session):
    """A session's process that does not run for a while, as on a machine that sleeps."""
    pid = session.process(random.choice(session.machines))
    if pid:
        kill(pid, signal.SIGSTOP)
        return lambda: kill(pid, signal.SIGCONT)
    return nothing


def power(session, machine):
    if session.cluster:
        session.cluster.kill(machine)
    machine.power_off()

    def repair():
        machine.run_sshd()
        if session.cluster:
            session.cluster.start(machine)

    return repair


def host_power(session):
    return power(session, random.choice(session.machines[1:]))


def hub_power(session):
    return power(session, session.hub)


ALL = [hub_process, host_process, tunnel, server, upgrade, stream, cable, cable, frozen, host_power, hub_power]
