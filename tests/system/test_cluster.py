"""Three nodes of this machine, one aggregator: the stream, tails, the status."""

import json
import re
import socket

import pytest
from lib.cluster import Cluster, assert_contiguous
from lib.programs import ROOT, listed_groups, needs_hardware, parse_line, run, wait_until

GROUPS = ["cpu_usage", "cpu_frequency", "thermal", "memory_info", "vm", "load", "pressure", "disk_io", "filesystem",
          "network", "infiniband"]
NODES = ("n1", "n2", "n3")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")


@pytest.fixture
def running(cluster):
    cluster.start_aggregator()
    cluster.start_nodes(*NODES)
    return cluster


def test_groups_of_the_issue():
    names = [group["name"] for group in listed_groups()]
    assert set(GROUPS + ["hardware_info", "instance_info"]) <= set(names)


@pytest.mark.sanitized
def test_stream(running):
    """Whole valid lines of every node with every group, in order, none missing."""
    for node in NODES:
        running.aggregator.wait_lines(10, type="node", node=node)
    lines = running.aggregator.lines(type="node")
    here = [group for group in listed_groups() if not needs_hardware(group)]
    periodic = [group for group in here if group["section"] == "system_data"]
    for node in NODES:
        assert_contiguous(lines, node)
        own = [line for line in lines if line["node"] == node]
        assert "hardware_info" in own[0]["report"] and "instance_info" in own[0]["report"]
        assert "hardware_info" not in own[-1]["report"]
        seen = {name for line in own for name in line["report"]["system_data"]}
        assert {group["name"] for group in periodic} <= seen
        for line in own:
            assert TIME.fullmatch(line["time"]) and re.fullmatch("[0-9a-f]{16}", line["session"])
            assert abs(line["clock"]["wall_offset"]) < 60
            for name, group in line["report"]["system_data"].items():
                assert group["period"] > 0 and isinstance(group["error"], str), (name, group)


def test_agents_are_left_in_peace(running):
    """Facts that are not on every machine are not asked for over and over."""
    for node in NODES:
        running.aggregator.wait_lines(40, type="node", node=node)
        assert running.agents[node].log().count("welcomed again") <= 1


def test_keys_of_a_group_are_the_declared_ones(running):
    """Every metric is there in each report, missing ones as null."""
    running.aggregator.wait_lines(5, type="node", node="n1")
    line = running.aggregator.lines(type="node", node="n1")[-1]
    for group in listed_groups():
        if group["section"] != "system_data":
            continue
        if group["name"] not in line["report"]["system_data"]:
            continue  # one with a worker of its own may take longer
        said = dict(line["report"]["system_data"][group["name"]])
        of_node = {metric["name"] for metric in group["metrics"] if metric["of_node"]}
        of_rows = {metric["name"] for metric in group["metrics"]} - of_node
        rows = said.pop(group["rows_name"], {}) if group["rows_name"] else {}
        if group["fold_name"]:
            assert set(said.pop(group["fold_name"])) <= of_rows
        assert set(said) == of_node | {"period", "error"}
        for row in rows.values():
            assert set(row) == of_rows


@pytest.mark.sanitized
def test_tail_shows_only_what_was_asked_for(running):
    tail = running.start_tail("--node", "n2", "--group", "network")
    tail.wait_lines(4)
    for line in tail.lines():
        assert line["type"] == "node" and line["node"] == "n2"
        assert list(line["report"]) == ["system_data"] and list(line["report"]["system_data"]) == ["network"]


@pytest.mark.parametrize("options,fits", [
    (["--node", "n[13]"], lambda line: line.get("node") in ("n1", "n3", None)),
    (["--node", "n1,n3", "--type", "node"], lambda line: line["node"] in ("n1", "n3")),
    (["--group", "cpu_*,load"],
     lambda line: set(line["report"]["system_data"]) <= {"cpu_usage", "cpu_frequency", "load"}),
    (["--type", "node", "--node", "*2"], lambda line: line["node"] == "n2"),
], ids=["glob", "list", "groups", "both"])
def test_tail_filters(running, options, fits):
    tail = running.start_tail(*options)
    tail.wait_lines(12)
    assert all(fits(line) for line in tail.lines())


def test_wrong_name_is_told_at_the_agent(cluster):
    """With the name that its key has; another one is refused, and the right one works at once."""
    cluster.start_aggregator()
    agent = cluster.start_agent("n1", "--node", "n9")
    wait_until(lambda: "is listed there for node n1; give --node n1" in agent.log(), "the agent's warning")
    assert "warning: the aggregator at" in agent.log() and "refuses node n9" in agent.log()
    cluster.wait_event("rejected", what="wrong_node", node="n1")
    assert agent.stop() == 0 and not cluster.aggregator.lines(type="node")
    cluster.start_nodes("n1")


def test_why_no_aggregator_answers(cluster):
    """A name that is nobody's is told apart from a port at which nobody listens."""
    said = {"nohost.invalid": "the host's name in tcp://nohost.invalid:9 cannot be resolved",
            "localhost": "no aggregator answers at tcp://localhost:9"}
    agents = {}
    for number, host in enumerate(said):
        cluster.endpoint = f"tcp://{host}:9"
        agents[host] = cluster.start_agent(f"n{number}")
    for host, words in said.items():
        wait_until(lambda: "etrying" in agents[host].log(), "the agent's warning")
        assert words in agents[host].log()


