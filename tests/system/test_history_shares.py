"""One node with a listed key that asks for more of the history than its share: the others lose nothing, their lines are as
prompt as before, the aggregator answers, stays small, keeps its file within bounds, and ends when it is told to."""

import contextlib
import os
import sqlite3

from lib import protocol
from lib.hostile import MIB, Siege, evil, good_frame

QUEUE, MAX_SIZE = 16 * MIB, 4 * MIB
SIEGE = {"growth": 3 * QUEUE,  # what waits, and what the heap and SQLite take beside it
         "period": "100ms",
         "prompt": Siege.healthy,
         "config": f"[history]\nqueue = {QUEUE // MIB}M\nchunk_time = 1s\nmax_size = {MAX_SIZE // MIB}M\n"}


def used(path):
    with contextlib.closing(sqlite3.connect(path)) as file:
        pages, unused, size = (file.execute(f"PRAGMA {name}").fetchone()[0]
                               for name in ("page_count", "freelist_count", "page_size"))
        return (pages - unused) * size


def test_new_session_with_each_frame(cluster):
    """10 MB a second that cannot be compressed, each frame of a session of its own: many chunks, and more than the file may
    hold."""
    with Siege(cluster, **SIEGE) as siege, evil(cluster) as peer:
        peer.start()
        for _ in siege.turns(peer, each=500, seconds=5):
            peer.session += 2
            peer.publish_raw(protocol.pack(good_frame(peer, sequence=1, more=[os.urandom(20000)])))
    siege.assert_stored()
    assert cluster.aggregator.lines(type="event", event="over_share", node="evil")
    assert used(cluster.history) < MAX_SIZE + MIB


def test_new_schema_with_each_session(cluster):
    """A new schema of 200 kB with each session, as fast as they are taken."""
    with Siege(cluster, **SIEGE) as siege, evil(cluster) as peer:
        peer.start()
        for number in siege.turns(peer, each=60, seconds=5):
            metrics = [protocol.Metric(f"m{number}_{index}", protocol.GAUGE, flags=protocol.OF_NODE, help="x" * 380)
                       for index in range(500)]
            peer.groups = [peer.groups[0], protocol.Group("large", metrics=metrics)]
            peer.schema = protocol.schema_bytes(peer.groups)
            peer.hash = protocol.schema_hash(peer.schema)
            peer.session += 2
            peer.hello()
            peer.send_schema()
            peer.publish_raw(protocol.pack(good_frame(peer, sequence=1)))
    siege.assert_stored()
    events = cluster.aggregator.lines(type="event", node="evil")
    assert len([event for event in events if event["event"] == "schema_new"]) < 20
    assert [event for event in events if event["event"] == "over_share" and event["what"] == "schemas"]
    assert used(cluster.history) < MAX_SIZE + MIB


def test_gaps_in_the_numbers(cluster):
    """Every second sequence number is left out, at 4,000 a second: each frame is a chunk of its own."""
    with Siege(cluster, **SIEGE) as siege, evil(cluster) as peer:
        peer.start()
        for number in siege.turns(peer, each=4000, seconds=6):
            peer.publish_raw(protocol.pack(good_frame(peer, sequence=2 * number + 1)))
    siege.assert_stored()
    assert used(cluster.history) < MAX_SIZE + MIB
