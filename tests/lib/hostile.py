"""What attacks have in common: two healthy nodes that must lose nothing, and an aggregator that must not grow."""

import resource
import socket

from lib import protocol
from lib.cluster import assert_contiguous, read_key
from lib.peers import AgentPeer
from lib.programs import memory_bytes, peak_reset, wait_until

MIB = 2**20
GROUP = protocol.Group("plain", metrics=[protocol.Metric("level", protocol.GAUGE, flags=protocol.OF_NODE)])
ROWS = protocol.Group("rows", row="row", rows_name="devices", fold_name="total",
                      metrics=[protocol.Metric("count", protocol.COUNTER), protocol.Metric("text", protocol.TEXT, 11, 0)])
GROUPS = [GROUP, ROWS]


class Siege:
    """with Siege(cluster, growth=8 * MIB) as siege: attack. Afterwards the healthy nodes have whole streams that go on,
    they stayed up, and the aggregator has at no time grown by more than `growth`. `more` is for its start."""

    healthy = ("n1", "n2")

    def __init__(self, cluster, growth=16 * MIB, frames=10, **more):
        self.cluster, self.growth, self.frames = cluster, growth, frames
        cluster.keys_of("evil")
        cluster.start_aggregator(**more)
        cluster.start_nodes(*self.healthy)
        cluster.aggregator.wait_lines(10, type="node")

    def __enter__(self):
        self.before = memory_bytes(self.cluster.aggregator.pid)
        peak_reset(self.cluster.aggregator.pid)
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            return
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
