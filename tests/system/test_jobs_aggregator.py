"""Jobs at a real aggregator: nodes that are played here show them over the wire; lines, tables, commands and restarts."""

import contextlib
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest
from lib import expected, protocol
from lib.cluster import read_key
from lib.peers import AgentPeer
from lib.programs import BUILD, LIMIT, ROOT, parse_line, run, time_ns, wait_until
from lib.protocol import COUNTER, FOLD_NONE, GAUGE, OF_NODE, TEXT, UNIT_NONE, Group, Metric

S = 1_000_000_000
PERIOD_NS = S // 20
JOB = {"section": "job_data", "row": "job", "rows_name": "jobs", "fold_name": "total"}


def text(name):
    return Metric(name, TEXT, UNIT_NONE, FOLD_NONE)


GROUPS = [
    Group("plain", metrics=[Metric("count", COUNTER, flags=OF_NODE)]),
    Group("job_cpu", **JOB, metrics=[Metric("user_time", COUNTER, per=10**9), Metric("system_time", COUNTER, per=10**9)]),
    Group("job_info", **JOB, metrics=[text("scheduler"), text("user"), text("name"), Metric("cpus", GAUGE),
                                      Metric("started", GAUGE)]),
    Group("job_memory", **JOB, metrics=[Metric("rss", GAUGE), Metric("rss_peak", GAUGE)]),
]


