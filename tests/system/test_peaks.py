"""bench-node measures, keeps, and the agent reports it; what cannot be kept is said before a minute has passed."""

import json
import time

from lib.programs import run


def test_measured_kept_and_reported(tmp_path):
    kept = tmp_path / "peaks.json"
    done = run("agent", "bench-node", "--time", "1s", "--file", kept)
    assert done.returncode == 0, done.stderr
    assert "memory bandwidth" in done.stdout and f"kept in {kept}" in done.stdout
    peaks = json.loads(kept.read_text())
    assert peaks["flops_single"] > 1e8 and peaks["threads"] >= 1
    report = json.loads(run("agent", "--config", "/dev/null", "--once", "--peaks-file", kept).stdout)
    seen = report["report"]["system_data"]["node_peaks"]
    for name in ("memory_bandwidth", "flops_double", "flops_single", "vectors"):
        assert seen[name] == peaks[name] or abs(seen[name] / peaks[name] - 1) < 1e-5, name


def test_what_is_wrong(tmp_path):
    begun = time.monotonic()
    done = run("agent", "bench-node", "--file", tmp_path / "none/none/peaks.json")
    assert done.returncode == 1 and "none/none/peaks.json: No such file" in done.stderr
    assert time.monotonic() - begun < 20
    for wrong, said in (("--time=0", "from 1s to 1h"), ("now", "one word too many"), ("--files=x", "--file")):
        done = run("agent", "bench-node", wrong)
        assert done.returncode == 2 and said in done.stderr, wrong
