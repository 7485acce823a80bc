"""Traces of a job, asked for with the real aggregator and command, of nodes that are played here: when they are to begin, what
is shown, and each way in which it can fail."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest
from lib.cluster import read_key
from lib.peers import AggregatorPeer
from lib.programs import BUILD, run, time_ns, wait_until
from lib.traced_node import (BEGIN, BEGUN, DONE, ENDED, FAILED, FOUND, GOES_ON, LIST, MORE, REFUSED, S, STATE, UNREGISTERED,
                             TracedNode, record)

pytestmark = pytest.mark.sanitized
OUTPUT = "/shared/{job}/{node}-{rank}.json"


@pytest.fixture
def nodes(cluster):
    made = []

    def make(*arguments, **more):
        made.append(TracedNode(cluster, *arguments, **more))
        return made[-1]

    yield make
    for node in made:
        node.close()


def start(cluster, *options, **more):
    for node in ("n1", "n2", "n3"):
        cluster.keys_of(node)
    cluster.start_aggregator("--job-grace", "5s", *options, **more)


def wait_jobs(cluster, nodes, job="77"):
    """The aggregator knows where the job runs, and the nodes' clocks."""
    names = {node.name for node in nodes}

    def known():
        lines = cluster.aggregator.lines(0, type="node")
        return names <= {line["node"] for line in lines if line["clock"]["bound"] is not None and line["clock"]["bound"] < 0.002}

    wait_until(known, "clocks")
    done = None

    def runs():
        nonlocal done
        done = run("aggregator", "jobs", "--config", cluster.empty, "--socket", cluster.socket, "--history", cluster.history, "--running",
                   "--json")
        found = [line for line in map(json.loads, done.stdout.splitlines()) if line["job_id"] == job]
        return found and set(found[0]["nodes"]) == names

    wait_until(runs, "the job on all nodes")


def command(cluster, *arguments):
    return ["trace", "--config", cluster.empty, "--socket", cluster.socket, *arguments]


def trace(cluster, *arguments, code=0, **more):
    done = run("aggregator", *command(cluster, *arguments), **more)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done


def both(pids):
    """Answers as an agent does: found at once, begun and ended a moment later."""

    def answer(node, request):
        if request.kind == LIST:
            node.reply(request, DONE, *[record(pid, FOUND, rank, job=node.job) for pid, rank in pids.items()])
            return
        path = request.output.replace("{job}", request.job).replace("{node}", node.name)
        node.reply(request, MORE, *[record(pid, FOUND, rank) for pid, rank in list(pids.items())[:1]])
        node.reply(request, GOES_ON, *[record(pid, FOUND, rank) for pid, rank in list(pids.items())[1:]])
        node.reply(request, GOES_ON, *[record(pid, BEGUN, rank, request.start_ns) for pid, rank in pids.items()])
        node.reply(request, DONE, *[record(pid, ENDED, rank, request.start_ns, 1000 + rank, path=path.replace("{rank}", str(rank)))
                                    for pid, rank in pids.items()])

    return answer


def test_all_begin_at_one_instant(cluster, nodes):
    """Of nodes whose clocks began hours apart: the same instant in true time, as far as the clocks are known; the table, the events."""
    start(cluster)
    made = [nodes("n1", both({11: 0, 12: 1}), ahead=3600.25), nodes("n2", both({21: 2}), ahead=-7.5),
            nodes("n3", both({31: 3, 32: 4}), ahead=86400.0)]
    wait_jobs(cluster, made)
    before = time.time_ns()
    done = trace(cluster, "77", "-o", OUTPUT, "--start", "+3s", "--duration", "250ms", "--ranks", "0-3,4",
                 "--set", "PROFILE_WITH_STACK=true ACTIVITY_TYPES=cpu_op,kernel", "--wait")
    requests = [node.requests[0] for node in made]
    true = [request.start_ns - node.ahead_ns for request, node in zip(requests, made)]
    assert max(true) - min(true) < 4_500_000, true  # each right to 2 ms
    wall = time.time_ns() - time.monotonic_ns()
    assert 3 * S - S // 10 < true[0] + wall - before < 60 * S
    for request in requests:
        assert (request.kind, request.job, request.tool, request.user) == (BEGIN, "77", "kineto", "root")
        assert (request.ranks, request.limit, request.duration_ns, request.iterations) == ([0, 1, 2, 3, 4], 0, S // 4, 0)
        assert request.options == "PROFILE_WITH_STACK=true\nACTIVITY_TYPES=cpu_op,kernel" and request.output == OUTPUT
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[:4] for row in rows[1:]] == [["0", "n1", "11", "there"], ["1", "n1", "12", "there"], ["2", "n2", "21", "there"],
                                             ["3", "n3", "31", "there"], ["4", "n3", "32", "there"]]
    begun = [time_ns(row[4]) for row in rows[1:]]
    assert max(begun) - min(begun) < 4_500_000 and all(row[-1].startswith("/shared/77/n") for row in rows[1:])
    begun = cluster.wait_event("trace_begun", job_id="77")
    assert begun["processes"] == 5 and "asked for by root" in begun["detail"]
    ended = cluster.wait_event("trace_ended", job_id="77")
    assert ended["traces"] == 5 and "5 of 5" in ended["detail"]


