"""An aggregator written in Python listens to the real agent: hello, schema, frames, field by field."""

import hashlib
import signal
import time

import pytest
from lib import protocol
from lib.cluster import read_key
from lib.peers import AggregatorPeer
from lib.programs import listed_groups, needs_hardware, run, wait_until

pytestmark = pytest.mark.sanitized
PERIOD_NS = 100_000_000


@pytest.fixture
def peer(cluster):
    """A listening aggregator that admits n1; its keys are the cluster's."""
    keys = cluster.keys_of("n1")
    users = {read_key(keys / "agent.pub"): "n1"}
    secret, public = read_key(cluster.master / "aggregator.key"), read_key(cluster.master / "aggregator.pub")
    with AggregatorPeer(secret, public, users) as made:
        cluster.endpoint = made.endpoint
        yield made


def start(cluster, peer, **more):
    cluster.start_agent("n1", period="100ms", **more)
    peer.wait(peer.hellos, "a hello")


def declared():
    """What --list-groups says, by group."""
    return {group["name"]: group for group in listed_groups()}


def test_hello(cluster, peer):
    start(cluster, peer)
    hello = peer.hellos()[0]
    assert hello.node == "n1" and 0 < hello.session < 2**64 and len(hello.schema) == 16
    assert hello.period_ns == PERIOD_NS
    assert hello.version and hello.version in run("agent", "--version").stdout
    assert hello.first <= hello.last + 1


def test_schema_is_what_list_groups_says(cluster, peer):
    start(cluster, peer)
    peer.wait(lambda: peer.schemas, "a schema")
    (hash_, groups), = peer.schemas.items()
    sent = next(message[3] for _, message in peer.messages if message[1] == protocol.SCHEMA)
    assert hash_ == hashlib.blake2b(sent, digest_size=16).digest() == peer.hellos()[0].schema
    listed = declared()
    assert [group.name for group in groups] == list(listed)
    for group in groups:
        said = listed[group.name]
        assert said["section"] == group.section and said["help"] == group.help
        assert said["row"] == group.row and said["rows_name"] == group.rows_name
        assert said["fold_name"] == group.fold_name and said["once"] == bool(group.flags & protocol.ONCE)
        assert said["by_rows"] == bool(group.flags & protocol.ROWS)
        assert [metric["name"] for metric in said["metrics"]] == [metric.name for metric in group.metrics]
        for metric, told in zip(group.metrics, said["metrics"]):
            assert told["of_node"] == bool(metric.flags & protocol.OF_NODE)
            assert told["share"] == bool(metric.flags & protocol.SHARE)
            assert told["counts"] == bool(metric.flags & protocol.COUNTS)
            assert told["shared"] == bool(metric.flags & protocol.SHARED)
            assert told["kind"] == protocol.KINDS[metric.kind]
            assert told["unit"] == protocol.UNITS[metric.unit]
            assert told["fold"] == protocol.FOLDS[metric.fold]
            assert told["help"] == metric.help


def test_frames(cluster, peer):
    """Everything that can be checked of a frame without knowing what it measures."""
    start(cluster, peer)
    frames = peer.wait_frames(8)
    session = peer.hellos()[0].session
    first = frames[0].sequence
    assert [frame.sequence for frame in frames] == list(range(first, first + len(frames)))
    for frame in frames:
        assert frame.node == "n1" and frame.session == session
        assert frame.schema == peer.hellos()[0].schema
        # One machine, one CLOCK_MONOTONIC: sampled before it was received.
        assert frame.monotonic_ns <= frame.received
    for before, now in zip(frames, frames[1:]):
        assert before.monotonic_ns < now.monotonic_ns
        for name, table in now.tables.items():
            if name not in before.tables or table.error or before.tables[name].error:
                continue
            for metric in table.group.of_node():
                grows(metric, before.tables[name].node, table.node)
            for label, row in table.rows.items():
                for metric in table.group.of_rows():
                    grows(metric, before.tables[name].rows.get(label, {}), row)


def grows(metric, before, now):
    """The kernel's counters do; iowait, idle and the like may fall a little, which is why cpu times are left out."""
    old, new = before.get(metric.name), now.get(metric.name)
    if metric.kind == protocol.COUNTER and not metric.flags & (protocol.SHARE | protocol.WRAPS32):
        assert old is None or new is None or new >= old, (metric.name, old, new)


