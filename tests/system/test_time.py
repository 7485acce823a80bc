"""One instant everywhere: real agents with clocks that are wrong, paths that are slow, and the combined report.

All agents run on this machine, so an agent whose wall clock nobody shifts has the true time: by how much its line says
that it is off is the error of the mapping. What is asserted are orders of magnitude, of most of the lines: on a machine
that is busy with other things a sample may be late by any time."""

import itertools
import signal
import statistics
import time

import pytest
from lib import combined
from lib.clocks import WallShift, shifted_monotonic
from lib.programs import listed_groups, needs_hardware, run, time_ns, wait_until
from lib.relay import DOWN, UP, Relay

S = 1_000_000_000
PERIOD = "500ms"
PERIOD_NS = S // 2
CONFIG = "[ticks]\nperiod = 500ms\n"
NODES = ("n1", "n2", "n3")
CLOSE = 0.03  # s; what reading two clocks one after the other may cost here


def start_aggregator(cluster, *options):
    return cluster.start_aggregator(*options, config=CONFIG)


def timed_lines(cluster, node, count, after=0):
    """Lines of a node that its clock model has given a time."""
    def enough():
        lines = [line for line in cluster.aggregator.lines(after, type="node", node=node)
                 if line["clock"]["bound"] is not None]
        return lines if len(lines) >= count else None

    return wait_until(enough, f"{count} timed lines of {node}")


def assert_mapping(lines, wall_shift=0.0):
    """Most lines are right within their own bounds; the wall clock's true offset is known."""
    over = [abs(line["clock"]["wall_offset"] - wall_shift) - line["clock"]["bound"] for line in lines]
    assert statistics.median(over) < CLOSE, (over, lines[-1]["clock"])


