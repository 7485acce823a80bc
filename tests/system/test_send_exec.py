"""[send NAME] type = exec: what a program reads is what the stream printed; it may end, hang, or never read."""

import math
import os
import re
import signal
import time

from lib.programs import wait_until
from lib.sent_lines import check_lines, printed, sender, taken


def section(command, more="", name="one"):
    return f"[send {name}]\ntype = exec\ncommand = {command}\nretry = 200ms\n{more}\n"


HISTORY = "[history]\nchunk_time = 500ms\n"


def whole_lines(path):
    """The program may be writing one."""
    return [line for line in path.read_bytes().splitlines(True) if line.endswith(b"\n")] if path.exists() else []


def test_what_a_program_reads_is_what_was_printed(cluster):
    """And what it prints is in the log; it ends with the aggregator, after it has read all."""
    out = cluster.folder / "out"
    command = f"echo ready; cat >> {out}; echo done >&2; touch {cluster.folder}/ended"
    cluster.start_aggregator(config=HISTORY + section(command))
    cluster.start_nodes("n1", "n2")
    wait_until(lambda: out.exists() and len(out.read_bytes()) > 100000, "lines")
    assert check_lines(cluster, lambda: whole_lines(out)) == 0
    assert "send one: the program: ready" in cluster.aggregator.log()
    assert sender(cluster)["url"] == command and sender(cluster)["error"] == ""
    assert cluster.aggregator.stop() == 0
    assert (cluster.folder / "ended").exists() and "send one: the program: done" in cluster.aggregator.log()


def test_a_program_that_ends(cluster):
    """It is started again, after pauses; what it had not read comes again, and nothing is missing. So it is after kill -9."""
    out, pid = cluster.folder / "out", cluster.folder / "pid"
    command = f"echo $$ > {pid}; date +%s.%N >> {out}.starts; test -e {out} || {{ touch {out}; exit 3; }}; exec cat >> {out}"
    cluster.start_aggregator(config=HISTORY + section(command))
    cluster.start_nodes("n1")
    wait_until(lambda: "the program ended with status 3" in cluster.aggregator.log(), "a word")
    for count in (1, 2):
        wait_until(lambda: out.read_bytes().count(b"\n") > 10 * count, "lines")  # pylint: disable=cell-var-from-loop
        os.kill(int(pid.read_text()), signal.SIGKILL)
    check_lines(cluster, lambda: [line for line in out.read_bytes().splitlines() if line.endswith(b"}")], twice=100)
    starts = [float(line) for line in (cluster.folder / "out.starts").read_text().split()]
    assert len(starts) == 4 and starts[1] - starts[0] >= 0.2, starts


def test_pauses_grow(cluster):
    """Also when each run has read something."""
    out = cluster.folder / "out"
    cluster.start_aggregator(config=HISTORY + section(f"date +%s.%N >> {out}.starts; exec timeout 1 cat >> {out}", "").replace("200ms", "10s"))
    cluster.start_nodes("n1")

    def starts():
        path = cluster.folder / "out.starts"
        return list(map(float, path.read_text().split())) if path.exists() else []

    wait_until(lambda: len(starts()) == 4, "the fourth run")
    found = starts()
    assert found[3] - found[2] > 1 + 2 > 1 + 0.5 < found[1] - found[0], found
    assert out.read_bytes()


def test_a_program_that_does_not_read(cluster):
    """It holds up neither the others nor the end; with another command all that waited is there."""
    out = cluster.folder / "out"
    config = HISTORY + section("sleep 1000", "timeout = 500ms")
    cluster.start_aggregator(config=config + section(f"cat >> {out}.other", name="two"))
    cluster.start_nodes("n1")
    wait_until(lambda: sender(cluster)["error"] == "the program does not read its standard input", "an error")
    check_lines(cluster, lambda: whole_lines(cluster.folder / "out.other"))
    assert sender(cluster)["sent"] == 0 and sender(cluster)["waiting"] > 0
    cluster.write("aggregator.ini", HISTORY + section(f"cat >> {out}"))
    cluster.aggregator.signal(signal.SIGHUP)
    check_lines(cluster, lambda: whole_lines(out))
    assert len(cluster.status()["senders"]) == 1
    assert cluster.aggregator.log().count("it is tried again") == 1


def test_kill_of_the_aggregator(cluster):
    """Its program ends with it; the next one is given what was on its way."""
    out = cluster.folder / "out"
    config = HISTORY + section(f"exec cat >> {out}")
    cluster.start_aggregator(config=config)
    cluster.start_nodes("n1")
    wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") > 10, "lines")
    once = taken(cluster, lambda: whole_lines(out))
    cluster.aggregator.kill()
    cluster.start_aggregator(config=config)
    cluster.wait_node("n1")
    check_lines(cluster, lambda: whole_lines(out), twice=math.inf, once=once)
    assert printed(cluster)


def test_a_program_that_talks(cluster):
    """Of what it prints some lines are logged, each of them whole, in one line and harmless."""
    cluster.start_aggregator(config=HISTORY + section("yes \"$(printf 'a\\033[31m b')\""))
    cluster.start_nodes("n1")
    wait_until(lambda: cluster.aggregator.log().count("the program: a [31m b") >= 20, "lines")
    time.sleep(0.5)
    assert len(re.findall("the program: ", cluster.aggregator.log())) == 20