def test_iterations_json_and_nodes(cluster, nodes):
    start(cluster)
    made = [nodes("n1", both({11: 0})), nodes("n2", both({21: 1}))]
    wait_jobs(cluster, made)
    done = trace(cluster, "77", "-o", OUTPUT, "--iterations", "3", "--nodes", "n[2-9]", "--json", "--wait")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["state"] for line in lines if line["what"] == "process"] == ["found", "begun", "ended"]
    assert lines[0]["what"] == "order" and lines[-1] == {"type": "trace", "what": "end", "processes": 1, "ended": 1, "failed": 0,
                                                         "unregistered": 0, "nodes_failed": 0}
    assert not made[0].requests and made[1].requests[0].iterations == 3 and made[1].requests[0].duration_ns == 0


def test_so_many_of_the_whole_job(cluster, nodes):
    """Nodes are asked what they have; the lowest ranks are traced, and nodes that have none of them are not asked again."""
    start(cluster)
    held = {"n1": {11: 5, 12: 0}, "n2": {21: 6}, "n3": {31: 1, 32: 7}}

    def answer(node, request):
        both({pid: rank for pid, rank in held[node.name].items() if request.kind == LIST or rank in request.ranks})(node, request)

    made = [nodes(name, answer) for name in held]
    wait_jobs(cluster, made)
    done = trace(cluster, "77", "-o", OUTPUT, "--limit", "3", "--json", "--wait")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["what"] == "order" and lines[0]["tool"] == "kineto" and lines[-1]["ended"] == 3
    assert {line["rank"] for line in lines if line["what"] == "process"} == {0, 1, 5}
    begun = {node.name: [request for request in node.requests if request.kind == BEGIN] for node in made}
    assert [[(request.ranks, request.limit) for request in begun[name]] for name in held] == [[([0, 5], 2)], [], [([1], 1)]]
    assert "3 processes on 2 nodes" in cluster.wait_event("trace_begun")["detail"]


def test_so_many_of_those_that_have_no_rank(cluster, nodes):
    start(cluster)
    made = nodes("n1", both({11: -1, 12: -1, 13: -1}))
    wait_jobs(cluster, [made])
    trace(cluster, "77", "-o", "/shared/{pid}.json", "--limit", "2", "--wait")
    assert [(request.kind, request.ranks, request.limit) for request in made.requests] == [(LIST, [], 0), (BEGIN, [], 2)]


def test_ranks_that_are_nowhere(cluster, nodes):
    """A node that has none of the ranks is no failure; a rank that no node has is."""
    start(cluster)
    made = [nodes("n1", both({11: 0})), nodes("n2", both({}))]
    wait_jobs(cluster, made)
    assert " there " in trace(cluster, "77", "-o", OUTPUT, "--ranks", "0", "--wait").stdout
    done = trace(cluster, "77", "-o", OUTPUT, "--ranks", "0,3,8", "--wait", code=1)
    assert " there " in done.stdout and "rank 3,8: no process of the job that has registered" in done.stderr, done.stderr


def test_ctrl_c(cluster, nodes):
    """It ends the waiting; what is known so far is shown, and that the traces go on."""
    start(cluster)
    made = nodes("n1", lambda node, request: node.reply(request, GOES_ON, record(11, FOUND, 0)))
    wait_jobs(cluster, [made])
    waiting = cluster.start("waiting", "aggregator", *command(cluster, "77", "-o", OUTPUT, "--wait"))
    wait_until(lambda: made.requests and "is to begin" in waiting.log(), "the request")
    waiting.process.send_signal(signal.SIGINT)
    assert waiting.wait() == 130 and "agents go on with what they have begun" in waiting.log()


