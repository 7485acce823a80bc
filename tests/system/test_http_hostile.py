"""Attacks on the aggregator's HTTP. In each the healthy nodes lose no frame and are not late, the aggregator does not grow,
its other pages are answered, and what happened is counted."""

import base64
import contextlib
import os
import pathlib
import random
import re
import socket
import threading
import time
import urllib.parse

import pytest
from lib import protocol
from lib.hostile import MIB, Siege, evil, many_files
from lib.programs import memory_bytes, time_ns, wait_until
from lib.web import get, text_of, url_of

HTTP = "[http]\nlisten = 127.0.0.1:0\n"
LATE = 1.0  # s, a line of a healthy node behind its sample
OTHER = "127.0.0.2"  # another address of this host, which has places of its own
BEGINNINGS = [b"", b"GET ", b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET /%zz%00%ff?node=%00 HTTP/1.1\r\n",
              b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
              b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
              b"GET /metrics?node=[[[[[[[&group=%5b%5b HTTP/1.1\r\nHost: localhost\r\n\r\n",
              b"GET /api/v1/jobs?user=%00%ff&from=%zz&& HTTP/1.1\r\nHost: localhost\r\n\r\n",
              b"GET /api/v1/stream?type=event HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
              b"HEAD /api/v1/jobs/%2f%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"]


def address_of(url):
    parts = urllib.parse.urlsplit(url)
    return parts.hostname, parts.port


def connect(address, source="127.0.0.1"):
    return socket.create_connection(address, timeout=60, source_address=(source, 0))


def ask_from(address, source, path="/healthz", user=None):
    """The status, as somebody else gets it."""
    header = f"Authorization: Basic {base64.b64encode(user.encode()).decode()}\r\n" if user else ""
    with connect(address, source) as client:
        client.sendall(f"GET {path} HTTP/1.0\r\n{header}\r\n".encode())
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
        return int(answer.split()[1])


def read_answer(client):
    with contextlib.suppress(ConnectionError):
        return client.recv(65536)
    return b""


@contextlib.contextmanager
def siege(cluster, growth):
    """The address, and afterwards: no line was late."""
    with Siege(cluster, growth=growth, config=HTTP) as made:
        aggregator = cluster.aggregator
        address = address_of(url_of(aggregator))
        mark = aggregator.mark()
        before = time.time()
        yield address, made
        lines = aggregator.lines(after=mark, type="node")
        times = sorted(time_ns(line["time"]) / 1e9 for line in lines if line["node"] == "n1")
        assert time.time() - before < 3 or len(times) > 3
        gaps = [after - ahead for ahead, after in zip(times, times[1:])]
        assert max(gaps, default=0) < LATE, f"{max(gaps):.2f} s without a line"
        assert ask_from(address, "127.0.0.1") == 200
        assert not aggregator.sanitizer_report()


@pytest.mark.sanitized
def test_garbage(cluster):
    chance = random.Random(7)
    with siege(cluster, 32 * MIB) as (address, _):
        for beginning in BEGINNINGS * 8:
            with connect(address) as client, contextlib.suppress(ConnectionError, TimeoutError):
                client.settimeout(1)  # a request that is half there may stay so for 30 s
                client.sendall(beginning + chance.randbytes(chance.randrange(2000)))
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass


def test_new_names_without_end(cluster):
    """A node that comes with schemas of 10,000 new names each, as fast as they are taken: the page of another node does not
    wait for them."""
    with siege(cluster, 256 * MIB) as (address, made), evil(cluster) as peer:
        peer.start()
        taken = []
        for number in range(12):
            metrics = [protocol.Metric(f"m{number}_{index}", protocol.GAUGE, flags=protocol.OF_NODE, help="") for index in range(100)]
            peer.groups = [protocol.Group(f"g{number}_{index}", metrics=metrics) for index in range(100)]
            peer.schema = protocol.schema_bytes(peer.groups)
            peer.hash = protocol.schema_hash(peer.schema)
            peer.session += 2
            peer.sequence = 0
            peer.hello()
            peer.send_schema()
            peer.publish_raw(protocol.pack(peer.frame([[index, 10**9, None, None, [1.5] * 100, []] for index in range(100)])))
            session = f"{peer.session:016x}"
            wait_until(lambda: cluster.aggregator.lines(type="node", session=session), "its line")
            for path in ("/metrics", "/nodes/n1/metrics"):
                began = time.monotonic()
                assert ask_from(address, "127.0.0.1", path) == 200
                taken.append(time.monotonic() - began)
        print(f"pages within {max(taken):.2f} s")
        assert max(taken) < 2


@pytest.mark.sanitized
def test_huge_headers(cluster):
    """Also urls, and headers without end: a connection has so much memory and no more."""
    with siege(cluster, 32 * MIB) as (address, _):
        for request in (b"GET /" + b"a" * 100_000, b"GET /metrics?node=" + b"*a" * 50_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 100_000, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000,
                        b"GET / HTTP/1.1\r\nAuthorization: Basic " + b"QUFB" * 30_000 + b"\r\n\r\n"):
            with connect(address) as client:
                with contextlib.suppress(ConnectionError):
                    client.sendall(request)
                    answer = read_answer(client)
                    assert answer == b"" or answer.split()[1] in (b"400", b"413", b"414", b"431"), answer[:80]


def test_thousand_connections(cluster):
    """Who has as many as an address may have gets no more; others do; the silent ones end by themselves."""
    many_files()
    with siege(cluster, 96 * MIB) as (address, made), contextlib.ExitStack() as stack:
        before = cluster.counter("http_refused")
        for _ in range(1000):
            stack.enter_context(connect(address))
        wait_until(lambda: cluster.counter("http_refused") >= before + 1000 - 128, "the rest is refused")
        assert cluster.counter("http_connections") <= 128
        assert ask_from(address, OTHER, "/metrics") == 200
        made.cluster.wait_counter("http_ended", 100, limit=120)
        wait_until(lambda: ask_from(address, "127.0.0.1") == 200, "a place")


@pytest.mark.skipif(not os.environ.get("CROWD"), reason="it takes more than a minute: make soak")
def test_slow_readers(cluster):
    """They ask for everything and take nothing, or a byte now and then; each is ended after a minute."""
    with siege(cluster, 96 * MIB) as (address, _), contextlib.ExitStack() as stack:
        readers = []
        for number in range(100):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(address)
            client.settimeout(60)
            path = "/metrics" if number % 2 else "/nodes/n1/metrics"
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 100)
            readers.append(client)
        assert ask_from(address, "127.0.0.1", "/nodes/n2/metrics") == 200
        assert ask_from(address, "127.0.0.1", "/metrics") == 429 and ask_from(address, OTHER, "/metrics") == 200
        assert cluster.counter("http_refused") > 0
        end = time.monotonic() + 75
        while time.monotonic() < end and cluster.counter("http_ended") < 50:
            for client in readers:
                with contextlib.suppress(OSError):
                    client.recv(1)
            time.sleep(1)
        assert cluster.counter("http_ended") >= 50
        wait_until(lambda: ask_from(address, "127.0.0.1", "/metrics") == 200, "room for a page of all nodes")


def test_many_requests(cluster):
    """As fast as one client can, for some seconds."""
    with siege(cluster, 64 * MIB) as (address, made):
        url = f"http://{address[0]}:{address[1]}"
        end = time.monotonic() + 4
        count = 0
        while time.monotonic() < end:
            assert get(url, "/metrics" if count % 2 else "/nodes/n1/metrics", Accept_Encoding="gzip").status in (200, 503)
            count += 1
        print(f"{count / 4:.0f} requests a second")
        assert made.cluster.counter("http_requests") >= count


