"""Minutes and hours of the history (bench_tiers.c): what they take, and how long one metric of all nodes takes to be read."""

import json
import subprocess

from lib.programs import BUILD, environment


def tool(*arguments):
    done = subprocess.run([str(BUILD / "tests/bench/bench_tiers"), *map(str, arguments)], stdout=subprocess.PIPE,
                          env=environment(), check=True, timeout=600)
    return done.stdout


def asked(figures, path, what, tier, hours, aim_ms):
    said = [json.loads(tool(path, "read", tier, "made", "m1", hours, 0)) for _ in range(3)]
    figures.add(f"{what}, {said[0]['points']} points", sorted(one["ms"] for one in said)[1], "ms", aim=("value", aim_ms))


def tiers(figures, cluster):
    """One metric of all nodes, from blocks that are merged."""
    path = cluster.folder / "day.db"
    tool(path, "fill", 100, 25, 20, 0)
    figures.add("a minute of a metric in the file", path.stat().st_size / (100 * 25 * 60 * 20), "B")
    asked(figures, path, "24 h of 100 nodes in minutes", "minutes", 24, 30)
    path.unlink()
    path = cluster.folder / "week.db"
    tool(path, "fill", 1000, 7 * 24, 2, 0)
    asked(figures, path, "7 days of 1,000 nodes in hours", "hours", 7 * 24, 100)
