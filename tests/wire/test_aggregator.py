"""A node written in Python talks to the real aggregator: its lines must say what was computed here from the same frames.

Its groups exist in no program, so everything that the aggregator shows it has learned from the schema."""

import random
import time

import pytest
from lib import expected, protocol
from lib.cluster import read_key
from lib.peers import AgentPeer
from lib.programs import time_ns, wait_until
from lib.protocol import COUNTER, GAUGE, OF_NODE, SHARE, TEXT, WRAPS32, Group, Metric

pytestmark = pytest.mark.sanitized

WIDGETS = Group(
    "widgets", row="widget", rows_name="devices", fold_name="total",
    metrics=[
        Metric("turns", COUNTER),
        Metric("moved_bytes", COUNTER, protocol.UNIT_BYTES, times=512),
        Metric("narrow", COUNTER, flags=WRAPS32),
        Metric("busy", COUNTER, 7, protocol.FOLD_MEAN, flags=SHARE, per=1000),
        Metric("heat", GAUGE, 4, protocol.FOLD_MAX, per=1000),
        Metric("cold", GAUGE, 4, protocol.FOLD_MIN),
        Metric("mode", TEXT, protocol.UNIT_NONE, protocol.FOLD_NONE),
        Metric("alarms", COUNTER, flags=OF_NODE),
        Metric("owner", TEXT, protocol.UNIT_NONE, protocol.FOLD_NONE, flags=OF_NODE),
        Metric("balance", GAUGE, flags=OF_NODE),
    ])
PLAIN = Group("plain", section="odd_data", metrics=[Metric("count", COUNTER, flags=OF_NODE),
                                                     Metric("level", GAUGE, flags=OF_NODE)])
FACTS = Group("badge", section="", flags=protocol.ONCE,
              metrics=[Metric("colour", TEXT, protocol.UNIT_NONE, protocol.FOLD_NONE, flags=OF_NODE)])
GROUPS = [WIDGETS, PLAIN, FACTS]
S = 1_000_000_000
FIRST_TICK = 1.6  # seconds after the start: of a tick that began before it the run before may have frames


@pytest.fixture
def node(cluster):
    """n1, played here, known to a running aggregator."""
    cluster.keys_of("n1")
    cluster.start_aggregator()
    with play(cluster, "n1") as peer:
        peer.start()
        yield peer


def play(cluster, name, groups=None, **more):
    keys = cluster.keys_of(name)
    pair = read_key(keys / "agent.pub"), read_key(keys / "agent.key")
    return AgentPeer(cluster.endpoint, name, pair, read_key(keys / "aggregator.pub"), groups or GROUPS, **more)


def table(peer, name, *, node=(), rows=None, period_ns=S, **more):
    return protocol.table_wire(peer.groups, name, period_ns, node, rows, **more)


def line_of(cluster, peer, sequence=None):
    """The line of a frame (the last); meanwhile the peer answers when it is asked for its schema."""
    fields = {"type": "node", "node": peer.node, "session": f"{peer.session:016x}", "seq": sequence or peer.sequence}

    def there():
        peer.pump()
        return cluster.aggregator.lines(**fields)

    return wait_until(there, f"a line with {fields}")[0]


