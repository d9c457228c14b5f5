"""Takes each CLI through the journey and prints a table. Called by scripts/test-real-clis, which says how and why.

main.py HOMES GIT_PAW HEADLESS_TURN NAME=BIN_DIRECTORY… ; a NAME=!REASON could not be installed.
"""

import fcntl
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from alone import autopilot, headless, unattended
from checks import Failed, NotOffered
from clis import KINDS
from journey import JOURNEY
from lab import Lab
from supervised import supervised

OK, FAILED, NOT_OFFERED, NOT_REACHED, NOT_INSTALLED = "ok", "FAILED", "not offered", "not reached", "not installed"
# Headless turns come first: two codexes that prepare an empty home at the same time get into each other's way.
CHECKS = {one.title: one for one in (headless, *JOURNEY, supervised, unattended, autopilot)}
# All checks of one CLI together; each of their waits has a limit of its own.
LONGEST = 40 * 60


def main(arguments):
    homes, git_paw, turn, *named = arguments
    raise_loopback()
    root = Path(tempfile.mkdtemp(prefix="lab-", dir=homes))
    columns, kept = {}, []
    for word in named:
        name, _, place = word.partition("=")
        if place.startswith("!"):
            say(f"{name}: skipped: {place[1:]}")
            columns[name] = dict.fromkeys(CHECKS, NOT_INSTALLED)
        else:
            columns[name] = travel(KINDS[name](name, place), root / name, git_paw, turn, kept)
    print(table(columns), flush=True)
    for place in kept:
        print(f"kept: {place}")
    cells = [cell for column in columns.values() for cell in column.values()]
    if FAILED in cells:
        return 1
    shutil.rmtree(root, ignore_errors=True)
    return 3 if NOT_INSTALLED in cells else 0


def travel(cli, root, git_paw, turn, kept):
    """One CLI through all checks. Returns what became of each."""
    cells = dict.fromkeys(CHECKS, NOT_REACHED)
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LONGEST)
    lab = None
    try:
        lab = Lab(root, cli, git_paw, turn)
        for name, check in CHECKS.items():
            begun = time.monotonic()
            cells[name] = attempt(lab, name, check, kept)
            say(f"{cli.name}: {name}: {cells[name]} ({time.monotonic() - begun:.0f} s)")
            if cells[name] == FAILED and not settle(lab):
                say(f"{cli.name}: it cannot continue from there")
                break
    except Failed as problem:
        say(f"{cli.name}: {problem}")
        cells[next(name for name, cell in cells.items() if cell == NOT_REACHED)] = FAILED
    finally:
        signal.alarm(0)
        if lab:
            lab.close()
    return cells


def attempt(lab, name, check, kept):
    try:
        check(lab)
        return OK
    except NotOffered:
        return NOT_OFFERED
    except Failed as problem:
        say(f"{lab.cli.name}: {name}: {problem}")
    except (OSError, ValueError, LookupError, StopIteration, subprocess.TimeoutExpired) as problem:
        say(f"{lab.cli.name}: {name}: {type(problem).__name__}: {problem}")
    kept.append(lab.keep_evidence(name))
    return FAILED


def settle(lab):
    """Brings the agent back to where the next check can begin. Says whether that is so."""
    lab.model.open_all()
    try:
        if lab.ask("status")["session"] is None:
            return True
        if lab.state()["state"] in ("waiting_approval", "waiting_input"):
            lab.keys(*lab.cli.no)
        lab.wait_for_state("idle", "exited", limit=60)
        return True
    except (Failed, LookupError, ValueError, StopIteration):
        return lab.run("git", "paw", "status").returncode == 0 and not lab.worktree.exists()


def too_long(*_):
    raise Failed(f"not done after {LONGEST // 60} minutes")


def table(columns):
    width = max(map(len, CHECKS))
    head = " ".join([" " * width, *(f"{name:13}" for name in columns)])
    rows = (" ".join([f"{name:{width}}", *(f"{column[name]:13}" for column in columns.values())]) for name in CHECKS)
    return "\n".join(row.rstrip() for row in (head, *rows))


def raise_loopback():
    """A network namespace of our own begins with its loopback down. Elsewhere this changes nothing."""
    up_and_running = 0x1 | 0x40
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        try:
            fcntl.ioctl(door, 0x8914, struct.pack("16sh14x", b"lo", up_and_running))
        except OSError:
            pass


def say(line):
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
