"""Where the lines go: a reader that is slow, that leaves, a disk that is full. Intake goes on whatever happens there."""

import os
import signal
import socket
import subprocess

import pytest
from lib.cluster import assert_contiguous
from lib.programs import BUILD, LIMIT, environment, parse_line, memory_bytes, wait_until


def reader_of(cluster, *options):
    """An aggregator whose standard output is a pipe that this test reads, or does not."""
    read, write = os.pipe()
    cluster.start_aggregator(*options, stdout=write)
    os.close(write)
    return read


@pytest.mark.sanitized
def test_slow_reader(cluster):
    """Nobody reads the pipe: the aggregator keeps up, a tail gets every frame, memory is bounded; then the reader gets
    whole lines and is told how many are missing."""
    read = reader_of(cluster, "--reader-queue", "512k")
    try:
        tail = cluster.start_tail("--type", "node")
        for node in ("n1", "n2", "n3"):
            cluster.start_agent(node, period="20ms")
        tail.wait_lines(300)
        before = memory_bytes(cluster.aggregator.pid)
        count = len(tail.lines())
        wait_until(lambda: cluster.counter("lines_dropped") > 0, "dropped lines are counted")
        tail.wait_lines(count + 300)
        assert memory_bytes(cluster.aggregator.pid) < before + 64 * 2**20
        for node in ("n1", "n2", "n3"):
            assert_contiguous(tail.lines(), node)

        seen, rest = [], b""

        def told():
            nonlocal rest
            *whole, rest = (rest + os.read(read, 2**20)).split(b"\n")
            seen.extend(parse_line(line) for line in whole)
            return [line for line in seen if line.get("event") == "dropped"]

        event = wait_until(told, "an event of dropped lines")[0]
        assert event["lines"] > 0
    finally:
        os.close(read)


@pytest.mark.sanitized
def test_slow_tail(cluster):
    """The same of a tail's socket: a client that stops reading costs nobody else a line."""
    cluster.start_aggregator("--reader-queue", "512k")
    with socket.socket(socket.AF_UNIX) as lazy:
        lazy.connect(str(cluster.socket))
        lazy.sendall(b"tail\n")
        for node in ("n1", "n2"):
            cluster.start_agent(node, period="20ms")
        wait_until(lambda: cluster.counter("lines_dropped") > 0, "dropped lines are counted")
        lazy.settimeout(LIMIT)
        rest, told = b"", []
        while not told:
            *whole, rest = (rest + lazy.recv(2**20)).split(b"\n")
            told = [line for line in map(parse_line, whole) if line.get("event") == "dropped"]
        assert told[0]["lines"] > 0
    for node in ("n1", "n2"):
        assert_contiguous(cluster.aggregator.lines(), node)


@pytest.mark.sanitized
@pytest.mark.parametrize("streams", ["2>&1", "2>&1 >/dev/null"], ids=["both", "log"])
def test_log_that_nobody_reads(cluster, streams):
    """aggregator 2>&1 | less: a pipe that is full costs lines of the log and nothing else: status answers, SIGTERM ends it."""
    read, write = os.pipe()
    try:
        os.set_blocking(write, False)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(write, b"full\n")
        os.set_blocking(write, True)
        cluster.start_aggregator(stdout=write, prefix=["sh", "-c", f'exec "$0" "$@" {streams}'])
        os.close(write)
        for node in ("n1", "n2", "n3"):
            cluster.start_agent(node)
        wait_until(lambda: [node["state"] for node in cluster.status()["nodes"]] == ["up"] * 3, "three nodes are up")
        for _ in range(20):
            cluster.aggregator.signal(signal.SIGHUP)
            cluster.status()
        assert cluster.aggregator.stop() == 0
    finally:
        os.close(read)


def test_reader_that_leaves(cluster):
    """aggregator | head: it ends by itself, quietly."""
    read = reader_of(cluster)
    os.read(read, 1)
    os.close(read)
    cluster.start_agent("n1")
    assert cluster.aggregator.wait() == 0
    assert not cluster.socket.exists()


def test_tail_whose_reader_leaves(cluster):
    cluster.start_aggregator()
    cluster.start_nodes("n1")
    read, write = os.pipe()
    tail = cluster.start_tail(stdout=write)
    os.close(write)
    os.read(read, 1)
    os.close(read)
    assert tail.wait() == 0
    cluster.wait_node("n1", after=cluster.aggregator.mark())


def test_without_output(cluster):
    """--output none: only tails see lines."""
    cluster.start_aggregator("--output", "none")
    cluster.start_agent("n1")
    tail = cluster.start_tail("--type", "node")
    tail.wait_lines(3)
    assert cluster.aggregator.out_path.read_bytes() == b""


@pytest.mark.parametrize("command", [["agent", "--period", "100ms"], ["agent", "--once"], ["agent", "--list-groups"],
                                     ["agent", "--help"], ["aggregator", "--help"], ["agent", "--print-config"]],
                         ids=" ".join)
def test_full_disk(cluster, command):
    """/dev/full: an error that says so, never silence."""
    program, *options = command
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BUILD / program, *options], stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, timeout=LIMIT, env=environment(), check=False)
    assert done.returncode == 1 and b"space" in done.stderr, done.stderr
    assert cluster.empty.exists()


def test_full_disk_of_the_aggregator(cluster):
    """The same of the stream."""
    with open("/dev/full", "wb") as full:
        program = cluster.start("full", "aggregator", "--config", cluster.empty, "--keys", cluster.master, "--socket",
                                cluster.socket, "--listen", "tcp://127.0.0.1:*", stdout=full)
    assert program.wait() == 1 and "space" in program.log()
    assert not cluster.socket.exists()


@pytest.mark.parametrize("options", [["--period", "20ms"], ["--period", "20ms", "--once"], ["--list-groups"]],
                         ids=" ".join)
def test_agent_whose_reader_leaves(options):
    """agent | head ends with 0 and says nothing."""
    read, write = os.pipe()
    process = subprocess.Popen([BUILD / "agent", *options], stdin=subprocess.DEVNULL, stdout=write,
                               stderr=subprocess.PIPE, env=environment())
    os.close(write)
    os.close(read)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0 and errors == b""
