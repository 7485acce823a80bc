"""Jobs with a fault each, run by a real SLURM: the first note of the report, as its user reads it, says what is wrong and what
to write instead; of a healthy job there is none. (Killed for memory, over its time, a lost node: test_slurm.py.)

Programs compute, wait, send and write for real; what this machine has not is played: GPUs (lib/gpus.py), and swap, of which the
number in /proc is made up. Reports are read while the jobs run, until they say it, and again when they have ended. [advice]
judges them sooner than others; only the one that waits for its disk by that, and all by less CPU time, since they share the
machine with other tests."""

import os
import pathlib
import re
import subprocess
import time

import pytest
from lib import slurm
from lib.gpus import Gpus
from lib.programs import LIMIT, wait_until
from lib.slurm_bed import Bed

ADVICE = {"shortest": "4s", "cpu": 3, "storage": 100}
A100, T4 = "NVIDIA A100-SXM4-80GB", "Tesla T4"
TYPES = (A100, A100), (A100, T4)  # of the first nodes' GPUs
QUOTA_US = "5000"  # of 100,000: the time that the slow node's CPU gives
DISK_RATE = 2 << 20  # bytes a second
SWAPPED = 2 << 20  # KiB


class Job:
    """It is told from others by its mark. `first`: the first note, words in it, what to write; None: no note. `play`: what is
    to be done once it runs, for its first process."""

    def __init__(self, bed, mark, where, acts, first, play=None, **advice):
        self.bed, self.mark, self.first, self.play = bed, mark, first, play
        self.options = [word for name, value in (ADVICE | advice).items() for word in (f"--advice-{name}", value)]
        self.process = bed.slurm.srun(*where, "-J", mark, *bed.slurm.work(mark, *acts, "wait"))
        self.count = next((int(word[2:]) for word in where if word.startswith("-N")), 1)

    def begin(self):
        told = self.bed.slurm.told(self.mark, self.count)
        *_, (node, last) = told.items()
        self.id = last["job"]
        if self.play:
            self.play(node, last["pid"])
        self.bed.job_line(self.id, "started")

    def is_said(self):
        time.sleep(0.3)  # reports cost the machine more than these jobs
        found = self.bed.first_note(self.id, *self.options)
        if found is None or self.first is None:
            return found is self.first
        name, words, write = self.first
        return found[0] == name and all(word in found[1] for word in words) and (found[2] or "") == write

    def wait(self):
        """Until it ran long enough to be judged, and is judged so."""
        try:
            wait_until(lambda: time.sleep(0.3) or self.bed.report(self.id)["duration"] > 6, f"{self.mark} runs for 6 s")
            wait_until(self.is_said, self.mark)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.bed.command('report', self.id, *self.options)}") from None

    def go_on(self):
        self.bed.slurm.go_on(self.mark)

    def end(self):
        assert self.process.wait(LIMIT) == 0
        self.bed.job_line(self.id, "ended")
        assert self.is_said(), self.bed.command("report", self.id, *self.options)


@pytest.fixture(name="bed")
def bed_with_gpus(cluster):
    why = slurm.lacking("cgroup")
    if why:
        pytest.skip(f"no SLURM: {why}")
    gpus = [Gpus(cluster.folder, at_first(types), f"gpus-{at}") for at, types in enumerate(TYPES)]
    with Bed(cluster, "cgroup", settings="SlurmdParameters=config_overrides\n", gpus=gpus,
             hardware=["CPUs=16 RealMemory=20000 Gres=gpu:a100:2", "CPUs=16 RealMemory=20000 Gres=gpu:a100:1,gpu:t4:1",
                       "CPUs=16 RealMemory=20000"],
             devices="NodeName={0} Name=gpu Type=a100 File=/dev/tty[0-1]\nNodeName={1} Name=gpu Type=a100 File=/dev/tty0\n"
                           "NodeName={1} Name=gpu Type=t4 File=/dev/tty1\n") as made:
        yield made
    for controller in ("cpu", "blkio"):
        if limit_folder(made, controller).exists():
            limit_folder(made, controller).rmdir()


def at_first(types):
    return "gpus 2\nvalue * utilization 0\n" + "".join(f"name {gpu} {name}\n" for gpu, name in enumerate(types))


def play_gpus(bed, at):
    """The first GPU of the node computes for a process, the second has nothing to do."""
    return lambda _node, pid: bed.gpus[at].say(f"{at_first(TYPES[at])}value 0 utilization 92\nprocess 0 {pid} 40000000000\n")