def test_tail_says_which_groups_there_are(running):
    """Of each pattern that no group matches by now; what matches is shown nevertheless."""
    tail = running.start_tail("--group", "nosuch,load,cpu_*", "--count", "2")
    assert tail.wait() == 0 and len(tail.lines()) == 2
    (told,) = tail.log().splitlines()
    assert '--group: no node has a group "nosuch" so far; there are ' in told and "load, " in told and "network" in told


def test_tail_says_which_nodes_there_are(running):
    """A name that nobody knows is told apart from one that is listed and was never heard."""
    running.keys_of("n9")
    tail = running.start_tail("--node", "nosuch,n[12],n9,x*", "--count", "2")
    assert tail.wait() == 0 and {line["node"] for line in tail.lines()} <= {"n1", "n2"}
    assert [line.partition("warning: ")[2] for line in tail.log().splitlines()] == [
        '--node: there is no node "nosuch"; there are n1, n2, n3, n9',
        '--node: no node "n9" was seen so far; listed are n9',
        '--node: there is no node "x*"; there are n1, n2, n3, n9']


def test_tail_of_events(running):
    tail = running.start_tail("--type", "event")
    other = running.start_tail("--type", "node", "--count", "3")
    assert other.wait() == 0 and len(other.lines()) == 3
    running.agents["n3"].kill()
    running.start_agent("n3")
    tail.wait_line(lambda line: line["node"] == "n3", event="node_up")
    assert {line["type"] for line in tail.lines()} == {"event"}


def test_many_tails(running):
    """Twenty at once, each whole; those that leave disturb nobody."""
    tails = [running.start_tail("--type", "node") for _ in range(20)]
    for tail in tails:
        tail.wait_lines(6)
    for tail in tails[::2]:
        tail.kill()
    marks = [tail.mark() for tail in tails[1::2]]
    for tail, mark in zip(tails[1::2], marks):
        tail.wait_lines(6, after=mark)
        for node in NODES:
            assert_contiguous(tail.lines(), node)
    for node in NODES:
        assert_contiguous(running.aggregator.lines(), node)


def test_tail_attaches_again(running):
    """It lives through a restart of the aggregator."""
    tail = running.start_tail("--type", "node")
    tail.wait_lines(3)
    running.aggregator.stop()
    mark = tail.mark()
    running.start_aggregator()
    tail.wait_lines(3, after=mark)
    assert tail.log(), "it says nothing of the loss"


def test_status_without_an_aggregator(cluster):
    done = run("aggregator", "status", "--socket", cluster.folder / "nobody")
    assert done.returncode == 1 and "nobody" in done.stderr and done.stdout == ""


@pytest.mark.sanitized
def test_status(running):
    running.keys_of("n4")
    wait_until(lambda: all(one["state"] == "up" for one in running.status()["nodes"][:3]), "three nodes up")
    status = running.status()
    assert status["type"] == "status" and status["uptime"] >= 0 and status["version"]
    assert status["listen"] == running.endpoint
    assert [one["node"] for one in status["nodes"]] == ["n1", "n2", "n3", "n4"]
    for one in status["nodes"][:3]:
        assert one["lost"] == 0 and one["rejected"] == 0 and one["received"] >= 1 and one["seq"] >= 1
        assert len(one["public_key"]) == 40
        assert one["facts"]["hardware_info"]
    assert status["nodes"][3]["state"] == "never"
    assert all(isinstance(value, int) for value in status["counters"].values())
    page = (ROOT / "docs" / "stream.md").read_text().partition("## status\n")[2]
    assert [key for key in [*status, *status["nodes"][0]] if f"`{key}`" not in page] == []

    table = running.succeed("aggregator", "status", "--socket", running.socket)
    head, *rows = table.splitlines()
    assert head.split()[:2] == ["NODE", "STATE"]
    for word in ("LAST", "SEQUENCE", "LOST", "CLOCK"):
        assert word in head
    assert [row.split()[:2] for row in rows[:4]] == [["n1", "up"], ["n2", "up"], ["n3", "up"], ["n4", "never"]]


def test_two_clusters_beside_each_other(running):
    """One node's lines never show up in another cluster, and the sockets do not collide."""
    other = Cluster()
    try:
        other.start_aggregator()
        other.start_nodes("m1")
        other.aggregator.wait_lines(3, type="node")
        assert {line["node"] for line in other.aggregator.lines(type="node")} == {"m1"}
        assert {line["node"] for line in running.aggregator.lines(type="node")} == set(NODES)
    finally:
        other.close()


def test_request_that_is_not_understood(running):
    """The local socket answers, and goes on."""
    for words in (b"nonsense\n", b"\n", b"tail\tcolour=red\n", b"\xff\xfe\n", b"status\textra\n"):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(str(running.socket))
            client.sendall(words)
            assert client.recv(4096).startswith(b"error "), words
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(running.socket))
        client.sendall(b"x" * 10000)
        try:
            while client.recv(4096):
                pass
        except ConnectionError:
            pass
    assert parse_line(json.dumps(running.status()))["nodes"]
