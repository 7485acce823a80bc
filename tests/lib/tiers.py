"""Minutes and hours of a history, by the bench's own program (bench_tiers.c)."""

import subprocess

from lib.programs import BUILD, LIMIT, ROOT, environment


def tiers_tool():
    """A function that runs it, and returns what it prints."""
    path = BUILD / "tests/bench/bench_tiers"
    done = subprocess.run(["make", "-s", f"BUILD={BUILD}", str(path)], cwd=ROOT, capture_output=True, text=True,
                          env=environment(), timeout=5 * LIMIT, check=False)
    assert done.returncode == 0, done.stderr

    def call(*arguments, code=0):
        did = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, env=environment(),
                             timeout=LIMIT, check=False)
        assert did.returncode == code, (arguments, did.returncode, did.stderr)
        return did.stdout

    return call
