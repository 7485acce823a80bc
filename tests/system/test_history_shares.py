"""One node with a listed key that asks for more of the history than its share: the others lose nothing, their lines are as
prompt as before, the aggregator answers, stays small, keeps its file within bounds, and ends when it is told to."""

import contextlib
import os
import sqlite3
import time

from lib import protocol
from lib.cluster import assert_contiguous
from lib.hostile import MIB, evil, good_frame
from lib.programs import memory_bytes, parse_line, peak_reset, run

HEALTHY = ("n1", "n2")
QUEUE, MAX_SIZE = 16 * MIB, 4 * MIB
CONFIG = f"[history]\nqueue = {QUEUE // MIB}M\nchunk_time = 1s\nmax_size = {MAX_SIZE // MIB}M\n"
GROWTH = 3 * QUEUE  # what waits, and what the heap and SQLite take beside it
PROMPT = 1.0


class Siege:
    """with Siege(cluster) as siege: the evil node, siege.peer, attacks in `for number in siege.turns(...)`. What must hold
    beside it is looked at meanwhile and afterwards."""

    def __init__(self, cluster):
        self.cluster, self.stack = cluster, contextlib.ExitStack()
        self.asked, self.ages = [], []

    def __enter__(self):
        cluster = self.cluster
        cluster.keys_of("evil")
        self.aggregator = cluster.start_aggregator(config=CONFIG)
        cluster.start_nodes(*HEALTHY, period="100ms")
        self.aggregator.wait_lines(20, type="node")
        self.before = memory_bytes(self.aggregator.pid)
        peak_reset(self.aggregator.pid)
        self.peer = self.stack.enter_context(evil(cluster))
        self.peer.start()
        return self

    def look(self):
        """How long the status takes, and how old the last frame of each healthy node is."""
        begun = time.monotonic()
        status = self.cluster.status()
        self.asked.append(time.monotonic() - begun)
        self.ages += [one["last_seen"] for one in status["nodes"] if one["node"] in HEALTHY]

    def turns(self, each, seconds):
        """Numbers, so many a second."""
        begun, number = time.monotonic(), 0
        while time.monotonic() < begun + seconds:
            while number < (time.monotonic() - begun) * each:
                yield number
                number += 1
            self.peer.pump()
            if len(self.asked) < time.monotonic() - begun:
                self.look()
            time.sleep(0.002)

    def __exit__(self, kind, *_):
        with self.stack:
            if kind is not None:
                return
            for node in HEALTHY:
                self.aggregator.wait_lines(10, after=self.aggregator.mark(), type="node", node=node)
            grown = memory_bytes(self.aggregator.pid, "VmHWM") - self.before
            begun = time.monotonic()
            self.aggregator.stop()
            ended = time.monotonic() - begun
        print(f"grown by {grown / MIB:.1f} MiB, status within {max(self.asked):.2f} s, lines within {max(self.ages):.2f} s, "
              f"ended within {ended:.1f} s, file {os.path.getsize(self.cluster.history) / MIB:.1f} MiB")
        self.assert_whole()
        assert max(self.asked) < PROMPT and max(self.ages) < PROMPT
        assert grown < GROWTH
        assert ended < 40

    def assert_whole(self):
        """All lines of the healthy nodes are there, and all their frames in the history, which is whole and not too large."""
        cluster = self.cluster
        done = run("aggregator", "check", cluster.history)
        assert done.returncode == 0, done.stdout
        lines = self.aggregator.lines(type="node")
        for node in HEALTHY:
            assert_contiguous(lines, node)
            seen = {(line["session"], line["seq"]) for line in lines if line["node"] == node}
            shown = run("aggregator", "replay", "--config", cluster.empty, "--history", cluster.history, "--from", "-1h",
                        "--node", node, "--type", "node", "--group", "load")
            stored = {(line["session"], line["seq"]) for line in map(parse_line, shown.stdout.splitlines())}
            missing = len(seen - stored)
            assert not missing, f"{missing} of {len(seen)} frames of {node} are not in the history"


def used(path):
    with contextlib.closing(sqlite3.connect(path)) as file:
        pages, unused, size = (file.execute(f"PRAGMA {name}").fetchone()[0]
                               for name in ("page_count", "freelist_count", "page_size"))
        return (pages - unused) * size


def test_new_session_with_each_frame(cluster):
    """10 MB a second that cannot be compressed, each frame of a session of its own: many chunks, and more than the file may
    hold."""
    with Siege(cluster) as siege:
        for _ in siege.turns(each=500, seconds=5):
            siege.peer.session += 2
            siege.peer.publish_raw(protocol.pack(good_frame(siege.peer, sequence=1, more=[os.urandom(20000)])))
    assert cluster.aggregator.lines(type="event", event="over_share", node="evil")
    assert used(cluster.history) < MAX_SIZE + MIB


def test_new_schema_with_each_session(cluster):
    """A new schema of 200 kB with each session, as fast as they are taken."""
    with Siege(cluster) as siege:
        peer = siege.peer
        for number in siege.turns(each=60, seconds=5):
            metrics = [protocol.Metric(f"m{number}_{index}", protocol.GAUGE, flags=protocol.OF_NODE, help="x" * 380)
                       for index in range(500)]
            peer.groups = [peer.groups[0], protocol.Group("large", metrics=metrics)]
            peer.schema = protocol.schema_bytes(peer.groups)
            peer.hash = protocol.schema_hash(peer.schema)
            peer.session += 2
            peer.hello()
            peer.send_schema()
            peer.publish_raw(protocol.pack(good_frame(peer, sequence=1)))
    events = cluster.aggregator.lines(type="event", node="evil")
    assert len([event for event in events if event["event"] == "schema_new"]) < 20
    assert [event for event in events if event["event"] == "over_share" and event["what"] == "schemas"]
    assert used(cluster.history) < MAX_SIZE + MIB
