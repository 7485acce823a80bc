"""AWS Neuron: neuron-monitor as a child of the agent, with the faults it may have, and the driver's sysfs."""

import ctypes
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys

import psutil
import pytest
from lib.programs import ROOT, run, wait_until

pytestmark = pytest.mark.sanitized

STAND_IN = ROOT / "tests" / "lib" / "neuron_monitor.py"
MACHINE = ROOT / "tests" / "roots" / "neuron"


class Monitor:
    """The stand-in, and the agent that it is a child of."""

    def __init__(self, cluster, folder, mode, *options, config=None, command=(sys.executable, STAND_IN)):
        self.folder = folder
        self.say(mode)
        self.agent = cluster.start("alone", "agent", "--config", config or cluster.empty, "--period", "100ms",
                                   "--jobs-book", "", "--neuron-command", " ".join(map(str, (*command, folder))),
                                   *options)

    def say(self, mode):
        (self.folder / "mode").write_text(mode)

    def runtime(self, pid):
        (self.folder / "new").write_text(str(pid))
        (self.folder / "new").rename(self.folder / "runtime")

    def begun(self):
        """The process id of each, when it began, and whether it was given a configuration."""
        path = self.folder / "pids"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [(int(pid), float(began), given == "True") for pid, began, given in (line.split() for line in lines)]

    def pids(self):
        return [pid for pid, *_ in self.begun()]

    def wait_pids(self, count):
        return wait_until(lambda: self.pids()[count - 1:] and self.pids(), f"{count} processes")

    def wait_runtime(self, check=lambda runtime: True, after=0):
        """The first runtime that fits."""
        def fitting(line):
            return [one for one in line["report"].get("runtime_data", []) if one["runtime"] and check(one)]
        return fitting(self.agent.wait_line(fitting, after=after))[0]

    def wait_error(self, words, after=0):
        def fits(line):
            return any(words in one["error"] and one["runtime"] is None for one in line["report"].get("runtime_data", []))
        return self.agent.wait_line(fits, after=after)


@pytest.fixture
def monitor(cluster, tmp_path):
    return lambda mode, *options, **more: Monitor(cluster, tmp_path, mode, *options, **more)