class Node:
    """Shows jobs: {label: CPU seconds that it used here}. What is new since its last frame is in job_info too. Frames go out
    by themselves, from a thread, since jobs end when there are none."""

    def __init__(self, cluster, name, jobs=(), told=(), by_hand=False, user="ana"):
        self.user = user
        keys = cluster.keys_of(name)
        pair = read_key(keys / "agent.pub"), read_key(keys / "agent.key")
        self.peer = AgentPeer(cluster.endpoint, name, pair, read_key(keys / "aggregator.pub"), GROUPS)
        self.jobs, self.told, self.ended = dict(jobs), set(told), False
        self.peer.start()
        self.thread = None if by_hand else threading.Thread(target=self.go_on, daemon=True)
        if self.thread:
            self.thread.start()

    def go_on(self):
        while not self.ended:
            self.show()
            time.sleep(0.05)

    def close(self):
        self.ended = True
        if self.thread:
            self.thread.join()
        self.peer.close()

    def wire(self, name, rows):
        return protocol.table_wire(GROUPS, name, PERIOD_NS, rows=rows)

    def show(self):
        """One frame. Returns its job tables."""
        jobs = self.jobs
        info = {label: {"scheduler": "slurm", "user": self.user, "name": "relax", "cpus": 2, "started": time.time() - 1}
                for label in jobs if label not in self.told}
        self.told = set(jobs)
        cpu = {label: {"user_time": used * S, "system_time": used * S // 2} for label, used in jobs.items()}
        memory = {label: {"rss": 1000 * used} for label, used in jobs.items()}
        tables = [protocol.table_wire(GROUPS, "plain", PERIOD_NS, {"count": 1}), self.wire("job_cpu", cpu),
                  self.wire("job_info", info), self.wire("job_memory", memory)]
        self.peer.pump()
        self.peer.publish(tables)
        return [protocol.table_read(table, GROUPS) for table in tables[1:]]


@pytest.fixture
def nodes(cluster):
    """Makes nodes, which end with the test."""
    made = []

    def make(*arguments, **more):
        made.append(Node(cluster, *arguments, **more))
        return made[-1]

    yield make
    for node in made:
        node.close()


def start(cluster, *options, config="", **more):
    """The history is written soon: of commands that ask for it often, each but the first few would wait 10 s."""
    return cluster.start_aggregator("--job-grace", "1s", "--tick-period", "200ms", *options,
                                    config=config + "\n[history]\nchunk_time = 500ms\n", **more)


def command(cluster, name, *options):
    return run("aggregator", name, "--config", cluster.empty, "--socket", cluster.socket, *options)


def from_history(cluster, name, *options):
    return command(cluster, name, "--history", cluster.history, *options)


def listed(cluster, *options):
    done = from_history(cluster, "jobs", "--json", *options)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return [parse_line(line) for line in done.stdout.splitlines()]


def job_lines(program, event=None, **fields):
    fields |= {"event": event} if event else {}
    return program.lines(type="job", **fields)


def wait_jobs(program, count, event=None, **fields):
    return wait_until(lambda: len(found := job_lines(program, event, **fields)) >= count and found,
                      f"{count} lines of jobs: {event} {fields}")


def wait_next(program, node):
    """A line of a frame that was sent from now on."""
    program.wait_lines(3, after=program.mark(), type="node", node=node)


@pytest.mark.sanitized
def test_a_job_from_its_start_to_its_end(cluster, nodes):
    out = start(cluster)
    tail = cluster.start_tail("--type", "job")
    one, two = nodes("n1"), nodes("n2")
    begun = time.time_ns()
    one.jobs, two.jobs = {"123": 4}, {"123": 6}
    [started] = wait_jobs(out, 1)
    assert list(started) == ["type", "event", "time", "job_id", "scheduler", "user", "name", "command", "array", "cpus",
                             "nodes", "started"]
    told = {"type": "job", "event": "started", "job_id": "123", "scheduler": "slurm", "user": "ana", "name": "relax",
            "command": "", "array": "", "cpus": 4, "nodes": ["n1", "n2"]}
    assert started | told == started and abs(time_ns(started["started"]) - begun + S) < 5 * S
    [running] = listed(cluster, "--running")
    assert running["job_id"] == "123" and running["state"] == "running" and running["ended"] is None
    assert running["nodes"] == ["n1", "n2"]
    used = running["summary"]
    assert (used["cpu_time"], used["memory_peak"]["bytes"], used["nodes"]) == (15, 6000, 2)
    shown = from_history(cluster, "jobs", "--running").stdout.splitlines()[1].split()
    assert "00:00:15" in shown and "5.86" in shown
    one.jobs = {"123": 10}
    wait_next(out, "n1")
    one.jobs = two.jobs = {}
    [ended] = wait_jobs(out, 1, "ended")
    assert ended["reason"] == "gone" and ended["job_id"] == "123" and ended["user"] == "ana"
    assert S <= time_ns(ended["time"]) - time_ns(ended["ended"]) < 10 * S
    summary = ended["summary"]
    duration = (time_ns(ended["ended"]) - time_ns(ended["started"])) / S
    assert abs(summary["duration"] - duration) < 1e-5
    assert summary["nodes"] == 2 and summary["cpus"] == 4 and summary["cpu_time"] == 24
    assert summary["cpu_user_time"] == 16 and summary["cpu_system_time"] == 8
    assert abs(summary["cpu_efficiency"] - 100 * 24 / 4 / duration) < 0.01
    assert summary["memory_peak"] == {"node": "n1", "bytes": 10000} and summary["lost_nodes"] == []
    assert list(summary["per_node"]) == ["n1", "n2"] and summary["per_node"]["n2"]["cpu_time"] == 9
    [past] = listed(cluster)
    assert past["summary"] == summary and past["reason"] == "gone" and past["started"] == ended["started"]
    assert listed(cluster, "--running") == []
    wait_until(lambda: tail.lines() == job_lines(out), "the same lines of tail")
    # The fourth that asks a running aggregator in a row waits long: test_catch_up.py.
    assert out.stop() == 0
    assert listed(cluster) == [past] and listed(cluster, "--running") == [] == listed(cluster, "--user", "b*")
    assert listed(cluster, "--from", "-2h", "--to", "-1h") == []
    shown = from_history(cluster, "replay", "--type", "job").stdout.splitlines()
    assert [parse_line(line) for line in shown] == job_lines(out)
    shown = [parse_line(line) for line in from_history(cluster, "replay", "--type", "event").stdout.splitlines()]
    assert shown and all(line["type"] == "event" for line in shown)
    table = from_history(cluster, "jobs").stdout.splitlines()
    assert table[0].split() == ["JOB", "USER", "NAME", "STATE", "NODES", "STARTED", "DURATION", "CPU%", "CPU", "TIME",
                                "MEMORY", "ENERGY"]
    assert re.fullmatch(r"123  ana   relax  ended      2  \d{4}-\d\d-\d\d [\d:]{8}  00:00:\d\d +[\d.]+  00:00:24  9\.77 KiB +-",
                        table[1]), table[1]


def test_lines_match_an_independent_computation(cluster, nodes):
    """What a node's line says of jobs, from the same frames; and the combined report, which folds them over nodes."""
    out = start(cluster)
    node, before, before_ns = nodes("n1", by_hand=True), None, 0
    at = 10**15
    for jobs in ({}, {"7": 3}, {"7": 4, "8/1": 9}, {"8/1": 10, "42[3].pbs": 0, "7": 5}, {"42[3].pbs": 1}):
        at += S
        node.peer.monotonic = lambda at=at: at
        node.jobs = jobs
        now = node.show()
        line = out.wait_line(type="node", seq=node.peer.sequence)
        groups = [(one, before[i] if before else None, at - before_ns if before else PERIOD_NS)
                  for i, one in enumerate(now)]
        expected.check_jobs(line["report"]["job_data"], groups)
        before, before_ns = now, at

    def combined():
        """Ticks before the aggregator's first whole one are not combined: frames go on until there is one."""
        time.sleep(0.1)
        node.peer.monotonic = lambda now=node.peer.monotonic() + S: now
        node.show()
        return [line for line in out.lines(type="cluster") if "job_data" in line["report"]]

    assert set(wait_until(combined, "a combined report of jobs")[0]["report"]["job_data"]) <= {"job_cpu", "job_info", "job_memory"}


@pytest.mark.sanitized
def test_told_by_prolog_and_epilog(cluster, nodes):
    out = start(cluster)
    done = command(cluster, "job", "start", "5", "--user", "bob", "--name", "a b")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    [started] = wait_jobs(out, 1)
    assert started["user"] == "bob" and started["name"] == "a b" and started["nodes"] == []
    nodes("n1", jobs={"5": 1})
    [joined] = wait_jobs(out, 1, "node")
    assert joined["node"] == "n1" and joined["job_id"] == "5"
    done = command(cluster, "job", "end", "5")
    assert (done.returncode, done.stderr) == (0, "")
    [ended] = wait_jobs(out, 1, "ended")
    assert ended["reason"] == "told" and ended["user"] == "ana" and ended["summary"]["cpu_time"] == 1.5
    # It is shown still, for longer than the grace, and than a start is held back.
    until = time_ns(ended["time"]) + 3 * S
    out.wait_line(lambda line: time_ns(line["time"]) > until, type="node")
    assert len(job_lines(out)) == 3
    done = command(cluster, "job", "end", "6")
    assert done.returncode == 0 and "no job 6 runs" in done.stderr  # an epilog must not fail
    for wrong in ("x" * 129, "a b"):
        done = command(cluster, "job", "start", wrong)
        assert done.returncode == 1 and "the id of a job has" in done.stderr, done.stderr
    done = command(cluster, "job", "start", "")
    assert done.returncode == 2 and "aggregator job start ID" in done.stderr, done.stderr
    counters = cluster.status()["counters"]
    assert counters["jobs_running"] == 0 and counters["jobs_started"] == counters["jobs_ended"] == 1
    for words in ("job", "job\tstop\t5", "job\tstart", "job\tend\t5\tnode=n1"):
        assert ask(cluster, words).startswith("error job takes start or end"), words


@pytest.mark.sanitized
def test_one_id_of_two_users(cluster, nodes):
    """Two jobs, an event, and a report that asks which."""
    out = start(cluster)
    nodes("n1", jobs={"5": 4})
    [first] = wait_jobs(out, 1, "started")
    nodes("n2", jobs={"5": 6}, user="eve")
    second = wait_jobs(out, 2, "started")[1]
    assert (first["user"], first["nodes"], second["user"], second["nodes"]) == ("ana", ["n1"], "eve", ["n2"])
    event = out.wait_line(type="event", event="job_disputed")
    assert event["node"] == "n2" and event["job_id"] == "5" and "which runs on n1, is of ana (slurm)" in event["detail"]
    assert cluster.counter("jobs_disputed") == 1
    done = command(cluster, "job", "end", "5", "--user", "eve")
    assert (done.returncode, done.stderr) == (0, "")
    [ended] = wait_jobs(out, 1, "ended")
    assert ended["user"] == "eve" and ended["summary"]["cpu_time"] == 9
    assert [(job["job_id"], job["user"]) for job in listed(cluster, "--running")] == [("5", "ana")]
    assert out.stop() == 0
    done = from_history(cluster, "report", "5", "--json")
    assert done.returncode == 1 and "job 5 is of several users: ana, eve; --user says whose" in done.stderr
    for user, node in (("ana", "n1"), ("eve", "n2")):
        shown = parse_line(from_history(cluster, "report", "5", "--json", "--user", user).stdout)
        assert shown["user"] == user and [one["node"] for one in shown["nodes"]] == [node]
    done = from_history(cluster, "report", "5", "--user", "bob")
    assert done.returncode == 1 and "there is no job 5 of user bob" in done.stderr


@contextlib.contextmanager
def everybody_reaches(folder):
    """pytest's folders are their user's alone."""
    closed = {one: one.stat().st_mode for one in (folder, *folder.parents) if not one.stat().st_mode & 1}
    try:
        for one, mode in closed.items():
            one.chmod(mode | 0o111)
        yield
    finally:
        for one, mode in closed.items():
            one.chmod(mode)


def test_a_user_who_fills_the_socket(cluster, nodes):
    """He has his share; the scheduler's words, nodes' jobs and the status come as ever."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    out = start(cluster)
    nodes("n1", jobs={"7": 4})
    cluster.socket.chmod(0o666)
    code = f"""
import os, socket
os.setresgid(65533, 65533, 65533); os.setresuid(65533, 65533, 65533)
def ask(text):
    with socket.socket(socket.AF_UNIX) as made:
        made.settimeout({LIMIT})
        made.connect({str(cluster.socket)!r})
        made.sendall(text.encode() + b"\\n")
        return made.makefile().read().strip()
answers = [ask(f"job\\tstart\\tmine-{{i}}") for i in range(300)]
print(sum(one == "ok" for one in answers), answers[-1], ask("job\\tend\\t7"), ask("job\\tend\\tmine-1"), sep="|")
"""
    with everybody_reaches(cluster.socket.parent):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    taken, refused, other, own = done.stdout.strip().split("|")
    assert taken == "256" and refused.startswith("error too many announced jobs")
    assert other.startswith("error the job is another user's") and own == "ok"
    event = out.wait_line(type="event", event="jobs_held_back")
    assert event["user"] == "65533" and event["what"] == "words" and event["count"] == 1
    counters = cluster.status()["counters"]
    assert counters["job_words_refused"] == 300 - 256 + 1 and counters["job_rows_refused"] == 0
    assert command(cluster, "job", "start", "8").returncode == 0
    assert command(cluster, "job", "end", "7").returncode == 0
    assert wait_jobs(out, 1, "ended", job_id="7")[0]["reason"] == "told"


def ask(cluster, request):
    with socket.socket(socket.AF_UNIX) as made:
        made.settimeout(LIMIT)
        made.connect(str(cluster.socket))
        made.sendall(request.encode() + b"\n")
        return made.makefile().read()


def test_commands_say_what_is_wrong(cluster):
    for arguments in (["job"], ["job", "start"], ["job", "stop", "5"], ["report"]):
        done = run("aggregator", *arguments, "--config", cluster.empty)
        assert done.returncode == 2 and f"aggregator {arguments[0]}" in done.stderr, done.stderr
    done = command(cluster, "job", "end", "5")
    assert done.returncode == 1 and "is an aggregator running?" in done.stderr
    done = from_history(cluster, "jobs")
    assert done.returncode == 1 and "history.db" in done.stderr and done.stdout == ""
    done = from_history(cluster, "jobs", "--from", "soon")
    assert done.returncode == 2 and "from" in done.stderr


def documented(cluster, name):
    """The script of docs/operations.md, with a folder of ours as PATH: the program, and a logger that writes a file."""
    page = (ROOT / "docs/operations.md").read_text()
    script, = [block for block in re.findall(r"(?m)^    #!/bin/sh\n(?:    .*\n)*", page) if f"-t {name}-synop" in block]
    tools = cluster.folder / name
    tools.mkdir()
    shutil.copy2(BUILD / "aggregator", tools)
    script = re.sub("(?m)^    ", "", script).replace("PATH=", f"PATH={tools}:", 1)
    for tool, text in {
        "synop-aggregator": f'#!/bin/sh\nexec {tools}/aggregator "$@" --config {cluster.empty} --socket {cluster.socket}\n',
        "logger": f'#!/bin/sh\nprintf "%s\\n" "$*" >>{tools}/told\n',
        "script": script,
    }.items():
        cluster.write(f"{name}/{tool}", text).chmod(0o755)

    def run_it(user=None, **job):
        cluster.write(f"{name}/told", "").chmod(0o666)
        more = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
        done = subprocess.run([tools / "script"], env=job, capture_output=True, text=True, timeout=LIMIT, cwd="/",
                              check=False, **more)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        return (tools / "told").read_text()

    return run_it


def test_documented_prolog_and_epilog(cluster):
    """They have nothing of a shell's environment, never fail a job, and are never silent about what went wrong."""
    prolog, epilog = (documented(cluster, name) for name in ("prolog", "epilog"))
    out = start(cluster)
    assert prolog(SLURM_JOB_ID="7", SLURM_JOB_USER="ana", SLURM_JOB_NAME="a b", SLURM_JOB_RESTART_COUNT="1") == ""
    [started] = wait_jobs(out, 1, "started")
    assert started["job_id"] == "7/1" and started["name"] == "a b"
    assert epilog(SLURM_JOB_ID="7") == ""
    wait_jobs(out, 1, "ended")
    out.stop()
    told = epilog(SLURM_JOB_ID="7")
    assert told.startswith("-t epilog-synop -p daemon.err job 7: exit code 1: ") and "is an aggregator running?" in told


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")
def test_an_epilog_of_a_user_who_may_not(cluster):
    epilog = documented(cluster, "epilog")
    start(cluster)
    cluster.folder.chmod(0o755)
    told = epilog(user="nobody", SLURM_JOB_ID="7")
    assert "Permission denied; it is for the group root" in told and "usermod -aG root nobody\n" in told, told
    assert "is an aggregator running" not in told


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_job_that_outlives_the_aggregator(cluster, nodes, end):
    """One start, one end, and what it used, of both halves; one that ended meanwhile ends when it was last seen."""
    first = start(cluster)
    one, two = nodes("n1", jobs={"1": 10}), nodes("n2", jobs={"1": 20, "2": 1})
    wait_jobs(first, 2, "started")
    wait_next(first, "n2")
    assert sorted(job["job_id"] for job in listed(cluster, "--running")) == ["1", "2"]
    one.close()
    two.close()  # it stays away: what it told is not forgotten
    getattr(first, end)()
    last = time_ns(first.lines(type="node", node="n2")[-1]["time"])
    second = start(cluster)
    one = nodes("n1", jobs={"1": 11}, told={"1"})
    [ended] = wait_jobs(second, 1, "ended")
    assert ended["job_id"] == "2" and ended["reason"] == "restart" and ended["summary"]["lost_nodes"] == ["n2"]
    assert time_ns(ended["ended"]) <= last + S
    if end == "stop":
        assert ended["summary"]["cpu_time"] == 1.5 and last - time_ns(ended["ended"]) < S
    assert job_lines(second, "started") == [] and [job["job_id"] for job in listed(cluster, "--running")] == ["1"]
    one.jobs = {}
    [ended] = wait_jobs(second, 1, "ended", job_id="1")
    assert ended["reason"] == "gone" and ended["nodes"] == ["n1", "n2"] and ended["summary"]["lost_nodes"] == ["n2"]
    assert ended["summary"]["cpu_time"] == 1.5 * (11 + 20)
    assert sorted(job["job_id"] for job in listed(cluster)) == ["1", "2"]


# ---- queries ----


def test_a_query_of_a_job_is_of_its_nodes_its_time_and_its_rows(cluster, nodes):
    out = start(cluster)
    one, two, other = nodes("n1"), nodes("n2"), nodes("n3")
    one.jobs, two.jobs, other.jobs = {"123": 4, "9": 50}, {"123": 6}, {"9": 70}
    wait_jobs(out, 2)
    wait_next(out, "n2")
    one.jobs = two.jobs = other.jobs = {}
    wait_jobs(out, 2, "ended")
    [job] = [job for job in listed(cluster) if job["job_id"] == "123"]

    def ask(*options):
        done = from_history(cluster, "query", *options, "--format", "json")
        assert done.returncode == 0, done.stderr
        return parse_line(done.stdout)

    rss = ask("job_memory.rss", "--job", "123", "--step", "1s")
    assert {(series["node"], series["row"], series["max"]) for series in rss["series"]} == {
        ("n1", "123", 4000), ("n2", "123", 6000)}
    assert 0 <= time_ns(job["started"]) - time_ns(rss["from"]) < S and 0 <= time_ns(rss["to"]) - time_ns(job["ended"]) < S
    assert {series["node"] for series in ask("plain.count", "--job", "123")["series"]} == {"n1", "n2"}
    assert [series["node"] for series in ask("plain.count", "--job", "123", "--node", "n2,n3")["series"]] == ["n2"]
    assert ask("job_memory.rss", "--job", "123", "--fold", "sum", "--step", "1s")["series"][0]["max"] == 10000
    assert {series["row"] for series in ask("job_memory.rss", "--node", "n1")["series"]} == {"123", "9"}
    refused = from_history(cluster, "query", "plain.count", "--job", "123", "--node", "n3")
    assert refused.returncode == 2 and "ran on no such node" in refused.stderr
