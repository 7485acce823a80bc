"""Earlier frames are asked for that lie on a slow disk: samples do not wait for it, and the frames come all the same."""

import os
import pathlib
import shutil
import subprocess

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


def said(peer, kind):
    return [message for _, message in peer.messages if message[1] == kind]


class Disk:
    """An agent whose ring lies on it; while `sign` exists it is slow, or broken."""

    def __init__(self, cluster, peer):
        compiler = shutil.which("cc") or pytest.skip("no C compiler")
        library = cluster.folder / "slow_disk.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        self.peer, self.sign = peer, cluster.folder / "slow"
        self.agent = cluster.start_agent("n1", period="100ms", env={"LD_PRELOAD": str(library),
                                                                    "SYNOP_SLOW_DISK": str(self.sign)})
        peer.wait_frames(10)
        self.session = peer.hellos()[0].session

    def ask(self):
        self.peer.send(self.peer.messages[0][0], protocol.REPLAY_REQUEST, self.session, 2, 8, 64, 1_000_000)

    def wait_end(self):
        self.peer.wait(lambda: said(self.peer, protocol.REPLAY_END), "the end of the replay")
        return said(self.peer, protocol.REPLAY_END)[0][2:]

    def threads(self):
        folder = pathlib.Path(f"/proc/{self.agent.pid}/task")
        return [(folder / task / "comm").read_text().strip() for task in os.listdir(folder)]


@pytest.fixture
def disk(cluster, peer):
    return Disk(cluster, peer)


def test_samples_do_not_wait_for_the_disk(disk, peer):
    live = {frame.sequence: data for frame, (_, data) in zip(peer.decoded(), peer.frames)}
    disk.sign.touch()
    disk.ask()
    peer.wait(lambda: "ring" in disk.threads(), "a thread that reads")
    peer.wait_frames(15, after=len(peer.frames))
    assert not said(peer, protocol.REPLAY_END), "the disk was not slow"
    disk.sign.unlink()
    assert disk.wait_end() == [disk.session, 2, 8, 7]
    assert [message[2] for message in said(peer, protocol.REPLAYED)] == [live[number] for number in range(2, 9)]
    peer.wait(lambda: "ring" not in disk.threads(), "the thread's end")

    # Nor does the end wait.
    disk.sign.touch()
    disk.ask()
    peer.wait(lambda: "ring" in disk.threads(), "a thread that reads")
    assert disk.agent.stop() == 0


def test_a_disk_that_cannot_be_read(disk):
    disk.sign.write_text("broken")
    disk.ask()
    assert disk.wait_end() == [disk.session, 2, 8, 0]
