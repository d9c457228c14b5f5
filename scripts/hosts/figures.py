#!/usr/bin/env python3
"""Real sessions on three machines against their budgets, for bench/hosts: how soon agents on different machines are warned, and what
an idle session costs. PAW_BENCH_SETTLE seconds of quiet come before the idle minute."""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from network import Unfit, require_tools, wait  # noqa: E402
from session import AGENTS, Session  # noqa: E402

EDITS = 10
AGENT = "#!/bin/sh\necho ready\nexec sleep 100000\n"
SETTLE, SECONDS = float(os.environ.get("PAW_BENCH_SETTLE", "320")), float(os.environ.get("PAW_BENCH_SECONDS", "60"))


def report(what, measured, budget, met):
    verdict = "met" if met else "MISSED"
    print(f"{what}: {measured} (budget {budget}): {verdict}", flush=True)
    table = os.environ.get("PAW_BENCH_RESULTS")
    if table:
        with open(table, "a") as file:
            file.write(f"{what}\t{measured}\t{budget}\t{verdict}\n")
    return met


def audit(session, machine):
    try:
        return (session.clone(machine) / ".git-paw/broker.log").read_text()
    except FileNotFoundError:
        return ""


def warnings(session):
    """One agent has a file; another one, elsewhere, changes it. Both are warned: each reads it in the log of its own machine."""
    hub, big = session.machines[:2]
    times = []
    for number in range(EDITS):
        name = f"shared-{number}.txt"
        (session.worktree(hub) / name).write_text("a\n")
        wait("the first change is known", lambda: name in audit(session, big), 60, 0.005)
        began = time.monotonic()
        (session.worktree(big) / name).write_text("b\n")
        for machine, other in [(hub, big), (big, hub)]:
            words = f"both you and {AGENTS[other.name]}"
            wait(
                f"{machine.name} is warned about {name}",
                lambda: any(words in line and name in line for line in audit(session, machine).splitlines()),
                60,
                0.005,
            )
        times.append(time.monotonic() - began)
    times.sort()
    measured = f"median {times[EDITS // 2] * 1000:.0f} ms, worst {times[-1] * 1000:.0f} ms"
    return report("edit to warning on both of two machines", measured, "<= 1000 ms", times[-1] <= 1)


def busy(machine):
    """Microseconds of processor time of every process. Children that have ended are counted in ticks."""
    tick, used = os.sysconf("SC_CLK_TCK"), {}
    for pid in machine.processes():
        try:
            own = sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat"))
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            used[pid] = (own / 1000 + (int(fields[13]) + int(fields[14])) * 1e6 / tick, words)
        except OSError:
            continue
    return used


def idle(session, name, budget):
    time.sleep(SETTLE)
    before = {machine.name: busy(machine) for machine in session.machines}
    time.sleep(SECONDS)
    shares = {}
    for machine in session.machines:
        after = busy(machine)
        used = {pid: (time - before[machine.name].get(pid, (0, ""))[0], words) for pid, (time, words) in after.items()}
        for spent, words in sorted(used.values(), reverse=True)[:3]:
            print(f"  {machine.name}: {spent / 1000:8.1f} ms {words[:80]}")
        shares[machine.name] = sum(spent for spent, _ in used.values()) / SECONDS / 1e4
    hub, hosts = shares.pop("hub"), max(shares.values())
    measured = f"{hub:.3f} % of one core on the hub, {hosts:.3f} % on a host"
    return report(f"idle session on three machines, {name}", measured, f"<= {budget} % each", max(hub, hosts) <= budget)


def run(program, own_server):
    directory = Path(tempfile.mkdtemp(prefix="paw-hosts-bench-"))
    session = Session(directory, program)
    try:
        agent = directory / "agent"
        agent.write_text(AGENT)
        agent.chmod(0o755)
        session.set_up(own_server, agent)
        session.start()
        if own_server:
            results = [idle(session, "with its own nats-server", 0.5), warnings(session)]
        else:
            results = [idle(session, "with other NATS servers", 0.2)]
        session.paw("purge", "--force")
        return all(results)
    finally:
        session.end()
        shutil.rmtree(directory, ignore_errors=True)


def main():
    try:
        require_tools()
    except Unfit as reason:
        print(f"skipped: warnings between machines and idle sessions: {reason}", file=sys.stderr)
        return 0
    program = Path(sys.argv[1]).resolve()
    return 0 if all([run(program, own_server) for own_server in [True, False]]) else 1


if __name__ == "__main__":
    sys.exit(main())
