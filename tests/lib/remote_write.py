"""A receiver of Prometheus' remote write that does as it is told: answers come from a script, and what it takes is kept as
{series: {ms: value}}. A series is its labels, sorted, as a tuple of pairs."""

import collections
import http.server
import struct
import threading
import time

import snappy

STALE = 0x7FF0000000000002


def varint(data, at):
    """The number there, and where it ends."""
    shift = value = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def varints(data):
    at = 0
    while at < len(data):
        number, at = varint(data, at)
        yield number


def fields(data):
    """(number, value) of each field of a protobuf message: an int, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
        elif key & 7 == 1:
            yield key >> 3, data[at:at + 8]
            at += 8
        else:
            assert key & 7 == 2, f"wire type {key & 7}"
            length, at = varint(data, at)
            assert at + length <= len(data)
            yield key >> 3, data[at:at + length]
            at += length


FIRST, SECOND = "application/x-protobuf", "application/x-protobuf;proto=io.prometheus.write.v2.Request"
TYPES = {0: "unknown", 1: "counter", 2: "gauge", 6: "info"}


def value_of(sample):
    """(ms, value or None where it ends)"""
    parts = dict(fields(sample))
    assert set(parts) == {1, 2}, parts
    bits, = struct.unpack("<Q", parts[1])
    return parts[2], None if bits == STALE else struct.unpack("<d", parts[1])[0]


def checked(labels):
    names = [name for name, _ in labels]
    assert names == sorted(set(names)) and "__name__" in names and all(value for _, value in labels), labels
    return tuple(labels)


def decode_2(body):
    """As decode, of 2.0; and every text once, each of them used."""
    symbols, series_of, samples, metadata, used = [], [], [], {}, {0}
    for number, part in fields(snappy.uncompress(body)):
        assert number in (4, 5), number
        (symbols if number == 4 else series_of).append(part)
    symbols = [symbol.decode() for symbol in symbols]
    assert symbols[0] == "" and len(set(symbols)) == len(symbols)
    for series in series_of:
        parts = list(fields(series))
        assert [number for number, _ in parts] == [1, 2, 5], parts
        refs = list(varints(parts[0][1]))
        assert len(refs) % 2 == 0
        labels = checked([(symbols[name], symbols[value]) for name, value in zip(refs[::2], refs[1::2])])
        about = dict(fields(parts[2][1]))
        assert set(about) <= {1, 3, 4} and 0 not in about.values(), about
        used |= {*refs, about.get(3, 0), about.get(4, 0)}
        metadata[dict(labels)["__name__"]] = TYPES[about[1]], symbols[about.get(3, 0)], symbols[about.get(4, 0)]
        samples.append((labels, *value_of(parts[1][1])))
    assert used == set(range(len(symbols)))
    return samples, metadata


def decode(body):
    """The samples of a request, (series, ms, value or None where it ends), and metadata, {family: (type, help, unit)}. Strict."""
    samples, metadata = [], {}
    for number, series in fields(snappy.uncompress(body)):
        if number == 3:
            about = dict(fields(series))
            metadata[about[2].decode()] = TYPES[about[1]], about[4].decode(), about[5].decode()
            continue
        assert number == 1, number
        labels, values = [], []
        for kind, part in fields(series):
            if kind == 1:
                parts = dict(fields(part))
                labels.append((parts[1].decode(), parts[2].decode()))
            else:
                assert kind == 2
                values.append(value_of(part))
        assert len(values) == 1
        samples.append((checked(labels), *values[0]))
    return samples, metadata


class Answer:
    """What is done with a request: `after` seconds the status; 0: closed without one; None: never. `ends`: the connection is
    closed behind it, without a word."""

    def __init__(self, status=204, text="", headers=None, after=0.0, ends=False):
        self.status, self.text, self.headers, self.after, self.ends = status, text, headers or {}, after, ends


class Receiver:
    """Of 1.0 and 2.0, whichever comes; with `takes` of one of these content types alone, and `blind`: it takes any for 1.0.

    `refuses` says of a sample whether it alone is refused: a partial write. `allows`: of the headers, whether they are let in.
    `tls`: a server's context."""

    def __init__(self, answer=None, port=0, takes=(FIRST, SECOND), blind=False, refuses=None, allows=None, tls=None):
        self.takes, self.blind, self.refuses, self.allows = takes, blind, refuses, allows
        self.metadata = {}
        self.kinds = []  # the content types that came
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
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/api/v1/write"
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
        kind = handler.headers["Content-Type"]
        version = {FIRST: "0.1.0", SECOND: "2.0.0"}[kind]
        assert handler.headers["X-Prometheus-Remote-Write-Version"] == version
        self.kinds.append(kind)
        (samples, metadata), answer = (decode if kind == FIRST else decode_2)(body), None
        if self.allows and not self.allows(handler.headers):
            answer = Answer(401, "who are you?")
        elif kind not in self.takes:
            answer = Answer(415, "what is this?")
        elif kind == SECOND and self.blind:
            samples, answer = [], Answer()
        else:
            answer = self.answer(samples)
        self.requests.append((time.monotonic(), dict(handler.headers), samples, answer.status))
        self.stop.wait(3600 if answer.status is None else answer.after)
        if not answer.status:
            handler.close_connection = True
            return
        if 200 <= answer.status < 300:
            answer = self.take_all(samples, metadata, answer, counts=kind == SECOND and not self.blind)
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

    def take_all(self, samples, metadata, answer, counts):
        """But for those that are refused."""
        good = [sample for sample in samples if not self.refuses or not self.refuses(sample)]
        self.take(good)
        self.metadata |= metadata
        status = answer.status if len(good) == len(samples) else 400
        text = answer.text if len(good) == len(samples) else f"{len(samples) - len(good)} are bad"
        written = {"X-Prometheus-Remote-Write-Samples-Written": str(len(good)),
                   "X-Prometheus-Remote-Write-Histograms-Written": "0"} if counts else {}
        return Answer(status, text, answer.headers | written, ends=answer.ends)

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
