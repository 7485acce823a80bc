"""Runs pytest, and once more, alone, the tests that failed: twice.py LOGS/NAME ARGUMENT...

Tests with real processes share the machine with whatever else runs on it. One that passes on its second try counts as
passed, and its name goes into NAME.retried, which tests/check shows. The sum goes into NAME.count.
"""

import json
import os
import pathlib
import subprocess
import sys


def run(stem, arguments):
    """One pytest; returns what tests/conftest.py says of it, or None when it did not get that far."""
    result = stem.with_suffix(".result")
    result.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "--durations=5", "--color=no", "-p", "no:cacheprovider"]
    subprocess.run(command + arguments, env=os.environ | {"SYNOP_RESULT": str(result)}, check=False)
    sys.stdout.flush()
    return json.loads(result.read_text()) if result.exists() else None


def main():
    stem, arguments = pathlib.Path(sys.argv[1]), sys.argv[2:]
    first = run(stem, arguments)
    if first is None:
        stem.with_suffix(".count").write_text("0 1 0\n")
        return 1
    failed = first["failed"]
    if failed:
        print(f"---- once more: {' '.join(failed)}", flush=True)
        second = run(stem, failed)
        still = failed if second is None else [name for name in failed if name not in second["passed"]]
        stem.with_suffix(".retried").write_text("".join(f"{name}\n" for name in failed if name not in still))
    else:
        still = []
    passed = len(first["passed"]) + len(failed) - len(still)
    stem.with_suffix(".count").write_text(f"{passed} {len(still)} {first['skipped']}\n")
    return 1 if still else 0


if __name__ == "__main__":
    sys.exit(main())
