"""Attacks on the two ports, without a key and with one. In each the healthy nodes lose no frame, the aggregator does not
grow, and what happened is counted where `status` shows it."""

import contextlib
import itertools
import os
import random
import socket
import struct

import pytest
import zmq
from lib import protocol
from lib.cluster import read_key
from lib.hostile import GROUP, MIB, Siege, addresses, connect, evil, good_frame, many_files, proves_alive
from lib.machine import BOB, EVE
from lib.peers import AgentPeer, control_endpoint, own_context
from lib.programs import parse_line, wait_until

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00"  # ZMTP 3.0, then 20 bytes of mechanism, as-server and filler


def counted(cluster):
    """What was rejected as broken."""
    counters = cluster.status()["counters"]
    names = ("schema_refused", "control_malformed", "frames_malformed", "malformed")
    return sum(counters[name] for name in names)


def arrived(cluster):
    """Frames of the evil node that came, used or not."""
    status = cluster.status()
    counters = status["counters"]
    healthy = sum(one["received"] for one in status["nodes"] if one["node"] in Siege.healthy)
    return counters["frames"] - healthy + counters["dropped_user"] + counters["dropped_full"]


def test_silent_connections(cluster):
    """A thousand that connect and say nothing, half of them on each port. They are closed after a while."""
    many_files()
    with contextlib.ExitStack() as stack, Siege(cluster, growth=96 * MIB):
        ports = addresses(cluster.endpoint)
        before = cluster.status()["counters"]
        for number in range(1000):
            stack.enter_context(connect(ports[number % 2]))
        cluster.wait_counter("accepted", before["accepted"] + 1000)
        cluster.wait_counter("handshake_failed", before["handshake_failed"] + 1000, limit=120)
        wait_until(lambda: cluster.counter("connections") <= before["connections"], "they are gone")


@pytest.mark.sanitized
def test_random_bytes(cluster):
    """Noise on both ports, from the first byte on or after a well-formed beginning."""
    chance = random.Random(4)
    beginnings = [b"", b"\xff", GREETING, GREETING + b"CURVE".ljust(20, b"\0") + bytes(32),
                  GREETING + b"NULL".ljust(20, b"\0") + bytes(32), GREETING + b"PLAIN".ljust(20, b"\0") + bytes(32),
                  b"GET / HTTP/1.1\r\nHost: master\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"]
    with contextlib.ExitStack() as stack, Siege(cluster, growth=64 * MIB):
        before = cluster.counter("handshake_failed")
        for beginning in beginnings * 4:
            for address in addresses(cluster.endpoint):
                client = stack.enter_context(socket.create_connection(address, timeout=60))
                with contextlib.suppress(OSError):
                    client.sendall(beginning + chance.randbytes(chance.choice([1, 64, 500, 65536])))
        stack.close()
        cluster.wait_counter("handshake_failed", before + len(beginnings))


@pytest.mark.sanitized
def test_curve_commands_of_any_size(cluster):
    """After the greeting, a HELLO command that is said to be enormous; and one that is."""
    greeting = GREETING + b"CURVE".ljust(20, b"\0") + bytes(32)
    with contextlib.ExitStack() as stack, Siege(cluster, growth=32 * MIB):
        before = cluster.counter("handshake_failed")
        for size in (0, 200, 2**16, 2**28, 2**31, 2**32, 2**63 - 1, 2**64 - 1):
            for address in addresses(cluster.endpoint):
                client = stack.enter_context(socket.create_connection(address, timeout=60))
                with contextlib.suppress(OSError):
                    client.sendall(greeting + b"\x06" + struct.pack(">Q", size) + b"\x05HELLO" + bytes(5000))
                    for _ in range(128 if size == 2**28 else 0):
                        client.sendall(bytes(MIB))
        stack.close()
        cluster.wait_counter("handshake_failed", before + 10)


def test_no_key(cluster):
    """ZeroMQ clients without any encryption: nothing that they say arrives."""
    with Siege(cluster):
        before = cluster.counter("handshake_failed")
        context = own_context()
        data, control = context.socket(zmq.PUB), context.socket(zmq.DEALER)
        data.connect(cluster.endpoint)
        control.connect(control_endpoint(cluster.endpoint))
        control.send(protocol.pack([1, protocol.HELLO, "n1", 1, bytes(16), 1, 1, 1, "x"]))
        for _ in range(50):
            data.send(b"anything")
        cluster.wait_counter("handshake_failed", before + 2)
        context.destroy(linger=0)


