"""The agent's ring: CPU a frame, and what it takes of disk and memory when it is full (bench_ring.c)."""

import subprocess

from lib.programs import BUILD, RECORDED, environment, wait_until
from measure import cpu_seconds, memory, number, run_tool, say

SIZE = 32 * 1024 * 1024  # the default
SMALL = 64 * 1024  # the least
MIB = 1 << 20
SHARE_AIM = ("ratio", 0.1)  # of a sample


def cost(figures, cluster, what, root, samples):
    path = cluster.folder / f"ring-{len(figures.list)}"
    said = run_tool("bench_ring", "cost", path, root, samples)
    bare = f"bare memcpy of {number(said['frame_bytes'])} bytes"
    figures.add(f"{what}: a frame into the file", said["file_us"], "us", bare, said["bare_us"])
    figures.add(f"{what}: a frame into memory", said["memory_us"], "us", bare, said["bare_us"])
    figures.add(f"{what}: the file's share", said["file_us"], "us", "sample and encode", said["sample_us"], SHARE_AIM)
    size = path.stat()
    figures.add(f"{what}: the file", size.st_size / MIB, "MiB", "on the disk", size.st_blocks * 512 / MIB)


def agent(cluster, node, size):
    """Resident bytes, and CPU seconds until it published, of an agent whose ring of that size is full at its start."""
    ring = cluster.keys_of(node) / "ring"
    subprocess.run([BUILD / "tests/bench/bench_ring", "fill", ring, str(size), node], env=environment(), check=True)
    program = cluster.start_agent(node, "--ring-max-size", str(size), period="1s")
    wait_until(lambda: cluster.node_status(node)["received"] >= 5, "five frames")
    wait_until(lambda: cluster.counter("missing") == 0, "nothing to replay", 60)
    wait_more(cluster, node)
    found = memory(program.pid), cpu_seconds(program.pid)
    log = program.log()
    program.stop()
    return *found, int(log.split(" holds ")[1].split()[0])


def wait_more(cluster, node):
    before = cluster.node_status(node)["received"]
    wait_until(lambda: cluster.node_status(node)["received"] >= before + 3, "three frames more")


def ring(figures, cluster):
    """Into a file, into memory, and a bare copy; then two agents, of which one has as much in its ring as fits."""
    cost(figures, cluster, "this machine", "", 300)
    if (RECORDED / "big480").is_dir():
        cost(figures, cluster, "480 CPUs", RECORDED / "big480", 100)
    else:
        figures.skip("480 CPUs", f"{RECORDED / 'big480'} is not here")
    cluster.start_aggregator("--history-enabled=no")  # which asks for nothing from before its time
    small, _, few = agent(cluster, "small", SMALL)
    full, seconds, many = agent(cluster, "full", SIZE)
    for key, words in (("rss", "resident"), ("private", "private")):
        figures.add(f"agent with a full ring: {words}", full[key] / MIB, "MiB", "with a small one", small[key] / MIB)
    figures.add("its CPU until it has published 8 frames", seconds, "s")
    say(f"      {many} frames in the full ring, {few} in the small one")