def test_every_group_is_sent(cluster, peer):
    """Each group that the agent lists comes, in time: those with a worker of their own a little later."""
    start(cluster, peer)
    peer.wait_frames(1)
    listed = {group["name"] for group in listed_groups() if not needs_hardware(group)}

    def all_there():
        return listed <= {name for frame in peer.decoded() for name in frame.tables}

    peer.wait(all_there, "every group")


def test_facts_once_and_after_each_welcome(cluster, peer):
    start(cluster, peer)
    peer.wait_frames(6)
    facts = [group.name for group in next(iter(peer.schemas.values())) if group.flags & protocol.ONCE]
    assert "hardware_info" in facts and "instance_info" in facts

    def with_facts():
        return [frame.sequence for frame in peer.decoded() if "hardware_info" in frame.tables]

    peer.wait(with_facts, "facts after the welcome")
    before, frames = len(with_facts()), len(peer.frames)
    peer.wait(lambda: len(peer.frames) >= frames + 10, "frames")
    # A welcome may have come between two frames of the start: then there are two with facts. No more than that.
    assert len(with_facts()) <= max(2, before)
    before = len(with_facts())
    routing, _ = next(one for one in peer.messages if one[1][1] == protocol.HELLO)
    peer.welcome(routing, peer.hellos()[0])
    peer.wait(lambda: len(with_facts()) > before, "facts after another welcome")


def test_unknown_session_makes_it_say_hello(cluster, peer):
    """As after the aggregator's restart: an answer that does not know the session brings a new hello, and soon facts."""
    start(cluster, peer)
    peer.wait_frames(3)
    hellos = len(peer.hellos())
    session = peer.hellos()[0].session
    peer.known_sessions.clear()
    peer.wait(lambda: len(peer.hellos()) > hellos, "a hello after a probe answer with known = false")
    assert peer.hellos()[-1].session == session


def test_two_agents_with_one_key_are_calm(cluster):
    """A cloned machine: one of the two is never known, yet neither says more than a few things a second."""
    cluster.start_aggregator()
    clones = [cluster.start_agent("n1", period="100ms"), cluster.start_agent("n1", period="100ms")]
    cluster.wait_event("duplicate_node", node="n1")
    time.sleep(4)
    said = cluster.status()["counters"]["control"]
    assert 10 < said < 200, said
    for clone in clones:
        assert clone.alive() and clone.log().count("welcomed") < 20, clone.log()[-2000:]


def probes(peer):
    return [message for _, message in peer.messages if message[1] == protocol.PROBE]


def test_probes(cluster, peer):
    """They name the session and a time that has just been; from the second on, the times of the one before."""
    start(cluster, peer)
    peer.wait(lambda: len(probes(peer)) >= 3, "three probes")
    session = peer.hellos()[0].session
    first, *others = probes(peer)
    assert first[2] == session and first[4] is None
    before = first
    for probe in others:
        assert probe[2] == session and before[3] < probe[3] <= time.monotonic_ns()
        if probe[4] is not None:
            t1, t2, t3, t4 = probe[4]
            assert t1 == before[3] and t1 <= t2 <= t3 <= t4 <= probe[3]
        before = probe
    assert any(probe[4] is not None for probe in others)


def test_probes_are_few(cluster, peer):
    """A burst, then never more than one a second, each of two exchanges; all by the agent's own clock, this machine's."""
    start(cluster, peer)
    peer.wait(lambda: len(peer.probes()) >= 10, "ten probes")
    times = [probe.t1 for probe in peer.probes()]
    gaps = [after - before for before, after in zip(times[1::2], times[2::2])]
    assert min(gaps) >= 150_000_000, gaps
    assert all(gap >= 950_000_000 for gap in gaps[3:]), gaps


def test_another_aggregator_hears_nothing_of_the_last_ones_clock(cluster, peer):
    """The first probe of each connection tells of none before it."""
    start(cluster, peer)
    peer.wait(lambda: any(probe.last for probe in peer.probes()), "a probe that tells of the one before")
    users, (public, secret) = peer.zap.users, peer.keys
    peer.close()
    with AggregatorPeer(secret, public, users, endpoint=cluster.endpoint) as second:
        second.wait(lambda: len(second.probes()) >= 2, "probes of the new connection")
        assert second.probes()[0].last is None