def test_unlisted_key(cluster):
    """Keys of one's own making are refused at the handshake, counted, and told."""
    server = read_key(cluster.master / "aggregator.pub")
    with Siege(cluster):
        before = cluster.counter("key_refused")
        peers = [AgentPeer(cluster.endpoint, "n1", zmq.curve_keypair(), server, [GROUP]) for _ in range(5)]
        for peer in peers:
            peer.hello()
            peer.publish_raw(protocol.pack(good_frame(peer)))
        cluster.wait_counter("key_refused", before + 10)
        wait_until(lambda: len(cluster.aggregator.lines(type="event", event="key_refused")) == len(peers), "an event of each")
        cluster.wait_counter("key_refused", before + 15)
        events = cluster.aggregator.lines(type="event", event="key_refused")
        assert len({event["error"] for event in events}) == len(events) == len(peers)  # each key once a minute
        for peer in peers:
            assert not peer.data.poll(0) and not peer.control.poll(0), "it was heard"
            peer.close()


@pytest.mark.sanitized
def test_another_nodes_name(cluster):
    """A listed key that speaks for n1: in frames and in hellos, with n1's own session and with others."""
    with Siege(cluster):
        line = cluster.wait_node("n1")
        state = cluster.node_status("n1")
        with evil(cluster, session=int(line["session"], 16)) as peer:
            peer.start()
            before = cluster.counter("wrong_node")
            for sequence in (1, 2**40, 2**63 - 1):
                peer.publish_raw(protocol.pack(good_frame(peer, node="n1", sequence=sequence)))
            peer.session += 2
            peer.hello(node="n1")
            peer.publish_raw(protocol.pack(good_frame(peer, node="n1", sequence=1)))
            cluster.wait_counter("wrong_node", before + 5)
            event = cluster.wait_event("rejected", node="evil")
            assert event
            assert cluster.node_status("evil")["rejected"] >= 5
            proves_alive(cluster, peer)
        after = cluster.node_status("n1")
        assert after["session"] == state["session"] and after["facts"] == state["facts"]
        sessions = {line["session"] for line in cluster.aggregator.lines(type="node", node="n1")}
        assert sessions == {line["session"]}


@pytest.mark.sanitized
def test_truncated_frames(cluster):
    """Every beginning of a frame, and every frame with something behind it."""
    with Siege(cluster), evil(cluster) as peer:
        peer.start()
        proves_alive(cluster, peer)  # so its schema has come
        rows = {"a": {"count": 1, "text": "words"}, "b": {"count": 2**40}}
        tables = [protocol.table_wire(peer.groups, "plain", 10**9, {"level": 1.5}),
                  protocol.table_wire(peer.groups, "rows", 10**9, rows=rows)]
        whole = b""
        for length in range(len(protocol.pack(peer.frame(tables, sequence=10_000)))):
            whole = protocol.pack(peer.frame(tables, sequence=10_000 + length))
            peer.publish_raw(whole[:length])
        peer.publish_raw(protocol.pack(peer.frame(tables, sequence=20_000)) + b"\x00")
        # The empty one does not get as far as the others.
        wait_until(lambda: counted(cluster) == len(whole) + 1, "all are counted")
        assert not [line for line in cluster.aggregator.lines(type="node", node="evil") if line["seq"] >= 10_000]
        proves_alive(cluster, peer)


@pytest.mark.sanitized
def test_mutated_frames(cluster):
    """Each byte of a frame replaced: by chance, and by what msgpack uses for long things."""
    chance = random.Random(7)
    with Siege(cluster, growth=32 * MIB), evil(cluster) as peer:
        peer.start()
        proves_alive(cluster, peer)  # so its schema has come
        rows = {"a": {"count": 1, "text": "words"}, "b": {"count": 2**40}}
        table = protocol.table_wire(peer.groups, "rows", 10**9, rows=rows)
        before, sent = arrived(cluster), 0
        for index in range(len(protocol.pack(peer.frame([table], sequence=10_000)))):
            for byte in (chance.randrange(256), chance.randrange(256), 0xC1, 0xC6, 0xDB, 0xDD, 0xDF, 0xFF, 0x00):
                sent += 1
                peer.session += 2  # or the frame would be left out unread
                whole = protocol.pack(peer.frame([table], sequence=50))
                peer.publish_raw(whole[:index] + bytes([byte]) + whole[index + 1:])
        wait_until(lambda: arrived(cluster) >= before + sent, "all have come")
        assert counted(cluster) > sent / 3
        proves_alive(cluster, peer)
        # Whatever became of them, the lines are valid JSON, which reading them has checked.
        assert cluster.aggregator.lines(type="node")