def assert_at_multiples(lines):
    """Most samples were taken near a multiple of the period."""
    away = [abs((time_ns(line["time"]) + PERIOD_NS // 2) % PERIOD_NS - PERIOD_NS // 2) for line in lines]
    assert statistics.median(away) < PERIOD_NS // 5, away


def wait_whole_ticks(cluster, count, nodes, after=0):
    """Combined lines with all nodes in them, and with a bound."""
    def enough():
        lines = [line for line in cluster.aggregator.lines(after, type="cluster")
                 if line["nodes"]["reporting"] == nodes and line["bound"] is not None]
        return lines if len(lines) >= count else None

    return wait_until(enough, f"{count} combined reports of {nodes} nodes")


def assert_ticks_whole(lines):
    """In order, none missing."""
    times = [time_ns(line["time"]) for line in lines if line["type"] == "cluster"]
    assert times and all(after - before == PERIOD_NS for before, after in zip(times, times[1:])), times


def clock_events(cluster, after=0):
    return [line for line in cluster.aggregator.lines(after, type="event") if line["event"].startswith("clock_")]


# ---- one machine, good clocks ----

@pytest.mark.sanitized
def test_samples_of_one_instant(cluster):
    start_aggregator(cluster)
    cluster.start_nodes(*NODES, period=PERIOD)
    ticks = wait_whole_ticks(cluster, 10, 3)
    assert statistics.median(line["spread"] for line in ticks) < 0.1
    for node in NODES:
        lines = timed_lines(cluster, node, 10)
        assert_mapping(lines)
        assert_at_multiples(lines[5:])
        clock = lines[-1]["clock"]
        assert set(clock) == {"wall_offset", "drift_ppm", "bound", "probe_age"}
        assert 0 < clock["bound"] < 1 and 0 <= clock["probe_age"] < 120
    assert_ticks_whole(cluster.aggregator.lines())
    assert not clock_events(cluster)


@pytest.mark.sanitized
def test_status_shows_the_clock(cluster):
    start_aggregator(cluster)
    cluster.start_nodes("n1", period=PERIOD)
    cluster.keys_of("n2")
    timed_lines(cluster, "n1", 3)
    clock = cluster.node_status("n1")["clock"]
    assert set(clock) == {"wall_offset", "drift_ppm", "bound", "probe_age"}
    assert abs(clock["wall_offset"]) < 1 and clock["bound"] > 0 and clock["probe_age"] >= 0
    assert wait_until(lambda: cluster.node_status("n1")["clock"]["drift_ppm"] is not None, "a drift")
    wait_until(lambda: cluster.node_status("n2") is not None, "n2 in the status")
    assert cluster.node_status("n2")["clock"] is None
    head, row, *_ = cluster.succeed("aggregator", "status", "--socket", cluster.socket).splitlines()
    assert "CLOCK" in head and row.split()[-1] == "ms"


# ---- clocks that are wrong ----

def test_wall_clock_that_is_off_and_jumps(cluster):
    """It changes nothing but the node's own `clock`, and one event each."""
    shift = WallShift(cluster.folder, 3)
    start_aggregator(cluster)
    cluster.start_agent("n1", period=PERIOD)
    cluster.start_agent("n2", period=PERIOD, env=shift.env)
    cluster.start_agent("n3", period=PERIOD)
    wait_whole_ticks(cluster, 6, 3)
    assert cluster.wait_event("clock_offset", node="n2")["seconds"] == pytest.approx(3, abs=1)
    assert_mapping(timed_lines(cluster, "n2", 5), 3)

    mark = cluster.aggregator.mark()
    shift.set(3603)
    event = cluster.wait_event("clock_step", after=mark, node="n2")
    assert event["clock"] == "wall" and event["seconds"] == pytest.approx(3600, abs=1)
    mark = cluster.aggregator.mark()
    ticks = wait_whole_ticks(cluster, 8, 3, after=mark)
    assert statistics.median(line["spread"] for line in ticks) < 0.1
    lines = timed_lines(cluster, "n2", 8, after=mark)
    assert_mapping(lines, 3603)
    assert_at_multiples(lines)
    for node in ("n1", "n3"):
        assert_mapping(timed_lines(cluster, node, 8, after=mark))
    assert_ticks_whole(cluster.aggregator.lines())
    assert sorted((line["event"], line["node"]) for line in clock_events(cluster)) == [
        ("clock_offset", "n2"), ("clock_step", "n2")]


def test_limit_of_the_offset(cluster):
    """--clock-limit: what is within it is no event."""
    shift = WallShift(cluster.folder, 3)
    start_aggregator(cluster, "--clock-limit", "10s")
    cluster.start_agent("n1", period=PERIOD, env=shift.env)
    assert_mapping(timed_lines(cluster, "n1", 6), 3)
    assert not clock_events(cluster)


@pytest.mark.parametrize("ahead", [100_000, 30_000_000])
def test_monotonic_clock_of_another_machine(cluster, ahead):
    """As on hosts that were started at other times: their CLOCK_MONOTONICs have nothing in common."""
    prefix = shifted_monotonic(ahead)
    start_aggregator(cluster)
    cluster.start_agent("n1", period=PERIOD)
    cluster.start_agent("n2", period=PERIOD, prefix=prefix)
    ticks = wait_whole_ticks(cluster, 8, 2)
    assert statistics.median(line["spread"] for line in ticks) < 0.1
    for node in ("n1", "n2"):
        lines = timed_lines(cluster, node, 8)
        assert_mapping(lines)
        assert_at_multiples(lines[3:])
    assert not clock_events(cluster)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        cluster.agents["n2"].signal(number)
    assert cluster.agents["n2"].stop() == 0


def test_wall_clock_of_the_aggregator_jumps(cluster):
    """Cluster time follows it: one event of the aggregator's, none of a node's, and ticks go on there."""
    shift = WallShift(cluster.folder)
    cluster.start_aggregator(config=CONFIG, env=shift.env)
    cluster.start_nodes("n1", "n2", period=PERIOD)
    wait_whole_ticks(cluster, 3, 2)
    mark = cluster.aggregator.mark()
    shift.set(3600)
    event = cluster.wait_event("clock_step", after=mark)
    assert event["clock"] == "aggregator" and "node" not in event
    assert event["seconds"] == pytest.approx(3600, abs=1)
    mark = cluster.aggregator.mark()
    ticks = wait_whole_ticks(cluster, 5, 2, after=mark)
    assert abs(time_ns(ticks[-1]["time"]) - time.time_ns() - 3600 * S) < 60 * S
    assert_mapping(timed_lines(cluster, "n1", 5, after=mark), -3600)  # the nodes still have the old time
    steps = [line for line in clock_events(cluster) if line["event"] == "clock_step"]
    assert len(steps) == 1, steps


# ---- paths ----

@pytest.mark.parametrize("direction", [UP, DOWN])
def test_path_that_is_slow_one_way(cluster, direction):
    """Half of what the ways differ by cannot be seen: it is in the time, and the bound holds it."""
    start_aggregator(cluster)
    real = cluster.endpoint
    with Relay(real) as relay:
        relay.delays[("control", direction)] = 0.1
        cluster.start_agent("n1", period=PERIOD)
        cluster.endpoint = relay.endpoint
        cluster.start_agent("n2", period=PERIOD)
        cluster.endpoint = real
        lines = timed_lines(cluster, "n2", 10)[4:]
        assert all(line["clock"]["bound"] > 0.045 for line in lines), lines[-1]["clock"]
        assert_mapping(lines)
        off = statistics.median(line["clock"]["wall_offset"] for line in lines)
        assert (off < -0.01) if direction == UP else (off > 0.01), off
        assert_mapping(timed_lines(cluster, "n1", 5))
        cluster.agents["n2"].stop()


def test_late_frames_are_marked(cluster):
    """A connection that stands still for a while: its frames come as node lines that say so, and the ticks meanwhile are
    without that node. What is in a combined report is never changed."""
    start_aggregator(cluster)
    real = cluster.endpoint
    with Relay(real) as relay:
        cluster.start_agent("n1", period=PERIOD)
        cluster.endpoint = relay.endpoint
        cluster.start_agent("n2", period=PERIOD)
        cluster.endpoint = real
        wait_whole_ticks(cluster, 3, 2)
        mark = cluster.aggregator.mark()
        relay.held.add(("data", UP))

        def alone():
            return [line for line in cluster.aggregator.lines(mark, type="cluster") if line["nodes"]["reporting"] == 1]

        wait_until(lambda: len(alone()) >= 2, "two combined reports without n2")
        relay.held.clear()
        late = cluster.aggregator.wait_line(lambda line: line.get("late"), after=mark, type="node", node="n2")
        ticks = wait_whole_ticks(cluster, 2, 2, after=cluster.aggregator.mark())
        assert ticks
        lines = cluster.aggregator.lines()
        assert not any(line.get("late") for line in lines if line["type"] == "node" and line["node"] == "n1")
        number = combined.tick_of(late, PERIOD_NS)
        of_tick = [line for line in lines if line["type"] == "cluster" and combined.tick_of(line, PERIOD_NS) == number]
        assert len(of_tick) == 1 and of_tick[0]["nodes"]["reporting"] == 1
        assert_ticks_whole(lines)
        assert_combined(cluster, lines)
        cluster.agents["n2"].stop()


# ---- programs that come and go ----

def test_restarts_in_every_order(cluster):
    """Whatever is started first: within a while all nodes are in the same ticks again, with times that are known."""
    start_aggregator(cluster)
    for node in NODES[:2]:
        cluster.start_agent(node, period=PERIOD)
    wait_whole_ticks(cluster, 2, 2)
    for order in itertools.permutations(["aggregator", "n1", "n2"]):
        for program in (cluster.aggregator, *cluster.agents.values()):
            program.kill()
        for name in order:
            if name == "aggregator":
                start_aggregator(cluster)
            else:
                cluster.start_agent(name, period=PERIOD)
        wait_whole_ticks(cluster, 2, 2)
        assert_ticks_whole(cluster.aggregator.lines())
        assert not clock_events(cluster)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_restart_of_the_aggregator_alone(cluster, how):
    """The agents go on and are mapped anew; what they kept meanwhile comes late or in its tick, but right."""
    start_aggregator(cluster)
    cluster.start_nodes("n1", "n2", period=PERIOD)
    wait_whole_ticks(cluster, 2, 2)
    getattr(cluster.aggregator, how)()
    time.sleep(2)
    start_aggregator(cluster)
    wait_whole_ticks(cluster, 4, 2)
    for node in ("n1", "n2"):
        assert_mapping(timed_lines(cluster, node, 4))
    lines = cluster.aggregator.lines()
    assert_ticks_whole(lines)
    assert_combined(cluster, lines)
    assert not clock_events(cluster)


def test_restart_of_an_agent(cluster):
    """Ticks wait for the one that is gone for a while, and go on; then it is in them again."""
    start_aggregator(cluster)
    cluster.start_nodes("n1", "n2", period=PERIOD)
    wait_whole_ticks(cluster, 2, 2)
    mark = cluster.aggregator.mark()
    cluster.agents["n2"].kill()
    cluster.aggregator.wait_line(lambda line: line["nodes"]["stale"] == 1, after=mark, type="cluster")
    cluster.aggregator.wait_line(lambda line: line["nodes"]["down"] == 1, after=mark, type="cluster")
    cluster.start_agent("n2", period=PERIOD)
    line = wait_whole_ticks(cluster, 2, 2, after=cluster.aggregator.mark())[-1]
    assert line["nodes"] == {"expected": 2, "reporting": 2, "stale": 0, "down": 0}
    assert_ticks_whole(cluster.aggregator.lines())
    assert not clock_events(cluster)


# ---- the combined report ----

def assert_combined(cluster, lines):
    """Every combined line is what follows from the node lines of its tick."""
    groups, count, ticks = listed_groups(), 0, 0
    for line, own in combined.members(lines, PERIOD_NS):
        count += combined.check(line, own, groups, PERIOD_NS)
        ticks += 1
    assert ticks >= 3 and count > 0
    return ticks, count


@pytest.mark.sanitized
def test_combined_is_what_the_node_lines_say(cluster):
    """For every metric of every group, over nodes that differ: a group that is off, one that comes at every second tick."""
    start_aggregator(cluster)
    cluster.start_agent("n1", period=PERIOD)
    cluster.start_agent("n2", period=PERIOD, config="[group vm]\nenabled = no\n[group load]\nperiod = 1s\n")
    cluster.start_agent("n3", period=PERIOD, config="[group network]\nexclude = lo\n[group disk_io]\nenabled = no\n")
    wait_whole_ticks(cluster, 10, 3)
    lines = cluster.aggregator.lines()
    ticks, count = assert_combined(cluster, lines)
    print(f"{count} metrics in {ticks} ticks")
    whole = [line["report"]["system_data"] for line in wait_whole_ticks(cluster, 10, 3)]
    assert {"hardware_info", "instance_info"}.isdisjoint(whole[-1])
    assert all(report["vm"]["nodes"] == 2 for report in whole if "vm" in report)
    assert {report["load"]["nodes"] for report in whole} == {2, 3}
    here = [group for group in listed_groups() if not needs_hardware(group)]
    periodic = {group["name"] for group in here if group["section"] == "system_data"}
    assert periodic <= {name for report in whole for name in report}


@pytest.mark.sanitized
def test_tail_of_combined_reports(cluster):
    start_aggregator(cluster)
    cluster.start_nodes("n1", "n2", period=PERIOD)
    whole = cluster.start_tail("--type", "cluster")
    part = cluster.start_tail("--type", "cluster", "--group", "load,vm")
    none = cluster.start_tail("--type", "cluster", "--group", "nonesuch")
    whole.wait_lines(5)
    part.wait_lines(5)
    assert {line["type"] for line in whole.lines()} == {"cluster"}
    by_time = {line["time"]: line for line in whole.lines()}
    shared = [line for line in part.lines() if line["time"] in by_time]
    assert shared
    for line in part.lines():
        assert line["type"] == "cluster" and set(line["report"]["system_data"]) <= {"load", "vm"}
    for line in shared:
        other = by_time[line["time"]]
        assert line["nodes"] == other["nodes"] and line["spread"] == other["spread"]
        for name, group in line["report"]["system_data"].items():
            assert group == other["report"]["system_data"][name]
    assert not none.lines()


@pytest.mark.sanitized
def test_no_node_lines(cluster):
    """Standard output has combined reports and events alone; tails still get what they ask for."""
    start_aggregator(cluster, "--no-node-lines")
    cluster.start_agent("n1", period=PERIOD)
    wait_whole_ticks(cluster, 3, 1)
    assert {line["type"] for line in cluster.aggregator.lines()} == {"cluster", "event"}
    tail = cluster.start_tail("--type", "node", "--count", "2")
    assert tail.wait() == 0 and len(tail.lines()) == 2
    assert {line["type"] for line in cluster.aggregator.lines()} == {"cluster", "event"}


@pytest.mark.parametrize("options,word", [
    (("--tick-period", "1ms"), "10ms"),
    (("--tick-period", "1s", "--tick-grace", "2s"), "grace"),
    (("--clock-limit", "soon"), "clock"),
])
def test_options_that_are_wrong(cluster, options, word):
    done = run("aggregator", "--config", cluster.empty, "--keys", cluster.master, *options)
    assert done.returncode == 2 and word in done.stderr, done


def test_ticks_that_are_longer_than_the_nodes_period(cluster):
    """Of several samples the one at the tick's instant is taken, one of each node."""
    cluster.start_aggregator("--tick-period", "1s")
    cluster.start_nodes("n1", "n2", period="250ms")
    ticks = wait_whole_ticks(cluster, 4, 2)
    assert all(line["nodes"]["reporting"] <= 2 for line in cluster.aggregator.lines(type="cluster"))
    assert statistics.median(line["spread"] for line in ticks) < 0.1
    times = [time_ns(line["time"]) for line in ticks]
    assert all(at % S == 0 for at in times)


def test_group_with_a_period_of_its_own(cluster):
    """Its frames between the ticks do not stand for the node's other groups."""
    start_aggregator(cluster)
    cluster.start_agent("n1", period=PERIOD)
    cluster.start_agent("n2", period=PERIOD, config="[group load]\nperiod = 750ms\n")
    wait_whole_ticks(cluster, 3, 2)
    ticks = wait_whole_ticks(cluster, 9, 2, after=cluster.aggregator.mark())
    reports = [line["report"]["system_data"] for line in ticks]
    assert all(report["vm"]["nodes"] == 2 for report in reports), [report.get("vm") for report in reports]
    assert {report["load"]["nodes"] for report in reports} == {1, 2}
