"""Links that are cut, agents and aggregators that are killed: in the end every frame that was sampled has its line.

What was sampled is read from the agents' rings. Nothing here waits for a time, only for what must come."""

import re
import signal
from collections import Counter

import msgpack
import pytest
from lib.programs import run, wait_until
from lib.cut_relay import Relay


def sampled(cluster, node):
    """{(session, seq)} of the frames that lie in the node's ring; a record ends where its frame does."""
    data = (cluster.keys_of(node) / "ring").read_bytes()
    name = node.encode()
    found = set()
    for match in re.finditer(re.escape(b"\x98\x01" + bytes([0xA0 + len(name)]) + name), data):
        unpacker = msgpack.Unpacker(raw=False)
        unpacker.feed(data[match.start():match.start() + 64])
        unpacker.read_array_header()
        _, _, session, sequence = (unpacker.unpack() for _ in range(4))
        found.add((f"{session:016x}", sequence))
    return found


def last_of(cluster, node, session):
    return max((sequence for one, sequence in sampled(cluster, node) if one == session), default=0)


def shown(program, node):
    return Counter((line["session"], line["seq"]) for line in program.lines(type="node", node=node))


def wait_all(cluster, node, before=()):
    """Every frame that was sampled until now has one line, of this aggregator or of those before it."""
    frames = sampled(cluster, node)

    def there():
        missing = frames - set(shown(cluster.aggregator, node))
        for program in before:
            missing -= set(shown(program, node))
        return not missing

    wait_until(there, f"all frames of {node}")
    twice = {frame: count for frame, count in shown(cluster.aggregator, node).items() if count > 1}
    assert not twice
    return frames


@pytest.fixture
def relay(cluster):
    cluster.start_aggregator()
    made = Relay(cluster.endpoint)
    yield made
    made.close()


def start(cluster, relay, node="n1"):
    """An agent behind the relay that has hardly any queue of its own."""
    direct, cluster.endpoint = cluster.endpoint, relay.endpoint
    cluster.start_agent(node, "--queue=3", period="50ms")
    cluster.endpoint = direct


def cut_for(cluster, relay, node, frames):
    session = cluster.aggregator.lines(type="node", node=node)[-1]["session"]
    before = last_of(cluster, node, session)
    relay.cut()
    wait_until(lambda: last_of(cluster, node, session) >= before + frames, "frames while the link is cut")
    return session


@pytest.mark.sanitized
def test_cut_link(cluster, relay):
    start(cluster, relay)
    cluster.wait_node("n1")
    for _ in range(2):
        cut_for(cluster, relay, "n1", 40)
        mark = cluster.aggregator.mark()
        relay.restore()
        wait_until(lambda mark=mark: sum(line["count"] for line in cluster.aggregator.lines(mark, type="event", event="replayed")) >= 20,
                   "frames that are replayed, at once or in parts")
        frames = wait_all(cluster, "n1")
        assert len(frames) >= 40
    assert not cluster.aggregator.lines(type="event", event="gap")
    late = [line for line in cluster.aggregator.lines(type="node", node="n1") if line.get("late")]
    assert len(late) >= 40
    times = {line["seq"]: line["time"] for line in cluster.aggregator.lines(type="node", node="n1")}
    assert sorted(times.values()) == [times[number] for number in sorted(times)], "late frames have the times of then"


@pytest.mark.sanitized
def test_agent_killed_while_the_link_is_cut(cluster, relay):
    """Its frames are in the ring, and the next session tells of them."""
    start(cluster, relay)
    cluster.wait_node("n1")
    earlier = cut_for(cluster, relay, "n1", 40)
    cluster.agents["n1"].kill()
    relay.restore()
    start(cluster, relay)
    cluster.wait_node("n1", check=lambda line: line["session"] != earlier)
    frames = wait_all(cluster, "n1")
    assert len({session for session, _ in frames}) == 2
    assert not cluster.aggregator.lines(type="event", event="gap")


def test_agent_killed_again_and_again(cluster):
    cluster.start_aggregator()
    sessions = set()
    for _ in range(4):
        cluster.start_agent("n1", period="20ms")
        line = cluster.wait_node("n1", check=lambda line: line["session"] not in sessions and line["seq"] >= 5)
        sessions.add(line["session"])
        cluster.agents["n1"].kill()
    cluster.start_agent("n1", period="20ms")
    cluster.wait_node("n1", check=lambda line: line["session"] not in sessions)
    frames = wait_all(cluster, "n1")
    assert len({session for session, _ in frames}) == 5
    assert not cluster.aggregator.lines(type="event", event="gap")


