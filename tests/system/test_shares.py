"""One node that takes more than its share of connections, of a line, of a frame: it is held back by name, and nobody else
is."""

import contextlib
import os
import time

import pytest
import zmq
from lib import protocol
from lib.cluster import assert_contiguous, read_key
from lib.crowd import crowds
from lib.hostile import GROUP, MIB, Siege, evil, good_frame, many_files, proves_alive
from lib.peers import control_endpoint, curve_client, own_context
from lib.programs import cpu_seconds, wait_until

CROWD = int(os.environ.get("CROWD", 0))
KEY_CONNECTIONS = 2 * 8  # of one key, both ports


def as_fast_as_can_be(peer, frames, seconds):
    """Publishes frames (number) for so long, and no more than the aggregator's side takes."""
    peer.data.setsockopt(zmq.XPUB_NODROP, 1)
    peer.data.sndtimeo = 100
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        with contextlib.suppress(zmq.Again):
            peer.publish_raw(frames(number))
            number += 1
        if number % 16 == 0:
            peer.pump()


@contextlib.contextmanager
def connections(cluster, count):
    """So many of the evil node's key, half of them on each port."""
    folder = cluster.folder / "keys" / "evil"
    keys = read_key(folder / "agent.pub"), read_key(folder / "agent.key")
    context = own_context()
    context.max_sockets = count + 10
    clients = []
    for number in range(count):
        client = context.socket(zmq.DEALER if number % 2 else zmq.PUB)
        curve_client(client, keys, read_key(folder / "aggregator.pub"))
        client.connect(control_endpoint(cluster.endpoint) if number % 2 else cluster.endpoint)
        clients.append(client)
    yield
    context.destroy(linger=0)


def test_connections_of_one_key(cluster):
    """300 of one key, where there are 256 descriptors: status answers, keys come and go, a node starts anew, and who has
    too many is told so."""
    many_files()
    with Siege(cluster, prompt=("n1",), prefix=("prlimit", "--nofile=256:256")), connections(cluster, 300):
        cluster.wait_counter("connections_refused", 300 - KEY_CONNECTIONS)
        event = cluster.wait_event("rejected", node="evil", what="connection")
        assert "8 connections" in event["error"]
        used = cpu_seconds(cluster.aggregator.pid)
        cluster.status()
        cluster.keys_of("n3")
        cluster.succeed("aggregator", "keys", "revoke", "n3", "--keys", cluster.master, "--socket", cluster.socket)
        mark = cluster.aggregator.mark()
        cluster.agents["n2"].stop()
        cluster.start_agent("n2")
        cluster.wait_node("n2", after=mark)
        told = cluster.start_agent("evil")
        wait_until(lambda: "has as many connections of it as a key may have" in told.log(), "the agent is told")
        assert "does not admit" not in told.log()
        wait_until(lambda: cluster.counter("connections") <= KEY_CONNECTIONS + 4, "those refused are ended")
        cluster.aggregator.wait_lines(10, after=cluster.aggregator.mark(), type="node", node="n1")
        assert cpu_seconds(cluster.aggregator.pid) - used < 2  # it does not spin
        assert len(cluster.aggregator.lines(type="event", event="rejected", node="evil")) == 1
    cluster.wait_node("evil")  # its agent tries again


