"""A load whose perf events the agent counts as a job's, beside `perf stat` on the same processes."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

# Waits for a line, works, says so, and waits for the end of its input. Blocked it does nothing that could be counted.
LOAD = """
import mmap, os, sys, threading, time
def touch(pages):
    memory = mmap.mmap(-1, 4096 * pages)
    for page in range(pages):
        memory[4096 * page] = 1
def part():
    touch(1500)
    x = 0
    for i in range(200000):
        x += i * i
    for _ in range(60):
        time.sleep(0.0002)
def child():
    if os.fork() == 0:      # a grandchild
        part()
        os._exit(0)
    thread = threading.Thread(target=part)
    thread.start()
    part()
    thread.join()
    os.wait()
    os._exit(0)
sys.stdin.readline()
for _ in range(12):
    if os.fork() == 0:
        child()
    os.wait()
print("done", flush=True)
sys.stdin.readline()
"""

SOFTWARE = {"context_switches": "context-switches", "migrations": "cpu-migrations", "page_faults": "page-faults",
            "task_time": "task-clock"}
HARDWARE = {"cycles": "cycles", "instructions": "instructions", "branches": "branches", "branch_misses": "branch-misses"}


def why_not():
    """Why there is nothing to compare with; '' when there is."""
    if not shutil.which("perf"):
        return "perf (package linux-perf) is not installed"
    done = subprocess.run(["perf", "stat", "-x,", "-e", "context-switches", "true"], capture_output=True, text=True, check=False)
    if done.returncode or "<not" in done.stderr:
        return f"perf counts nothing here: {done.stderr.strip()[:200]}"
    return ""


def has_hardware():
    done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions", "true"], capture_output=True, text=True, check=False)
    return done.returncode == 0 and "<not" not in done.stderr


# likwid's group, the metric in it that is over all CPUs or sockets, and ours.
LIKWID = [("FLOPS_DP", r"DP \[?MFLOP/s\]?", "cpu_flops", "gflops"), ("MEM", r"Memory bandwidth", "memory_bandwidth", "bandwidth")]


def why_no_likwid():
    """Why likwid has nothing to compare with; '' when it has."""
    if not shutil.which("likwid-perfctr"):
        return "likwid-perfctr (package likwid) is not installed"
    return "" if os.geteuid() == 0 else "likwid-perfctr counts all CPUs for root alone"


def likwid_value(text, pattern):
    """Of likwid-perfctr -O: the sum over the CPUs of the metric, or of the only CPU; None: it is not there."""
    found = None
    for line in text.splitlines():
        fields = line.split(",")
        if re.match(pattern, fields[0]) and len(fields) > 1:
            try:
                value = float(fields[1])
            except ValueError:
                continue
            if "STAT" in fields[0]:
                return value
            found = value if found is None else found
    return found


def likwid(group, pattern, seconds):
    """What it measures on all CPUs in so many seconds, a second; bytes, or 10^9 operations."""
    done = subprocess.run(["likwid-perfctr", "-f", "-O", "-c", f"0-{os.cpu_count() - 1}", "-g", group, "-S", f"{seconds}s"],
                          capture_output=True, text=True, check=False)
    value = likwid_value(done.stdout, pattern) if done.returncode == 0 else None
    return None if value is None else value * (1e6 if group == "MEM" else 1e-3)


def perf_start(events, *target):
    # pylint: disable-next=consider-using-with
    process = subprocess.Popen(["perf", "stat", "-x,", "-e", ",".join(events), *target],
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    time.sleep(1)  # it has attached by then
    return process


def perf_stop(process):
    """What it counted, by the names of its events; task-clock in seconds."""
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=30)
    counts = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[0].replace(".", "").isdigit():
            value = float(fields[0])
            counts[fields[2].split(":")[0]] = value / 1000 if fields[1] == "msec" else value
    return counts


class Agent:
    """Reports of an agent that counts, one a second."""

    def __init__(self, build, *options):
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            [pathlib.Path(build) / "agent", "--config", "/dev/null", "--jobs-book", "", "--period", "1s", "--counters",
             *options], stdout=subprocess.PIPE, text=True)

    def report(self):
        return json.loads(self.process.stdout.readline())["report"]

    def job(self, label):
        """The job's counters, None before it has any, and their error."""
        for job in self.report().get("job_data", ()):
            if job["job_id"] == label and "job_counters" in job["report"]:
                return job["report"]["job_counters"]
        return None

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.process.stdout.close()


def count_job(build, label, in_cgroup, names):
    """Runs the load as a job. Returns the sums of the agent and of perf, by the agent's names."""
    environment = dict(os.environ)
    environment.pop("SYNOP_JOB_ID", None)
    command = [sys.executable, "-c", LOAD]
    if in_cgroup:
        command = [pathlib.Path(build) / "agent", "run", "--job", label, "--", *command]
    else:
        environment["SYNOP_JOB_ID"] = label
    agent = Agent(build)
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as load:
            for _ in range(30):
                counters = agent.job(label)
                if counters and counters["page_faults"] is not None and counters["page_faults"] == 0:
                    break
            else:
                raise AssertionError(f"the job {label} is not counted: {counters}")
            # perf's events of a process end where it begins to exit; those of a cgroup count that too.
            cgroup = ["-a", "-G", ",".join([f"synop_job_{label}"] * len(names))]
            perf = perf_start(names.values(), *(cgroup if in_cgroup else ["-p", str(load.pid)]))
            load.stdin.write("go\n")
            load.stdin.flush()
            assert load.stdout.readline() == "done\n"
            theirs = perf_stop(perf)
            ours = dict.fromkeys(names, 0)
            quiet = 0
            for _ in range(60):  # the lines of the load, to the first two in which nothing was done
                counters = agent.job(label)
                for name in names:
                    ours[name] += counters[name] or 0
                quiet = quiet + 1 if counters["page_faults"] == 0 else 0
                if quiet == 2:
                    break
            load.stdin.close()
            load.wait(timeout=30)
    finally:
        agent.close()
    return ours, {name: theirs.get(event) for name, event in names.items()}
