"""Counting of jobs by perf events, live: software events, which every kernel has, against perf stat on the same load."""

import json
import os
import subprocess
import sys

import pytest
from lib import counted
from lib.programs import BUILD, run, wait_until


@pytest.fixture(autouse=True)
def perf_is_there():
    why = counted.why_not()
    if why:
        pytest.skip(why)


@pytest.mark.parametrize("in_cgroup", [False, True], ids=["processes", "cgroup"])
def test_job_as_perf_counts_it(in_cgroup):
    """Children, grandchildren and threads that came and went: each as perf has it, within 1 %."""
    ours, theirs = counted.count_job(BUILD, f"counted-{os.getpid()}-{int(in_cgroup)}", in_cgroup, counted.SOFTWARE)
    assert theirs["page_faults"] > 50000 and theirs["context_switches"] > 1500
    for name, expected in theirs.items():
        room = 0.01 * expected + (3 if name == "migrations" else 0)
        assert abs(ours[name] - expected) <= room, (name, ours, theirs)


def test_what_likwid_prints():
    """With several CPUs it adds a table of sums; with one there is its column alone."""
    several = "TABLE,Group 1 Metric,FLOPS_DP,2\nMetric,HWThread 0,HWThread 1\nDP [MFLOP/s],10.5,20.5\nAVX DP [MFLOP/s],1,2\n" \
              "TABLE,Group 1 Metric STAT,FLOPS_DP,2\nMetric,Sum,Min,Max,Avg\nDP [MFLOP/s] STAT,31,10.5,20.5,15.5\n" \
              "AVX DP [MFLOP/s] STAT,3,1,2,1.5\n"
    one = "Metric,Core 0\nDP MFLOP/s,7.25\nMemory bandwidth [MBytes/s],-\n"
    flops, memory = (pattern for _, pattern, _, _ in counted.LIKWID)
    assert counted.likwid_value(several, flops) == 31 and counted.likwid_value(one, flops) == 7.25
    assert counted.likwid_value(one, memory) is None and counted.likwid_value("", flops) is None


# Touches as many new pages as a line says.
TOUCHES = """
import mmap, sys
for line in sys.stdin:
    memory = mmap.mmap(-1, 4096 * int(line))
    for page in range(int(line)):
        memory[4096 * page] = 1
    print("done", flush=True)
"""


class Touching:
    """A job of one process."""

    def __init__(self, label):
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([sys.executable, "-c", TOUCHES], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=os.environ | {"SYNOP_JOB_ID": label})

    def touch(self, pages):
        self.process.stdin.write(f"{pages}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


def faults(line, label):
    """What the job's page faults grew by in this line; None: it is not counted yet, or there is nothing to compare with."""
    jobs = [job["report"] for job in line["report"].get("job_data", ()) if job["job_id"] == label]
    return jobs[0].get("job_counters", {}).get("page_faults") if jobs else None


def test_an_agent_begins_anew(cluster):
    """Its counters begin at 0 then. Lines have what was done while an agent was there, once: what was counted before does not
    come again, and 0 after 100,000 is no change of 2^64. What was done meanwhile is counted by nobody."""
    label = f"anew-{os.getpid()}"
    cluster.start_aggregator()
    load = Touching(label)

    def counted_from(mark):
        cluster.wait_node("n1", after=mark, check=lambda line: faults(line, label) == 0)

    try:
        cluster.start_agent("n1", "--counters")
        counted_from(0)
        load.touch(100000)
        mark = cluster.aggregator.mark()
        counted_from(mark)
        cluster.agents["n1"].stop()
        load.touch(30000)
        mark = cluster.aggregator.mark()
        cluster.start_agent("n1", "--counters")
        counted_from(mark)
        load.touch(50000)
        mark = cluster.aggregator.mark()
        counted_from(mark)
    finally:
        load.close()
    changes = [faults(line, label) for line in cluster.aggregator.lines(type="node", node="n1")]
    assert abs(sum(change or 0 for change in changes) - 150000) <= 1500, changes
    assert max(change or 0 for change in changes) <= 101000
    merged = wait_until(lambda: perfmon_of(cluster, label), "the job's samples in the history")
    counts = [count for count in merged["n1"]["perf_events"]["page-faults"] if count is not None]
    assert max(counts) <= 101000 and abs(counts[-1] - 50000) <= 1000, counts  # of the agent at hand


def perfmon_of(cluster, label):
    done = run("aggregator", "report", label, "--format", "perfmon", "--config", cluster.empty, "--history", cluster.history,
               "--socket", cluster.socket)
    return json.loads(done.stdout) if done.returncode == 0 else None
