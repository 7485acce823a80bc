"""A replay storm: an aggregator with an empty history, and a hundred agents (tests/bench/bench_storm.c) that come to it
with full rings while they publish. No live frame waits for long, memory stays bounded, and history has each frame once."""

import json
import subprocess

import pytest
from lib.programs import BUILD, LIMIT, ROOT, environment, memory_bytes, peak_reset, run, wait_until

NODES, HELD = 100, 300
PERIOD_MS = 1000.0  # of the agents
MEMORY = 64e6


@pytest.fixture(scope="module")
def program():
    path = BUILD / "tests/bench/bench_storm"
    done = subprocess.run(["make", "-s", f"BUILD={BUILD}", str(path)], cwd=ROOT, capture_output=True, text=True,
                          env=environment(), timeout=5 * LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return path


class Storm:
    """A line to it is answered by a line of JSON; the end of its input ends it."""

    def __init__(self, program, cluster, held):
        command = [program, "run", cluster.master, NODES, cluster.endpoint, cluster.socket, held]
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def ask(self, command="count"):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def test_storm(cluster, program):
    subprocess.run([program, "keys", cluster.master, str(NODES)], check=True, timeout=LIMIT, env=environment())
    cluster.start_aggregator("--output", "none", "--replay-rate", "3000")
    pid = cluster.aggregator.pid
    with Storm(program, cluster, HELD) as storm:
        wait_until(lambda: storm.ask()["publishing"] == NODES, "agents that publish")
        storm.ask("delays")
        peak_reset(pid)
        before = memory_bytes(pid)
        wait_until(lambda: storm.ask()["again"] == NODES * HELD, "all that was held")
        said, delays = storm.ask(), storm.ask("delays")
        assert said["twice"] == 0 and delays["delays"] > NODES
        assert delays["p50_ms"] < PERIOD_MS, delays  # what is live does not queue behind what was held
        assert memory_bytes(pid, "VmHWM") - before < MEMORY
        counters = cluster.status()["counters"]
    for name in ("lost", "dropped_full", "dropped_user", "lines_dropped", "frames_not_stored", "replay_timeouts"):
        assert counters[name] == 0, (name, counters)
    assert cluster.aggregator.stop() == 0
    done = run("aggregator", "check", cluster.history)
    assert done.returncode == 0, done.stderr + done.stdout
    total = next(line.split() for line in done.stdout.splitlines() if line.startswith("all "))
    assert int(total[2]) >= NODES * HELD and int(total[3]) == 0
