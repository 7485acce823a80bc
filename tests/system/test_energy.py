"""Energy from a counter of the kernel to a job's report: a machine whose socket draws 100 and 400 W by turns, sampled by an
agent while it does; what the report says is the integral."""

import datetime
import os
import threading
import time

import pytest
from lib import machine
from lib.programs import listed_groups, parse_line, run, wait_until

TURN, LOW, HIGH = 1.3, 100, 400
RANGE = 700_000_000  # where the counter wraps: each few seconds
PERIOD = 0.2

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a made-up machine is root's")


def joules(since, until):
    """Of the load, by turns that began at `since`."""
    whole, rest = divmod(until - since, TURN)
    return whole // 2 * TURN * (LOW + HIGH) + (TURN * LOW + rest * HIGH if whole % 2 else rest * LOW)


class Socket:
    """package-0 of a made-up machine, which counts as long as this is open."""

    def __init__(self, root):
        zone = root / "sys/class/powercap/intel-rapl:0"
        zone.mkdir(parents=True)
        (zone / "name").write_text("package-0\n")
        (zone / "max_energy_range_uj").write_text(f"{RANGE}\n")
        self.file = os.open(zone / "energy_uj", os.O_CREAT | os.O_RDWR, 0o400)
        self.began, self.ends = time.time(), threading.Event()
        self.write()
        self.thread = threading.Thread(target=self.run)

    def write(self):
        os.pwrite(self.file, b"%012d\n" % (int(joules(self.began, time.time()) * 1e6) % RANGE), 0)

    def run(self):
        while not self.ends.wait(0.005):
            self.write()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()
        os.close(self.file)


def without_others():
    kept = ("job_", "energy_rapl", "node_power")
    names = [group["name"] for group in listed_groups() if not group["name"].startswith(kept)]
    return "".join(f"[group {name}]\nenabled = no\n" for name in names)


def seconds(time_of_line):
    return datetime.datetime.fromisoformat(time_of_line[:26].rstrip("Z") + "+00:00").timestamp()


def test_square_wave(cluster):
    cluster.start_aggregator()
    with machine.Machine() as made, Socket(made.root) as socket:
        cluster.start_agent("n1", "--root", made.root, config=without_others())
        cluster.wait_node("n1")
        process = made.process(SYNOP_JOB_ID="42")
        cluster.aggregator.wait_line(type="job", job_id="42", event="started")
        time.sleep(4 * TURN)
        made.end([process])
        wait_until(lambda: not cluster.aggregator.lines(type="node", node="n1")[-1]["report"].get("job_data"), "its end")
    lines = cluster.aggregator.lines(type="node", node="n1")
    mine = [(seconds(line["time"]), job["report"]["job_energy"]) for line in lines
            for job in line["report"].get("job_data", []) if "job_energy" in job["report"]]
    assert all(values["alone"] == 1 for _, values in mine)
    used = joules(socket.began, mine[-1][0]) - joules(socket.began, mine[0][0])
    assert used > 1000
    cluster.succeed("aggregator", "job", "end", "42", "--config", cluster.empty, "--socket", cluster.socket)
    cluster.aggregator.wait_line(type="job", job_id="42", event="ended")
    said = run("aggregator", "report", "42", "--json", "--config", cluster.empty, "--history", cluster.history,
               "--socket", cluster.socket)
    kwh = parse_line(said.stdout)["energy"]["kwh"]
    assert abs(kwh * 3.6e6 - used) < HIGH * PERIOD, (kwh * 3.6e6, used)
    assert any("nothing measures the whole of n1" in sentence for sentence in parse_line(said.stdout)["unknown"])
    # and the node's, of all its lines
    power = [(seconds(line["time"]), line["report"]["system_data"]["node_power"]) for line in lines
             if "node_power" in line["report"].get("system_data", {})]
    counted = sum(values["node"]["energy"] or 0 for _, values in power)
    used = joules(socket.began, power[-1][0]) - joules(socket.began, power[0][0])
    assert abs(counted - used) < HIGH * PERIOD, (counted, used)
    highest = max(values["parts"]["cpu"]["power"] or 0 for _, values in power)
    assert HIGH * 0.9 < highest < HIGH * 1.2 and power[-1][1]["whole"] == 0
