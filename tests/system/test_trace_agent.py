"""Traces of processes by real programs: the aggregator is asked, the agent has them done, and processes are played by
lib/kineto_client.py, which was written from the layout of the datagrams alone."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from lib import kineto_client
from lib.kineto_client import Client
from lib.machine import BOB, EVE
from lib.programs import run, wait_until

pytestmark = pytest.mark.sanitized
PROGRAM = [sys.executable, kineto_client.__file__]
SLEEP = [sys.executable, "-c", "import time; time.sleep(3600)"]
ROOT = os.geteuid() == 0


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def children(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


class Process:
    """Of a job; what it writes, line by line."""

    def __init__(self, made, *arguments, job, rank=None, user=None, command=None, prefix=()):
        self.path = made.folder / f"process-{len(made.processes)}"
        rank = {} if rank is None else {"RANK": str(rank)}
        as_user = {"user": user, "group": user, "extra_groups": []} if user and ROOT else {}
        with open(self.path, "wb") as out, open(f"{self.path}.log", "wb") as log:
            self.process = subprocess.Popen([*prefix, *(command or [*PROGRAM, "--socket", made.socket, *map(str, arguments)])], stdout=out,
                                            stderr=log, env=os.environ | {"SYNOP_JOB_ID": job} | rank, **as_user)
        self.pid = self.process.pid

    def lines(self):
        return [json.loads(line) for line in self.path.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def wait(self, name):
        return wait_until(lambda: next((line[name] for line in self.lines() if name in line), None), f"{name} of {self.pid}")


class Node:
    """One that traces, and a job on it."""

    def __init__(self, cluster):
        self.cluster, self.processes = cluster, []
        self.job = f"traced{os.getpid()}"
        self.socket = f"synop-test-{os.getpid()}"
        self.folder = cluster.folder / "traced"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        cluster.folder.chmod(0o755)

    def start(self, *options, name=None, **more):
        self.cluster.start_aggregator()
        self.cluster.start_agent("n1", "--traces", "--traces-socket", name or f"@{self.socket}", "--traces-folders", self.folder,
                                 *options, **more)
        self.cluster.wait_node("n1")

    def process(self, *arguments, **more):
        self.processes.append(Process(self, *arguments, **{"job": self.job} | more))
        return self.processes[-1]

    def command(self, *arguments):
        return ["trace", "--config", self.cluster.empty, "--socket", self.cluster.socket, *arguments]

    def listed(self):
        done = run("aggregator", *self.command("--list", self.job, "--json"))
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return {line["pid"]: line for line in lines if line["what"] == "process" and line["state"] == "found"}

    def wait_listed(self, *processes):
        """The job's processes are known as such, with their ranks."""
        for process in processes:
            process.wait("registered")
        wait_until(lambda: {process.pid for process in processes} <= set(self.listed()), "processes that have registered")

    def wait_job(self):
        self.cluster.aggregator.wait_line(type="job", event="started", job_id=self.job)
        wait_until(lambda: (self.cluster.node_status("n1")["clock"] or {}).get("bound") is not None, "the node's clock")

    def trace(self, *arguments, code=0, path="{job}-{rank}.json"):
        """The last line of each process; 0: the node's."""
        done = run("aggregator", *self.command(self.job, "-o", f"{self.folder}/{path}", "--wait", "--json", *arguments))
        assert done.returncode == code, (done.stdout, done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return {line["pid"]: line for line in lines if line["what"] == "process"}

    def close(self):
        for process in self.processes:
            process.process.kill()
        for process in self.processes:
            process.process.wait()


@pytest.fixture
def node(cluster):
    made = Node(cluster)
    yield made
    made.close()


def test_kineto(node):
    """Two ranks, of old and new versions, begin at one instant; a third has not registered."""
    node.start()
    old, new = node.process("--gpu", "0", rank=0, user=BOB), node.process("--gpu", "1", "--newer", rank=1, user=BOB)
    missing = node.process(command=SLEEP, user=BOB)
    node.wait_job()
    node.wait_listed(old, new)
    wait_until(lambda: {line["rank"] for line in node.listed().values()} == {0, 1}, "ranks")
    ended = node.trace("--start", "+6s", "--duration", "100ms", "--set", "PROFILE_WITH_STACK=true", code=1)
    assert [ended[process.pid]["state"] for process in (old, new)] == ["ended", "ended"], ended
    assert ended[missing.pid]["state"] == "unregistered" and "KINETO_USE_DAEMON=1" in ended[missing.pid]["error"]
    configs = [process.wait("config") for process in (old, new)]
    assert configs[0]["PROFILE_START_TIME"] == configs[1]["PROFILE_START_TIME"]
    assert configs[0]["ACTIVITIES_DURATION_MSECS"] == "100" and configs[0]["PROFILE_WITH_STACK"] == "true"
    for process, path in ((old, f"{node.job}-0.json"), (new, f"{node.job}-1_{new.pid}.json")):
        path = node.folder / path
        assert process.wait("written") == ended[process.pid]["path"] == str(path)
        assert ended[process.pid]["size"] == path.stat().st_size
        assert json.loads(path.read_text())["traceEvents"]


def test_counters(node):
    """A burst of samples, by the job's user."""
    if not ROOT:
        pytest.skip("only root can be several users")
    node.start()
    node.process(command=SLEEP, user=BOB)
    node.wait_job()
    ended = node.trace("--tool", "counters", "--start", "+1s", "--duration", "500ms", "--set", "groups=load,memory_info period=20ms",
                       path="{node}.jsonl")
    assert ended[0]["state"] == "ended", ended
    path = node.folder / "n1.jsonl"
    assert path.stat().st_uid == BOB and path.stat().st_size == ended[0]["size"]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 26 and lines[0]["node"] == "n1"
    assert {group for line in lines for section in line["report"].values() for group in section} == {"load", "memory_info"}


def test_perf(node):
    """For its time; and when its agent is killed, nothing of it stays."""
    if not ROOT or not shutil.which("perf"):
        pytest.skip("perf, and a user that is not root")
    node.start()
    node.process(command=SLEEP, user=BOB)
    node.wait_job()
    done = run("aggregator", *node.command(node.job, "-o", f"{node.folder}/{{node}}", "--tool", "perf", "--duration", "300ms",
                                        "--start", "+0s", "--wait"))
    if done.returncode and "perf ended with" in done.stdout:
        pytest.skip(done.stdout)
    assert " there " in done.stdout and (node.folder / "n1").stat().st_uid == BOB, done.stdout
    run("aggregator", *node.command(node.job, "-o", f"{node.folder}/{{node}}-long", "--tool", "perf", "--duration", "1h", "--start", "+0s"))

    def of_perf():
        perf = [pid for pid in os.listdir("/proc") if pid.isdigit() and f"{node.folder}/n1-long".encode() in command_line(pid)]
        return perf + [child for pid in perf for child in children(pid)]

    wait_until(lambda: len(of_perf()) == 2, "perf and what it waits for")
    left = of_perf()
    node.cluster.agents["n1"].kill()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in left), "the end of perf")


