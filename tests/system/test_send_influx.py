"""[send NAME] type = influx: to a real InfluxDB 1 over HTTP and UDP; to sockets, and to one that answers as InfluxDB 2, of the
test's own. What is asked back is what the history has."""

import http.server
import os
import re
import socket
import threading
import time
import urllib.parse

import pytest
from lib.programs import wait_until
from lib.receivers import Influx, away_seconds, free_port
from lib.sent_lines import sender
from test_send import history

needs_influx = pytest.mark.skipif(not Influx.path(), reason="there is no influxd here")

GROUPS = "load,cpu_usage,memory_info"


def section(url, more="database = synop"):
    return (f"[history]\nchunk_time = 500ms\n[send one]\ntype = influx\nurl = {url}\nperiod = 200ms\ngroups = {GROUPS}\n"
            f"retry = 200ms\n{more}\n")


def check_whole(cluster, find, *nodes):
    """{ms: value} that `find` gives of a family and a node is what the history has."""
    for node in nodes:
        want = history(cluster, "load", "load_1", node)
        assert want
        wait_until(lambda: want.keys() <= find("synop_load_load_1", node).keys(), f"{len(want)} of {node}")  # pylint: disable=cell-var-from-loop
        got = find("synop_load_load_1", node)
        assert all(got[ms] in want[ms] for ms in want)
    assert sender(cluster)["dropped"] == 0


@needs_influx
def test_influx_1(cluster):
    """It is killed and away, the aggregator is killed, and its database was not there: nothing is missing."""
    database = Influx(cluster).start()
    database.ask("DROP DATABASE synop")
    config = section(database.url)
    cluster.start_aggregator(config=config)
    cluster.start_nodes("n1", "n2")
    wait_until(lambda: 'database not found: \\"synop\\"' in sender(cluster)["error"], "a word")
    database.ask("CREATE DATABASE synop")
    wait_until(lambda: sender(cluster)["sent"] > 300, "samples")
    database.kill()
    wait_until(lambda: "onnect" in sender(cluster)["error"], "an error")
    time.sleep(away_seconds())
    database.start()
    wait_until(lambda: sender(cluster)["error"] == "", "it goes on")
    cluster.aggregator.kill()
    cluster.start_aggregator(config=config)
    for node in ("n1", "n2"):
        cluster.wait_node(node)
    check_whole(cluster, lambda name, node: database.find(name, host=node), "n1", "n2")
    cpu = database.ask('SELECT "value" FROM "synop_cpu_usage_user_seconds_total" GROUP BY * LIMIT 1')
    assert {one["tags"]["cpu"] for one in cpu} >= {"0"} and {one["tags"]["job"] for one in cpu} == {"synop"}


@needs_influx
def test_a_wrong_password(cluster):
    """Nothing is dropped: the right one is read from its file without a restart."""
    database = Influx(cluster, password="right").start()
    secret = cluster.write("password", "wrong\n")
    cluster.start_aggregator(config=section(database.url, f"database = synop\nuser = admin\npassword_file = {secret}"))
    cluster.start_nodes("n1")
    wait_until(lambda: "the receiver answers 401" in sender(cluster)["error"], "a word")
    secret.write_text("right\n")
    check_whole(cluster, lambda name, node: database.find(name, host=node), "n1")


@needs_influx
def test_udp(cluster):
    database = Influx(cluster).start()
    cluster.start_aggregator(config=section(f"udp://{database.address}", ""))
    cluster.start_nodes("n1")
    wait_until(lambda: sender(cluster)["sent"] > 300, "samples")
    check_whole(cluster, lambda name, node: database.find(name, host=node), "n1")
    database.kill()
    wait_until(lambda: sender(cluster)["error"].endswith("Connection refused"), "an error")
    database.start()
    wait_until(lambda: sender(cluster)["error"] == "", "it goes on")
    database.kill()  # it takes 30 s to end by itself


# ---- of the test's own ----

LINE = re.compile(rb"(synop_\w+|up),((?:[^ \\]|\\.)*) value=([-+.e\d]+) (\d+)")


