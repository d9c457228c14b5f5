"""Eight busy agents for a long time: memory, descriptors, processor time and disk space of git-paw's own processes.

Each agent edits a file a second and prints to its pane; one of them says something every five seconds, and one commits once
a minute.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path

from world import World

AGENTS = 8
EVERY = 5.0
SERIES = ["memory MiB", "descriptors", "processor %", "scratch MiB", "log MiB"]
AGENT = "#!/bin/sh\nwhile :; do date; sleep 1; done\n"


def run(program, minutes):
    """Figures of `figures`, and the load of the machine meanwhile."""
    home = Path(tempfile.mkdtemp(prefix="paw-chaos-soak-"))
    world = World(home, program)
    (home / "bin/claude").write_text(AGENT)
    samples, loads = [], []
    try:
        watch(world, minutes * 60, samples, loads)
    except KeyboardInterrupt:
        pass
    finally:
        # First of all, what took so long to measure.
        root = Path(__file__).resolve().parent.parent.parent
        (root / "bench/soak.svg").write_text(picture(samples))
        rows = figures(samples)
        world.paw("purge", "--force", timeout=1200)
        world.end()
    shutil.rmtree(home, ignore_errors=True)
    return rows, f"{min(loads):.1f} to {max(loads):.1f}" if loads else None


def figures(samples):
    """Rows of what, measured, budget, and whether it is met. Printed, too."""
    rows = []
    for index, name in enumerate(SERIES):
        values = [sample[index + 1] for sample in samples]
        # The first tenth is the start; afterwards nothing may grow.
        early, late = mean(values[len(values) // 10 : len(values) // 5]), mean(values[-len(values) // 10 :])
        measured = f"{early:.1f} early, {late:.1f} at the end, {mean(values):.1f} on average, at most {max(values):.1f}"
        budget, met = {
            "processor %": ("<= 15 on average", mean(values) <= 15),
            "scratch MiB": ("<= 64", max(values) <= 64),
            "log MiB": ("", None),
        }.get(name, ("no growth", late <= 1.1 * early + 4))
        print(f"soak       {name:<14} {measured}  {budget}")
        rows.append((f"{name}, {AGENTS} busy agents", f"{samples[-1][0] / 60:.0f} minutes: {measured}", budget, met))
    return rows


def mean(values):
    return sum(values) / max(1, len(values))


def watch(world, seconds, samples, loads):
    world.make_repo(2000)
    world.configure("[broker]\nenabled = true\n[logging]\nenabled = true\n")
    names = [f"feat/{number}" for number in range(AGENTS)]
    world.must("start", "--no-supervisor", "--cli", "claude", "--branches", ",".join(names))
    paths = [world.home / f"app-feat-{number}" for number in range(AGENTS)]
    begin, turn = time.monotonic(), 0
    used, at = processor(world), begin
    while time.monotonic() - begin < seconds:
        # One edit per agent and second; two agents edit the same file.
        for number, path in enumerate(paths):
            file = path / f"dir{max(number, 1)}/file{50 * max(number, 1) + turn % 40}.txt"
            file.write_text(f"edit {turn} of {number}\n" * 40)
            time.sleep(1 / AGENTS)
        turn += 1
        if time.monotonic() - at >= EVERY:
            now, spent = time.monotonic(), processor(world)
            share = 100 * (spent - used) / (now - at)
            samples.append((now - begin, *state(world), share, *space(world)))
            used, at = spent, now
            loads.append(os.getloadavg()[0])
            world.paw("say", "feedback", f"feat-{turn % AGENTS}", f"edit {turn}")
        if turn % 60 == 0:
            path = paths[turn // 60 % AGENTS]
            world.git("commit", "--quiet", "--no-verify", "--all", "-m", f"edit {turn}", cwd=path)


def ours(world):
    """The processes of the session that are git-paw's own."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
                program = os.readlink(entry / "exe")
            except OSError:
                continue
            if program == str(world.program) and f"HOME={world.home}".encode() in environment.split(b"\0"):
                yield entry


def processor(world):
    """Seconds of these processes and of the programs they have waited for."""
    total = 0
    for entry in ours(world):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            total += sum(int(field) for field in fields[11:15])
        except OSError:
            pass
    return total / os.sysconf("SC_CLK_TCK")


def state(world):
    memory = files = 0
    for entry in ours(world):
        try:
            status = (entry / "status").read_text()
            # Its own memory: pages of the program's file are shared by all, and the system takes them back.
            memory += int(status.split("RssAnon:")[1].split()[0]) if "RssAnon:" in status else 0
            files += len(list((entry / "fd").iterdir()))
        except OSError:
            pass
    return memory / 1024, files


def space(world):
    def below(top):
        total = 0
        for directory, _, names in os.walk(top):
            for name in names:
                try:
                    total += os.lstat(os.path.join(directory, name)).st_blocks * 512
                except OSError:
                    pass
        return total / 2**20

    paw = world.repo / ".git/paw"
    scratch = sum(below(entry) for entry in paw.iterdir() if "radar" in entry.name)
    return scratch, below(paw) - scratch + below(world.repo / ".git-paw")


def picture(samples, width=900, height=150):
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height * len(SERIES)}" '
             'font-family="monospace" font-size="12">']
    last = samples[-1][0] if samples else 1
    for index, name in enumerate(SERIES):
        values = [(sample[0], sample[index + 1]) for sample in samples]
        most = max([value for _, value in values] + [1e-9])
        top = index * height + 25
        points = " ".join(
            f"{60 + (width - 80) * when / last:.1f},{top + (height - 45) * (1 - value / most):.1f}"
            for when, value in values
        )
        parts.append(f'<text x="60" y="{top - 8}">{name}, at most {most:.1f}, in {last / 60:.0f} minutes</text>')
        parts.append(f'<polyline fill="none" stroke="#268bd2" points="{points}"/>')
        parts.append(f'<path stroke="#888" d="M60 {top}V{top + height - 45}H{width - 20}" fill="none"/>')
    return "\n".join([*parts, "</svg>\n"])
