"""Cluster time: on hosts of this machine against the truth and chronyd, and what ticks and probes cost.

All hosts share CLOCK_REALTIME, and each has a CLOCK_MONOTONIC of its own. A node line's `time` is mapped from the
latter, its `wall_offset` is the node's wall clock at the sample minus `time`: where all wall clocks are the same one,
that is the error of the mapping (with how the aggregator read its own two clocks at its start), and `time` plus
`wall_offset` is when the sample was taken in truth.
"""

import calendar
import collections
import contextlib
import json
import os
import pathlib
import re
import subprocess
import time

import chrony
from lib import lab
from lib.programs import BUILD, environment, wait_until
from measure import Tool, cpu_seconds, number, quantile, say
from part_load import NODES, make_keys, running_aggregator, start_load

NAMES = ("n1", "n2", "n3", "n4")
PORT = 5555  # in a network of their own
PERIOD_NS = 200_000_000
HOSTS_WINDOW = 50
WARM_UP_NS = 3_000_000_000  # a usable offset is due after 2 s
USABLE = 1e-3
QUIET = 25  # percent of the CPUs that are busy or stolen

TICKS_WINDOW = 30
COST_WINDOW = 8
CROWD = 200
FAST = 4000  # probes a second
BIG = 10_000
SCHEDULE = pathlib.Path(__file__).resolve().parents[2] / "agent/uplink/probe_schedule.h"


def time_ns(text):
    whole, _, part = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) * 1_000_000_000 + int(part.ljust(9, "0"))


# ---- hosts ----


class Stage:
    """An aggregator on m0 and an agent on each other host; what is said goes through bench_stamp to a file."""

    def __init__(self, cluster, stage):
        self.out = cluster.folder / "stamped"
        self.begun = {}
        self.logs = []
        master, endpoint = stage["m0"], f"tcp://{stage['m0'].address}:{PORT}"
        period = f"{PERIOD_NS // 1_000_000}ms"
        folders = {name: cluster.keys_of(name) for name in NAMES}
        with open(self.out, "wb") as out:
            stamp = master.start(BUILD / "tests/bench/bench_stamp", "eth0", PORT, stdin=subprocess.PIPE, stdout=out,
                                 env=environment())
        there = cluster.folder / "there"
        aggregator = ("--config", cluster.empty, "--keys", cluster.master, "--socket", cluster.folder / "hosts.sock",
                      "--listen", endpoint, "--endpoint-file", there, "--tick-period", period)
        self.start(cluster, master, "aggregator", aggregator, stamp.stdin)
        stamp.stdin.close()
        wait_until(there.exists, "an aggregator")
        for name in NAMES:
            self.begun[name] = time.time_ns()
            agent = ("--config", cluster.empty, "--keys", folders[name], "--node", name, "--connect", endpoint,
                     "--period", period)
            self.start(cluster, stage[name], "agent", agent, subprocess.DEVNULL)

    def start(self, cluster, host, program, arguments, out):
        with open(cluster.folder / f"{program}-{host.name}.log", "wb") as log:
            host.start(BUILD / program, *arguments, stdout=out, stderr=log, env=environment())

    def lines(self):
        """(when it was read, when the last frame came in, the line)"""
        for line in self.out.read_text().splitlines():
            at, wire, text = line.split(" ", 2)
            yield int(at), int(wire), json.loads(text)


class Sight:
    """What the lines tell."""

    def __init__(self, stage):
        self.errors, self.bounds = [], []
        self.outside = 0
        self.first = {}
        self.samples = collections.defaultdict(dict)  # of each tick: node to its true instant
        self.busy = collections.defaultdict(float)  # of the period that ends with a tick
        self.latencies = []
        for at, wire, line in stage.lines():
            if line["type"] == "node":
                self.take_node(line, at, stage.begun[line["node"]])
            elif line["type"] == "cluster" and line["nodes"]["reporting"] == len(NAMES):
                self.latencies.append((at - wire) / 1e6)

    def take_node(self, line, at, begun):
        clock = line["clock"]
        if clock["bound"] is None:
            return
        error, bound = clock["wall_offset"], clock["bound"]
        if bound <= USABLE:
            self.first.setdefault(line["node"], (at - begun) / 1e9)
        if at - begun < WARM_UP_NS:
            return
        self.errors.append(abs(error) * 1e6)
        self.bounds.append(bound * 1e6)
        self.outside += abs(error) > bound
        truth = time_ns(line["time"]) + round(error * 1e9)
        tick = round(truth / PERIOD_NS)
        self.samples[tick][line["node"]] = truth
        idle = line["report"]["system_data"]["cpu_usage"]["average_usage"]["idle"]
        self.busy[tick] = max(self.busy[tick], 100 - (idle or 0))

    def spreads(self, quiet):
        """ms between the first and the last sample of each tick."""
        made = []
        for tick, samples in self.samples.items():
            at_rest = max(self.busy[tick], self.busy.get(tick + 1, 100)) < QUIET
            if len(samples) == len(NAMES) and (at_rest or not quiet):
                made.append((max(samples.values()) - min(samples.values())) / 1e6)
        return made


