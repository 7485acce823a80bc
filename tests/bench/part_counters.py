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
        median, low, high = said[key]
        what, against = f"CPU time of work that {work}, counted", "the same, not counted"
        figures.add(f"{what}: median", median, "", against, 1, ("ratio", 1.005))
        figures.add(f"{what}: 95 % bounds, lower", low, "", against, 1)
        figures.add(f"{what}: 95 % bounds, upper", high, "", against, 1, ("ratio", 1.005))
