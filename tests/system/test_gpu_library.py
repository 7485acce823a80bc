"""A library of the GPUs' driver that cannot be loaded, in a running agent: it goes on, on time, and says so once."""

import os
import struct

from lib.gpus import LIBRARY, Gpus
from lib.programs import wait_until


def start(cluster, library, node="n1", **more):
    return cluster.start(node, "agent", "--config", cluster.empty, "--period", "100ms", "--jobs-book", "",
                         "--gpu-library", library, **more)


def beginning(elf):
    """Without the second half of what the loader maps; symbols for debuggers, which lie behind, nobody would miss."""
    at, = struct.unpack_from("Q", elf, 32)
    size, count = struct.unpack_from("HH", elf, 54)
    parts = [struct.unpack_from("IIQQQQ", elf, at + i * size) for i in range(count)]
    return elf[:max(offset + length for kind, _, offset, _, _, length in parts if kind == 1) // 2]


def children(program):
    """Those of all its threads."""
    found = []
    for task in os.listdir(f"/proc/{program.pid}/task"):
        try:
            with open(f"/proc/{program.pid}/task/{task}/children", encoding="ascii") as file:
                found += file.read().split()
        except FileNotFoundError:
            pass
    return found


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_one_that_hangs_stops_nothing(cluster):
    fifo = cluster.folder / "libfifo.so"
    os.mkfifo(fifo)
    ended, agent = start(cluster, fifo), start(cluster, fifo, "n2")
    trying = wait_until(lambda: children(ended), "a child that tries the library")
    ended.wait_lines(1)
    assert ended.stop() == 0, "while a library hangs"
    wait_until(lambda: not any(runs(pid) for pid in trying), "the child's end")
    wait_until(lambda: "takes more than 5 s" in agent.log(), "the warning")
    lines = agent.lines()
    assert len(lines) >= 10, "samples wait for the library"
    assert all(line["report"]["system_data"]["load"]["error"] == "" for line in lines)
    after = len(lines)
    agent.wait_lines(3, after=after + 1)  # the verdict may have come amid the first
    for line in agent.lines(after + 1):
        assert "gpu" not in line["report"]["system_data"] or not line["report"]["system_data"]["gpu"]["error"]
    assert not children(agent), "a process is left"
    assert agent.stop() == 0
    assert agent.log().count("[gpu] library") == 1 and str(fifo) in agent.log()


def test_one_that_is_cut_off(cluster):
    cut = cluster.folder / "libcut.so"
    cut.write_bytes(beginning(LIBRARY.read_bytes()))
    agent = start(cluster, cut)
    wait_until(lambda: f"warning: [gpu] library: loading {cut} crashes" in agent.log(), "the warning")
    agent.wait_lines(5, after=len(agent.lines()))
    assert agent.stop() == 0
    assert len(agent.log().splitlines()) == 1, agent.log()


def test_one_that_is_not_there(cluster):
    agent = start(cluster, cluster.folder / "nothing.so")
    wait_until(lambda: f"warning: [gpu] library: {cluster.folder}/nothing.so: cannot open" in agent.log(), "the warning")
    agent.wait_lines(5, after=len(agent.lines()))
    assert agent.stop() == 0
    assert len(agent.log().splitlines()) == 1, agent.log()


def test_a_parent_that_ignores_its_children(cluster):
    """That is inherited, and would hide how the child ended that tries the library."""
    agent = start(cluster, LIBRARY, prefix=("env", "--ignore-signal=CHLD"), env=Gpus(cluster.folder).environment)
    agent.wait_line(lambda line: "gpu" in line["report"]["system_data"])
    assert agent.stop() == 0
    assert agent.log() == ""
