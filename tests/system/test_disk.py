"""The history's disk turns bad under a running aggregator: a real file system that its kernel makes read-only."""

import os
import pathlib
import subprocess
import sys

import pytest
from lib.cluster import assert_contiguous
from lib.programs import BUILD, parse_line


class Disk:
    """A file system that only the aggregator sees, in a mount namespace of its own, whose first error makes it read-only."""

    def __init__(self, cluster):
        self.cluster, self.point, self.image = cluster, cluster.folder / "disk", cluster.folder / "image"
        self.namespace = None
        self.point.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(2**24)
        made = subprocess.run(["mkfs.ext4", "-q", self.image], capture_output=True, text=True, check=False)
        assert made.returncode == 0, made
        self.mount = ["mount", "-o", "loop,errors=remount-ro", str(self.image), str(self.point)]
        self.prefix = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c",
                       "import os, subprocess, sys; split = sys.argv.index('--');"
                       "subprocess.run(sys.argv[1:split], check=True);"
                       "os.execvp(sys.argv[split + 1], sys.argv[split + 1:])", *self.mount, "--"]

    def inside(self, *command):
        """Where the aggregator is, or was."""
        if self.namespace is None:
            self.namespace = os.open(f"/proc/{self.cluster.aggregator.pid}/ns/mnt", os.O_RDONLY)
        done = subprocess.run(["nsenter", f"--mount=/proc/{os.getpid()}/fd/{self.namespace}", *map(str, command)],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done
        return done.stdout

    def turn_bad(self):
        mounts = map(str.split, pathlib.Path(f"/proc/{self.cluster.aggregator.pid}/mounts").read_text().splitlines())
        device, = [os.path.basename(mount[0]) for mount in mounts if mount[1] == str(self.point)]
        pathlib.Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("a test", encoding="ascii")

    def mend(self):
        self.inside("umount", self.point)  # so no file of it is kept open
        self.inside(*self.mount)


@pytest.fixture
def disk(cluster):
    made = None if os.geteuid() else Disk(cluster)
    tried = made and subprocess.run([*made.prefix, "true"], capture_output=True, text=True, check=False)
    if not made or tried.returncode != 0:
        pytest.skip(f"no file system in a file can be mounted: {tried.stderr if tried else 'needs root'}")
    yield made
    if made.namespace is not None:
        os.close(made.namespace)


def test_disk_becomes_read_only(cluster, disk):
    """Lines and status go on, an event says what it is, what is stored can be read, and when the disk is mended all frames
    are written: those from meanwhile too."""
    cluster.history = disk.point / "history.db"
    aggregator = cluster.start_aggregator(prefix=disk.prefix, config="[history]\nchunk_time = 1s\n")
    cluster.start_nodes("n1", "n2", period="100ms")
    cluster.wait_counter("frames_stored", 10)
    disk.turn_bad()
    event = cluster.wait_event("history_failed")
    assert "history.db" in event["error"] and "see to its disk" in event["error"], event
    for node in ("n1", "n2"):
        aggregator.wait_lines(10, after=aggregator.mark(), type="node", node=node)
    read = [str(BUILD / "aggregator"), "replay", "--config", cluster.empty, "--history", cluster.history, "--from", "-1h",
            "--type", "node", "--group", "load"]
    assert disk.inside(*read).count("\n") >= 10
    assert len(aggregator.lines(type="event", event="history_failed")) == 1
    disk.mend()
    assert aggregator.stop() == 0
    stored = {(line["node"], line["session"], line["seq"]) for line in map(parse_line, disk.inside(*read).splitlines())}
    for node in ("n1", "n2"):
        assert_contiguous(aggregator.lines(), node)
    assert {(line["node"], line["session"], line["seq"]) for line in aggregator.lines(type="node")} <= stored