def test_without_wait_it_ends_when_all_are_found(cluster, nodes):
    start(cluster)
    later = []

    def answer(node, request):
        node.reply(request, GOES_ON, record(11, FOUND, 0))
        later.append(request)

    made = nodes("n1", answer)
    wait_jobs(cluster, [made])
    done = trace(cluster, "77", "-o", OUTPUT, "--tool", "counters")
    assert "found" in done.stdout and later[0].duration_ns == 10 * S
    made.reply(later[0], DONE, record(11, ENDED, 0, later[0].start_ns, 5, path="/x"))
    assert cluster.wait_event("trace_ended")["traces"] == 1


def test_list(cluster, nodes):
    start(cluster)
    made = [nodes("n1", both({11: 0})), nodes("n2", both({21: 1}), job="78")]
    wait_jobs(cluster, made[:1])
    wait_jobs(cluster, made[1:], "78")
    assert "21" not in trace(cluster, "--list", "77").stdout
    done = trace(cluster, "--list")
    assert [line.split() for line in done.stdout.splitlines()[1:]] == [["0", "n1", "11", "found", "-", "77"], ["1", "n2", "21", "found", "-", "78"]]
    assert not cluster.aggregator.lines(0, type="event", event="trace_begun")


def test_each_failure_is_explained(cluster, nodes):
    """One that has it off, one that fails, one process that never registered; what is fine is there all the same."""
    start(cluster)

    def failing(node, request):
        node.reply(request, DONE, record(21, FAILED, 1, error="the disk is full"), record(22, UNREGISTERED, error="KINETO_USE_DAEMON=1"))

    made = [nodes("n1", both({11: 0})), nodes("n2", failing),
            nodes("n3", lambda node, request: node.reply(request, REFUSED, error="traces are off here"))]
    wait_jobs(cluster, made)
    done = trace(cluster, "77", "-o", OUTPUT, "--wait", code=1)
    for words in (("11", "there"), ("21", "failed", "the disk is full"), ("22", "unregistered", "KINETO_USE_DAEMON=1"),
                  ("n3", "failed", "traces are off here")):
        assert any(all(word in line for word in words) for line in done.stdout.splitlines()), done.stdout
    assert "1 of 2 traces" in cluster.wait_event("trace_ended")["detail"]


def test_nobody_registered(cluster, nodes):
    start(cluster)
    made = nodes("n1", lambda node, request: node.reply(request, DONE))
    wait_jobs(cluster, [made])
    done = trace(cluster, "77", "-o", OUTPUT, "--wait", code=1)
    assert "KINETO_USE_DAEMON=1" in done.stderr
    assert "no process has registered" in trace(cluster, "--list").stderr
    assert not cluster.aggregator.lines(0, type="event", event="trace_begun")


def test_an_old_agent(cluster, nodes):
    """It passes over what it does not know. Its request is sent again before it is given up."""
    start(cluster)
    made = nodes("n1", lambda node, request: None)
    wait_jobs(cluster, [made])
    done = trace(cluster, "77", "-o", OUTPUT, code=1)
    assert "of version peer 1, does not answer: it is too old" in done.stdout, done.stdout
    assert len(made.requests) > 1 and {request.id for request in made.requests} == {made.requests[0].id}


def test_a_node_dies(cluster, nodes):
    start(cluster)

    def answer(node, request):
        node.reply(request, GOES_ON, record(11, FOUND, 0))
        node.quiet = True

    made = [nodes("n1", answer), nodes("n2", both({21: 1}))]
    wait_jobs(cluster, made)
    done = trace(cluster, "77", "-o", OUTPUT, "--wait", code=1)
    lines = done.stdout.splitlines()
    assert sum("failed" in line and "went down" in line for line in lines) == 1 and any("there" in line for line in lines)


def test_an_answer_that_is_lost_is_asked_for_again(cluster, nodes):
    start(cluster)

    def answer(node, request):
        if request.kind == BEGIN:
            node.reply(request, GOES_ON, record(11, FOUND, 0))
        else:
            assert request.kind == STATE
            node.reply(request, DONE, record(11, ENDED, 0, 5, 5, path="/x"))

    made = nodes("n1", answer)
    wait_jobs(cluster, [made])
    assert "there" in trace(cluster, "77", "-o", OUTPUT, "--wait").stdout


