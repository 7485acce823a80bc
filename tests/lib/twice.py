"""Runs pytest, and once more, alone, the tests that failed.

    twice.py first LOGS/NAME ARGUMENT...    the run; the sum goes into NAME.count, what happened into NAME.result
    twice.py again LOGS/NAME                what failed in it, when the machine has nothing else to do

Most of these tests wait most of the time, so a few run beside each other: WORKERS of them. One that passes on its
second try, when the machine has nothing else to do, counts as passed, and its name goes into NAME.retried, which
tests/check shows.
"""

import json
import os
import pathlib
import subprocess
import sys


WORKERS = ["-n", "6", "--dist", "load"]


def run(result, arguments):
    """One pytest; returns what tests/conftest.py says of it, or None when it did not get that far."""
    result.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "--durations=15", "--color=no", "-p", "no:cacheprovider"]
    subprocess.run(command + arguments, env=os.environ | {"SYNOP_RESULT": str(result)}, check=False)
    return json.loads(result.read_text()) if result.exists() else None


def count(stem, passed, failed, skipped):
    stem.with_suffix(".count").write_text(f"{passed} {failed} {skipped}\n")
    return 1 if failed else 0


def first(stem, arguments):
    said = run(stem.with_suffix(".result"), WORKERS + arguments)
    if said is None:
        return count(stem, 0, 1, 0)
    return count(stem, len(said["passed"]), len(said["failed"]), said["skipped"])


def again(stem):
    before = json.loads(stem.with_suffix(".result").read_text())
    failed = before["failed"]
    now = run(stem.with_suffix(".second"), failed)
    still = failed if now is None else [name for name in failed if name not in now["passed"]]
    stem.with_suffix(".retried").write_text("".join(f"{name}\n" for name in failed if name not in still))
    return count(stem, len(before["passed"]) + len(failed) - len(still), len(still), before["skipped"])


if __name__ == "__main__":
    action, place, *rest = sys.argv[1:]
    sys.exit(first(pathlib.Path(place), rest) if action == "first" else again(pathlib.Path(place)))