ARRAY32 = b"\xdd\xff\xff\xff\xff"


@pytest.mark.sanitized
def test_enormous_sizes(cluster):
    """Arrays, maps, texts and binaries that are said to have 2^32 items, at every place of a frame and of a message."""
    huge = [ARRAY32, b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xc9\xff\xff\xff\xff\x01",
            ARRAY32 * 200, b"\x91" * 100_000]
    with Siege(cluster, growth=32 * MIB), evil(cluster) as peer:
        peer.start()
        proves_alive(cluster, peer)  # so its schema has come
        table = protocol.table_wire(peer.groups, "rows", 10**9, rows={"a": {"count": 1}})
        sent = 0
        for size, place in itertools.product(huge, range(16)):
            peer.session += 2  # or the frame would be left out unread
            frame = peer.frame([table], sequence=50)
            if place < 8:
                parts = [b"\x98", *map(protocol.pack, frame[:place])]
            else:
                parts = [b"\x98", *map(protocol.pack, frame[:7]), b"\x91\x96", *map(protocol.pack, table[:place - 8])]
                parts += [b"\x92"] if place == 15 else []
            peer.publish_raw(b"".join(parts) + size)
            peer.control.send(b"".join(parts) + size)
            sent += 2
        # 2^32 rows "0" to "n-1", without a single value: also one more than is allowed.
        for rows in (2**32 - 1, 2**64 - 1, 65537):
            peer.session += 2
            peer.publish_raw(protocol.pack(peer.frame([[1, 10**9, None, rows, [], [None, None]]], sequence=60)))
        wait_until(lambda: counted(cluster) >= sent + 3, "all are counted")
        proves_alive(cluster, peer)
        assert not cluster.aggregator.lines(type="node", node="evil", seq=60)


def test_frames_over_the_limit(cluster):
    """Frames of 16 MiB end in libzmq."""
    with Siege(cluster, growth=64 * MIB), evil(cluster) as peer:
        peer.start()
        for _ in range(20):
            peer.publish_raw(bytes(16 * MIB))
            peer.control.send(bytes(16 * MIB))
        cluster.aggregator.wait_lines(20, after=cluster.aggregator.mark(), type="node", node="n1")


@pytest.mark.sanitized
def test_schema_bombs(cluster):
    """Schemas that are too large, too deep, wrong in one rule, or of another hash than was said."""
    metric = ["m", 0, 0, 0, 1, 0, 0, "Help."]

    def group(name="g", metrics=None, **more):
        fields = {"section": "system_data", "row": "", "rows_name": "", "fold_name": "", "flags": 0, "help": "Help."}
        fields |= more
        return [name, *fields.values(), [metric] if metrics is None else metrics]

    def with_metric(index, value):
        return group(metrics=[metric[:index] + [value] + metric[index + 1:]])

    bombs = [
        b"", b"\xc0", b"\x92\x01" + ARRAY32, b"\x92\x01\x91" + ARRAY32, b"\x91" * 200_000,
        b"\x92\x01\x91\x98" + ARRAY32 * 1000, random.Random(3).randbytes(100_000),
        protocol.pack([1, [group(f"g{number}") for number in range(129)]]),
        protocol.pack([1, [group(metrics=[[f"m{number}", *metric[1:]] for number in range(513)])]]),
        protocol.pack([1, [group(help="x" * 200_000)]]),
        protocol.pack([2, [group()]]), protocol.pack([1, "groups"]), protocol.pack([1]),
        protocol.pack([1, [group(), group()]]), protocol.pack([1, [group(metrics=[metric, metric])]]),
        protocol.pack([1, [group("Bad Name")]]), protocol.pack([1, [group("")]]), protocol.pack([1, [group("x" * 65)]]),
        protocol.pack([1, [group(section='"},{"')]]), protocol.pack([1, [group(flags=2**32)]]),
        protocol.pack([1, [with_metric(0, "period")]]), protocol.pack([1, [with_metric(0, "error")]]),
        protocol.pack([1, [with_metric(1, 3)]]), protocol.pack([1, [with_metric(2, 2**32)]]),
        protocol.pack([1, [with_metric(4, 0)]]), protocol.pack([1, [with_metric(5, 2**32)]]),
        protocol.pack([1, [with_metric(7, "x" * 513)]]), protocol.pack([1, [with_metric(7, 5)]]),
    ]
    with Siege(cluster, growth=32 * MIB), evil(cluster) as peer:
        peer.start()
        for number, bomb in enumerate(bombs):
            before = counted(cluster)
            peer.session += 2
            peer.hash = protocol.schema_hash(bomb)
            peer.hello()
            peer.send_schema(bomb)
            peer.publish_raw(protocol.pack(good_frame(peer, sequence=number + 1)))
            wait_until(lambda: counted(cluster) > before, f"bomb {number} is counted")  # pylint: disable=W0640
        # Not what its hash says, and never asked for; and one that is too large for the control channel.
        before = counted(cluster)
        peer.send(protocol.SCHEMA, bytes(16), peer.schema)
        wait_until(lambda: counted(cluster) > before, "it is counted")
        peer.send_schema(bytes(300_000))
        # A good one under a hash that is another's.
        before, peer.session, peer.hash = counted(cluster), peer.session + 2, b"another schema's"
        peer.hello()
        peer.send(protocol.SCHEMA, peer.hash, peer.schema)
        wait_until(lambda: counted(cluster) > before, "it is counted")
        proves_alive(cluster, peer)


