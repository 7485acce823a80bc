"""The history: bytes a value, CPU a frame, and how long an hour of 100 nodes takes to be played again (bench_history.c)."""

import json
import subprocess
import time

from lib.programs import BUILD, RECORDED, environment
from measure import say

BYTES_AIM = ("value", 1.0)
SAMPLES = 64  # a chunk full
NODES, HOUR = 100, 3600


def stored(figures, cluster, what, root, pause_ms, nodes, frames, *more):
    """Stores frames; what each value takes in the file, and each frame in CPU time."""
    path = cluster.folder / f"{len(figures.list)}.db"
    command = [BUILD / "tests/bench/bench_history", path, root, SAMPLES, pause_ms, nodes, frames, *more]
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, env=environment(), check=True, timeout=600)
    said = json.loads(done.stdout)
    size = path.stat().st_size
    values, count = said["values"], said["frames"]
    figures.add(f"{what}: in the file", size / values, "B/val", "as they came", said["raw_bytes"] / values, BYTES_AIM)
    figures.add(f"{what}: CPU", said["us"], "us/fr")
    say(f"      {values / count:.0f} values, {size / count:.0f} bytes a frame, {count} frames")
    return path


def check_session(figures, cluster):
    """Whether a chunk of a session overlaps those that are stored: however old the session is, it costs the same."""
    for what, chunks in (("an hour", 60), ("30 days", 30 * 1440)):
        path = cluster.folder / "session.db"
        command = [BUILD / "tests/bench/bench_history", path, "session", chunks]
        done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, env=environment(), check=True, timeout=600)
        figures.add(f"check for overlap, a session of {what}", json.loads(done.stdout)["check_us"], "us")
        path.unlink()


def history(figures, cluster):
    """(g) Samples of this machine, taken a second apart, as those of 100 nodes in turn; and of the recorded one."""
    path = stored(figures, cluster, "this machine", "", 1000, NODES, HOUR)
    if (RECORDED / "big480").is_dir():
        stored(figures, cluster, "480 CPUs, as recorded: they stand still", RECORDED / "big480", 0, 2, 1024)
        stored(figures, cluster, "480 CPUs, counters made to move", RECORDED / "big480", 0, 2, 1024, "move")
    else:
        figures.skip("480 CPUs", f"{RECORDED / 'big480'} is not here")
    check_session(figures, cluster)
    for what, options in (("replay an hour of 100 nodes", ()), ("replay an hour of one of them", ("--node", "n042"))):
        command = [BUILD / "aggregator", "replay", "--config", cluster.empty, "--history", path, "--from", "-3h", *options]
        begin = time.monotonic()
        subprocess.run([*map(str, command)], stdout=subprocess.DEVNULL, env=environment(), check=True, timeout=600)
        figures.add(what, time.monotonic() - begin, "s")
