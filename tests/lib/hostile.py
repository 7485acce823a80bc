"""What attacks have in common: two healthy nodes that must lose nothing, and an aggregator that must not grow."""

import os
import resource
import socket
import time

from lib import protocol
from lib.cluster import assert_contiguous, read_key
from lib.peers import AgentPeer
from lib.programs import memory_bytes, parse_line, peak_reset, run, wait_until
from lib.prompt import Beside

MIB = 2**20
PROMPT = 1.0  # s; status and lines of healthy nodes, whatever somebody else does
END = 40  # s, after SIGTERM
GROUP = protocol.Group("plain", metrics=[protocol.Metric("level", protocol.GAUGE, flags=protocol.OF_NODE)])
ROWS = protocol.Group("rows", row="row", rows_name="devices", fold_name="total",
                      metrics=[protocol.Metric("count", protocol.COUNTER), protocol.Metric("text", protocol.TEXT, 11, 0)])
GROUPS = [GROUP, ROWS]


class Siege:
    """with Siege(cluster, growth=8 * MIB) as siege: attack, perhaps in `for number in siege.turns(...)`. Afterwards the
    healthy nodes have whole streams that go on, they stayed up, and the aggregator has at no time grown by more than
    `growth`. Of nodes named by `prompt` each line was written within PROMPT, and so was the status, beyond what an
    aggregator took that was not attacked. `period` is of the healthy nodes; `before` is called
    when there is an aggregator and no node yet; `more` is for the aggregator's start."""

    healthy = ("n1", "n2")

    def __init__(self, cluster, growth=16 * MIB, frames=10, period="200ms", prompt=(), before=lambda: None, **more):
        self.cluster, self.growth, self.frames = cluster, growth, frames
        self.prompt, self.beside = prompt, None
        cluster.keys_of("evil")
        cluster.start_aggregator(**more)
        before()
        cluster.start_nodes(*self.healthy, period=period)
        cluster.aggregator.wait_lines(10, type="node")

    def __enter__(self):
        if self.prompt:
            self.beside = Beside(self.cluster, self.prompt)
        self.before = memory_bytes(self.cluster.aggregator.pid)
        peak_reset(self.cluster.aggregator.pid)
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.survived()
        finally:
            if self.beside:
                self.beside.close()
        if kind is None and self.beside:
            self.beside.assert_within(PROMPT)

    def survived(self):
        aggregator = self.cluster.aggregator
        mark = aggregator.mark()
        for node in self.healthy:
            aggregator.wait_lines(self.frames, after=mark, type="node", node=node)
        grown = memory_bytes(aggregator.pid, "VmHWM") - self.before
        print(f"grown by {grown / MIB:.1f} MiB")
        for node in self.healthy:
            assert_contiguous(aggregator.lines(), node)
            assert not aggregator.lines(type="event", event="gap", node=node)
            status = self.cluster.node_status(node)
            assert status["state"] == "up" and status["lost"] == 0 and status["rejected"] == 0, status
        assert grown < self.growth, f"grown by {grown / MIB:.1f} MiB"

    def turns(self, peer, each, seconds):
        """Numbers, so many a second."""
        begun, number = time.monotonic(), 0
        while time.monotonic() < begun + seconds:
            while number < (time.monotonic() - begun) * each:
                yield number
                number += 1
            peer.pump()
            time.sleep(0.002)

    def assert_stored(self):
        """The aggregator ends in time; the history is whole, and has all frames of the healthy nodes that were lines."""
        cluster = self.cluster
        begun = time.monotonic()
        cluster.aggregator.stop()
        ended = time.monotonic() - begun
        print(f"ended within {ended:.1f} s, file {os.path.getsize(cluster.history) / MIB:.1f} MiB")
        assert ended < END
        done = run("aggregator", "check", cluster.history)
        assert done.returncode == 0, done.stdout
        for node in self.healthy:
            seen = {(line["session"], line["seq"]) for line in cluster.aggregator.lines(type="node", node=node)}
            shown = run("aggregator", "replay", "--config", cluster.empty, "--history", cluster.history, "--from", "-1h",
                        "--node", node, "--type", "node", "--group", "load")
            stored = {(line["session"], line["seq"]) for line in map(parse_line, shown.stdout.splitlines())}
            missing = len(seen - stored)
            assert not missing, f"{missing} of {len(seen)} frames of {node} are not in the history"

    def counters(self):
        return self.cluster.status()["counters"]


def evil(cluster, groups=None, **more):
    """A node whose key is listed; what it does with it is its own affair."""
    keys = cluster.folder / "keys" / "evil"
    pair = read_key(keys / "agent.pub"), read_key(keys / "agent.key")
    return AgentPeer(cluster.endpoint, "evil", pair, read_key(keys / "aggregator.pub"), groups or GROUPS, **more)


def good_frame(peer, level=1, **more):
    return peer.frame([protocol.table_wire(peer.groups, "plain", 10**9, {"level": level})], **more)


def proves_alive(cluster, peer):
    """The evil node begins anew and sends one good frame after all: it becomes a line."""
    peer.session += 1000
    peer.sequence = 0
    peer.hash = protocol.schema_hash(peer.schema)
    peer.hello()
    session = f"{peer.session:016x}"

    def there():
        peer.pump()
        peer.publish_raw(protocol.pack(good_frame(peer)))
        return cluster.aggregator.lines(type="node", node="evil", session=session)

    wait_until(there, "a line of the node that had been evil")


def addresses(endpoint):
    """Of the data and the control port."""
    host, port = endpoint.removeprefix("tcp://").rsplit(":", 1)
    return (host, int(port)), (host, int(port) + 1)


def connect(address):
    client = socket.create_connection(address, timeout=60)
    client.setblocking(False)
    return client


def many_files():
    """As many open files as this process may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
