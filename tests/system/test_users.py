"""A user of a node who takes what is there for jobs, or says what is not his to say: other users' jobs are seen as before, an
event names him, and other nodes notice nothing.

What users do many times over lies on a made-up machine (lib/machine.py), which only the node's own agent sees."""

import os
import pathlib
import subprocess
import sys

import pytest
from lib import machine
from lib.hostile import MIB, Siege
from lib.machine import BOB, EVE, NOBODY, RAN_BEFORE
from lib.programs import environment, wait_until

PLACES = 1024
DEAD = [sys.executable, str(pathlib.Path(machine.__file__).with_name("in_dead_files.py"))]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")


class Node:
    """The attacked one, and what is known of its jobs."""

    def __init__(self, cluster, made):
        self.cluster, self.machine, self.process = cluster, made, made.process

    def start(self, **more):
        self.agent = self.cluster.start_agent("evil", "--root", self.machine.root, config=machine.only_jobs(), **more)

    def jobs(self, group="job_processes"):
        """Of its last frame: {label: the group's row}."""
        lines = self.cluster.aggregator.lines(type="node", node="evil")
        shown = lines[-1]["report"].get("job_data", []) if lines else []
        return {job["job_id"]: job["report"][group] for job in shown if group in job["report"]}

    def began(self, label):
        """The line of the job's beginning."""
        lines = self.cluster.aggregator.lines(type="job", event="started")
        return next((line for line in lines if line["job_id"] == label), None)

    def failures(self):
        """What events say is wrong with its groups."""
        return [line["error"] for line in self.cluster.aggregator.lines(type="event", event="group_failed", node="evil")]

    def wait_failure(self, siege, words):
        wait_until(lambda: any(words in error for error in self.failures()), f"an event with {words!r}")


@pytest.fixture(name="node")
def attacked_node(cluster):
    with machine.Machine() as made:
        yield Node(cluster, made)


@pytest.fixture(name="user_namespace")
def users_namespace():
    """What /proc says of one that NOBODY has made."""
    made = subprocess.Popen(["unshare", "--user", "sleep", "600"], user=NOBODY, group=NOBODY)
    of_process = pathlib.Path(f"/proc/{made.pid}/ns/user")
    wait_until(lambda: made.poll() is not None or not of_process.samefile("/proc/self/ns/user"), "a user namespace")
    if made.poll() is not None:
        pytest.skip("plain users may make no user namespace")
    yield of_process
    made.kill()
    made.wait()


def test_processes_that_hang(cluster, node, user_namespace):
    """Six, in a user's own namespace and there of another user each, whose environment lies in a file system that never
    answers. Another user's jobs are seen: one on each side of them in /proc, and one that begins then; the event says who
    it is."""
    with Siege(cluster, prompt=Siege.healthy) as siege:
        dead, beside = [], {"before", "behind"}
        node.process(BOB, RAN_BEFORE, SYNOP_JOB_ID="before")
        for number in range(6):
            folder = node.process(100000 + number, RAN_BEFORE, SYNOP_JOB_ID="hung")
            (folder / "ns").mkdir()
            (folder / "ns" / "user").symlink_to(user_namespace)
            dead.append(folder / "environ")
        node.process(BOB, RAN_BEFORE, SYNOP_JOB_ID="behind")
        node.start(prefix=[*DEAD, *dead, "--"])
        wait_until(lambda: set(node.jobs()) == beside or not node.agent.alive(), "the jobs beside them")
        if node.agent.process.poll() == 77:
            pytest.skip(node.agent.log())
        node.wait_failure(siege, f"reading processes of user {NOBODY} hangs")
        node.process(BOB, SYNOP_JOB_ID="after")
        wait_until(lambda: set(node.jobs()) == beside | {"after"}, "the job that begins now")


def test_user_who_fills_all_places(cluster, node):
    """1,100 jobs of one user where there is room for 1,024: others get theirs, the scheduler's first."""
    with Siege(cluster, prompt=Siege.healthy, growth=32 * MIB) as siege:
        for number in range(1100):
            node.process(NOBODY, RAN_BEFORE, SYNOP_JOB_ID=f"flood-{number}")
        node.start()
        wait_until(lambda: len(node.jobs()) == PLACES, "all places are taken")
        node.process(BOB, SYNOP_JOB_ID="victim")
        node.process(EVE, cgroup="/system.slice/slurmstepd.scope/job_9/step_0/user/task_0")
        wait_until(lambda: {"victim", "9"} <= set(node.jobs()), "the others' jobs")
        assert len(node.jobs()) == PLACES
        node.wait_failure(siege, f"of user {NOBODY}: more of that user's are left out")


