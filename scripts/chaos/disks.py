"""Power cuts, full disks and damaged files."""

import os
import random
import shutil
import subprocess
import time

from kills import START, compare_messages, rescued
from world import Findings, Skip, World, missing_from, work_of


class Disk:
    """An ext4 file system on a loop device."""

    def __init__(self, directory, mebibytes):
        self.image, self.path, self.left = directory / "image", directory / "disk", directory / "left"
        self.path.mkdir()
        subprocess.run(["truncate", "-s", f"{mebibytes}M", self.image], check=True)
        try:
            subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True, capture_output=True)
            self.mount()
        except (OSError, subprocess.CalledProcessError):
            raise Skip("cannot mount an ext4 file system here")

    def mount(self):
        subprocess.run(["mount", "-o", "loop", self.image, self.path], check=True, capture_output=True)

    def unmount(self):
        subprocess.run(["umount", "--lazy", self.path], capture_output=True)

    def cut_power(self):
        """Sometimes with a committed journal, which makes deletions durable before contents."""
        if random.random() < 0.7:
            with open(self.path / "marker", "w") as marker:
                os.fsync(marker.fileno())
        subprocess.run(["cp", "--sparse=always", self.image, self.left], check=True)
        self.unmount()
        self.left.rename(self.image)
        self.mount()
        (self.path / "marker").unlink(missing_ok=True)


def on_disk(outer, mebibytes):
    disk = Disk(outer.home, mebibytes)
    home = disk.path / "home"
    home.mkdir()
    return disk, World(home, outer.program)


def power(outer):
    disk, world = on_disk(outer, 160)
    found = Findings()
    try:
        world.make_repo(100)
        session = random.random() < 0.5
        if session:
            world.must(*START, "feat/x")
            path, command = world.home / "app-feat-x", ["purge", "--force"]
        else:
            world.must("worktree", "create", "feat/x", "--new")
            path, command = world.home / "app-x", ["worktree", "remove", "x", "--force", "--delete-branch"]
        work = work_of(path)
        os.sync()
        process = world.spawn(*command)
        if random.random() < 0.5:
            process.wait()
        else:
            time.sleep(random.uniform(0, 0.5))
        disk.cut_power()
        process.kill()
        process.wait()
        world.tmux("kill-server")
        broken = world.git("fsck", "--no-dangling", "--no-progress", check=False)
        if "error" in broken or "missing" in broken:
            found.lost.append(f"git fsck: {broken[:200]}")
        world.must("worktree", "list")
        if not path.exists() or missing_from(path, work):
            rescued(world, work, found)
    finally:
        world.end()
        disk.unmount()
    return found


def full(outer):
    """A full disk makes commands fail, but nothing that was stored or confirmed is lost."""
    disk, world = on_disk(outer, 96)
    found = Findings()
    try:
        world.make_repo(50)
        world.configure("[broker]\nenabled = true\n")
        world.must(*START, "feat/a,feat/b")
        world.must("worktree", "create", "feat/x", "--new")
        work = work_of(world.home / "app-x")
        world.wait("the broker runs", lambda: (world.repo / ".git/paw/endpoint.json").exists())
        free = shutil.disk_usage(disk.path).free
        filler = disk.path / "filler"
        subprocess.run(["fallocate", "-l", str(max(4096, free - random.randrange(4096, 600_000))), filler], check=False)
        sent = []
        for number in range(10):
            text = f"message {number} on a full disk"
            if world.paw("say", "feedback", "feat-a", f"{text}.").returncode == 0:
                sent.append(text)
        world.paw("worktree", "create", "feat/y", "--new")
        world.paw("worktree", "remove", "x", "--force")
        filler.unlink(missing_ok=True)
        compare_messages(world, sent, found)
        world.must("worktree", "list")
        path = world.home / "app-x"
        if not path.exists() or missing_from(path, work):
            rescued(world, work, found)
        world.paw("purge", "--force")
    finally:
        world.end()
        disk.unmount()
    return found


def damage(world):
    """Random bytes in one of our files, another one each round: no command crashes, `doctor --repair` is a way out, and the
    work stays."""
    world.make_repo(30)
    world.configure("[broker]\nenabled = true\n[logging]\nenabled = true\n")
    world.must(*START, "feat/a")
    world.must("worktree", "create", "feat/x", "--new")
    work = work_of(world.home / "app-x")
    world.must("worktree", "remove", "x", "--force")
    world.must("say", "feedback", "feat-a", "before the damage")
    world.must("stop", "--force")
    file = harm(world)
    found = Findings()
    for command in ["status", "doctor", "worktree list", "undo", "inbox", "say feedback feat-a after", "start"]:
        run_with_damage(world, command, file, found)
    world.paw("stop", "--force")
    run_with_damage(world, "doctor --repair", file, found)
    for command in ["status", "start", "say feedback feat-a repaired", "worktree list", "purge --force"]:
        done = run_with_damage(world, command, file, found)
        if done.returncode:
            found.other.append(f"{command} fails after the repair of {file.name}: {done.stderr.strip()[-300:]}")
    rescued(world, work, found)
    found.left += world.strays()
    return found


def harm(world):
    """Truncates a file or changes some of its bytes. Returns the file."""
    tops = [world.home / ".local/share/git-paw", world.repo / ".git/paw", world.repo / ".git/paw-hooks", world.repo / ".git-paw"]
    # Not the scratch repository, whose links lead to files of git.
    ours = [file for top in tops for file in top.rglob("*") if file.is_file() and file.stat().st_size]
    ours = [file for file in ours if not file.is_symlink() and "radar" not in file.parts]
    file = sorted(ours)[world.number % len(ours)]
    content = bytearray(file.read_bytes())
    if random.random() < 0.3:
        del content[random.randrange(len(content)) :]
    else:
        for _ in range(random.randrange(1, 200)):
            content[random.randrange(len(content))] = random.randrange(256)
    file.write_bytes(content)
    return file


def run_with_damage(world, command, file, found):
    done = world.paw(*command.split())
    if done.returncode in (101, -6, -11) or "panicked" in done.stderr:
        found.other.append(f"{command} crashed with {file.name} damaged: {done.stderr.strip()[-300:]}")
    return done


KINDS = {"power": power, "full": full, "damage": damage}
