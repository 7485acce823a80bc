"""A receiver of Prometheus' remote write that does as it is told: answers come from a script, and what it takes is kept as
{series: {ms: value}}. A series is its labels, sorted, as a tuple of pairs."""

import collections
import http.server
import struct
import threading
import time

import snappy

STALE = 0x7FF0000000000002


def fields(data):
    """(number, value) of each field of a protobuf message: an int, or bytes."""
    at = 0

    def varint():
        nonlocal at
        shift = value = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, data[at:at + 8]
            at += 8
        else:
            assert key & 7 == 2, f"wire type {key & 7}"
            length = varint()
            assert at + length <= len(data)
            yield key >> 3, data[at:at + length]
            at += length


def decode(body):
    """The samples of a request: (series, ms, value or None where it ends). Strict."""
    samples = []
    for number, series in fields(snappy.uncompress(body)):
        assert number == 1, number
        labels, values = [], []
        for kind, part in fields(series):
            parts = dict(fields(part))
            if kind == 1:
                labels.append((parts[1].decode(), parts[2].decode()))
            else:
                assert kind == 2 and set(parts) == {1, 2}, parts
                bits, = struct.unpack("<Q", parts[1])
                values.append((parts[2], None if bits == STALE else struct.unpack("<d", parts[1])[0]))
        names = [name for name, _ in labels]
        assert names == sorted(set(names)) and "__name__" in names and all(value for _, value in labels), labels
        assert len(values) == 1
        samples += [(tuple(labels), ms, value) for ms, value in values]
    return samples


class Answer:
    """What is done with a request: `after` seconds the status; 0: closed without one; None: never. `ends`: the connection is
    closed behind it, without a word."""

    def __init__(self, status=204, text="", headers=None, after=0.0, ends=False):
        self.status, self.text, self.headers, self.after, self.ends = status, text, headers or {}, after, ends


class Receiver:
    def __init__(self, answer=None, port=0):
        self.answer = answer or (lambda samples: Answer())
        self.taken = collections.defaultdict(dict)
        self.twice = 0  # samples that were taken before
        self.conflicts = []  # and had another value then
        self.requests = []  # (time, headers, samples, status)
        self.stop = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.handle(self, body)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/api/v1/write"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def handle(self, handler, body):
        samples = decode(body)
        answer = self.answer(samples)
        self.requests.append((time.monotonic(), dict(handler.headers), samples, answer.status))
        self.stop.wait(3600 if answer.status is None else answer.after)
        if not answer.status:
            handler.close_connection = True
            return
        if 200 <= answer.status < 300:
            self.take(samples)
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        text = answer.text.encode()
        if answer.status != 204:
            handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        if answer.status != 204:
            handler.wfile.write(text)
        handler.close_connection |= answer.ends

    def take(self, samples):
        for series, ms, value in samples:
            times = self.taken[series]
            if ms in times:
                self.twice += 1
                if times[ms] != value:
                    self.conflicts.append((series, ms, times[ms], value))
            times.setdefault(ms, value)

    def find(self, name, **labels):
        """{ms: value} of the series with that name and these labels among its own."""
        wanted = {"__name__": name, **labels}.items()
        found = [times for series, times in list(self.taken.items()) if wanted <= dict(series).items()]
        assert len(found) <= 1, (name, labels)
        return dict(found[0]) if found else {}

    def samples(self):
        return sum(len(times) for times in list(self.taken.values()))
