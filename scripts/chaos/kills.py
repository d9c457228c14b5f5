"""Commands that are killed at a random moment."""

import json
import os
import random
import signal
import sqlite3
import time

from world import Findings, missing_from, work_of

START = ["start", "--no-supervisor", "--cli", "claude", "--branches"]


def timed(action):
    before = time.monotonic()
    action()
    return time.monotonic() - before


def rescued(world, work, found):
    """Work that is in no worktree has to come back from its rescue, complete and once."""
    rescues = world.json("undo")["rescues"]
    if not rescues:
        found.lost.append("no rescue")
        return
    if len(rescues) > 1:
        found.twice.append(f"{len(rescues)} rescues: {', '.join(one['reason'] for one in rescues)}")
    best = None
    for number, rescue in enumerate(rescues):
        directory = world.home / f"restored-{number}"
        done = world.paw("undo", "restore", rescue["id"], "--into", str(directory))
        if done.returncode:
            found.lost.append(f"restore failed: {done.stderr.strip()}")
            return
        missing = missing_from(directory, work)
        best = missing if best is None else min(best, missing, key=len)
    if best:
        found.lost.append(f"{len(best)} files of the rescue: {best[:3]}")


def create(world):
    world.make_repo()
    took = timed(lambda: world.must("worktree", "create", "feat/first", "--new"))
    world.must("worktree", "remove", "first", "--force", "--delete-branch")
    world.kill_during("worktree", "create", "feat/x", "--new", within=took * 1.2)
    found, path = Findings(), world.home / "app-x"
    rows = world.json("worktree", "list")["worktrees"]
    if len(rows) > 1:
        found.twice.append(f"{len(rows)} rows")
    if rows:
        if world.git("status", "--porcelain", cwd=path):
            found.lost.append("an incomplete worktree is active")
        world.must("worktree", "remove", "x", "--delete-branch")
    found.left += world.traces() + world.strays()
    return found


def remove(world):
    world.make_repo()
    world.must("worktree", "create", "feat/x", "--new")
    path, found = world.home / "app-x", Findings()
    work = work_of(path)
    world.kill_during("worktree", "remove", "x", "--force", "--delete-branch", within=0.4)
    rows = world.json("worktree", "list")["worktrees"]
    if rows:
        missing = missing_from(path, work)
        if missing:
            found.lost.append(f"{len(missing)} files of an active worktree")
        world.must("worktree", "remove", "x", "--force", "--delete-branch")
    # A branch without commits of its own may stay if the kill came before its turn.
    found.left += [trace for trace in world.traces() if trace != "branch feat/x"] + world.strays()
    rescued(world, work, found)
    return found


def restore(world):
    world.make_repo()
    world.must("worktree", "create", "feat/x", "--new")
    path, found = world.home / "app-x", Findings()
    work = work_of(path)
    world.must("worktree", "remove", "x", "--force", "--delete-branch")
    rescue = world.json("undo")["rescues"][0]["id"]
    world.kill_during("undo", "restore", rescue, within=0.4)
    rows = world.json("worktree", "list")["worktrees"]
    if not rows:
        found.left += world.traces()
        world.must("undo", "restore", rescue)
    missing = missing_from(path, work)
    if missing:
        found.lost.append(f"{len(missing)} files")
    if world.git("rev-parse", "--abbrev-ref", "HEAD", cwd=path) != "feat/x":
        found.lost.append("the branch")
    if len(world.json("undo")["rescues"]) != 1:
        found.twice.append("rescues")
    found.left += world.strays()
    return found


def start(world):
    world.make_repo()
    world.kill_during(*START, "feat/a,feat/b", within=1.0)
    found = Findings()
    world.must(*START, "feat/a,feat/b")
    if world.panes() != ["feat-a", "feat-b"]:
        found.twice.append(f"panes {world.panes()}")
    purge_all(world, found)
    return found


def add(world):
    world.make_repo()
    world.must(*START, "feat/a")
    world.kill_during("add", "feat/b", within=0.7)
    found = Findings()
    if random.random() < 0.5:
        world.must("start")
        if world.panes() not in (["feat-a"], ["feat-a", "feat-b"]):
            found.twice.append(f"panes {world.panes()}")
    purge_all(world, found)
    return found