def test_lines_match_an_independent_computation(cluster, node):
    """Forty frames of random values, rows that come and go, missing values, resets, wraps, in one stream."""
    chance = random.Random(20)
    names = ["w0", "w1", "w 2", 'w"3\\', "wü4", "\u0001w5"]
    state = {name: {"turns": 0, "moved_bytes": 2**40, "narrow": 2**32 - 50, "busy": 0} for name in names}
    node_alarms = 0
    before, before_ns, at = None, 0, 10**15
    for step in range(40):
        at += chance.randrange(S // 2, 2 * S)
        rows = {}
        for name in names:
            one = state[name]
            if chance.random() < 0.15:
                continue
            one["turns"] = 0 if chance.random() < 0.1 else one["turns"] + chance.randrange(2**40)
            one["moved_bytes"] += chance.randrange(10**9)
            one["narrow"] = (one["narrow"] + chance.randrange(100)) % 2**32
            one["busy"] += chance.randrange(1000)
            rows[name] = {**one, "heat": chance.choice([45000, 45500, -3250, 61.5]), "cold": chance.choice([0.1, -7]),
                          "mode": chance.choice(["on", "", 'o"f\\f', "日本", "\t"])}
            for gone in chance.sample(sorted(rows[name]), chance.randrange(3)):
                del rows[name][gone]
        node_alarms += chance.randrange(5)
        values = {"alarms": node_alarms, "owner": "me", "balance": chance.choice([-5, 2.25, None, 2**63])}
        wire = table(node, "widgets", node=values, rows=rows)
        now = protocol.table_read(wire, GROUPS)
        node.publish([wire], monotonic_ns=at)
        line = line_of(cluster, node)
        assert list(line["report"]) == ["system_data"] and list(line["report"]["system_data"]) == ["widgets"]
        expected.check_group(line["report"]["system_data"]["widgets"], now, before, at - before_ns)
        before, before_ns = now, at


def test_sections(cluster, node):
    """A section that nobody has heard of, and a group that lies in the report itself."""
    node.publish([table(node, "plain", node={"count": 5, "level": 2}), table(node, "badge", node={"colour": "red"})])
    report = line_of(cluster, node)["report"]
    assert report["odd_data"]["plain"]["level"] == 2 and report["odd_data"]["plain"]["count"] is None
    assert report["badge"]["colour"] == "red"


def test_counters(cluster, node):
    """First: null. Then the change. A fall is a reset, so null, never negative; in 32 bits it may be a wrap. The share is
    of the time between the samples, not of the nominal period."""
    steps = [
        # seconds passed, turns, narrow, busy -> what is shown of turns, narrow, busy
        (1, 100, 2**32 - 10, 1000, None, None, None),
        (1, 150, 5, 1500, 50, 15, 50.0),
        (2, 10, 6, 2500, None, 1, 50.0),
        (1, 10, 6, 2500, 0, 0, 0.0),
        (4, 2**64 - 1, 6, 2600, 2**64 - 11, 0, 2.5),
        (1, 2**64 - 1, 2**33, 2600, 0, 2**33 - 6, 0.0),
        (1, 0, 3, 2600, None, None, 0.0),
    ]
    at = 10**12
    for passed, turns, narrow, busy, *shown in steps:
        at += passed * S
        node.publish([table(node, "widgets", rows={"a": {"turns": turns, "narrow": narrow, "busy": busy}})],
                     monotonic_ns=at)
        row = line_of(cluster, node)["report"]["system_data"]["widgets"]["devices"]["a"]
        assert [row["turns"], row["narrow"], row["busy"]] == shown


def test_missing_values(cluster, node):
    """nil is null, never 0, and the change after a gap is not invented."""
    rows = [{"turns": 5}, {}, {"turns": 9}, {"turns": 11}]
    said = []
    for row in rows:
        node.publish([table(node, "widgets", rows={"a": row})])
        said.append(line_of(cluster, node)["report"]["system_data"]["widgets"]["devices"]["a"]["turns"])
    assert said[:2] == [None, None] and said[3] == 2
    assert said[2] in (None, 4)


def test_labels_as_a_count(cluster, node):
    """Rows "0" to "n-1" may be sent as n; a column may be nil when all of it is missing."""
    index = 0
    columns = [[1, 2, 3]] + [None] * 6
    node.publish([[index, S, None, 3, [None, None, None], columns]])
    said = line_of(cluster, node)["report"]["system_data"]["widgets"]
    assert list(said["devices"]) == ["0", "1", "2"]
    assert said["devices"]["2"]["heat"] is None


def test_error_of_a_group(cluster, node):
    node.publish([table(node, "plain", error="timed out: said \"no\""), table(node, "widgets", rows={})])
    report = line_of(cluster, node)["report"]
    assert report["odd_data"]["plain"]["error"] == 'timed out: said "no"'
    assert report["system_data"]["widgets"]["error"] == ""
    assert report["system_data"]["widgets"]["devices"] == {}


def test_trailing_fields_are_ignored(cluster, node):
    """A newer agent may add fields at the end of a frame, a table, a hello."""
    wire = table(node, "plain", node={"level": 3})
    node.publish([wire + ["new", {"a": [1, 2]}]], more=["newer", {"deep": [[[1]]]}, None])
    assert line_of(cluster, node)["report"]["odd_data"]["plain"]["level"] == 3
    node.send(protocol.HELLO, "n1", node.session, node.hash, 1, 1, S, "peer 1", [], "new field", [1])
    node.received.clear()
    assert node.wait_message(protocol.WELCOME)[2] == node.session


def test_hello_of_another_node(cluster, node):
    """Is told whose key it is, and what it says is not taken."""
    node.send(protocol.HELLO, "n2", 99, node.hash, 1, 1, S, "peer 1")
    assert node.wait_message(protocol.WRONG_NODE)[2:] == [99, "n1"]
    cluster.wait_event("rejected", what="wrong_node", node="n1")
    node.publish([table(node, "plain", node={"level": 3})])
    assert line_of(cluster, node)["session"] == f"{node.session:016x}"


def test_schema_with_trailing_fields(cluster):
    """The same of a schema."""
    cluster.start_aggregator()
    with play(cluster, "n1") as peer:
        group = PLAIN.wire()
        group[7] = [metric + ["newer"] for metric in group[7]]
        peer.groups = [PLAIN]
        peer.schema = protocol.pack([1, [group + [True, "newer"]], "newer"])
        peer.hash = protocol.schema_hash(peer.schema)
        peer.start()
        peer.publish([table(peer, "plain", node={"level": 3})])
        assert line_of(cluster, peer)["report"]["odd_data"]["plain"]["level"] == 3


def test_unknown_version_is_an_event(cluster, node):
    node.publish_raw(protocol.pack([2, "n1", node.session, 1, 1, 1, node.hash, []]))
    event = cluster.wait_event("rejected", node="n1")
    assert "version" in str(event)
    node.control.send(protocol.pack([9, 1, "whatever"]))
    node.publish([table(node, "plain", node={"level": 1})])
    line_of(cluster, node)


def test_unknown_schema_loses_nothing(cluster):
    """Frames that come before their schema are kept until it has come."""
    cluster.start_aggregator()
    with play(cluster, "n1") as peer:
        peer.wait_subscribed()
        peer.hello()
        for level in range(1, 4):
            peer.publish([table(peer, "plain", node={"level": level})])
        peer.wait_message(protocol.SCHEMA_REQUEST)
        peer.pump()
        for level in range(1, 4):
            line = line_of(cluster, peer, sequence=level)
            assert line["report"]["odd_data"]["plain"]["level"] == level


def test_schema_without_a_hello(cluster):
    """Even a frame alone makes the aggregator ask, or wait; no hello, no crash, and a later hello puts it right."""
    cluster.start_aggregator()
    with play(cluster, "n1") as peer:
        peer.wait_subscribed()
        peer.publish([table(peer, "plain", node={"level": 1})])
        cluster.wait_counter("frames", 1)
        peer.hello()
        peer.publish([table(peer, "plain", node={"level": 2})])
        assert line_of(cluster, peer)["report"]["odd_data"]["plain"]["level"] == 2


def test_gap(cluster, node):
    for sequence in (1, 2, 7, 8):
        node.publish([table(node, "plain")], sequence=sequence)
    event = cluster.wait_event("gap", node="n1")
    assert (event["from"], event["to"], event["lost"]) == (3, 6, 4)
    status = wait_until(lambda: cluster.node_status("n1"), "n1 in the status")
    assert status["lost"] == 4 and status["received"] >= 4 and status["seq"] == 8


def test_restart_of_a_node(cluster, node):
    """Another session begins its own numbers, and what a counter passed over a restart is not invented."""
    node.publish([table(node, "plain", node={"count": 1000})])
    line_of(cluster, node)
    with play(cluster, "n1", session=node.session + 2) as second:
        node.close()
        second.start()
        second.publish([table(second, "plain", node={"count": 2000})])
        line = line_of(cluster, second)
        assert line["seq"] == 1
    event = cluster.wait_event("node_up", node="n1", check=lambda event: event["reason"] == "restart")
    assert event["node"] == "n1"
    assert not cluster.aggregator.lines(type="event", event="gap")


def test_clock_of_a_node(cluster, node):
    """A wall clock that is an hour ahead shows, and moves nothing else."""


    node.publish([table(node, "plain")], wall_ns=time.time_ns() + 3600 * S)
    line = line_of(cluster, node)
    assert 3500 < line["clock"]["wall_offset"] < 3700


def test_probe(cluster, node):
    """Answered with what was asked, both times in order, and whether the session is known. Broken ones are counted."""
    for session, known in ((node.session, True), (node.session + 1, False)):
        for last in (None, [1, 2, 3, 4]):
            node.received.clear()
            asked = time.monotonic_ns()
            node.send(protocol.PROBE, session, asked, last)
            answer = node.wait_message(protocol.PROBE_ANSWER)
            assert answer[2] == session and answer[3] == asked and answer[6] == known
            # One machine, one CLOCK_MONOTONIC, if cluster time has not taken its place.
            assert answer[4] <= answer[5]
    before = cluster.counter("control_malformed")
    node.send(protocol.PROBE, "x", 1, None)
    node.send(protocol.PROBE, node.session, None, None)
    node.send(protocol.PROBE, node.session, 1, [1, 2, 3])
    cluster.wait_counter("control_malformed", before + 3)


class PlayedClock:
    """A monotonic clock that is 1000 s off and 200 ppm fast, and the probes that a node with it would have sent."""

    def __init__(self, ahead_ns=1000 * S, drift=200e-6):
        self.begin, self.ahead_ns, self.drift = time.monotonic_ns(), ahead_ns, drift

    def at(self, real_ns):
        return real_ns + self.ahead_ns + round((real_ns - self.begin) * self.drift)

    def now(self):
        return self.at(time.monotonic_ns())

    def teach(self, peer, seconds=100):
        """Twenty probes in the last seconds, each under way for 100 us there and 100 us back: how fast this machine is
        at the moment has no part in it. Returns what the aggregator makes of them, once it has."""
        peer.monotonic = self.now
        now = time.monotonic_ns()
        for step in range(20):
            real = now - seconds * S + step * seconds * S // 20
            last = [self.at(real), real + 100_000, real + 110_000, self.at(real + 210_000)]
            peer.send(protocol.PROBE, peer.session, self.now(), last)

        def taught():
            said = peer.probe()[0].clock
            return said if said and abs(said.drift + self.drift) < 20e-6 and said.bound_ns < 10_000_000 else None

        return wait_until(taught, "what the aggregator makes of the probes")


def cluster_ns(real_ns):
    """Cluster time of a reading of this machine's CLOCK_MONOTONIC."""
    return real_ns + time.time_ns() - time.monotonic_ns()


NEAR = 30_000_000  # two clocks are read one after the other, here and there


def test_answer_tells_the_nodes_clock(cluster, node):
    """None before a probe has told its times; then where the node's clock lies, and how fast it is."""
    clock = PlayedClock()
    answer, _ = node.probe()
    assert answer.known and answer.clock is None
    said = clock.teach(node)
    assert said.bound_ns > 0
    for later in (0, 10 * S, 60 * S):
        real = time.monotonic_ns() + later
        assert abs(said.cluster_time(clock.at(real)) - cluster_ns(real)) < NEAR + said.bound_ns, (later, said)
    assert node.probe(session=node.session + 1)[0].clock is None


@pytest.mark.parametrize("ahead,drift", [(1000 * S, 200e-6), (2 * 10**17, -400e-6), (10**15, 0.0)])
def test_lines_have_the_right_time(cluster, node, ahead, drift):
    """Whatever clock a node has, and however long its frames were under way: within the bound that the line gives."""
    clock = PlayedClock(ahead, drift)
    node.publish([table(node, "plain")])
    first = line_of(cluster, node)
    assert first["clock"]["bound"] is None and first["clock"]["drift_ppm"] is None
    clock.teach(node)
    for waited in (0, S, 60 * S, 0):
        real = time.monotonic_ns() - waited
        truth = cluster_ns(real)
        node.publish([table(node, "plain")], monotonic_ns=clock.at(real), wall_ns=truth + 7 * S // 100)
        line = line_of(cluster, node)
        bound = line["clock"]["bound"]
        assert 0 < bound < 0.05, line["clock"]
        assert abs(time_ns(line["time"]) - truth) < bound * S + NEAR, (line["time"], truth)
        assert abs(line["clock"]["wall_offset"] - 0.07) < bound + NEAR / S
        assert abs(line["clock"]["drift_ppm"] - drift * 1e6) < 20, line["clock"]
        assert line["clock"]["probe_age"] >= 0
    said = cluster.node_status("n1")["clock"]
    assert abs(said["drift_ppm"] - drift * 1e6) < 20 and said["bound"] > 0 and said["probe_age"] >= 0
    assert not cluster.aggregator.lines(type="event", event="clock_step")
    assert not cluster.aggregator.lines(type="event", event="clock_offset")


def test_line_without_a_model_has_its_time_of_receipt(cluster, node):
    """A node that never probes is streamed and combined all the same; nothing is said of its clock that is not known."""
    time.sleep(FIRST_TICK)
    before = time.time_ns()
    node.publish([table(node, "plain", node={"level": 5})], monotonic_ns=77)
    line = line_of(cluster, node)
    assert before - NEAR <= time_ns(line["time"]) <= time.time_ns() + NEAR
    assert line["clock"]["bound"] is None and line["clock"]["probe_age"] is None
    combined = cluster.aggregator.wait_line(lambda line: line["nodes"]["reporting"] == 1, type="cluster")
    assert combined["bound"] is None
    assert combined["report"]["odd_data"]["plain"]["level"]["sum"] == 5


def test_late_frame(cluster, node):
    """A frame of an instant whose tick was combined already: its line is marked, and no tick changes."""
    clock = PlayedClock()
    said = clock.teach(node)

    def tick():
        """The node's time of the last whole second of cluster time."""
        return clock.now() - said.cluster_time(clock.now()) % S

    time.sleep(FIRST_TICK)
    node.publish([table(node, "plain")], monotonic_ns=tick())
    assert "late" not in line_of(cluster, node)
    cluster.aggregator.wait_lines(3, type="cluster")
    node.publish([table(node, "plain")], monotonic_ns=tick() - 100 * S)
    assert line_of(cluster, node)["late"] is True
    times = [time_ns(line["time"]) for line in cluster.aggregator.lines(type="cluster")]
    assert times == sorted(times) and times[0] > time.time_ns() - 90 * S


def test_probes_that_contradict_themselves(cluster, node):
    """Times that no clock can have: refused, and the mapping stays what it was."""
    clock = PlayedClock()
    said = clock.teach(node)
    far = 2**63 - 1
    for last in ([5, 4, 3, 2], [far] * 4, [-far] * 4, [far, -far, far, -far], [-far, -far, far, far], [0, 0, 0, 0]):
        node.send(protocol.PROBE, node.session, clock.now(), last)
    again = node.probe()[0].clock
    assert abs(again.cluster_time(said.node_ns) - said.cluster_ns) <= said.bound_ns + again.bound_ns
    node.publish([table(node, "plain")])
    line = line_of(cluster, node)
    assert abs(time_ns(line["time"]) - time.time_ns()) < 60 * S and line["clock"]["bound"] < 0.05


def test_duplicate_node(cluster, node):
    """Two agents of one name, alive at once: an event, and when the twin leaves the node stays up."""
    with play(cluster, "n1", session=node.session + 2) as twin:
        twin.start()

        def both():
            node.publish([table(node, "plain")])
            twin.publish([table(twin, "plain")])
            node.pump()
            twin.pump()
            return cluster.aggregator.lines(type="event", event="duplicate_node")

        event = wait_until(both, "the event")[0]
        assert event["node"] == "n1"


def test_wrong_shapes_are_rejected_and_counted(cluster, node):
    """Each breaks one rule of a frame; after all of them the node's next line is whole."""
    good = table(node, "widgets", rows={"a": {"turns": 1}})
    shapes = [
        [], [1], "x", 5, None,
        node.frame([good], sequence=1, node="n1")[:7],
        node.frame([[99, *good[1:]]]), node.frame([[-1, *good[1:]]]),
        node.frame([good, good]),
        node.frame([good[:5]]),
        node.frame([[*good[:3], 2**32 - 1, *good[4:]]]),
        node.frame([[*good[:3], ["a", "a", "b"], *good[4:]]]),
        node.frame([[*good[:5], [[1, 2]] + good[5][1:]]]),
        node.frame([[*good[:5], good[5][:-1]]]),
        node.frame([[*good[:4], [1], good[5]]]),
        node.frame([[*good[:5], [["text"]] + good[5][1:]]]),
        node.frame([[*good[:5], [[-1]] + good[5][1:]]]),
        node.frame("tables"), node.frame({}),
        node.frame([good])[:6] + [b"short", [good]],
        node.frame([good], node="a/b"), node.frame([good], node="x" * 65), [1, "", *node.frame([good])[2:]],
    ]
    for shape in shapes:
        node.publish_raw(protocol.pack(shape))
    node.sequence = 1000
    node.publish([table(node, "plain", node={"level": 7})])
    assert line_of(cluster, node)["report"]["odd_data"]["plain"]["level"] == 7
    said = [line["seq"] for line in cluster.aggregator.lines(type="node", node="n1")]
    assert said == [1001], "a broken frame became a line"
    assert cluster.node_status("n1")["rejected"] == len(shapes)


def test_large_frame(cluster, node):
    """A 480-CPU machine's frame is nothing special."""
    rows = {str(number): {"turns": number, "heat": 40000 + number} for number in range(2000)}
    node.publish([table(node, "widgets", rows=rows)])
    said = line_of(cluster, node)["report"]["system_data"]["widgets"]
    assert len(said["devices"]) == 2000 and said["total"]["heat"] == 41.999


# ---- replay ----


@pytest.fixture
def ringed(cluster):
    """The same node, with a ring."""
    cluster.keys_of("n1")
    cluster.start_aggregator()
    with play(cluster, "n1") as peer:
        peer.ring = {}
        peer.start()
        yield peer


def late_lines(cluster, peer, session=None):
    lines = cluster.aggregator.lines(type="node", node=peer.node, session=f"{session or peer.session:016x}")
    return [line for line in lines if line.get("late")]


def wait_nothing_missing(cluster, peer):
    def there():
        peer.pump()
        return cluster.node_status(peer.node)["missing"] == 0

    wait_until(there, "nothing missing")


def test_replay(cluster, ringed):
    """What was lost is asked for, oldest first, and its lines are those that it would have had, but for `late`."""
    at = 10**12
    for number in range(1, 301):
        at += S
        ringed.publish([table(ringed, "plain", node={"count": number * number, "level": number})], monotonic_ns=at,
                       lose=10 <= number < 290)
    line_of(cluster, ringed)
    wait_until(lambda: ringed.pump() or len(late_lines(cluster, ringed)) == 280, "280 late lines")
    lines = late_lines(cluster, ringed)
    assert [line["seq"] for line in lines] == list(range(10, 290))
    for line in lines:
        plain = line["report"]["odd_data"]["plain"]
        assert plain["level"] == line["seq"] and plain["count"] == 2 * line["seq"] - 1 and plain["period"] == 1
    event = cluster.wait_event("replayed", node="n1")
    assert (event["from"], event["to"], event["count"]) == (10, 289, 280) and event["took"] >= 0
    wait_nothing_missing(cluster, ringed)
    status = cluster.node_status("n1")
    assert status["lost"] == 0 and status["received"] == 300 and status["seq"] == 300
    assert not cluster.aggregator.lines(type="event", event="gap")
    assert cluster.counter("replayed") == 280 and cluster.counter("replay_refused") == 0
    requests = [message for message in ringed.received if message[1] == protocol.REPLAY_REQUEST]
    assert len(requests) == 5 and all(message[5] <= 64 for message in requests)


def test_replay_of_what_the_ring_has_in_part(cluster, ringed):
    for number in range(1, 31):
        ringed.publish([table(ringed, "plain", node={"level": number})], lose=5 <= number < 30)
    for number in (*range(5, 12), 20, 21):
        del ringed.ring[ringed.session, number]
    wait_until(lambda: ringed.pump() or len(late_lines(cluster, ringed)) == 16, "the late lines")
    wait_nothing_missing(cluster, ringed)

    def gaps():
        """One event at once, what gathers after it a second later."""
        return cluster.aggregator.lines(type="event", event="gap")

    wait_until(lambda: sum(event["lost"] for event in gaps()) == 9, "gaps of nine frames")
    assert [(event["from"], event["to"]) for event in gaps()] == [(5, 11), (20, 21)]
    assert cluster.node_status("n1")["lost"] == 9


def test_replay_of_an_earlier_session(cluster, ringed):
    """The agent is killed while its last frames are on the way; the next one has its ring."""
    for number in range(1, 9):
        ringed.publish([table(ringed, "plain", node={"level": number})], lose=number > 5)
    line_of(cluster, ringed, sequence=5)
    earlier = ringed.session
    with play(cluster, "n1", session=earlier + 2) as second:
        second.ring = ringed.ring
        ringed.close()
        second.start()
        second.publish([table(second, "plain", node={"level": 1})])
        wait_until(lambda: second.pump() or len(late_lines(cluster, second, earlier)) == 3, "the late lines")
        assert [line["seq"] for line in late_lines(cluster, second, earlier)] == [6, 7, 8]
        second.hello()  # it tells of them again, and they do not come again
        second.publish([table(second, "plain", node={"level": 2})])
        line_of(cluster, second)
        wait_nothing_missing(cluster, second)
        assert len(late_lines(cluster, second, earlier)) == 3
    assert not cluster.aggregator.lines(type="event", event="gap")


def test_replayed_frames_that_were_not_asked_for(cluster, ringed):
    """Or are of another node, or no frames: refused and counted."""
    ringed.publish([table(ringed, "plain", node={"level": 1})])
    frame = ringed.frame([table(ringed, "plain")], sequence=77)
    other = ringed.frame([table(ringed, "plain")], sequence=78, node="n2")
    for fields in ([protocol.REPLAYED, protocol.pack(frame)], [protocol.REPLAYED, protocol.pack(other)],
                   [protocol.REPLAYED, b"nothing"], [protocol.REPLAY_END, ringed.session, 1, 5, 5],
                   [protocol.REPLAYED, 5], [protocol.REPLAY_END, 0, 1, 5, 5]):
        ringed.send(*fields)
    cluster.wait_counter("control_malformed", 2)
    counters = cluster.status()["counters"]
    assert counters["replay_refused"] == 2 and counters["wrong_node"] == 1 and counters["frames_malformed"] == 1
    ringed.publish([table(ringed, "plain", node={"level": 2})], sequence=2)
    line_of(cluster, ringed, sequence=2)
    assert not late_lines(cluster, ringed)
