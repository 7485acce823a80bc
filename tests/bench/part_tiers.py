"""Minutes and hours of the history (bench_tiers.c): what they take, and how long one metric of all nodes takes to be read.
Nodes that are unlike each other (bench_unlike.c): what share of their frames' bytes and CPU time that is."""

import json
import sqlite3
import subprocess

from lib.programs import BUILD, environment
from measure import say


SAMPLED, FRAMES = 200, 7200  # seconds of this machine, and what becomes of them: two hours
UNLIKE = (1, 16, 100)
BYTES_AIM = ("value", 10)


def run(program, *arguments):
    done = subprocess.run([str(BUILD / "tests/bench" / program), *map(str, arguments)], stdout=subprocess.PIPE,
                          env=environment(), check=True, timeout=1800)
    return done.stdout


def tool(*arguments):
    return run("bench_tiers", *arguments)


def asked(figures, path, what, tier, hours, aim_ms):
    said = [json.loads(tool(path, "read", tier, "made", "m1", hours, 0)) for _ in range(3)]
    figures.add(f"{what}, {said[0]['points']} points", sorted(one["ms"] for one in said)[1], "ms", aim=("value", aim_ms))


def bytes_of(path):
    """Pages of frames and of minutes and hours, with their indexes; and what is in them of nodes and of combined reports."""
    with sqlite3.connect(path) as file:
        owner = dict(file.execute("SELECT name, tbl_name FROM sqlite_master"))
        pages = {"chunks": 0, "tiers": 0}
        for name, size in file.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"):
            what = "tiers" if owner.get(name, name).startswith("tier_") else owner.get(name, name)
            pages[what] = pages.get(what, 0) + size
        select = "SELECT ifnull(sum(length(data)), 0) FROM tier_blocks WHERE tier = ? AND (batch < 0) = ?"
        parts = [file.execute(select, (tier, combined)).fetchone()[0] / pages["chunks"]
                 for tier in range(2) for combined in range(2)]
    return pages["chunks"], pages["tiers"], parts


def unlike(figures, cluster):
    """Beside frames of nodes that go through stretches of this machine's samples, each its own way."""
    for line in run("bench_unlike", cluster.folder, SAMPLED, FRAMES, *UNLIKE).splitlines():
        said = json.loads(line)
        frames, more, parts = bytes_of(cluster.folder / f"{said['nodes']}.db")
        whole = said["line_us"] + said["stored_us"]
        name = f"{said['nodes']} unlike nodes, 2 h" if said["nodes"] > 1 else "one node, 2 h"
        figures.add(f"{name}: bytes beside frames", 100 * more / frames, "%", aim=BYTES_AIM if said["nodes"] >= 100 else None)
        figures.add(f"{name}: CPU beside them", said["tiers_us"], "us/fr", "read, written as a line, stored", whole)
        shares = zip(("minutes", "combined", "hours", "combined hours"), parts)
        say(f"      of {frames / FRAMES / said['nodes']:.0f} bytes a frame of {said['values']:.0f} values; "
            + ", ".join(f"{what} {share:.1%}" for what, share in shares))


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
    path.unlink()
    unlike(figures, cluster)
