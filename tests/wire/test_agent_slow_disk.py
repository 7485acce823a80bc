"""Earlier frames are asked for that lie on a slow disk: samples do not wait for it, and the frames come all the same."""

import os
import pathlib
import shutil
import subprocess
import time

import pytest
from lib import protocol
from lib.cluster import read_key
from lib.peers import AggregatorPeer

SOURCE = pathlib.Path(__file__).parents[1] / "lib" / "slow_disk.c"


@pytest.fixture
def peer(cluster):
    users = {read_key(cluster.keys_of("n1") / "agent.pub"): "n1"}
    secret, public = read_key(cluster.master / "aggregator.key"), read_key(cluster.master / "aggregator.pub")
    with AggregatorPeer(secret, public, users) as made:
        cluster.endpoint = made.endpoint
        yield made


@pytest.fixture
def disk(cluster):
    """While it exists the disk is slow."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    library = cluster.folder / "slow_disk.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    return library


def test_samples_do_not_wait_for_the_disk(cluster, peer, disk):
    sign = cluster.folder / "slow"
    agent = cluster.start_agent("n1", period="100ms", env={"LD_PRELOAD": str(disk), "SYNOP_SLOW_DISK": str(sign)})
    peer.wait_frames(10)
    routing, session = peer.messages[0][0], peer.hellos()[0].session
    live = {frame.sequence: data for frame, (_, data) in zip(peer.decoded(), peer.frames)}
    sign.touch()
    began, asked = time.monotonic_ns(), peer.decoded()[-1].sequence
    peer.send(routing, protocol.REPLAY_REQUEST, session, 2, 8, 64, 1_000_000)

    def said(kind):
        return [message for _, message in peer.messages if message[1] == kind]

    peer.wait(lambda: said(protocol.REPLAY_END), "the end of the replay")
    assert time.monotonic_ns() - began > 1.5e9, "the disk was not slow"
    peer.wait_frames(3, after=len(peer.frames))
    meanwhile = [frame for frame in peer.decoded() if frame.sequence > asked]
    assert max(frame.received - frame.monotonic_ns for frame in meanwhile) < 1e9
    gaps = [after.monotonic_ns - before.monotonic_ns for before, after in zip(meanwhile, meanwhile[1:])]
    assert len(gaps) > 15 and max(gaps) < 1e9, "samples waited"
    assert [message[2] for message in said(protocol.REPLAYED)] == [live[number] for number in range(2, 9)]
    assert said(protocol.REPLAY_END)[0][2:] == [session, 2, 8, 7]
    names = [pathlib.Path(f"/proc/{agent.pid}/task/{task}/comm").read_text() for task in os.listdir(f"/proc/{agent.pid}/task")]
    assert "ring\n" not in names, "the thread is still there"

    # Nor does the end wait: a thread that reads is left to itself.
    peer.send(routing, protocol.REPLAY_REQUEST, session, 2, 8, 64, 1_000_000)
    peer.wait_frames(1, after=len(peer.frames))
    began = time.monotonic()
    assert agent.stop() == 0
    assert time.monotonic() - began < 1.5
