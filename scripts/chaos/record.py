"""Keeps figures in bench/results.tsv and bench/RESULTS.md, in the place of the old ones about the same thing."""

import os
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
STORE, TABLE = ROOT / "bench/results.tsv", ROOT / "bench/RESULTS.md"

# At the start: commits made meanwhile are not in the program.
COMMIT = subprocess.run(["git", "describe", "--always"], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def record(name, rows, load=None):
    """Rows of (what, measured, budget, whether it is met or None), of `chaos`, `soak` or `test-hosts`.

    `load` is that of the machine meanwhile, if it is known better than by its last minutes."""
    at = f"{COMMIT}, {time.strftime('%F', time.gmtime())}, load {load or f'{os.getloadavg()[1]:.1f}'}"
    words = {True: "met", False: "MISSED", None: ""}
    fresh = [[f"{name}: {what}", measured, budget, words[met], at] for what, measured, budget, met in rows]
    replaced = {row[0] for row in fresh}
    kept = [line for line in STORE.read_text().splitlines() if line.split("\t")[1] not in replaced]
    STORE.write_text("".join(f"{line}\n" for line in [*kept, *("\t".join([name, *row]) for row in fresh)]))
    kept = [line for line in TABLE.read_text().splitlines() if line.split(" | ")[0].removeprefix("| ") not in replaced]
    TABLE.write_text("".join(f"{line}\n" for line in [*kept, *(f"| {' | '.join(row)} |" for row in fresh)]))