def test_the_aggregator_ends_midway(cluster, nodes):
    start(cluster)
    made = nodes("n1", lambda node, request: node.reply(request, GOES_ON, record(11, FOUND, 0)))
    wait_jobs(cluster, [made])
    waiting = cluster.start("waiting", "aggregator", *command(cluster, "77", "-o", OUTPUT, "--wait"))
    wait_until(lambda: made.requests, "the request")
    cluster.aggregator.kill()
    assert waiting.wait() == 1
    assert "agents go on with what they have begun" in waiting.log()


def as_nobody(*words):
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or not setpriv:
        pytest.skip("needs root and setpriv")
    return [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", *words]


def ask_as_nobody(cluster, *arguments):
    os.chmod(cluster.folder, 0o755)
    return subprocess.run(as_nobody(BUILD / "aggregator", *map(str, command(cluster, *arguments))), capture_output=True, text=True,
                          check=False, timeout=60)


@pytest.mark.parametrize(("config", "user", "words"), [
    ("", "nobody", "nobody may not have jobs traced: [traces] users"),
    ("[traces]\nowners = yes\n", "ana", "no job 77 of yours runs"),
    ("[traces]\nowners = yes\n", "nobody", None),
    ("[traces]\nusers = nobody\n", "ana", None),
])
def test_who_may(cluster, nodes, config, user, words):
    start(cluster, "--access-socket", "everybody", config=config)
    made = nodes("n1", both({11: 0}), user=user)
    wait_jobs(cluster, [made])
    done = ask_as_nobody(cluster, "77", "-o", OUTPUT, "--wait")
    if words:
        assert done.returncode == 1 and words in done.stderr and not made.requests, done
    else:
        assert done.returncode == 0 and "there" in done.stdout and made.requests[0].user == "nobody", done


def test_an_admin_does_not_ask_for_another(cluster):
    """As the API does for those who ask it: whom the kernel names counts."""
    start(cluster)
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(60)
        asking.connect(str(cluster.socket))
        asking.sendall(b"as=*\ttrace\tlist\n")
        assert asking.makefile().read() == "error traces are asked for on the aggregator's own host\n"


def test_hostile_answers(cluster, nodes):
    """Of other requests, other sessions, without end, broken: nothing of it is shown, and the node's limit holds."""
    start(cluster)

    def answer(node, request):
        node.peer.send(6, node.peer.session, request.id + 1, DONE, "", [record(1, ENDED)])
        node.peer.send(6, node.peer.session + 1, request.id, DONE, "", [record(2, ENDED)])
        node.peer.send(6, node.peer.session, request.id, 9, "", [])
        node.peer.send(6, node.peer.session, request.id, DONE, "", [record(3, ENDED)] * 25)
        node.peer.send(6, node.peer.session, request.id, DONE, "a\x1b[2J", [])
        for first in range(0, 1200, 24):
            node.reply(request, MORE, *[record(1000 + first + i, FAILED, error="x" * 255) for i in range(24)])
        node.reply(request, DONE)

    made = nodes("n1", answer)
    wait_jobs(cluster, [made])
    done = trace(cluster, "77", "-o", OUTPUT, "--wait", "--json", code=1)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    pids = [line["pid"] for line in lines if line["what"] == "process"]
    assert len(pids) == 512 and min(pids) == 1000
    assert cluster.aggregator.alive() and cluster.counter("control_malformed") >= 3


@pytest.mark.parametrize(("arguments", "words"), [
    ([], "expected"),
    (["77"], "-o says where each trace is to lie"),
    (["77", "-o", "{node}"], "-o says where each trace is to lie"),
    (["77", "-o", "/x"], "-o says where each trace is to lie"),
    (["77", "-o", "/{pid}", "--start", "soon"], "start"),
    (["77", "-o", "/{pid}", "--iterations", "2", "--duration", "1s"], "does not go with --duration"),
    (["77", "-o", "/{pid}", "--tool", "strace"], "kineto"),
    (["77", "-o", "/{pid}", "--ranks", "3-1"], '--ranks: "3-1" is neither a rank nor a range'),
    (["77", "-o", "/{pid}", "--ranks", "0-99"], "--ranks: no more than 64"),
    (["77", "-o", "/{pid}", "--start", "+2h"], "--start: it is from now on to 1h ahead"),
    (["77", "-o", "/{pid}-{host}"], "--output: what begins at \"{host}\" is none of"),
    (["77", "-o", "/{pid}", "--tool", "perf", "--ranks", "0"], "--ranks: perf traces whole nodes"),
    (["77", "-o", "/{pid}", "--tool", "counters", "--limit", "1"], "--limit: goes with kineto alone"),
    (["77", "-o", "/{pid}", "--tool", "counters", "--iterations", "1"], "--iterations: go with kineto alone"),
    (["7\t8", "-o", "/{pid}"], "tabs"),
    (["77", "--merge", "/x", "-o", "/{pid}"], "does not go with a job"),
])
def test_wrong_commands(cluster, arguments, words):
    assert words in trace(cluster, *arguments, code=2).stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (["78", "-o", "/{pid}"], "no job 78 runs"),
    (["77", "-o", "/{pid}", "--nodes", "x*"], "no node that matches x*"),
    (["--list", "79"], "no job 79 runs"),
])
def test_wrong_questions(cluster, nodes, arguments, words):
    start(cluster)
    wait_jobs(cluster, [nodes("n1", both({11: 0}))])
    assert words in trace(cluster, *arguments, code=1).stderr


