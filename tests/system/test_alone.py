"""Agents that begin while no aggregator can be reached: what they sample is there when it can. The truth is their log of
frames. Nothing here waits for a time, only for what must come."""

from collections import Counter

import msgpack
import pytest
from lib.cut_relay import Relay
from lib.programs import parse_line, run, time_ns, wait_until


def log_of(cluster, node):
    return cluster.folder / f"{node}.frames"


def sampled(cluster, node):
    """(session, seq) of all frames in the log, in order."""
    with open(log_of(cluster, node), "rb") as file:
        unpacker = msgpack.Unpacker(file, raw=False, strict_map_key=False)
        return [(f"{frame[2]:016x}", frame[3]) for frame in unpacker]


def shown(cluster, node):
    return cluster.aggregator.lines(type="node", node=node)


def start(cluster, endpoint, node="n1", **more):
    direct, cluster.endpoint = cluster.endpoint, endpoint
    made = cluster.start_agent(node, "--frame-log", log_of(cluster, node), **{"period": "50ms", **more})
    cluster.endpoint = direct
    return made


def wait_more(cluster, node, count):
    log = log_of(cluster, node)
    before = len(sampled(cluster, node)) if log.exists() else 0
    wait_until(lambda: log.exists() and len(sampled(cluster, node)) >= before + count, "frames without an aggregator")


def wait_all(cluster, node):
    """Each frame in the log until now has one line."""
    frames = sampled(cluster, node)

    def missing():
        return set(frames) - {(line["session"], line["seq"]) for line in shown(cluster, node)}

    wait_until(lambda: not missing(), f"all frames of {node}")
    count = Counter((line["session"], line["seq"]) for line in shown(cluster, node))
    assert len(frames) == len(set(frames)) and set(count.values()) == {1}
    assert not cluster.aggregator.lines(type="event", event="gap")
    return frames


@pytest.fixture
def relay(cluster):
    cluster.start_aggregator()
    made = Relay(cluster.endpoint)
    made.cut()
    yield made
    made.close()


@pytest.mark.sanitized
def test_agent_first(cluster, relay):
    """Its frames come late, the facts with a live one too, and history has them all."""
    start(cluster, relay.endpoint)
    wait_more(cluster, "n1", 30)
    relay.restore()
    cluster.wait_node("n1", check=lambda line: not line.get("late") and "hardware_info" in line["report"])
    frames = wait_all(cluster, "n1")
    assert frames == [(frames[0][0], number) for number in range(1, len(frames) + 1)]
    late = [line["seq"] for line in shown(cluster, "n1") if line.get("late")]
    assert late[:30] == list(range(1, 31))
    times = {line["seq"]: time_ns(line["time"]) for line in shown(cluster, "n1")}
    ordered = [times[number] for number in sorted(times)]
    assert ordered == sorted(ordered)
    cluster.agents["n1"].stop()
    frames = wait_all(cluster, "n1")
    assert cluster.aggregator.stop() == 0
    stored = run("aggregator", "replay", "--config", cluster.empty, "--history", cluster.history, "--socket",
                 cluster.socket, "--type", "node")
    assert {(line["session"], line["seq"]) for line in map(parse_line, stored.stdout.splitlines())} == set(frames)


def test_agents_that_were_killed_before_they_were_heard(cluster, relay):
    """Also of a node that is known, whose earlier sessions have been fetched."""
    for _ in range(2):
        relay.cut()
        for _ in range(2):
            agent = start(cluster, relay.endpoint)
            wait_more(cluster, "n1", 10)
            agent.kill()
        relay.restore()
        start(cluster, relay.endpoint)
        wait_more(cluster, "n1", 10)
        wait_all(cluster, "n1")
        cluster.agents["n1"].kill()
    start(cluster, relay.endpoint)
    wait_more(cluster, "n1", 10)
    assert len({session for session, _ in wait_all(cluster, "n1")}) == 7


def test_aggregator_first(cluster, relay):
    """The usual case: nothing is late, and the first sample is on cluster time."""
    for node in ("n1", "n2", "n3"):
        start(cluster, cluster.endpoint, node, period="1s")
    for node in ("n1", "n2", "n3"):
        line = cluster.wait_node(node)
        assert line["seq"] == 1 and not line.get("late")
        assert (time_ns(line["time"]) + 10**8) % 10**9 < 3 * 10**8, line["time"]
        cluster.agents[node].stop()
        wait_all(cluster, node)
    assert not cluster.aggregator.lines(type="event", event="replayed")
    assert not relay.listeners