class Lines:
    """What came: strict."""

    def __init__(self):
        self.bytes = b""

    def find(self, name, node, per_ms=1):
        found = {}
        for line in self.bytes[:self.bytes.rfind(b"\n") + 1].splitlines():
            parts = LINE.fullmatch(line)
            assert parts, line
            tags = dict(tag.split("=", 1) for tag in re.split(r"(?<!\\),", parts[2].decode()))
            assert {"host", "job"} <= tags.keys()
            if parts[1].decode() == name and tags["host"] == node:
                found[int(parts[4]) // per_ms] = float(parts[3])
        return found


class Listener(Lines):
    """A stream's, which closes each connection after a while; as it is told, it does not read."""

    def __init__(self, family, address):
        super().__init__()
        self.server = socket.socket(family)
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.server.bind(address)
        self.server.listen()
        self.connections, self.after = 0, 100000
        self.end = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while True:
            connection, _ = self.server.accept()
            with connection:
                if self.end:
                    return
                self.connections += 1
                count = 0
                while (count < self.after or not self.bytes.endswith(b"\n")) and (data := connection.recv(65536)):
                    self.bytes += data
                    count += len(data)

    def close(self):
        self.end = True
        with socket.socket(self.server.family) as one:
            one.connect(self.server.getsockname())
        self.thread.join()
        self.server.close()


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_stream(cluster, kind):
    """It is not there at first, and closes connections when it has read all: what was under way comes again."""
    path, port = cluster.folder / "socket", free_port()
    url = f"unix://{path}" if kind == "unix" else f"tcp://127.0.0.1:{port}"
    cluster.start_aggregator(config=section(url, "repeat = 2s"))
    cluster.start_nodes("n1")
    words = "No such file or directory" if kind == "unix" else "Connection refused"
    wait_until(lambda: sender(cluster)["error"] == f"{url}: {words}", "an error")
    listener = Listener(socket.AF_UNIX, str(path)) if kind == "unix" else Listener(socket.AF_INET, ("127.0.0.1", port))
    try:
        wait_until(lambda: listener.connections >= 2, "connections")
        listener.after = 10**9
        check_whole(cluster, lambda name, node: listener.find(name, node, 10**6), "n1")
        assert "is sent once more" in cluster.aggregator.log()
    finally:
        cluster.agents["n1"].stop()
        cluster.aggregator.stop()
        listener.close()


def test_datagrams_of_unix(cluster):
    path, lines = cluster.folder / "socket", Lines()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(path))
        server.settimeout(0.1)
        cluster.start_aggregator(config=section(f"unixgram://{path}", ""))
        cluster.start_nodes("n1")
        while len(lines.find("synop_load_load_1", "n1", 10**6)) < 5:
            try:
                data = server.recv(65536)
            except TimeoutError:
                continue
            assert len(data) <= 1400 and data.endswith(b"\n")
            lines.bytes += data


class Second(http.server.BaseHTTPRequestHandler, Lines):
    """As InfluxDB 2 answers; `script` has the first answers."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        if self.headers["Authorization"] != "Token right":
            status, text, more = 401, '{"code":"unauthorized","message":"unauthorized access"}', {}
        else:
            status, text, more = server.script.pop(0) if server.script else (204, "", {})
        server.answers.append((time.monotonic(), status, self.path, body))
        if status == 204 or "partial write" in text:
            server.lines.bytes += body
        self.send_response(status)
        for name, value in more.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments):
        pass


def test_influx_2(cluster):
    """Its path, its token from a file, its answers: 429 with Retry-After, 503, a partial write."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Second) as server:
        server.lines, server.answers = Lines(), []
        server.script = [(429, "slowly", {"Retry-After": "1"}), (503, "busy", {}), (204, "", {}),
                         (400, '{"error":"partial write: points beyond retention policy dropped=3"}', {})]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            token = cluster.write("token", "wrong\n")
            cluster.start_aggregator(config=section(f"http://127.0.0.1:{server.server_port}/",
                                                    f"bucket = my bucket\norg = we&co\ntoken_file = {token}"))
            cluster.start_nodes("n1")
            wait_until(lambda: "the receiver answers 401: {" in sender(cluster)["error"], "a word")
            token.write_text("right\n")
            wait_until(lambda: sender(cluster)["dropped"] == 3, "what was dropped")
            cluster.wait_counter("samples_sent", 300)
            want = history(cluster, "load", "load_1", "n1")
            wait_until(lambda: want.keys() <= server.lines.find("synop_load_load_1", "n1").keys(), "all samples")
            query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(server.answers[0][2]).query))
            assert query == {"precision": "ms", "bucket": "my bucket", "org": "we&co"}
            assert urllib.parse.urlsplit(server.answers[0][2]).path == "/api/v2/write"
            at = {status: moment for moment, status, *_ in reversed(server.answers)}
            assert at[503] - at[429] >= 1
            assert len({body for _, status, _, body in server.answers if status in (401, 429, 503)}) == 1
            assert "right" not in cluster.aggregator.log() and not os.path.exists(cluster.folder / "right")
        finally:
            cluster.agents["n1"].stop()
            cluster.aggregator.stop()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("bad, words", [
    ("type = influx\nurl = http://h", "bucket: must be given, or database"),
    ("type = influx\nurl = http://h\nbucket = b\ndatabase = d", "bucket: goes with no database"),
    ("type = influx\nurl = udp://h:1\nbucket = b", "url: has no bucket or database, over a socket"),
    ("type = influx\nurl = ftp://h", "url: must begin with http:// or https:// or udp:// or tcp:// or unix:// or unixgram://"),
    ("type = influx\nurl = http://h\ndatabase = d\nprotocol = 1.0", "protocol: type influx has no such option"),
    ("type = file\nfolder = /x\nurl = http://h", "url: type file has no such option"),
    ("type = file\nfolder = /x\nlabels = a=b", "labels: type file has no such option"),
    ("type = file", "folder: must be given"),
    ("type = exec", "command: must be given"),
    ("url = http://h\ncommand = x", "command: type remote_write has no such option"),
])
def test_options_that_are_wrong(cluster, bad, words):
    done = cluster.start("aggregator", "aggregator", "-c", cluster.write("a.ini", f"[send x]\n{bad}\n"), "--history",
                         cluster.history)
    assert done.wait() == 2 and words in done.log(), done.log()
