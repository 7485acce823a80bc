"""Attacks on what the page asks for: viewers without number, slow, broken and lying ones, and requests of random parts. As in
test_http_hostile, the healthy nodes' lines are whole and in time, and others are answered."""

import contextlib
import json
import random
import socket
import time

import pytest
from lib.hostile import MIB, many_files
from lib.programs import LIMIT, wait_until
from test_http_hostile import OTHER, address_of, ask_from, connect, siege

WATCH = "/api/v1/watch?metric=cpu_usage.user&metric=load.load_1"
STATUSES = {200, 304, 400, 401, 403, 404, 405, 413, 414, 429, 431, 503}
PATHS = ["/", "/main.js", "/index.html", "/uplot/uPlot.esm.js", "/api/v1/now", "/api/v1/query", "/api/v1/nodes", "/api/v1/status",
         "/api/v1/groups", "/api/v1/events", "/api/v1/jobs", "/api/v1/jobs/1", "/addresses", "/sd", "/api/v1"]
NAMES = ["metric", "node", "row", "top", "bottom", "encoding", "from", "to", "step", "format", "fold", "limit", "type", "job", "x"]
VALUES = ["cpu_usage.user", "memory_info.used/memory_info.total", "load.load_1", "*", "n1", "levels", "values", "10", "-1h", "now", "1s",
          "json", "<script>alert(1)</script>", "\x1b[31m", "\u202e", "%00", "..", "9" * 400, "*a" * 30, "", "[", "a,b,,", "NaN", "1e999",
          "cpu_usage.user" + "+load.load_1" * 40, "\xff", "'\"", "-", "0", "18446744073709551616"]
HEADERS = ["If-None-Match: W/\"x\"", "If-None-Match: *", "Accept-Encoding: gzip", "Accept-Encoding: \xff", "Range: bytes=0-1",
           "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: \x01", "X-Forwarded-For: " + "1.2.3.4," * 500, "X-Forwarded-Host: <x>",
           "Authorization: Basic !", "Origin: null", "Accept: */*;q=x", "Connection: upgrade", "Host: [", "TE: x"]


def viewer(stack, address, source, receive=None):
    """One more that watches; None: there was no room for it."""
    client = stack.enter_context(socket.socket())
    if receive:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    client.settimeout(LIMIT)
    client.bind((source, 0))
    client.connect(address)
    client.sendall(f"GET {WATCH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    with contextlib.suppress(ConnectionError):
        if client.recv(12)[9:12] == b"200":
            return client
    return None


def watch_lines(client, count):
    """So many of its lines, from now on."""
    text = b""
    while text.count(b"\ndata: ") < count + 1:
        piece = client.recv(65536)
        assert piece, "it ended"
        text += piece
    return [json.loads(line[6:]) for line in text.split(b"\n") if line.startswith(b"data: {") and line.endswith(b"}")]


@pytest.mark.sanitized
def test_viewers(cluster):
    """Some read, some never do, some leave in the middle; from addresses of their own. One who reads misses nothing."""
    many_files()
    with siege(cluster, 96 * MIB) as (address, _), contextlib.ExitStack() as stack:
        reader = wait_until(lambda: viewer(stack, address, OTHER), "a first viewer")
        sleepers = [viewer(stack, address, f"127.0.0.{3 + number % 8}", 2048) for number in range(80)]
        assert sum(one is not None for one in sleepers) >= 16 and None in sleepers, "an address has so many places and no more"
        for number in range(60):
            with contextlib.ExitStack() as short:
                client = viewer(short, address, f"127.0.0.{20 + number}")
                if client and number % 2:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # it resets
        lines = watch_lines(reader, 5)
        times = [line["time"] for line in lines]
        assert times == sorted(set(times)) and len(lines) >= 4
        assert ask_from(address, OTHER) == 200


def request_of(chance):
    pairs = "&".join(f"{chance.choice(NAMES)}={chance.choice(VALUES)}" for _ in range(chance.randrange(5)))
    path = chance.choice(PATHS) + ("?" + pairs if pairs else "")
    if chance.randrange(4) == 0:
        at = chance.randrange(1, len(path) + 1)
        path = path[:at] + chance.choice(["%", "%2f", "%00", "//", "..", "\t", "\x7f", "#", "?", "%ff%fe", "/"]) + path[at:]
    lines = [f"{chance.choice(['GET', 'GET', 'GET', 'HEAD', 'PUT'])} {path} HTTP/1.0", "Host: localhost",
             *chance.sample(HEADERS, chance.randrange(3))]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogatepass")


def answer_to(address, request):
    with connect(address) as client:
        client.settimeout(LIMIT)
        answer = b""
        with contextlib.suppress(ConnectionError):
            client.sendall(request)
            while piece := client.recv(1 << 20):
                answer += piece
        return answer


@pytest.mark.sanitized
def test_random_requests(cluster):
    """Of the parts that the page's own are made of: each has an answer that is whole, and says what is wrong."""
    chance = random.Random(18)
    seen = {}
    with siege(cluster, 64 * MIB) as (address, _):
        end = time.monotonic() + 6
        while time.monotonic() < end or (seen.get(404, 0) <= 5 and time.monotonic() < end + LIMIT):
            request = request_of(chance)
            answer = answer_to(address, request)
            if not answer:
                continue  # libmicrohttpd closes at what is no HTTP
            head, _, body = answer.partition(b"\r\n\r\n")
            status = int(head.split()[1])
            seen[status] = seen.get(status, 0) + 1
            assert status in STATUSES, (request, answer[:300])
            if status == 400 and body and b"application/json" in head and b"Encoding: gzip" not in head:
                assert json.loads(body)["error"]["message"], (request, body)
            assert b"<script>" not in body or b"application/json" in head or b"text/plain" in head, (request, answer[:300])
    print(seen)
    assert seen.get(200, 0) > 20 and seen.get(400, 0) > 20 and seen.get(404, 0) > 5


def is_answered(address):
    with contextlib.suppress(ConnectionError, IndexError):
        return ask_from(address, "127.0.0.1") == 200
    return False


def test_lying_proxies(cluster):
    """Who is no trusted proxy and says that it asks for others has no more room than it has."""
    with siege(cluster, 64 * MIB) as (address, _), contextlib.ExitStack() as stack:
        opened = 0
        for number in range(200):
            with contextlib.suppress(ConnectionError):
                client = stack.enter_context(connect(address))
                client.settimeout(LIMIT)
                client.sendall(f"GET {WATCH} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.{number}\r\n\r\n".encode())
                opened += client.recv(12)[9:12] == b"200"
        assert 0 < opened <= 64
        assert ask_from(address, OTHER, "/api/v1/nodes") == 200
        stack.close()
        wait_until(lambda: is_answered(address), "places that are free again")