def play_swap(bed):
    """To all on its host, a process has so much in swap."""

    def play(node, pid):
        host, status = bed.slurm.hosts[node], bed.slurm.command(node, "cat", f"/proc/{pid}/status").stdout
        made = bed.cluster.write("status", re.sub(r"(?m)^VmSwap:.*$", f"VmSwap:\t{SWAPPED} kB", status))
        subprocess.run(host.command("mount", "--bind", made, f"/proc/{pid}/status"), check=True, timeout=LIMIT)

    return play


def limit_folder(bed, controller):
    return slurm.CGROUPS / controller / f"fault-{bed.slurm.master}"


def limit(bed, controller, setting, value):
    """A process gets no more than this, whatever it wants, in a cgroup (v1) that has nothing to do with its job."""

    def play(node, pid):
        folder = limit_folder(bed, controller)
        folder.mkdir()
        (folder / setting).write_text(value)
        (folder / "cgroup.procs").write_text(str(bed.slurm.hosts[node].outside(pid)))

    return play


def slow_disk(bed):
    """Where the file system lies on a disk of its own; else it is as slow as it is."""
    device = os.stat(bed.cluster.folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    known = pathlib.Path("/sys/dev/block", number).resolve().parent.name == "block"  # which no partition is
    return limit(bed, "blkio", "blkio.throttle.read_bps_device", f"{number} {DISK_RATE}") if known else None


def at_rest(bed):
    """Jobs that need little of the machine's CPUs, and the healthy one."""
    first, second, third = bed.nodes
    yield Job(bed, "healthy", ["-N2", "-n2", "-c2", f"-x{third}", "--mem=200"], ["memory=100", "busy=0.6"], None)
    yield Job(bed, "idle", [f"-w{first}", "--gpus-per-node=2"], [], (
        "idle_gpus", (f"1 of 2 GPUs was left idle: GPU 1 on {first} ({A100}); no process of the job was on it", "ask for 1"),
        "#SBATCH --gpus-per-node=1"), play_gpus(bed, 0))
    yield Job(bed, "wrong", [f"-w{second}", "--gres=gpu:a100:1,gpu:t4:1"], [], (
        "idle_gpus", (f"GPU 1 on {second} ({T4})", f"It used the {A100} alone: ask for one of that type"),
        "#SBATCH --gpus-per-node=a100:1"), play_gpus(bed, 1))
    yield Job(bed, "memory", [f"-w{third}", "--mem=3000"], ["memory=280", "busy=0.1"], (
        "memory_unused", ("of the 2.93 GiB of memory that it asked for. Ask for 512 MiB",), "#SBATCH --mem=512M"))
    yield Job(bed, "swap", [f"-w{third}", "--mem=300"], ["memory=60", "busy=0.1"], (
        "swap", ("up to 2.00 GiB of it lay in swap on", "Ask for 3.00 GiB"), "#SBATCH --mem=3G"), play_swap(bed))


def at_work(bed):
    first, second, third = bed.nodes
    addresses = ",".join(bed.slurm.hosts[node].address for node in (second, first))
    yield Job(bed, "thread", [f"-w{first}", "-c8"], ["busy=0.1"], (
        "cpus_unused", ("of the 8 CPUs", "1 thread.", "OMP_NUM_THREADS=8), or ask for 1"), "#SBATCH --cpus-per-task=1"))
    yield Job(bed, "network", ["-N2", "-n2", f"-x{third}"], [f"send={addresses}"], (
        "network_bound", ("bound by the network: Ethernet carried ", "fewer nodes, or send fewer and larger messages"),
        "#SBATCH --nodes=1"), network=2)
    yield Job(bed, "disk", [f"-w{second}"], ["disk"], (
        "storage_bound", ("waited for storage in ", "and read and write in large pieces"), ""), slow_disk(bed), storage=20)
    yield Job(bed, "slow", ["-N3", "-n3"], ["busy=0.4"], (
        "slow_node", (f"{third} was slow: it used ", "report it to the operators and leave it out"),
        f"#SBATCH --exclude={third}"), limit(bed, "cpu", "cpu.cfs_quota_us", QUOTA_US))


def test_faults(bed):
    for start in (at_rest, at_work):
        jobs = list(start(bed))
        for step in (Job.begin, Job.wait, Job.go_on, Job.end):
            for job in jobs:
                step(job)
