"""What is younger than a chunk of the history: replay and export have the aggregator write it. And the frames as they were
sent, in order."""

import datetime
import io
import os
import shutil
import sqlite3
import time

import msgpack
import pytest
from lib.cluster import read_key
from lib.peers import AgentPeer
from lib.programs import parse_line, run, wait_until
from lib.protocol import COUNTER, OF_NODE, Group, Metric, table_wire

S = 1_000_000_000
GROUPS = [Group("plain", section="odd_data", metrics=[Metric("count", COUNTER, flags=OF_NODE)])]


def history(cluster, command, *options, socket=None, of=None, **more):
    """Chunks of 64 frames or 60 s are the default: nothing is written by itself while a test runs."""
    return run("aggregator", command, "--config", cluster.empty, "--history", of or cluster.history, "--socket",
               socket or cluster.socket, *options, **more)


def replay(cluster, *options, **more):
    done = history(cluster, "replay", *options, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def printed(cluster):
    *whole, _ = cluster.aggregator.out_path.read_text().split("\n")
    return whole


# ---- what is young ----


@pytest.mark.sanitized
def test_replay_shows_what_was_just_printed(cluster):
    cluster.start_aggregator("--tick-period", "200ms")
    cluster.start_nodes("n1", "n2", period="100ms")
    for _ in range(2):
        before = printed(cluster)
        assert len(before) > 5
        done = history(cluster, "replay")
        assert done.stderr == ""
        shown = done.stdout.splitlines()
        # The interval ends with the second command's start, which frames of the next moments lie behind.
        assert shown[: len(before)] == before
        cluster.aggregator.wait_lines(20, after=cluster.aggregator.mark(), type="node")
    assert cluster.aggregator.stop() == 0
    assert replay(cluster) == printed(cluster)


def test_a_past_interval_writes_nothing_early(cluster):
    cluster.start_aggregator()
    cluster.start_nodes("n1", period="50ms")
    assert cluster.counter("chunks") == 0
    for _ in range(5):
        assert replay(cluster, "--from", "-2h", "--to", "-1h") == []
    assert cluster.counter("chunks") == 0
    assert len(replay(cluster)) > 0
    assert cluster.counter("chunks") > 0


def test_another_file_is_left_alone(cluster):
    cluster.start_aggregator()
    cluster.start_nodes("n1", period="50ms")
    other = cluster.folder / "other.db"
    shutil.copy(cluster.history, other)
    for name in ("history.db-wal", "history.db-shm"):
        if (cluster.folder / name).exists():
            shutil.copy(cluster.folder / name, cluster.folder / name.replace("history", "other"))
    done = history(cluster, "replay", of=other)
    assert done.returncode == 0 and done.stderr == ""
    assert cluster.counter("chunks") == 0
    link = cluster.folder / "link.db"
    link.symlink_to(cluster.history)
    assert len(replay(cluster, of=link.resolve())) > 0 # but it is the same by whatever name
    assert cluster.counter("chunks") > 0


def test_stored_lines_without_an_aggregator(cluster):
    """Nobody there is no reason for words; one who may not be asked is."""
    cluster.start_aggregator(config="[history]\nchunk_frames = 4\nchunk_time = 100ms\n")
    cluster.start_nodes("n1", period="50ms")
    wait_until(lambda: cluster.counter("frames_stored") >= 20, "stored frames")
    nobody = {}
    if os.geteuid() == 0:
        os.chmod(cluster.folder, 0o755)
        for file in cluster.history.parent.glob(f"{cluster.history.name}*"):
            file.chmod(0o644)  # this operator lets anybody read it
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    else:
        os.chmod(cluster.socket, 0)
    done = history(cluster, "replay", "--type", "node", **nobody)
    assert done.returncode == 0 and len(done.stdout.splitlines()) >= 20
    assert "Permission denied" in done.stderr and "may be missing" in done.stderr
    assert cluster.aggregator.stop() == 0
    done = history(cluster, "replay", "--type", "node")
    assert len(done.stdout.splitlines()) >= 20 and done.stderr == ""
    done = history(cluster, "replay", socket=cluster.empty / "s")
    assert "Not a directory" in done.stderr


@pytest.mark.sanitized
def test_readers_that_ask_often_wait(cluster):
    """Three at once are served; the fourth waits, and still shows everything."""
    cluster.start_aggregator()
    cluster.start_nodes("n1", period="50ms")
    for count in range(1, 4):
        cluster.aggregator.wait_lines(4, after=cluster.aggregator.mark(), type="node")
        assert replay(cluster, "--type", "node")
        assert cluster.counter("chunks") >= count
    cluster.aggregator.wait_lines(4, after=cluster.aggregator.mark(), type="node")
    chunks, before = cluster.counter("chunks"), [line for line in printed(cluster) if '"type":"node"' in line]
    shown = replay(cluster, "--type", "node")
    assert shown[: len(before)] == before
    # About ten seconds of frames went into the chunks of that one.
    assert cluster.counter("chunks") <= chunks + 6


def test_a_history_that_fails_says_so(cluster):
    cluster.start_aggregator()
    cluster.start_nodes("n1", period="50ms")
    assert cluster.aggregator.stop() == 0
    stored = replay(cluster)
    cluster.start_aggregator("--history-enabled=no")
    assert replay(cluster) == stored # it writes none: nothing to say
    cluster.aggregator.stop()


# ---- frames as they were sent ----


def play(cluster, name, session):
    keys = cluster.keys_of(name)
    pair = read_key(keys / "agent.pub"), read_key(keys / "agent.key")
    return AgentPeer(cluster.endpoint, name, pair, read_key(keys / "aggregator.pub"), GROUPS, session=session)


def send_frames(cluster, peer, count):
    """What was sent: {(node, session, seq): bytes}."""
    sent = {}
    peer.start()
    for _ in range(count):
        frame = peer.frame([table_wire(GROUPS, "plain", S, {"count": len(sent) * 7})], more=("of a newer agent", 1.5))
        data = msgpack.packb(frame, use_bin_type=True)
        peer.publish_raw(data)
        sent[peer.node, peer.session, peer.sequence] = data

    def all_shown():
        peer.pump()
        return len(cluster.aggregator.lines(type="node", node=peer.node, session=f"{peer.session:016x}")) == count

    wait_until(all_shown, f"{count} lines of {peer.node}")
    return sent


def exported(cluster, name, *options):
    to = cluster.folder / name
    done = history(cluster, "export", "--format", "msgpack", "-o", to, *options)
    assert done.returncode == 0, done.stderr
    return to.read_bytes()


@pytest.mark.sanitized
def test_frames_byte_for_byte(cluster):
    """Also such that this program writes otherwise, or with fields that it does not know."""
    for node in ("b", "a"):
        cluster.keys_of(node)
    cluster.start_aggregator()
    sent = {}
    for node, session, count in (("b", 2**63 + 5, 70), ("a", 2**64 - 1, 5), ("a", 9, 130), ("b", 77, 3)):
        with play(cluster, node, session) as peer:
            sent |= send_frames(cluster, peer, count)
    ordered = [sent[key] for key in sorted(sent)]
    assert exported(cluster, "all") == b"".join(ordered)
    of_a = [sent[key] for key in sorted(sent) if key[0] == "a"]
    assert exported(cluster, "a", "--node", "a") == b"".join(of_a)

    lines = [line for line in map(parse_line, printed(cluster)) if line["type"] == "node"]
    times = sorted(line["time"] for line in lines)
    begin, end = times[50], times[150]
    inside = {(line["node"], int(line["session"], 16), line["seq"]) for line in lines if begin <= line["time"] < end}
    assert 50 < len(inside) < 150
    assert exported(cluster, "some", "--from", begin, "--to", end) == b"".join(sent[key] for key in sorted(inside))

    # Unless asked otherwise, it is all of the history, while tables are of the last hour.
    assert cluster.aggregator.stop() == 0
    with sqlite3.connect(cluster.history) as database:
        database.execute("UPDATE chunks SET first_time = first_time - ?1, last_time = last_time - ?1", (7200 * S,))
    database.close()
    assert exported(cluster, "old") == b"".join(ordered)
    assert exported(cluster, "young", "--from", "-1h") == b""

    again = history(cluster, "export", "--format", "msgpack", "-o", cluster.folder / "all")
    assert again.returncode == 1 and "exists" in again.stderr
    full = history(cluster, "export", "--format", "msgpack", "-o", "/dev/full")
    assert full.returncode == 1 and "/dev/full" in full.stderr


# ---- restarts ----


def welcomed_since(agent, moment):
    """Was the newest change of its connection a welcome, and after `moment`?"""
    changes = [line for line in agent.log().splitlines() if ": publishing node " in line or "lost the aggregator" in line]
    stamp = datetime.datetime.fromisoformat(changes[-1].split()[0].replace("Z", "+00:00")) if changes else None
    return changes and "publishing" in changes[-1] and stamp.timestamp() > moment


def test_a_tick_that_is_open_at_the_end_is_in_no_report(cluster):
    """One node's frame of a tick comes before SIGTERM, the other's to the next run: what that prints, replay shows."""
    for node in ("a", "b"):
        cluster.keys_of(node)
    seen = []
    time.sleep(4 - time.time() % 4)  # at the instant of a tick, to which frames of the next 2 s belong
    for node, session in (("a", 5), ("b", 6)):
        cluster.start_aggregator("--tick-period", "4s", "--tick-grace", "4s")
        with play(cluster, node, session) as peer, play(cluster, "b", 7) as silent:
            if node == "a":
                silent.start(period_ns=4 * S)  # the tick waits for it
            peer.start(period_ns=4 * S)
            for count in (1, 2) if node == "b" else (1,):
                if count == 2:
                    time.sleep(4 - time.time() % 4)
                frame = peer.frame([table_wire(GROUPS, "plain", 4 * S, {"count": count})])
                peer.publish_raw(msgpack.packb(frame, use_bin_type=True))
                cluster.aggregator.wait_lines(count, type="node", node=node)
                assert count == 2 or time.time() % 4 < 2, "too slow for this"
            if node == "b":
                cluster.aggregator.wait_lines(1, type="cluster")
        assert cluster.aggregator.stop() == 0
        seen += printed(cluster)
    assert replay(cluster) == seen
    assert [line["nodes"]["reporting"] for line in map(parse_line, seen) if line["type"] == "cluster"][:1] == [1]


def test_stopped_aggregator_loses_and_repeats_nothing(cluster):
    """SIGTERM, while agents go on: each frame has one line, of one run or the other, and history has it once."""
    cluster.start_aggregator()
    cluster.start_nodes("n1", "n2", period="20ms")
    seen = []
    for _ in range(3):
        mark = cluster.aggregator.mark()
        cluster.aggregator.wait_lines(60, after=mark, type="node", node="n1")
        assert cluster.aggregator.stop() == 0
        seen += printed(cluster)
        started = time.time()
        cluster.start_aggregator()
        cluster.wait_node("n1")
    # From the hello on what it lacks of either is known; frames of a schema that the history has may come before that. The
    # control channel of a node may not have been there yet when an aggregator was stopped: the last one alone is sure.
    for agent in cluster.agents.values():
        wait_until(lambda: welcomed_since(agent, started), "the last welcome")  # pylint: disable=W0640
    wait_until(lambda: cluster.counter("missing") == 0, "nothing that is missing")
    for agent in cluster.agents.values():
        agent.stop()
    assert cluster.aggregator.stop() == 0
    seen += printed(cluster)
    lines = [line for line in map(parse_line, seen) if line["type"] == "node"]
    for node in ("n1", "n2"):
        numbers = sorted(line["seq"] for line in lines if line["node"] == node)
        assert numbers == list(range(1, len(numbers) + 1)), "each frame has one line"
    assert not [line for line in map(parse_line, seen) if line.get("event") == "gap"]
    assert replay(cluster) == seen
    frames = list(msgpack.Unpacker(io.BytesIO(exported(cluster, "frames")), raw=False))
    assert [(frame[1], frame[3]) for frame in frames] == sorted((line["node"], line["seq"]) for line in lines)