def purge(world):
    world.make_repo()
    world.must(*START, "feat/a,feat/b")
    found = Findings()
    work = work_of(world.home / "app-feat-a")
    world.kill_during("purge", "--force", within=1.5)
    purge_all(world, found)
    rescued(world, work, found)
    return found


def purge_all(world, found):
    done = world.paw("purge", "--force")
    if done.returncode:
        found.other.append(f"purge: {done.stderr.strip()}")
    found.left += world.traces() + world.strays()
    if world.panes():
        found.left.append(f"panes {world.panes()}")


def publish(world):
    """Every message that `say` has confirmed is in the log once, whatever is killed."""
    world.make_repo(20)
    world.configure("[broker]\nenabled = true\n")
    world.must(*START, "feat/a,feat/b")
    found, sent, unsure = Findings(), [], []
    world.wait("the broker runs", lambda: (world.repo / ".git/paw/endpoint.json").exists())
    for number in range(12):
        if number == 6:
            kill_session_process(world)
        text = f"message {number} of this round"
        words = ["say", "feedback", "feat-a", f"{text}."]
        if random.random() < 0.2:
            world.kill_during(*words, within=0.03)
            unsure.append(text)
        elif world.paw(*words).returncode == 0:
            sent.append(text)
    compare_messages(world, sent, found, unsure)
    world.paw("purge", "--force")
    found.left += world.strays()
    return found


def compare_messages(world, sent, found, unsure=()):
    log = sqlite3.connect(f"file:{world.repo}/.git/paw/broker.db?mode=ro", uri=True)
    stored = "\n".join(str(row) for row in log.execute("SELECT * FROM message"))
    log.close()
    for text in [*sent, *unsure]:
        times = stored.count(f"{text}.")
        if times == 0 and text in sent:
            found.lost.append(text)
        elif times > 1:
            found.twice.append(text)


def kill_session_process(world):
    endpoint = json.loads((world.repo / ".git/paw/endpoint.json").read_text())
    os.kill(endpoint["pid"], signal.SIGKILL)


def gated(world):
    """Two agents with a commit each, and a gate that always passes."""
    world.make_repo(50)
    world.configure('[broker]\nenabled = true\n[supervisor]\ntest_command = "true"\n')
    world.must(*START, "feat/a,feat/b")
    for name in ["a", "b"]:
        path = world.home / f"app-feat-{name}"
        (path / f"{name}.txt").write_text(name)
        world.git("add", f"{name}.txt", cwd=path)
        world.git("commit", "--quiet", "--no-verify", "-m", f"work of {name}", cwd=path)


def verify(world):
    gated(world)
    before = world.git("rev-parse", "main")
    world.kill_during("verify", "feat/a", within=1.5)
    found = Findings()
    done = world.paw("verify", "feat/a")
    if done.returncode:
        found.other.append(f"verify: {done.stdout.strip()[-200:]} {done.stderr.strip()[-200:]}")
    if world.git("rev-parse", "main") != before:
        found.lost.append("main moved")
    world.paw("purge", "--force")
    found.left += world.strays()
    return found


def merge(world):
    gated(world)
    world.kill_during("merge", "--rebase", "feat/a", "feat/b", within=2.5)
    found = Findings()
    done = world.paw("merge", "--rebase", "feat/a", "feat/b")
    if done.returncode:
        found.other.append(f"merge: {done.stdout.strip()[-300:]} {done.stderr.strip()[-300:]}")
    subjects = world.git("log", "--format=%s", "main").split("\n")
    for name in ["a", "b"]:
        times = subjects.count(f"work of {name}")
        if times == 0:
            found.lost.append(f"work of {name}")
        elif times > 1:
            found.twice.append(f"work of {name}")
    world.paw("purge", "--force")
    found.left += [trace for trace in world.traces(["feat/a", "feat/b"]) if "paw-merge" in trace] + world.strays()
    return found


KINDS = {
    "create": create,
    "remove": remove,
    "restore": restore,
    "start": start,
    "add": add,
    "purge": purge,
    "publish": publish,
    "verify": verify,
    "merge": merge,
}