def test_user_who_begins_hundreds(cluster, node):
    """A thousand that last a moment each: a few are jobs, and one event says who begins so many. Another user's begins at once."""
    with Siege(cluster, prompt=Siege.healthy, growth=32 * MIB) as siege:
        node.start()
        cluster.wait_node("evil")
        for batch in range(4):
            made = [node.process(NOBODY, SYNOP_JOB_ID=f"storm-{batch}-{number}") for number in range(250)]
            mark = len(cluster.aggregator.lines(type="node", node="evil"))
            wait_until(lambda: len(cluster.aggregator.lines(type="node", node="evil")) >= mark + 3, "they were looked at")
            node.machine.end(made)
        node.process(BOB, SYNOP_JOB_ID="victim")
        wait_until(lambda: "victim" in node.jobs(), "the other user's job")
        node.wait_failure(siege, f"user {NOBODY} begins more than 32 jobs at once")
    begun = [line for line in cluster.aggregator.lines(type="job", event="started") if line["job_id"].startswith("storm-")]
    assert 32 <= len(begun) < 64
    assert len(node.failures()) == 1


def test_user_who_claims_jobs(cluster, node):
    """What is in an environment is a claim of the process's user: he gets jobs of his own by it, and no other name."""
    with Siege(cluster, prompt=Siege.healthy) as siege:
        node.process(BOB, RAN_BEFORE, SYNOP_JOB_ID="mine")
        node.process(NOBODY, RAN_BEFORE, SLURM_JOB_ID="9", SLURM_JOB_UID=EVE, SLURM_JOB_USER="eve")
        node.start()
        wait_until(lambda: {"mine"} <= set(node.jobs()), "the first jobs")
        node.process(NOBODY, SYNOP_JOB_ID="mine")
        node.process(EVE, cgroup="/system.slice/slurmstepd.scope/job_9/step_0/user/task_0", SLURM_JOB_ID="9",
                     SLURM_JOB_UID=EVE, SLURM_JOB_USER="eve")
        wait_until(lambda: {"mine", "9", f"mine@{NOBODY}"} <= set(node.jobs()), "the other jobs")
        wait_until(lambda: node.began(f"mine@{NOBODY}") and node.began("9"), "their beginnings")
    assert {label: job["processes"] for label, job in node.jobs().items()} == {"mine": 1, "9": 1, f"mine@{NOBODY}": 1}
    assert {label: node.began(label)["user"] for label in node.jobs()} == {
        "mine": str(BOB), "9": "eve", f"mine@{NOBODY}": str(NOBODY)}


def test_name_in_an_environment(cluster):
    """On this machine, which knows its users' names: a job of SLURM's that only its process vouches for is its user's."""
    label = str(10**8 + os.getpid())
    told = environment() | {"SLURM_JOB_ID": label, "SLURM_JOB_USER": "root"}
    with Siege(cluster, prompt=Siege.healthy):
        claiming = subprocess.Popen(["sleep", "600"], env=told, user=NOBODY, group=NOBODY)
        try:
            line = cluster.aggregator.wait_line(type="job", event="started", job_id=label)
            assert line["user"] == "nobody"
        finally:
            claiming.kill()
            claiming.wait()


def test_jobs_with_long_names(cluster, node):
    """560, whose rows are more than a frame may be: it has as many as fit, is taken, and its groups say how many do not."""
    with Siege(cluster, prompt=Siege.healthy, growth=32 * MIB) as siege:
        for number in range(560):
            node.process(NOBODY, RAN_BEFORE, SYNOP_JOB_ID=f"{number}".ljust(120, "j"))
        node.start()
        wait_until(lambda: node.jobs(), "its jobs")
        node.wait_failure(siege, "do not fit a frame")
        status = cluster.node_status("evil")
        assert status["state"] == "up" and status["rejected"] == 0 and status["lost"] == 0, status