def on_hosts(figures, cluster):
    why = lab.lacking()
    if why:
        figures.skip("hosts", why)
        return
    no_chrony = chrony.lacking()
    looks = []
    with lab.Hosts(("m0", *NAMES)) as stage:
        lines = Stage(cluster, stage)
        other = None if no_chrony else chrony.Chrony(cluster.folder, stage["m0"], [stage[name] for name in NAMES])
        end = time.monotonic() + HOSTS_WINDOW
        bare = subprocess.Popen([str(BUILD / "tests/bench/bench_timers"), str(len(NAMES)), str(PERIOD_NS // 1_000_000),
                                 str(HOSTS_WINDOW)], stdout=subprocess.PIPE, text=True)
        while time.monotonic() < end:
            time.sleep(1)
            if other and time.time_ns() - lines.begun["n4"] > WARM_UP_NS:
                looks += other.looks()
        bare = [float(line) for line in bare.communicate(timeout=HOSTS_WINDOW)[0].split()]
    sight = Sight(lines)
    if not sight.errors:
        figures.skip("hosts", "no line came with a time that is known")
        return
    tell_hosts(figures, sight, looks, bare)
    if no_chrony:
        figures.skip("chronyd on the same hosts", no_chrony)


def tell_hosts(figures, sight, looks, bare):
    errors, bounds = ([abs(look[part]) * 1e6 for look in looks] for part in (0, 1))
    figures.add("agent started to a time known within 1 ms, slowest", max(sight.first.values()), "s", aim=("value", 2))
    for part, name, aim in ((0.5, "median", None), (0.99, "p99", ("value", 200))):
        versus = ("chronyd's estimate", quantile(errors, part)) if errors else (None, None)
        figures.add(f"mapped time, error, {name}", quantile(sight.errors, part), "us", *versus, aim)
    for part, name in ((0.5, "median"), (0.99, "p99")):
        versus = ("chronyd's bound", quantile(bounds, part)) if bounds else (None, None)
        figures.add(f"mapped time, bound, {name}", quantile(sight.bounds, part), "us", *versus)
    figures.add("lines outside their bound", sight.outside / len(sight.errors) * 100, "%", aim=("value", 1))
    say(f"      of {len(sight.errors)} lines; chronyd was asked {len(errors)} times")
    for quiet, words in ((False, "all ticks"), (True, "quiet ticks")):
        spreads = sight.spreads(quiet)
        if len(spreads) < 20:
            figures.skip(f"sample instants, {words}", f"{len(spreads)} of {len(sight.samples)} ticks")
            continue
        figures.add(f"sample instants, max - min, {words}, median", quantile(spreads, 0.5), "ms",
                    "bare real-time threads", quantile(bare, 0.5))
        aim = ("value", 1) if quiet else None
        figures.add(f"sample instants, max - min, {words}, p99", quantile(spreads, 0.99), "ms",
                    "bare real-time threads", quantile(bare, 0.99), aim)
        say(f"      of {len(spreads)} ticks with {len(NAMES)} hosts")
    tell_latency(figures, sight.latencies, f"{len(NAMES)} agents")


def tell_latency(figures, latencies, whose):
    for part, name in ((0.5, "p50"), (0.99, "p99")):
        what = f"last frame in to combined line out, {whose}, {name}"
        if latencies:
            figures.add(what, quantile(latencies, part), "ms")
        else:
            figures.skip(what, "no tick had all of them in time")
    say(f"      of {len(latencies)} ticks")


# ---- simulated agents ----


@contextlib.contextmanager
def stamped_aggregator(cluster, *options):
    """One whose lines go through bench_stamp to a file."""
    cluster.endpoint = None
    out = cluster.folder / "stamped-ticks"
    from_program, to_program = os.pipe()
    stamp = None
    try:
        aggregator = cluster.start_aggregator(*options, stdout=to_program)
        os.close(to_program)
        to_program = None
        with open(out, "wb") as file:
            command = [str(BUILD / "tests/bench/bench_stamp"), "lo", cluster.endpoint.rsplit(":", 1)[1]]
            stamp = subprocess.Popen(command, stdin=from_program, stdout=file, env=environment())
        yield aggregator, out
        aggregator.stop()
    finally:
        for end in (from_program, to_program):
            if end is not None:
                os.close(end)
        if cluster.aggregator and cluster.aggregator.alive():
            cluster.aggregator.kill()
        if stamp:
            stamp.wait()


def latencies_of(path, nodes):
    found = []
    for line in path.read_text().splitlines():
        at, wire, text = line.split(" ", 2)
        said = json.loads(text)
        if said["type"] == "cluster" and said["nodes"]["reporting"] == nodes:
            found.append((int(at) - int(wire)) / 1e6)
    return found


def frame_cost(load, pid):
    count, cpu = load.ask()["frames"], cpu_seconds(pid)
    time.sleep(COST_WINDOW)
    return (cpu_seconds(pid) - cpu) / (load.ask()["frames"] - count) * 1e6


def with_combined_lines(figures, cluster):
    """Latency of ticks of many nodes, and what a frame costs with its combined line written and without a reader."""
    make_keys(cluster)
    with running_aggregator(cluster, read=False) as (aggregator, _):
        with start_load(cluster, cluster.endpoint, "together", "full") as load:
            unread = frame_cost(load, aggregator.pid)
    if os.geteuid() != 0:
        figures.skip("combined lines", "needs root to see packets")
        return
    with stamped_aggregator(cluster, "--no-node-lines") as (aggregator, out):
        with start_load(cluster, cluster.endpoint, "together", "full") as load:
            written = frame_cost(load, aggregator.pid)
            time.sleep(TICKS_WINDOW - COST_WINDOW)
    tell_latency(figures, latencies_of(out, NODES), f"{NODES} simulated agents")
    figures.add("aggregator, CPU a frame, combined lines only", written, "us", "nobody reads", unread)


# ---- probes ----


def probing(cluster, rate):
    """CPU seconds of the aggregator a second, and the probes a second."""
    with running_aggregator(cluster, read=False) as (aggregator, _):
        with Tool("bench_probe", cluster.master, CROWD, cluster.endpoint, rate) as crowd:
            wait_until(lambda: crowd.ask()["welcomed"] == CROWD, f"{CROWD} nodes that are welcomed", 30)
            time.sleep(1.5)
            begin, before, cpu = time.monotonic(), crowd.ask(), cpu_seconds(aggregator.pid)
            time.sleep(COST_WINDOW)
            passed, after, cpu = time.monotonic() - begin, crowd.ask(), cpu_seconds(aggregator.pid) - cpu
            return cpu / passed, (after["probes"] - before["probes"]) / passed


def probe_rate():
    """Probes a second of BIG nodes at rest, as the agents' own schedule has it."""
    pause = re.search(r"#define PROBE_REST_NS INT64_C \((\d+)\)", SCHEDULE.read_text())
    return BIG / (int(pause[1]) / 1e9)


def probe_cost(figures, cluster):
    """The aggregator with nodes that only probe, less the same with nodes that do nothing: once as often as BIG nodes at
    rest do, since a lone message costs all its wake-ups, and once in a flood."""
    make_keys(cluster)
    rest = probe_rate()
    idle, _ = probing(cluster, 0)
    for rate, words in ((rest, "as they come"), (FAST, "in a flood")):
        cpu, probes = probing(cluster, rate)
        each = (cpu - idle) / probes
        figures.add(f"aggregator, CPU a probe, {words}, {number(probes)} a second", each * 1e6, "us")
        if rate == rest:
            figures.add(f"probes of {BIG} nodes, {number(rest)} a second", each * rest * 100, "% core", aim=("value", 5))


def cluster_time(figures, cluster):
    """The part `time`."""
    on_hosts(figures, cluster)
    with_combined_lines(figures, cluster)
    probe_cost(figures, cluster)