def test_aggregator_killed(cluster, relay):
    """What it had not shown, and what was sampled while it was away, is fetched when it is back."""
    start(cluster, relay)
    cluster.wait_node("n1")
    first = cluster.aggregator
    session = first.lines(type="node", node="n1")[-1]["session"]
    first.kill()
    before = last_of(cluster, "n1", session)
    wait_until(lambda: last_of(cluster, "n1", session) >= before + 40, "frames while it is away")
    cluster.start_aggregator()
    cluster.wait_node("n1")
    frames = wait_all(cluster, "n1", before=[first])
    assert {one for one, _ in frames} == {session}
    assert not cluster.aggregator.lines(type="event", event="gap")


def switch_groups(cluster, nodes, config):
    """A reload with other groups: frames have another schema from then on."""
    for node in nodes:
        session = next(iter(sampled(cluster, node)))[0]
        mark = len(cluster.agents[node].log())
        cluster.write(f"{node}.ini", config)
        cluster.agents[node].signal(signal.SIGHUP)
        wait_until(lambda: "read again" in cluster.agents[node].log()[mark:], "a reload")
        before = last_of(cluster, node, session)
        wait_until(lambda: last_of(cluster, node, session) >= before + 10, "frames behind the reload")


def assert_nothing_lost(cluster, nodes, before):
    for node in nodes:
        wait_all(cluster, node, before=before)
    assert not cluster.aggregator.lines(type="event", event="gap")
    rejected = {line["what"] for line in cluster.aggregator.lines(type="event", event="rejected")}
    assert rejected <= {"no_schema"}, "frames from the queue may come before the hello, and again behind it"
    cluster.aggregator.stop()
    checked = run("aggregator", "check", cluster.history)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("history", ["history", "another history"])
def test_groups_change_while_the_aggregator_is_away(cluster, history):
    """Frames have a schema that no hello names: it is in the history, else the agents have it."""
    nodes = ("n1", "n2")
    cluster.start_aggregator()
    cluster.start_nodes(*nodes, period="50ms")
    first = cluster.aggregator
    first.stop()
    if history == "another history":
        for file in cluster.folder.glob("history.db*"):
            file.unlink()
    for node in nodes:
        session = first.lines(type="node", node=node)[-1]["session"]
        before = last_of(cluster, node, session)
        wait_until(lambda: last_of(cluster, node, session) >= before + 20, "frames while it is away")
    switch_groups(cluster, nodes, "[group load]\nenabled = no\n")
    cluster.start_aggregator()
    assert_nothing_lost(cluster, nodes, [first] if history == "history" else [])


def test_groups_change_again_and_again(cluster):
    """No frame between two reloads stays behind."""
    cluster.start_aggregator()
    cluster.start_nodes("n1", period="50ms")
    for count in range(10):
        switch_groups(cluster, ["n1"], "[group load]\nenabled = no\n" if count % 2 else "")
    assert_nothing_lost(cluster, ["n1"], [])


def test_keys_are_revoked_and_replaced(cluster):
    """As a cut link: what was printed is not printed again, and what was sampled meanwhile is."""
    cluster.start_aggregator()
    cluster.start_nodes("n1", "n2", period="50ms")
    to = ("--keys", cluster.master, "--socket", cluster.socket)
    wait_until(lambda: len(sampled(cluster, "n1")) >= 40, "frames")
    for _ in range(2):
        cluster.succeed("aggregator", "keys", "revoke", "n1", *to)
        mark = cluster.aggregator.mark()
        session, last = max(sampled(cluster, "n1"))
        wait_until(lambda: last_of(cluster, "n1", session) >= last + 20, "frames while it is out")
        cluster.keys_add("n1", cluster.keys_of("n1") / "agent.pub")
        cluster.wait_node("n1", after=mark)
        wait_all(cluster, "n1")
    keys = cluster.keys_of("n1")
    for file in keys.glob("agent.*"):
        file.unlink()
    cluster.succeed("agent", "keys", "init", "--keys", keys, "--node", "n1")
    cluster.succeed("aggregator", "keys", "add", "n1", keys / "agent.pub", "--replace", *to)
    mark = cluster.aggregator.mark()
    cluster.agents["n1"].signal(signal.SIGHUP)
    cluster.wait_node("n1", after=mark)
    assert_nothing_lost(cluster, ["n1", "n2"], [])