@pytest.mark.parametrize("node_ns,cluster_ns,drift", [
    (0, 2**60, 0.0), (-2**60, -2**60, 0.0), (2**60, 1, 0.0), (0, 0, 0.0099), (0, 17 * 10**17, -0.0099),
], ids=["future", "past", "ahead", "fast", "slow"])
def test_clocks_that_no_one_has(cluster, peer, node_ns, cluster_ns, drift):
    """Whatever cluster time is said to be, it is its multiples at which the agent samples, and at its own pace. Half a
    period off its own multiples, so that it cannot be by chance."""
    known = protocol.Clock(node_ns, cluster_ns, 1000, drift, False)
    known.cluster_ns += PERIOD_NS // 2 - known.cluster_time(0) % PERIOD_NS
    peer.clock = [known.node_ns, known.cluster_ns, known.bound_ns, known.drift, known.soon]
    start(cluster, peer)

    def on_time():
        late = [known.cluster_time(frame.monotonic_ns) % PERIOD_NS for frame in peer.decoded()[-10:]]
        return len(late) == 10 and sum(one < 30_000_000 for one in late) >= 7

    peer.wait(on_time, "samples at multiples of the period in cluster time")
    times = [frame.monotonic_ns for frame in peer.decoded()]
    assert min(after - before for before, after in zip(times, times[1:])) > PERIOD_NS // 4


@pytest.mark.parametrize("clock", [
    [0, 0, 1000, 0.5, False], [0, 0, 1000, float("nan"), False], [0, 0, -1, 0.0, False], [0, 0, 1000, 0.0], [],
    "clock", [2**63, 0, 1000, 0.0, False],
], ids=["drift", "nan", "bound", "short", "empty", "text", "large"])
def test_clocks_that_break_the_rules(cluster, peer, clock):
    """They are ignored, as is the whole answer: it goes on by its own clock."""
    peer.clock = clock
    start(cluster, peer)
    peer.wait(lambda: len(peer.probes()) >= 4, "probes")
    peer.wait_frames(10)
    assert not any(probe.last for probe in peer.probes())
    assert cluster.agents["n1"].alive()


def test_it_samples_on_cluster_time(cluster, peer):
    """Told of a clock that is 40 ms ahead of multiples of its own, it samples at multiples of that one."""
    ahead = 1_700_000_000_040_000_000
    peer.clock = [0, ahead, 1000, 0.0, False]
    start(cluster, peer)

    def on_time():
        """The sample of an instant is a little late, never early."""
        late = [(frame.monotonic_ns + ahead) % PERIOD_NS for frame in peer.decoded()[-10:]]
        return len(late) == 10 and sum(one < 20_000_000 for one in late) >= 8

    peer.wait(on_time, "samples at multiples of the period in cluster time")


def test_aggregator_that_comes_later(cluster):
    """The agent runs first; then it says hello and its frames come."""
    keys = cluster.keys_of("n1")
    users = {read_key(keys / "agent.pub"): "n1"}
    secret, public = read_key(cluster.master / "aggregator.key"), read_key(cluster.master / "aggregator.pub")
    with AggregatorPeer(secret, public, users) as first:
        cluster.endpoint = first.endpoint
    agent = cluster.start_agent("n1", period="100ms")
    wait_until(agent.log, "the agent's first words")
    with AggregatorPeer(secret, public, users, endpoint=cluster.endpoint) as peer:
        peer.wait_frames(3)
        sessions = {hello.session for hello in peer.hellos()}
    # And once more: the same agent, another aggregator.
    with AggregatorPeer(secret, public, users, endpoint=cluster.endpoint) as peer:
        peer.wait_frames(3)
        assert {hello.session for hello in peer.hellos()} == sessions


