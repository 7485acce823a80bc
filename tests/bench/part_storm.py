"""A replay storm (bench_storm.c): an aggregator with an empty history, and agents that come to it with full rings."""

import time

from lib.programs import memory_bytes, wait_until
from measure import Tool, cpu_seconds, run_tool, say
from part_load import running_aggregator

NODES, HELD = 1000, 600  # ten minutes
SETTLE, WINDOW = 4.0, 8.0
CHUNK = 66.0  # by then the history's open chunks are as full as they get
LIMIT = 600.0
AIM = ("value", 1000.0)  # a period
BAD = ("lost", "dropped_full", "dropped_user", "lines_dropped", "frames_not_stored", "replay_timeouts")


def delays(figures, what, said, aim=None):
    for part in ("p50", "p99", "max"):
        figures.add(f"frame to line, {what}, {part}", said[f"{part}_ms"], "ms", aim=aim if part == "max" else None)


def start(cluster, held):
    """The agents, when all publish."""
    tool = Tool("bench_storm", "run", cluster.master, NODES, cluster.endpoint, cluster.socket, held)
    try:
        wait_until(lambda: tool.ask()["publishing"] == NODES, f"{NODES} agents that publish", 60)
    except BaseException:
        tool.__exit__()
        raise
    return tool


def calm(figures, cluster):
    with running_aggregator(cluster, read=False) as (aggregator, _):
        begin = time.monotonic()
        with start(cluster, 0) as tool:
            time.sleep(SETTLE)
            tool.ask("delays")
            time.sleep(WINDOW)
            delays(figures, "nothing is missing", tool.ask("delays"))
            time.sleep(max(0.0, begin + CHUNK - time.monotonic()))
            return memory_bytes(aggregator.pid, "VmHWM")


def storm(figures, cluster):
    """Live frames while all that the rings hold is asked for; how long that takes, and what memory."""
    run_tool("bench_storm", "keys", cluster.master, NODES)
    before = calm(figures, cluster)
    cluster.history.unlink()
    with running_aggregator(cluster, read=False) as (aggregator, _):
        total = NODES * HELD
        with start(cluster, HELD) as tool:
            connecting = tool.ask("delays")["max_ms"]
            cpu, begun = cpu_seconds(aggregator.pid), time.monotonic()
            wait_until(lambda: tool.ask()["again"] >= total, f"{total} frames", LIMIT)
            took = time.monotonic() - begun
            cpu = (cpu_seconds(aggregator.pid) - cpu) / took
            said, counters = tool.ask(), cluster.status()["counters"]
            delays(figures, "in the storm", tool.ask("delays"), AIM)
            figures.add("frame to line, while all connect, max", connecting, "ms", aim=AIM)
            figures.add(f"until {NODES} rings of {HELD} frames are taken", took, "s")
            figures.add("frames again, a second", total / took, "1/s")
            figures.add("aggregator, CPU meanwhile", 100 * cpu, "%")
            most = memory_bytes(aggregator.pid, "VmHWM")
            figures.add("aggregator, RSS at most", most / 1e6, "MB", "without a storm", before / 1e6)
    bad = {name: counters[name] for name in BAD if counters[name]} | {"twice": said["twice"]}
    if any(bad.values()):
        figures.note("storm", str(bad))
    say(f"      {said['live']} live lines")
