"""The aggregator under many simulated agents (bench_load.c), against a SUB that only receives (bench_receive.c)."""

import calendar
import contextlib
import re
import time

from lib.programs import wait_until
from measure import Reader, Tool, cpu_seconds, memory, number, quantile, run_tool, say, threads

NODES = 1000
SETTLE = 3.0  # the clock probes' first burst is over
WINDOW = 6.0
LATENCY_WINDOW = 3.0
AIM = ("ratio", 1.5)

NODE_LINE = re.compile(rb'"type":"node".*?"time":"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)\.(\d{9})Z"')


class Ages:
    """How old samples are when their lines are read: the node's wall clock against ours, which is the same one."""

    def __init__(self):
        self.ages = []

    def note(self, line, now):
        found = NODE_LINE.search(line, 0, 200)
        if found:
            *date, ns = map(int, found.groups())
            self.ages.append((now - calendar.timegm((*date, 0, 0, 0)) * 1_000_000_000 - ns) / 1e6)


def make_keys(cluster):
    """Of all simulated agents, once."""
    if not (cluster.master / "sim.seed").exists():
        run_tool("bench_load", "keys", cluster.master, NODES)


def start_load(cluster, endpoint, shape, channels):
    load = Tool("bench_load", "run", cluster.master, NODES, endpoint, shape, channels)
    try:
        wait_until(lambda: load.ask()["publishing"] == NODES, f"{NODES} agents that publish", 30)
    except BaseException:
        load.__exit__()
        raise
    time.sleep(SETTLE)
    return load


def bare(cluster, shape, mode, latency=False):
    """CPU a frame of receiving alone."""
    make_keys(cluster)
    with Tool("bench_receive", cluster.master, mode) as receiver:
        before = memory(receiver.pid)
        with start_load(cluster, receiver.read()["endpoint"], shape, "data"):
            count, cpu = receiver.ask()["messages"], cpu_seconds(receiver.pid)
            time.sleep(WINDOW)
            cpu, count = cpu_seconds(receiver.pid) - cpu, receiver.ask()["messages"] - count
            result = {"us": cpu / count * 1e6, "rate": count / WINDOW}
            result["node_kb"] = (memory(receiver.pid)["rss"] - before["rss"]) / NODES / 1e3
            if latency:
                receiver.ask("latency")
                time.sleep(LATENCY_WINDOW)
                result |= receiver.ask()
    return result


@contextlib.contextmanager
def running_aggregator(cluster, *options, read):
    """On free ports. With `read` somebody reads its lines; otherwise it writes none."""
    cluster.endpoint = None
    reader = Reader() if read else None
    try:
        if reader:
            aggregator = cluster.start_aggregator(*options, stdout=reader.to_program)
            reader.started()
        else:
            aggregator = cluster.start_aggregator("--output", "none", *options)
        yield aggregator, reader
        aggregator.stop()
    finally:
        if reader:
            if cluster.aggregator and cluster.aggregator.alive():
                cluster.aggregator.kill()
            reader.close()


def aggregated(cluster, shape, read, latency=False):
    """CPU a frame of the aggregator."""
    make_keys(cluster)
    with running_aggregator(cluster, read=read) as (aggregator, reader):
        before = memory(aggregator.pid)
        with start_load(cluster, cluster.endpoint, shape, "full") as load:
            told = cluster.status()["counters"]
            cpu, lines, sent = cpu_seconds(aggregator.pid), reader.bytes if reader else 0, load.ask()
            time.sleep(WINDOW)
            cpu, lines = cpu_seconds(aggregator.pid) - cpu, (reader.bytes if reader else 0) - lines
            sent = load.ask()["frames"] - sent["frames"]
            after = cluster.status()["counters"]
            result = {
                "us": cpu / sent * 1e6,
                "rate": sent / WINDOW,
                "node_kb": (memory(aggregator.pid)["rss"] - before["rss"]) / NODES / 1e3,
                "rss_mb": memory(aggregator.pid)["rss"] / 1e6,
                "threads": threads(aggregator.pid),
                "frame_bytes": (after["bytes"] - told["bytes"]) / (after["frames"] - told["frames"]),
                "line_bytes": lines / sent,
            }
            bad = {name: after[name] for name in ("lost", "dropped_full", "lines_dropped", "frames_malformed")}
            result["bad"] = {name: count for name, count in bad.items() if count}
            if latency:
                ages = Ages()
                reader.note = ages.note
                time.sleep(LATENCY_WINDOW)
                reader.note = None
                result["ages"] = ages.ages
    return result


def load(figures, cluster):
    """(d) and (e)."""
    for shape, words in (("together", "all at one instant"), ("spread", "spread over the second")):
        receivers = {"a bare SUB that drains every 5 ms": bare(cluster, shape, "batch")}
        if shape == "spread":
            receivers["a bare SUB that wakes for each"] = bare(cluster, shape, "each")
        written = aggregated(cluster, shape, read=True)
        unread = aggregated(cluster, shape, read=False)
        for result, output in ((written, "JSON read"), (unread, "no output")):
            what = f"aggregator, CPU a frame, {output}, {words}"
            for name, receiver in receivers.items():
                figures.add(what, result["us"], "us", name, receiver["us"], AIM if output == "JSON read" else None)
            if result["bad"]:
                figures.note(what, f"since the start {result['bad']}")
        say(
            f"      {number(written['rate'])} frames a second of {number(written['frame_bytes'])} bytes, "
            f"lines of {number(written['line_bytes'])} bytes, {written['threads']} threads"
        )
    bare_kb = receivers["a bare SUB that drains every 5 ms"]["node_kb"]
    figures.add("aggregator, memory a node (two connections)", written["node_kb"], "kB", "bare SUB, one", bare_kb)
    figures.add(f"aggregator, RSS with {NODES} nodes", written["rss_mb"], "MB")


def latency(figures, cluster):
    """(f) From a sample's wall time, taken before it is sampled, to the line as its reader has it."""
    with running_aggregator(cluster, read=True) as (_, reader):
        for node in ("n1", "n2", "n3"):
            cluster.start_agent(node, period="100ms")
        time.sleep(SETTLE + 1)
        ages = Ages()
        reader.note = ages.note
        time.sleep(8)
        reader.note = None
        for node in ("n1", "n2", "n3"):
            cluster.agents[node].stop()
    for part, name in ((0.5, "p50"), (0.99, "p99")):
        figures.add(f"sample to line, 3 agents at 10 Hz, {name}", quantile(ages.ages, part), "ms")
    say(f"      of {len(ages.ages)} lines")
    reference = bare(cluster, "spread", "batch", latency=True)
    result = aggregated(cluster, "spread", read=True, latency=True)
    for part, name in ((0.5, "p50"), (0.99, "p99")):
        what = f"frame made to line, {NODES} simulated agents, {name}"
        figures.add(what, quantile(result["ages"], part), "ms", "bare SUB, 5 ms", reference[f"{name}_ms"])
    say(f"      of {len(result['ages'])} lines and {reference['ages']} messages")