def test_others(node):
    """Another user's process, which says that it is one of the job, learns nothing; nor may it write in the name of the job."""
    if not ROOT:
        pytest.skip("only root can be several users")
    node.start()
    victim = node.process("--every", "3600", rank=0, user=BOB)
    node.wait_job()
    node.wait_listed(victim)
    eve = node.process("--as", victim.pid, "--every", "0.05", user=EVE, job="other")
    flood = f"""
import os, sys
sys.path.insert(0, {str(pathlib.Path(kineto_client.__file__).parent)!r})
from kineto_client import Client, context, request
client = Client({node.socket!r}, {victim.pid})
client.socket.setblocking(False)
print('{{"floods": 1}}', flush=True)
while True:
    for bytes_ in (b"", bytes(40), os.urandom(3000), bytes(60000), request([client.pid] * 100), context(0, client.pid)):
        try:
            client.socket.sendto(bytes_, "\\0" + client.name + "\\0")
        except OSError:
            pass
    try:
        if b"ACTIVITIES" in client.socket.recv(65536):
            print('{{"stolen": 1}}', flush=True)
    except OSError:
        pass
"""
    flooding = node.process(command=[sys.executable, "-c", flood], user=EVE, job="other")
    flooding.wait("floods")
    ended = node.trace("--start", "+2s", code=1)
    assert "did not ask" in ended[victim.pid]["error"] and set(ended) == {victim.pid}, ended
    assert not eve.lines() and not any("stolen" in line for line in flooding.lines())
    assert not any("config" in line for line in victim.lines())
    mark = node.cluster.aggregator.mark()
    node.cluster.wait_node("n1", after=mark)  # it samples as ever


def test_folders(node):
    """What the job's user may not write; what lies outside of the folders; links."""
    if not ROOT:
        pytest.skip("only root can be several users")
    node.start()
    client = node.process(rank=0, user=BOB)
    node.wait_job()
    node.wait_listed(client)
    (node.folder / "closed").mkdir(mode=0o700)
    (node.folder / "link").symlink_to("/tmp")
    for path, words in (("closed/{rank}", "may not write"), ("absent/{rank}", "not there"), ("link/{rank}", "link")):
        assert words in node.trace("--start", "+5s", code=1, path=path)[client.pid]["error"]
    done = run("aggregator", *node.command(node.job, "-o", "/etc/{rank}", "--wait"))
    assert done.returncode == 1 and "none of the folders" in done.stdout + done.stderr, (done.stdout, done.stderr)
    assert not client.lines()[1:]


def test_a_full_disk(node):
    """The folder is one that only the process sees: files are looked for as it sees them."""
    mount = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f"mount -t tmpfs -o size=64k,mode=777 none {node.folder} && head -c 70000 /dev/zero >{node.folder}/full; exec \"$@\"", "sh"]
    if not ROOT or subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted")
    node.start()
    client = node.process(rank=0, prefix=mount)
    node.wait_job()
    node.wait_listed(client)
    ended = node.trace("--start", "+2s", "--duration", "10ms", code=1)
    assert "full" in ended[client.pid]["error"], ended
    assert "No space left" in client.wait("failed")


def test_a_path(node):
    """As containers have it, which call the folder otherwise; the socket is gone with the agent."""
    folder = pathlib.Path(os.path.realpath(node.cluster.folder)) / "k"
    folder.mkdir()
    folder.chmod(0o1777)
    inside = node.cluster.folder / "i"
    inside.symlink_to(folder)
    node.start(name=str(folder / "dynolog"))
    wait_until((folder / "dynolog").exists, "the socket")
    client = Client(str(inside / "dynolog"))
    assert client.register() == 1
    assert client.fetch() == {} and client.fetch(kineto_client.EVENTS) == {}
    client.close()
    assert node.cluster.agents["n1"].stop() == 0
    assert not (folder / "dynolog").exists()