# ---- the agent, asked by an aggregator that is played here ----


def ask(peer, hello, routing, *, request=9, session=None, kind=BEGIN, job="77", tool="kineto"):
    peer.send(routing, 35, session or hello.session, request, kind, job, "ana", tool, "", "/tmp/{pid}", [], 0, 1, S, 0)


def answers(peer, request=9):
    return [message for _, message in peer.messages if message[1] == 6 and message[3] == request]


@pytest.fixture
def peer(cluster):
    keys = cluster.keys_of("n1")
    users = {read_key(keys / "agent.pub"): "n1"}
    secret, public = read_key(cluster.master / "aggregator.key"), read_key(cluster.master / "aggregator.pub")
    with AggregatorPeer(secret, public, users) as made:
        cluster.endpoint = made.endpoint
        yield made


def start_agent(cluster, peer, config=""):
    cluster.start_agent("n1", period="100ms", config=config)
    peer.wait(peer.hellos, "a hello")
    routing = next(routing for routing, message in peer.messages if message[1] == 1)
    return peer.hellos()[0], routing


def test_an_agent_that_has_it_off(cluster, peer):
    """It says so; what is of another session, or broken, is passed over."""
    hello, routing = start_agent(cluster, peer)
    ask(peer, hello, routing, request=7, session=hello.session + 1)
    peer.send(routing, 35, hello.session, 8, 9, "", "", "", "", "", [], 0, 0, 0, 0)
    ask(peer, hello, routing)
    peer.wait(lambda: answers(peer), "an answer")
    session, _, progress, error, records = answers(peer)[0][2:7]
    assert (session, progress, records) == (hello.session, REFUSED, []) and "[traces] enabled" in error
    assert not answers(peer, 7) and not answers(peer, 8)


def test_an_agent_without_such_a_job(cluster, peer):
    """Each request has an end; it is answered again when it is asked for again, and not begun anew."""
    hello, routing = start_agent(cluster, peer, f"[traces]\nenabled = yes\nsocket = {cluster.folder}/dynolog\n")
    ask(peer, hello, routing)
    peer.wait(lambda: answers(peer), "an answer")
    first = answers(peer)[-1]
    assert first[4] == DONE and first[6][0][4] == FAILED and first[6][0][9]
    ask(peer, hello, routing, kind=STATE)
    peer.wait(lambda: len(answers(peer)) > 1, "the answer again")
    assert answers(peer)[-1] == first
    ask(peer, hello, routing, request=10, kind=STATE)
    ask(peer, hello, routing, request=11, tool="strace")
    ask(peer, hello, routing, request=12, kind=LIST)
    peer.wait(lambda: all(answers(peer, request) for request in (10, 11, 12)), "answers")
    assert answers(peer, 10)[0][4] == REFUSED and "restarted" in answers(peer, 10)[0][5]
    assert answers(peer, 11)[0][4] == REFUSED and "strace" in answers(peer, 11)[0][5]
    assert answers(peer, 12)[0][4:] == [DONE, "", []]
