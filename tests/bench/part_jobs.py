"""What following jobs costs on a node with 5,000 processes of which 100 belong to a job (bench_jobs.c), and what psutil's
walk over the same costs, which is how monitors inside of jobs do it."""

import json
import subprocess
import time

import psutil

from measure import BUILD, Tool, say

PROCESSES = 5000
OF_JOB = 100
SECONDS = 60  # a full round through /proc and two of smaps_rollup are in it
AIM = ("value", 2)


def processes_of_job(tool):
    """Their ids here: the tool may know them by others."""
    found = {process.pid for process in psutil.Process(tool.pid).children(recursive=True) if process.cmdline()[0] == "job"}
    assert len(found) == OF_JOB
    return found


def walk_with_psutil(pids):
    """One sample: seconds of CPU."""
    begin = time.process_time()
    for process in psutil.process_iter():
        if process.pid in pids:
            with process.oneshot():
                process.cpu_times()
                process.memory_info()
                process.io_counters()
    return time.process_time() - begin


def jobs(figures, cluster):
    """The children asleep, and awake ten times a second."""
    del cluster
    for how in ("asleep", "awake"):
        with Tool("bench_jobs", PROCESSES, OF_JOB, how) as tool:
            made = tool.read()
            pids = processes_of_job(tool)
            walk_with_psutil(pids)  # it keeps what it found
            walks = 5
            psutil_ms = 1000 * sum(walk_with_psutil(pids) for _ in range(walks)) / walks
            cost = tool.ask(f"run {SECONDS}")
        assert cost["jobs"] >= 1
        figures.add(f"job groups, {PROCESSES} processes, {OF_JOB} of a job, {how}", cost["ms_per_s"], "ms/s",
                    "psutil once a second", psutil_ms, AIM)
        say(f"      the first sample took {made['first_ms']:.0f} ms" +
            ("" if made["alone"] else "; processes that began elsewhere meanwhile are in the figure"))
    reports(figures)


def reports(figures):
    """The report on a job of 1,000 nodes and an hour, sampled every 10 s: read from the history, then as text and HTML."""
    done = subprocess.run([BUILD / "tests/unit/test_job_report", "--measure", "1000", "3600", "10"], stdout=subprocess.PIPE,
                          text=True, check=True, timeout=600)
    cost = json.loads(done.stdout)
    figures.add("report of a job, 1000 nodes, 1 h, 361,000 samples", cost["read_s"] + cost["write_s"], "s")
    figures.add("its memory", cost["rss_mib"], "MiB")
