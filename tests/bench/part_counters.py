"""Counters of CPUs: a sample of 480 CPUs beside the bare reads of its descriptors, and what counting costs the work itself."""

import pathlib
import tempfile

from measure import run_tool
from part_samples import write_root

def counters(figures, cluster):
    """480 CPUs are made of those that there are."""
    del cluster
    with tempfile.TemporaryDirectory(prefix="synop-bench.") as folder:
        write_root(pathlib.Path(folder), 480)
        said = run_tool("bench_counters", folder, 50)
    if not said["events"]:
        figures.skip("counters of 480 CPUs", said["error"])
        return
    what = f"{said['events']} events of 480 CPUs, {'hardware' if said['hardware'] else 'software alone'}"
    figures.add(what, said["sample_us"], "us", f"{said['reads']} bare reads", said["bare_us"], ("ratio", 2))
    for key, work in ("computing", "computes"), ("waiting", "computes, takes memory and waits"):
        median, low, high = (100 * (ratio - 1) for ratio in said[key])
        what = f"CPU time that counting adds to work that {work}"
        figures.add(f"{what}: median", median, "%", aim=("value", 0.5))
        figures.add(f"{what}: lower bound, 95 %", low, "%")
        figures.add(f"{what}: upper bound, 95 %", high, "%", aim=("value", 0.5))