def test_many_schemas(cluster):
    """A new valid schema of 200 KB with each of 300 sessions: few are taken, and what nobody uses any more is forgotten."""
    with Siege(cluster, growth=32 * MIB), evil(cluster) as peer:
        peer.start()
        for number in range(300):
            metrics = [protocol.Metric(f"m{number}_{index}", protocol.GAUGE, flags=protocol.OF_NODE, help="x" * 380)
                       for index in range(500)]
            peer.groups = [GROUP, protocol.Group("large", metrics=metrics)]
            peer.schema = protocol.schema_bytes(peer.groups)
            peer.hash = protocol.schema_hash(peer.schema)
            peer.session += 2
            peer.received.clear()
            peer.hello()
            peer.wait_message(protocol.WELCOME)
            peer.send_schema()
        cluster.wait_counter("schemas_over_share", 200)
    assert cluster.aggregator.lines(type="event", event="over_share", node="evil", what="schemas")
    assert len(cluster.aggregator.lines(type="event", event="schema_new", node="evil")) < 30


@pytest.mark.sanitized
def test_schema_that_never_comes(cluster):
    """96 MiB of frames that nobody can read: few are kept, and all are counted when they go."""
    with Siege(cluster, growth=32 * MIB), evil(cluster) as peer:
        peer.start()
        peer.hash = bytes(16)
        peer.hello()
        frame = good_frame(peer, sequence=1, more=["x" * 100_000])
        before, sent = arrived(cluster), 1000
        for number in range(sent):
            frame[3] = number + 1
            peer.publish_raw(protocol.pack(frame))
        wait_until(lambda: arrived(cluster) >= before + sent, "all have come")
        proves_alive(cluster, peer)
        counters = cluster.status()["counters"]
        assert counters["frames_held_dropped"] + counters["dropped_user"] >= sent, counters


@pytest.mark.sanitized
def test_many_sessions(cluster):
    """Ten thousand hellos, each of a session of its own, with schemas that never come."""
    with Siege(cluster, growth=32 * MIB), evil(cluster) as peer:
        peer.start()
        for number in range(10_000):
            peer.session += 2
            peer.hash = struct.pack(">QQ", 1, number)
            peer.hello()
            if number % 100 == 0:
                peer.publish_raw(protocol.pack(good_frame(peer, sequence=1)))
                peer.pump()
        peer.session += 2
        peer.hash = protocol.schema_hash(peer.schema)
        peer.received.clear()
        peer.hello()
        proves_alive(cluster, peer)