def test_schema_on_request(cluster, peer):
    """An aggregator that asks for the schema again gets it again; for another hash it gets nothing wrong."""
    peer.hold_schema = True
    start(cluster, peer)
    routing, _ = peer.messages[0]
    count = len([1 for _, message in peer.messages if message[1] == protocol.SCHEMA])
    peer.send(routing, protocol.SCHEMA_REQUEST, bytes(16))
    peer.send(routing, protocol.SCHEMA_REQUEST, peer.hellos()[0].schema)
    peer.wait(lambda: len([1 for _, m in peer.messages if m[1] == protocol.SCHEMA]) > count, "the schema")
    assert {m[2] for _, m in peer.messages if m[1] == protocol.SCHEMA} == {peer.hellos()[0].schema}


@pytest.mark.parametrize("bad", [
    b"", b"\xc1", b"\x91", b"\xdd\xff\xff\xff\xff", protocol.pack([1]), protocol.pack([2, 32, 1, True, 0, "x"]),
    protocol.pack([1, 32]), protocol.pack([1, 32, "x", True, 0, "x"]), protocol.pack([1, 99, 1]),
    protocol.pack([1, 36, b"short"]), protocol.pack([1, 33, 1, 2, 3]), protocol.pack({"a": 1}), b"\xff" * 5000,
], ids=range(13))
def test_broken_answers_change_nothing(cluster, peer, bad):
    start(cluster, peer)
    peer.wait_frames(2)
    routing, _ = peer.messages[0]
    peer.control.send_multipart([routing, bad])
    seen = len(peer.frames)
    peer.wait_frames(3, after=seen)
    assert cluster.agents["n1"].alive()
    assert len({frame.session for frame in peer.decoded()}) == 1
    numbers = [frame.sequence for frame in peer.decoded()]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_sequence_stays_whole_over_a_pause(cluster, peer):
    """A stopped agent goes on where it was: no number is used twice or left out."""
    start(cluster, peer)
    peer.wait_frames(3)
    agent = cluster.agents["n1"]
    agent.signal(signal.SIGSTOP)
    agent.signal(signal.SIGCONT)
    seen = len(peer.frames)
    peer.wait_frames(5, after=seen)
    numbers = [frame.sequence for frame in peer.decoded()]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_unlisted_agent_is_told_and_heals(cluster, peer):
    """An aggregator that does not know the key refuses it; the agent stays alive and says so."""
    other = cluster.keys_of("n2", admit=False)
    agent = cluster.start("stranger", "agent", "--config", cluster.empty, "--keys", other, "--node", "n2", "--connect",
                          peer.endpoint, "--period", "100ms", "--ring-path", other / "ring")
    peer.wait(lambda: peer.zap.refused >= 1, "a refusal")
    peer.wait(lambda: "key" in agent.log(), "a word about the key in the log")
    assert agent.alive()


def test_period_of_a_group(cluster, peer):
    """[group load] at 300 ms with the rest at 100 ms: one frame in three has it."""
    start(cluster, peer, config="[group load]\nperiod = 300ms\n[group vm]\nenabled = no\n")
    frames = peer.wait_frames(30)
    with_load = [frame.monotonic_ns for frame in frames if "load" in frame.tables]
    assert not any("vm" in frame.tables for frame in frames)
    assert all("memory_info" in frame.tables for frame in frames)
    # On a loaded machine samples may be left out, so it is never more often than said, by the samples' own clock.
    gaps = [after - before for before, after in zip(with_load, with_load[1:])]
    assert gaps and min(gaps) > 150_000_000, gaps
    assert len(with_load) <= (frames[-1].monotonic_ns - frames[0].monotonic_ns) / 300e6 + 2


def test_its_time_is_the_machines(cluster, peer):
    start(cluster, peer)
    for frame in peer.wait_frames(4):
        assert abs(time.time_ns() - frame.wall_ns) < 120e9
        assert 0 <= frame.received - frame.monotonic_ns < 60e9


# ---- replay ----


def replay(peer, session, first, last, frames=64, size=1_000_000):
    """Asks, and returns the frames that came before the end, with the end."""
    mark = len(peer.messages)
    routing = next(routing for routing, message in reversed(peer.messages) if message[1] == protocol.HELLO)
    peer.send(routing, protocol.REPLAY_REQUEST, session, first, last, frames, size)

    def said(kind):
        return [message for _, message in peer.messages[mark:] if message[1] == kind]

    peer.wait(lambda: said(protocol.REPLAY_END), "the end of a replay")
    return [message[2] for message in said(protocol.REPLAYED)], said(protocol.REPLAY_END)[0][2:]