def test_line_in_proportion(cluster):
    """262,144 values that are missing, under long names: 65 kB of a frame, which were 18 MB of a line."""
    names = [f"{'long_name_' * 6}{number:04}" for number in range(4)]
    groups = [protocol.Group("plain", metrics=[protocol.Metric("level", protocol.GAUGE, flags=protocol.OF_NODE)]),
              protocol.Group("wide", row="row", rows_name="rows", fold_name="total",
                             metrics=[protocol.Metric(name, protocol.COUNTER) for name in names])]
    with Siege(cluster, growth=48 * MIB, prompt=Siege.healthy), evil(cluster, groups) as peer:
        healthy = cluster.start_tail("--node", "n1")
        healthy.wait_line(type="node")
        peer.start()
        proves_alive(cluster, peer)
        wide = [1, 10**9, None, 65536, [], [None, None, None, [None] * 65536]]
        level = protocol.table_wire(groups, "plain", 10**9, {"level": 1})
        for number in range(60):
            peer.publish_raw(protocol.pack(peer.frame([level, wide], sequence=100 + number)))
        line = cluster.wait_node("evil", check=lambda line: line["seq"] == 159)
        assert "65536 rows of 4 values are left out" in line["report"]["system_data"]["wide"]["error"], line
        assert line["report"]["system_data"]["wide"]["rows"] == {}
        assert line["report"]["system_data"]["plain"]["level"] == 1
        event = cluster.wait_event("rejected", node="evil", what="line")
        assert "group wide of a frame of 65" in event["error"]
        cluster.wait_counter("lines_cut", 60)
        assert len(cluster.aggregator.lines(type="event", event="rejected", what="line")) == 1
        healthy.wait_lines(20, type="node")
        assert_contiguous(healthy.lines(), "n1")
        assert not healthy.lines(type="event", event="dropped")


def test_frames_that_take_long(cluster):
    """130 kB each, of 15,000 rows that move: a second's worth of them is many seconds of work, and more always wait."""
    group = protocol.Group("wide", row="row", rows_name="rows", fold_name="total",
                           metrics=[protocol.Metric(f"m{number}", protocol.COUNTER) for number in range(4)])

    def table(turn):
        labels = [f"{(number * 7 + turn) % 30000:x}" for number in range(15000)]
        return protocol.pack([1, 10**9, None, labels, [], [[(number + turn) % 128 for number in range(15000)]] * 4])

    tables = [table(turn) for turn in range(7)]
    with Siege(cluster, growth=128 * MIB, prompt=Siege.healthy), evil(cluster, [GROUP, group]) as peer:
        peer.start()
        as_fast_as_can_be(peer, lambda number: protocol.pack(peer.frame([]))[:-1] + b"\x91" + tables[number % 7], 1.5)
        assert cluster.counter("dropped_user") > 0, "the aggregator was faster"
        peer.data.close()


def test_frame_too_large(cluster):
    """An agent that does not keep to max_frame: the frame is left out, the connection stays, and an event says why."""
    with Siege(cluster), evil(cluster) as peer:
        peer.start()
        proves_alive(cluster, peer)
        accepted = cluster.counter("accepted")
        for number in range(5):
            peer.publish_raw(protocol.pack(good_frame(peer, sequence=100 + number, more=["x" * 300_000])))
        event = cluster.wait_event("rejected", node="evil", what="large_frame")
        assert "over [aggregator] max_frame, 262144" in event["error"]
        cluster.wait_counter("frames_large", 5)
        proves_alive(cluster, peer)
        assert cluster.counter("accepted") == accepted


def test_thousands_of_connections_of_one_key(cluster):
    """8,000, all of one address, where there are 1,024 descriptors: nobody else is held up."""
    with Siege(cluster, growth=96 * MIB, prompt=Siege.healthy, prefix=("prlimit", "--nofile=1024:1024")), \
            crowds(cluster, 1, 8000, 1):
        cluster.wait_counter("accepted", 8000)
        wait_until(lambda: cluster.counter("connections") <= KEY_CONNECTIONS + 4, "the others are ended or refused")


@pytest.mark.skipif(not CROWD, reason="CROWD says how many: make soak")
def test_crowd(cluster):
    """More than there are descriptors, of 160 addresses."""
    with Siege(cluster, growth=400 * MIB, prompt=Siege.healthy), crowds(cluster, 2, CROWD // 2, 80):
        cluster.wait_counter("accepted", CROWD, limit=600)
        wait_until(lambda: cluster.counter("connections") <= KEY_CONNECTIONS + 4, "the others are ended or refused", 300)