@pytest.mark.parametrize("size", [200, 60_000])
def test_flood(cluster, size):
    """A listed node sends as fast as it can: 256 MB, far more than is read. It loses frames; nobody else does."""
    with Siege(cluster, growth=128 * MIB, frames=20), evil(cluster) as peer:
        peer.start()
        # No more than so much in its own queue, so that it goes on for a while.
        peer.data.setsockopt(zmq.XPUB_NODROP, 1)
        junk = protocol.pack(good_frame(peer, sequence=1, more=["x" * size]))
        before, count = arrived(cluster), min(256 * MIB // len(junk), 400_000)
        for _ in range(count):
            peer.publish_raw(junk)
        control = peer.control
        for _ in range(20_000):
            with contextlib.suppress(zmq.Again):
                control.send(protocol.pack([1, protocol.PROBE, peer.session, 1, None]), zmq.DONTWAIT)
        wait_until(lambda: arrived(cluster) >= before + count, "the flood is over", limit=300)
    counters = cluster.status()["counters"]
    assert counters["duplicates"] + counters["dropped_user"] + counters["dropped_full"] > 0, counters


@pytest.mark.sanitized
def test_jobs_without_end(cluster):
    """More jobs than a node may have, in rows that move, with ids, periods and starts at the ends of what can be written:
    its own are held back, and who it was is told."""
    job = {"section": "job_data", "row": "job", "rows_name": "jobs", "fold_name": "total"}
    groups = [GROUP, protocol.Group("job_cpu", **job, metrics=[protocol.Metric("user_time", protocol.COUNTER)]),
              protocol.Group("job_info", **job, metrics=[protocol.Metric("user", protocol.TEXT, 11, 0),
                                                         protocol.Metric("started", protocol.GAUGE)])]
    ids = [f"{number}-{'x' * 8}" for number in range(4000)] + ["a b", "", "y" * 200, "7/" + "1" * 100]
    chance = random.Random(5)
    with Siege(cluster, growth=48 * MIB):
        peer = evil(cluster, groups)
        peer.start()
        for _ in range(10):
            cpu = {one: {"user_time": 2**64 - 1} for one in chance.sample(ids, 3000)}
            info = {one: {"user": f"u{chance.random()}", "started": 8.9e9} for one in chance.sample(ids, 500)}
            tables = [protocol.table_wire(groups, "job_cpu", 2**63 - 1, rows=cpu),
                      protocol.table_wire(groups, "job_info", 2**63 - 1, rows=info)]
            peer.publish(tables)
            peer.pump()
        cluster.aggregator.wait_line(type="event", event="jobs_held_back", node="evil", what="rows")
        cluster.wait_counter("job_rows_refused", 10000)
        running = cluster.succeed("aggregator", "jobs", "--config", cluster.empty, "--socket", cluster.socket, "--history",
                                  cluster.history, "--running", "--json")
        of_evil = [job for job in map(parse_line, running.splitlines()) if job["nodes"] == ["evil"]]
        assert len(of_evil) <= 2048  # the machine may have jobs of its own


def test_silent_local_clients(cluster):
    """The local socket too: clients that connect and ask nothing are closed, the others are served."""
    many_files()
    with contextlib.ExitStack() as stack, Siege(cluster):
        clients = []
        for _ in range(100):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.settimeout(60)
            try:
                client.connect(str(cluster.socket))
            except BlockingIOError:
                break
            clients.append(client)
        wait_until(cluster.status, "a status")
        assert clients[0].recv(4096).startswith((b"error", b"")), "it is closed after a while"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_local_user_who_takes_all_clients(cluster):
    """300 tails of one user, which nobody reads: root has his status, another user his tail, and an event says who it is."""
    @contextlib.contextmanager
    def as_user(uid):
        os.seteuid(uid)
        try:
            yield
        finally:
            os.seteuid(0)

    def tail(uid):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
        with as_user(uid):
            wait_until(lambda: client.connect_ex(str(cluster.socket)) == 0, "a place in the backlog")
        client.sendall(b"tail\ttype=node\n")
        return client

    many_files()
    with contextlib.ExitStack() as stack, Siege(cluster, growth=64 * MIB):
        cluster.folder.chmod(0o711)
        cluster.socket.chmod(0o666)
        before = cluster.counter("clients")
        for _ in range(300):
            with contextlib.suppress(BrokenPipeError):
                stack.enter_context(tail(EVE))
        wait_until(lambda: cluster.counter("clients_refused") >= 300 - 64, "the others are refused")
        assert cluster.counter("clients") <= before + 64 + 1
        other = stack.enter_context(tail(BOB))
        assert other.recv(4096).startswith(b'{"type":"node"')
        event = cluster.wait_event("over_share", what="clients")
        assert event["user"] == str(EVE)
        cluster.status()