def sent(peer):
    """{(session, sequence): bytes} of what was published."""
    return {tuple(protocol.unpack(data)[2:4]): data for _, data in peer.frames}


def test_replay_is_what_was_published(cluster, peer):
    """Byte for byte, in order, at most what was asked for; live frames go on meanwhile."""
    start(cluster, peer)
    hello = peer.hellos()[0]
    assert hello.first == 1 and hello.held == []
    peer.wait_frames(12)
    live = sent(peer)
    frames, end = replay(peer, hello.session, 3, 9)
    assert frames == [live[hello.session, number] for number in range(3, 10)]
    assert end == [hello.session, 3, 9, 7]
    frames, end = replay(peer, hello.session, 1, 9, frames=4)
    assert frames == [live[hello.session, number] for number in range(1, 5)] and end == [hello.session, 1, 4, 4]
    two = len(live[hello.session, 2]) + len(live[hello.session, 3])
    frames, end = replay(peer, hello.session, 2, 9, size=two)
    assert len(frames) == 2 and end == [hello.session, 2, 3, 2]
    assert replay(peer, hello.session + 1, 1, 9) == ([], [hello.session + 1, 1, 9, 0])
    assert replay(peer, hello.session, 10**6, 10**7) == ([], [hello.session, 10**6, 10**7, 0])
    peer.wait_frames(3, after=len(peer.frames))


@pytest.mark.parametrize("bad", [
    [], [0, 1, 2, 64, 1000], [1, 0, 2, 64, 1000], [1, 3, 2, 64, 1000], [1, 1, 2, 64], [1, 1, 2, -1, 1000],
    [1, 1, 2**63, 64, 1000], ["x", 1, 2, 64, 1000], [1, 1, 2, 2**33, 1000],
], ids=range(9))
def test_broken_replay_requests(cluster, peer, bad):
    start(cluster, peer)
    peer.wait_frames(2)
    peer.send(peer.messages[0][0], protocol.REPLAY_REQUEST, *bad)
    session = peer.hellos()[0].session
    assert len(replay(peer, session, 1, 2)[0]) == 2
    assert not [1 for _, message in peer.messages if message[1] == protocol.REPLAY_END and message[2] != session]


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_earlier_sessions_are_held(cluster, peer, how):
    """After SIGKILL and after a clean end alike, the next one has the frames of those before it."""
    sessions = []
    for _ in range(3):
        start(cluster, peer)
        hellos = len(peer.hellos())
        peer.wait(lambda: len({hello.session for hello in peer.hellos()}) > len(sessions), "a hello")
        hello = peer.hellos()[-1]
        assert [one for one, _, _ in hello.held] == sessions[::-1], (hello, hellos)
        sessions.append(hello.session)
        peer.wait(lambda: sum(one == hello.session for one, _ in sent(peer)) >= 5, "frames")
        for session, first, last in hello.held:
            frames, end = replay(peer, session, first, last)
            live = sent(peer)
            assert first == 1 and end == [session, 1, last, last] and len(frames) == last
            for number, frame in enumerate(frames, start=1):
                # The last ones may have been in the dead agent's memory, on their way.
                assert (session, number) not in live or live[session, number] == frame
            assert sum(one == session for one, _ in live) <= last
        getattr(cluster.agents["n1"], how)()


def test_without_a_ring(cluster, peer):
    start(cluster, peer, config="[ring]\nenabled = no\n")
    peer.wait_frames(3)
    hello = peer.hellos()[0]
    assert hello.first == 0 and hello.held == []
    assert replay(peer, hello.session, 1, 3) == ([], [hello.session, 1, 3, 0])


def test_two_agents_with_one_ring(cluster, peer):
    """The second says so, and keeps its frames in memory."""
    start(cluster, peer)
    peer.wait_frames(2)
    ring = cluster.keys_of("n1") / "ring"
    other = cluster.keys_of("n2")
    second = cluster.start("second", "agent", "--config", cluster.empty, "--keys", other, "--node", "n2", "--connect",
                           peer.endpoint, "--ring-path", ring)
    wait_until(lambda: "another agent uses it" in second.log(), "a warning")
    assert second.alive()