def test_wrong_passwords(cluster):
    """Who tries one after the other keeps nobody else out."""
    path = cluster.write("passwords", cluster.succeed("aggregator", "keys", "password", "anna", stdin="right\n"))
    cluster.start_aggregator(config=f"{HTTP}password_file = {path}\n")
    address, ending = address_of(url_of(cluster.aggregator)), threading.Event()

    def attack():
        while not ending.is_set():
            ask_from(address, "127.0.0.1", "/metrics", "anna:wrong")

    attackers = [threading.Thread(target=attack) for _ in range(2)]
    for one in attackers:
        one.start()
    try:
        cluster.wait_counter("http_unauthorized", 20)
        assert ask_from(address, OTHER, "/metrics", "anna:right") == 200
        assert ask_from(address, "127.0.0.1", "/metrics", "anna:right") == 200, "it is known"
    finally:
        ending.set()
        for one in attackers:
            one.join()


def sockets(program):
    """How many it has open."""
    names = []
    for fd in pathlib.Path(f"/proc/{program.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(fd))
    return sum(name.startswith("socket:") for name in names)


class Sampled(threading.Thread):
    """Looks again and again, from another address, when an agent has sampled last."""

    def __init__(self, address):
        super().__init__()
        self.address, self.ending, self.gaps, self.wrong = address, threading.Event(), [], []
        self.start()

    def run(self):
        last = None
        while not self.ending.wait(0.05):
            with connect(self.address, OTHER) as client:
                client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                found = re.search(rb"^node_time_seconds (\S+)$", client.makefile("rb").read(), re.MULTILINE)
            if not found:
                self.wrong.append("a page without a time")
                continue
            self.gaps += [float(found.group(1)) - last] if last else []
            last = float(found.group(1))

    def end(self):
        """The time without a sample that nine of ten are within: a busy host may hold one up, whatever is done to the agent."""
        self.ending.set()
        self.join()
        gaps = sorted(gap for gap in self.gaps if gap > 0)
        assert not self.wrong and gaps
        return gaps[len(gaps) * 9 // 10]


def paged_agent(cluster, name):
    """Samples each 100 ms, and shows it."""
    agent = cluster.start(name, "agent", "--config", cluster.write("agent.ini", HTTP), "--period", "100ms",
                          "--jobs-book", cluster.folder / f"{name}.jobs")
    wait_until(lambda: "node_load1 " in text_of(url_of(agent), "/metrics"), "values")
    return agent


@pytest.mark.sanitized
def test_agent(cluster):
    """An agent's own page: whatever is done to it, it samples as before, others are answered, and it does not grow."""
    many_files()
    agent, beside, chance = paged_agent(cluster, "agent"), paged_agent(cluster, "beside"), random.Random(7)
    address = address_of(url_of(agent))
    before = memory_bytes(agent.pid)
    sampled, undisturbed = Sampled(address), Sampled(address_of(url_of(beside)))
    for _ in range(100):
        with connect(address) as client, contextlib.suppress(ConnectionError, TimeoutError):
            client.settimeout(0.2)
            client.sendall(chance.choice(BEGINNINGS) + chance.randbytes(chance.randrange(2000)))
            client.shutdown(socket.SHUT_WR)
            client.recv(65536)
    with contextlib.ExitStack() as stack:
        for number in range(600):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(address)
            with contextlib.suppress(OSError):
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * (number % 2 * 100))
        time.sleep(2)
        assert sockets(agent) <= 128 + 4
        grown = memory_bytes(agent.pid, "VmHWM") - before
    gap, usual = sampled.end(), undisturbed.end()
    assert gap - (usual - 0.1) < LATE, f"{gap:.2f} s without a sample, {usual:.2f} s beside it"
    print(f"grown by {grown / MIB:.1f} MiB")
    assert grown < 48 * MIB and not agent.sanitizer_report()
    assert agent.stop() == 0 and beside.stop() == 0