def is_gone(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE  # of an agent that was killed: init's
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("mode", ["speak", "pieces", "loud"])
def test_values(monitor, mode):
    it = monitor(mode, "--log-level", "debug")
    runtime = it.wait_runtime(lambda one: one["report"]["execution_stats"]["completed"])
    assert runtime["pid"] == 20843 and runtime["neuron_runtime_tag"] == "train" and runtime["error"] == ""
    report = runtime["report"]
    assert report["neuroncore_counters"]["neuroncores_in_use"]["0"]["neuroncore_utilization"] == 42.5
    assert report["neuron_runtime_vcpu_usage"]["error"] == "no such process"
    assert report["neuron_runtime_vcpu_usage"]["user"] is None and report["execution_stats"]["error"] == ""
    facts = it.agent.wait_line(lambda line: line["report"].get("neuron_hardware_info", {}).get("devices"))["report"]
    assert facts["neuron_hardware_info"]["devices"]["0"]["neuron_device_type"] == "trainium2"
    line = it.agent.wait_line(lambda line: (line["report"].get("instance_info") or {}).get("ami_id"))
    assert line["report"]["instance_info"]["instance_type"]
    # What was counted is told once: of each kind as many as reports were read.
    for line in it.agent.wait_lines(20, after=it.agent.mark()):
        if line["report"].get("runtime_data"):
            done = line["report"]["runtime_data"][0]["report"]["execution_stats"]["completed"]
            ecc = line["report"]["system_data"]["neuron_hw_counters"]["neuron_devices"]["0"]["mem_ecc_corrected"]
            assert done is not None and abs(done - ecc) <= 1
    assert it.agent.stop() == 0
    log = it.agent.log()
    assert log.count("neuron-monitor says:") == (3 if mode == "loud" else 0), log
    assert "\x1b" not in log and "a line that is no" not in log


def test_dies_and_comes_back(monitor):
    it = monitor("die")
    it.wait_pids(3)
    it.wait_error("no report for")
    it.wait_error("ended with exit code 3")
    it.say("speak")
    mark = it.agent.mark()
    it.wait_runtime(after=mark)
    first, *_, last = it.wait_pids(4)
    assert all(is_gone(pid) for pid in it.pids()[:-1]) and first != last
    assert all(given for _, _, given in it.begun()), "each has spoken: what one left of a line is not of the next one's"
    times = [began for _, began, _ in it.begun()]
    for i, pause in enumerate((1, 2, 4)):
        assert times[i + 1] - times[i] >= pause, "each pause is longer"
    assert [child.pid for child in psutil.Process(it.agent.pid).children()] == [last]
    assert it.agent.stop() == 0
    assert is_gone(last)
    log = it.agent.log()
    assert log.count("neuron-monitor: ") == 1, "what fails again and again is no news"
    assert "has closed" not in log


@pytest.mark.parametrize("mode, words", [
    ("hang", "gives no reports"),
    ("babble", "writes lines that are no reports"),
    ("endless", "writes a line without an end"),
    ("close", "has closed its output"),
])
def test_is_started_again(monitor, mode, words):
    it = monitor("speak")
    it.wait_runtime()
    it.say(mode)
    # What it said is not told for ever.
    line = it.wait_error("no report for", after=it.agent.mark())
    assert line["report"]["runtime_data"][0]["report"] == {}
    assert not line["report"]["system_data"]["neuron_hw_counters"]["neuron_devices"]
    wait_until(lambda: words in it.agent.log(), words)
    it.say("speak")
    it.wait_pids(2)
    it.wait_runtime(after=it.agent.mark())
    wait_until(lambda: is_gone(it.pids()[0]), "the first process")
    assert it.agent.log().count(f"neuron-monitor: {words}") == 1
    assert it.agent.log().count(" warning: group ") == it.agent.log().count(": fine again") <= 1, "one for all groups"
    assert it.agent.stop() == 0


def test_other_groups_stay_in_time(monitor):
    it = monitor("hang")
    lines = it.agent.wait_lines(20)
    assert all(line["report"]["system_data"]["load"]["error"] == "" for line in lines)
    assert not lines[0]["report"].get("runtime_data"), "it is given time to begin"
    it.wait_error("no report of neuron-monitor yet")
    assert it.agent.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ends_with_the_agent(monitor, number):
    it = monitor("hang")
    pid, = it.wait_pids(1)
    it.agent.killed = number == signal.SIGKILL
    it.agent.signal(number)
    it.agent.wait()
    wait_until(lambda: is_gone(pid), "the child, which ignores SIGTERM")


@pytest.mark.parametrize("mode", ["die", "babble"])
def test_what_it_started_ends_with_it(monitor, cluster, tmp_path, mode):
    script = cluster.write("wrapper", f"#!/bin/sh\nsleep 1000 & echo $! >>{tmp_path}/left\n{sys.executable} {STAND_IN} \"$@\"\n")
    script.chmod(0o755)
    it = monitor(mode, command=[script])
    it.wait_pids(2)
    left = [int(pid) for pid in (tmp_path / "left").read_text().split()]
    wait_until(lambda: is_gone(left[0]) and is_gone(it.pids()[0]), "the first, and what it started")
    assert it.agent.stop() == 0
    for pid in [int(pid) for pid in (tmp_path / "left").read_text().split()] + it.pids():
        wait_until(lambda pid=pid: is_gone(pid), "what it started last")


def test_has_nothing_of_the_agent(monitor):
    it = monitor("speak")
    it.wait_runtime()
    pid, = it.pids()
    files = {number: os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")}
    assert files.pop("0") == "/dev/null" and files.pop("1") != files.pop("2")
    assert "neuron-monitor.conf" in files.pop("3")
    assert not any("pipe" in file or "socket" in file or "anon" in file for file in files.values()), files
    status = dict(line.split(":\t") for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    assert int(status["SigBlk"], 16) == 0 and int(status["CapAmb"], 16) == 0
    assert os.getpgid(pid) == pid


def test_job_of_a_runtime(monitor, cluster):
    worker = subprocess.Popen(["sleep", "600"], env=dict(os.environ, SLURM_JOB_ID="4712"), start_new_session=True)
    try:
        it = monitor("speak")
        assert it.wait_runtime()["job"] is None
        it.runtime(worker.pid)
        runtime = it.wait_runtime(lambda one: one["pid"] == worker.pid and one["job"])
        assert runtime["job"] == "4712" and runtime["neuron_runtime_tag"] == "train"
        it.runtime(os.getpid())
        assert it.wait_runtime(lambda one: one["pid"] == os.getpid())["job"] is None
    finally:
        worker.kill()
        worker.wait()


def test_job_of_a_runtime_where_jobs_are_not_sampled(monitor, cluster):
    worker = subprocess.Popen(["sleep", "600"], env=dict(os.environ, SLURM_JOB_ID="4712"), start_new_session=True)
    groups = ("info", "cpu", "memory", "io", "processes", "gpu")
    config = cluster.write("agent.ini", "".join(f"[group job_{name}]\nenabled = no\n" for name in groups))
    try:
        it = monitor("speak", config=config)
        it.runtime(worker.pid)
        assert it.wait_runtime(lambda one: one["pid"] == worker.pid)["job"] is None
        assert all(line["report"]["runtime_data"][0]["job"] is None
                   for line in it.agent.wait_lines(5, after=it.agent.mark()) if line["report"]["runtime_data"][0]["runtime"])
        assert it.agent.stop() == 0 and it.agent.log() == ""
    finally:
        worker.kill()
        worker.wait()


def test_configuration(monitor):
    it = monitor("speak")
    config = json.loads(wait_until(lambda: (it.folder / "config").exists() and (it.folder / "config").read_text(), "it"))
    runtime, = config["neuron_runtimes"]
    assert {metric["type"]: metric["period"] for metric in runtime["metrics"]} == {
        "neuroncore_counters": "100ms", "execution_stats": "100ms", "memory_used": "100ms",
        "neuron_runtime_vcpu_usage": "100ms",
    }
    assert config["system_metrics"] == [{"type": "neuron_hw_counters", "period": "100ms"}]


def test_configuration_has_the_groups_periods(cluster, tmp_path):
    (tmp_path / "mode").write_text("speak")
    config = cluster.write("agent.ini", f"[neuron]\ncommand = {sys.executable} {STAND_IN} {tmp_path}\n[group memory_used]\n"
                           "period = 30s\n[group loaded_models]\nperiod = 10s\n[group neuroncore_memory_usage]\n"
                           "enabled = no\n[group neuron_hw_counters]\nenabled = no\n[group execution_stats]\nperiod = 2s\n")
    cluster.start("alone", "agent", "--config", config)
    made = json.loads(wait_until(lambda: (tmp_path / "config").exists() and (tmp_path / "config").read_text(), "it"))
    assert {metric["type"]: metric["period"] for metric in made["neuron_runtimes"][0]["metrics"]} == {
        "neuroncore_counters": "1000ms", "execution_stats": "2000ms", "memory_used": "10000ms",
        "neuron_runtime_vcpu_usage": "1000ms",
    }
    assert made["system_metrics"] == [] and made["period"] == "1000ms"


def test_one_that_does_not_know_the_configuration(monitor):
    it = monitor("strict")
    it.wait_runtime()
    assert len(it.pids()) == 2
    assert it.agent.log().count("neuron-monitor: ended with exit code 2") == 1
    assert it.agent.log().count(" warning: group ") <= 1


def test_a_command_that_is_not_there(cluster):
    agent = cluster.start("alone", "agent", "--config", cluster.empty, "--period", "100ms", "--neuron-command",
                          "/nonexistent/monitor")
    agent.wait_line(lambda line: "there is no such program" in (line["report"].get("runtime_data") or [{"error": ""}])[0]["error"])
    assert agent.stop() == 0
    assert agent.log().count("there is no such program") == 1


class Watch:
    """Sees files below a folder that are opened for writing: they are closed some time."""

    CLOSE_WRITE, MODIFY = 0x8, 0x2

    def __init__(self, root):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
            assert self.libc.inotify_add_watch(self.fd, os.fsencode(folder), self.CLOSE_WRITE | self.MODIFY) >= 0

    def seen(self):
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return []
        names = []
        while data:
            length, = struct.unpack_from("12xI", data)
            names.append(data[16:16 + length].rstrip(b"\0").decode())
            data = data[16 + length:]
        return names


def test_sysfs_is_read_alone(cluster, tmp_path):
    root = tmp_path / "root"
    shutil.copytree(MACHINE, root)
    devices = root / "sys/devices/virtual/neuron_device"
    watch = Watch(devices)
    agent = cluster.start("alone", "agent", "--config", cluster.empty, "--period", "50ms", "--jobs-book", "", "--root",
                          root)
    agent.wait_line(lambda line: any(one["report"]["neuroncore_counters"]["neuroncores_in_use"]["3"]["flops"] == 0
                                     for one in line["report"].get("runtime_data", [])
                                     if "neuroncore_counters" in one["report"]))
    agent.wait_lines(20)
    assert agent.stop() == 0
    assert watch.seen() == []
    with open(devices / "neuron0/reset", "a", encoding="ascii"):
        pass
    assert watch.seen() == ["reset"], "the watch sees who opens one for writing"
    os.close(watch.fd)


def test_sysfs_changes(cluster, tmp_path):
    root = tmp_path / "root"
    shutil.copytree(MACHINE, root)
    agent = cluster.start("alone", "agent", "--config", cluster.empty, "--period", "50ms", "--jobs-book", "", "--root",
                          root)
    agent.wait_line(lambda line: any(one["report"].get("execution_stats", {}).get("completed") == 0
                                     for one in line["report"].get("runtime_data", [])))
    path = root / "sys/devices/virtual/neuron_device/neuron1/neuron_core1/stats/status/success/total"
    with open(path, "r+", encoding="ascii") as file:  # the same file, as the kernel's
        file.write("131\n")
    line = agent.wait_line(lambda line: any(one["report"].get("execution_stats", {}).get("completed")
                                            for one in line["report"].get("runtime_data", [])))
    assert line["report"]["runtime_data"][0]["report"]["execution_stats"]["completed"] == 30
    assert agent.stop() == 0
    assert agent.log() == ""


@pytest.mark.skipif(os.path.exists("/dev/neuron0"), reason="this machine has Neuron devices")
def test_node_without_neuron(cluster, tmp_path):
    (tmp_path / "neuron-monitor").write_text(f"#!/bin/sh\necho >{tmp_path}/started\n")
    (tmp_path / "neuron-monitor").chmod(0o755)
    agent = cluster.start("alone", "agent", "--config", cluster.empty, "--period", "50ms", "--jobs-book", "",
                          env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    lines = agent.wait_lines(10)
    for line in lines:
        assert "runtime_data" not in line["report"] and "neuron_hardware_info" not in line["report"]
        assert "neuron_hw_counters" not in line["report"]["system_data"]
    assert psutil.Process(agent.pid).children() == []
    names = {pathlib.Path(f"/proc/{agent.pid}/task/{task}/comm").read_text().strip()
             for task in os.listdir(f"/proc/{agent.pid}/task")}
    assert "neuron-monitor" not in names and not (tmp_path / "started").exists(), "installed, but without devices"
    assert agent.stop() == 0
    assert agent.log() == ""
    assert "no Neuron device" in run("agent", "--list-groups").stdout
