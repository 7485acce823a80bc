"""An aggregator that asks too much of an agent, or has less room than one: samples go on in any case."""

import os
import subprocess
import time

import pytest
from lib import protocol
from lib.cluster import read_key
from lib.peers import AggregatorPeer

pytestmark = pytest.mark.sanitized


@pytest.fixture
def peer(cluster):
    keys = cluster.keys_of("n1")
    users = {read_key(keys / "agent.pub"): "n1"}
    secret, public = read_key(cluster.master / "aggregator.key"), read_key(cluster.master / "aggregator.pub")
    with AggregatorPeer(secret, public, users) as made:
        cluster.endpoint = made.endpoint
        yield made


def welcomed(cluster, peer):
    """Starts the agent; returns where messages to it go, and its session."""
    agent = cluster.start_agent("n1", period="100ms")
    peer.wait_frames(3)
    return agent, peer.messages[0][0], peer.hellos()[0].session


def test_replay_requests_without_end(cluster, peer):
    """As fast as can be, each for all that there ever was, in pieces that no frame fits: it samples on, and ends."""
    agent, routing, session = welcomed(cluster, peer)
    first, asked, end = peer.decoded()[-1].sequence, 0, time.monotonic() + 2
    while time.monotonic() < end:
        for _ in range(200):
            peer.send(routing, protocol.REPLAY_REQUEST, session, 1, 2**63 - 1, 2**32 - 1, 1)
        asked += 200
        peer.pump(1)
    frames = [frame for frame in peer.wait_frames(20) if frame.sequence > first]
    assert [frame.sequence for frame in frames] == list(range(first + 1, first + 1 + len(frames)))
    assert all(frame.received - frame.monotonic_ns < 1e9 for frame in frames)
    answers = sum(message[1] == protocol.REPLAY_END for _, message in peer.messages)
    assert 0 < answers < asked / 4, (answers, asked)
    assert agent.stop() == 0
    assert agent.log().count("faster than it is answered") == 1


def test_wrong_node_is_told_once(cluster, peer):
    agent, routing, session = welcomed(cluster, peer)
    for _ in range(300):
        peer.send(routing, protocol.WRONG_NODE, session, "n2")
    before = len(peer.frames)
    peer.wait(lambda: "refuses node n1" in agent.log() and len(peer.frames) > before + 5, "it is told")
    assert agent.log().count("refuses node n1") == 1


def test_frames_keep_to_the_limit(cluster, peer):
    """60 processes that call themselves jobs, with long ids: what does not fit is left out of their groups alone."""
    peer.frame_limit = 8192
    names = [f"{number}".ljust(120, "j") for number in range(60)]
    sleepers = [subprocess.Popen(["sleep", "600"], env=os.environ | {"SYNOP_JOB_ID": name}) for name in names]
    try:
        welcomed(cluster, peer)

        def cut():
            tables = peer.decoded()[-1].tables
            return "job_cpu" in tables and "do not fit a frame of 8192 bytes" in tables["job_cpu"].error and tables

        tables = peer.wait(cut, "a frame without some of the jobs")
        assert 0 < len(tables["job_cpu"].rows) < 60
        assert not tables["cpu_usage"].error and tables["cpu_usage"].rows
        large = [len(data) for _, data in peer.frames if len(data) > 8192]
        assert len(large) <= 2, large  # before the welcome
    finally:
        for sleeper in sleepers:
            sleeper.terminate()
            sleeper.wait()
