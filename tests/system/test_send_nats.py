"""[send NAME] type = nats: to a real nats-server, as cc-metric-store reads it."""

import base64
import collections
import os
import re
import shutil
import signal
import socket
import ssl
import time

import pytest
from lib.nats import Nats, ask
from lib.programs import LIMIT, wait_until
from lib.receivers import away_seconds, free_port
from lib.sent_lines import sender
from test_send import history
from test_send_secure import papers  # pylint: disable=unused-import

PATH = shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin")
pytestmark = pytest.mark.skipif(not PATH, reason="there is no nats-server here")


class Server:
    def __init__(self, cluster, *options):
        self.cluster, self.port, self.options, self.starts = cluster, free_port(), options, 0
        self.url, self.login = f"nats://127.0.0.1:{self.port}", {}

    def is_ready(self):
        assert self.process.alive(), self.process.log()
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def start(self):
        self.starts += 1
        self.process = self.cluster.start(f"nats-{self.starts}", PATH, "-a", "127.0.0.1", "-p", str(self.port), *self.options)
        wait_until(self.is_ready, "nats-server")
        return self


def section(server, more=""):
    return (f"[history]\nchunk_time = 500ms\n[send one]\ntype = nats\nurl = {server.url}\ncluster = fritz\nperiod = 1s\n"
            f"retry = 200ms\n{more}\n")


LINE = re.compile(rb"(\w+),cluster=fritz((?:,[a-z-]+=(?:[^ ,\\]|\\.)+)*),hostname=(n\d) value=([-+.e\d]+) (\d+)")


def decode(lines):
    """{(name, node, tags): {second: value}}; strict."""
    found = collections.defaultdict(dict)
    for line in lines:
        parts = LINE.fullmatch(line)
        assert parts, line
        tags = tuple(tag for tag in parts[2].decode().split(",") if tag)
        kinds = dict(tag.split("=", 1) for tag in tags)
        assert kinds["type"] in ("node", "hwthread", "socket", "accelerator") and ("type-id" in kinds) == (kinds["type"] != "node")
        found[parts[1].decode(), parts[3].decode(), tags][int(parts[5])] = float(parts[4])
    return found


def seconds(cluster, node):
    """Those of which the history has the sample that is due: a busy host takes others alone of a second."""
    ticks = {round(ms / 200) for ms in history(cluster, "load", "load_1", node)}
    return {tick // 5 for tick in ticks if tick % 5 == 0}


def stored(server):
    """All lines that the stream S has."""
    count = ask(server.port, "$JS.API.STREAM.INFO.S", {}, **server.login)["state"]["last_seq"]
    found = [ask(server.port, "$JS.API.STREAM.MSG.GET.S", {"seq": number + 1}, **server.login) for number in range(count)]
    return [line for one in found for line in base64.b64decode(one["message"]["data"]).splitlines()]


def make_stream(server, do="CREATE", **more):
    made = ask(server.port, f"$JS.API.STREAM.{do}.S", {"name": "S", "subjects": ["fritz.metrics"]} | more, **server.login)
    assert "error" not in made, made


def check_whole(cluster, lines, node, since=0):
    def got():
        return decode(lines())["cpu_load", node, ("type=node",)]

    want = {second for second in seconds(cluster, node) if second > since}
    assert want
    end = time.monotonic() + LIMIT
    while (missing := want - got().keys()) and time.monotonic() < end:
        time.sleep(0.2)
    assert not missing


@pytest.fixture
def served(cluster):
    """A function that starts a server and who subscribes."""
    readers = []

    def start(*options, subject="fritz.metrics", **login):
        server = Server(cluster, *options).start()
        readers.append(Nats(server.port, subject, **login))
        assert readers[0].ready.wait(10)
        return server, readers[0]

    yield start
    for reader in readers:
        reader.close()


def test_as_cc_metric_store_reads_it(cluster, served):
    """Names, tags and times; after kill -9 of the server, and of the aggregator, it goes on with all that waited."""
    server, reader = served("-js", "-sd", str(cluster.folder / "js"))
    make_stream(server)
    config = section(server)
    cluster.start_aggregator(config=config)
    cluster.start_nodes("n1", "n2")
    cluster.wait_counter("samples_sent", 250)
    check_whole(cluster, reader.lines, "n1")
    found = decode(reader.lines())
    assert {name for name, _, _ in found} >= {"cpu_load", "cpu_user", "mem_used", "net_bytes_in"}
    assert ("cpu_user", "n1", ("type=hwthread", "type-id=0")) in found
    assert all({tag.split("=")[0] for tag in tags} == {"stype", "stype-id", "type"} for name, _, tags in found if name == "net_bytes_in")
    assert {subject for subject, _ in reader.messages} == {"fritz.metrics"}
    assert max(value for times in (times for (name, *_), times in found.items() if name == "cpu_user") for value in times.values()) <= 101
    server.process.kill()
    gone = int(time.time())
    wait_until(lambda: sender(cluster)["error"].startswith(server.url), "an error")
    time.sleep(away_seconds())
    server.start()
    wait_until(lambda: sender(cluster)["error"] == "", "it goes on")
    cluster.aggregator.kill()
    cluster.start_aggregator(config=config)
    cluster.wait_counter("samples_sent", 250)
    check_whole(cluster, lambda: stored(server), "n2", since=gone + 1)


def test_jetstream(cluster, served):
    """What is taken is stored: no stream, then one that is full, then has room; kill -9 of the server loses nothing."""
    server, reader = served("-js", "-sd", str(cluster.folder / "js"), subject="other")
    cluster.start_aggregator(config=section(server, "jetstream = yes"))
    cluster.start_nodes("n1")
    wait_until(lambda: "o responders" in sender(cluster)["error"], "a word")
    make_stream(server, max_msgs=2, discard="new")
    wait_until(lambda: sender(cluster)["error"] == "JetStream did not store fritz.metrics: maximum messages exceeded", "another word")
    make_stream(server, "UPDATE", discard="new")
    wait_until(lambda: sender(cluster)["sent"] > 20, "samples")
    server.process.kill()
    time.sleep(1)
    server.start()
    wait_until(lambda: sender(cluster)["error"] == "", "it goes on")
    check_whole(cluster, lambda: stored(server), "n1")
    assert not reader.messages


def test_who_may_not(cluster, served):
    """A wrong password, then one that may not publish there: nothing is dropped, and the words say why."""
    users = ('authorization { users = [ {user: "reader", password: "r"},'
             ' {user: "synop", password: "right", permissions: {publish: "other"}} ] }\n')
    config = cluster.write("nats.conf", users)
    server, _ = served("-c", str(config), "-js", "-sd", str(cluster.folder / "js"), user="reader", **{"pass": "r"})
    server.login = {"user": "reader", "pass": "r"}
    make_stream(server)
    secret = cluster.write("password", "wrong\n")
    cluster.start_aggregator(config=section(server, f"user = synop\npassword_file = {secret}"))
    cluster.start_nodes("n1")
    wait_until(lambda: "uthorization" in sender(cluster)["error"] or "uthentication" in sender(cluster)["error"], "a word")
    secret.write_text("right\n")
    wait_until(lambda: "ermissions" in sender(cluster)["error"] and "fritz.metrics" in sender(cluster)["error"], "another word")
    assert sender(cluster)["sent"] == sender(cluster)["dropped"] == 0
    config.write_text(users.replace("other", "fritz.*"))
    server.process.stop()
    server.start()
    cluster.wait_counter("samples_sent", 150)
    check_whole(cluster, lambda: stored(server), "n1")


def test_tls(cluster, served, papers):  # pylint: disable=redefined-outer-name
    """Both show certificates. A server that cannot be checked gets nothing, nor one whose certificate is another host's; who shows
    none is let nowhere: the words say so, and what waits is sent when it is mended."""
    context = ssl.create_default_context(cafile=papers / "ca.pem")
    context.load_cert_chain(papers / "client.pem", papers / "client.key")
    server, reader = served("--tlsverify", "--tlscert", str(papers / "server.pem"), "--tlskey", str(papers / "server.key"), "--tlscacert",
                            str(papers / "ca.pem"), tls=context)
    trusted, shown = f"ca = {papers}/ca.pem", f"certificate = {papers}/client.pem\nkey = {papers}/client.key"
    good = section(server, f"{trusted}\n{shown}").replace("nats://", "tls://")
    cluster.start_aggregator(config=section(server, shown))
    cluster.start_nodes("n1")
    for config, words in ((section(server, shown), ["certificate"]), (section(server, trusted), []),
                          (good.replace("127.0.0.1", "localhost"), ["hostname mismatch", "localhost"])):
        cluster.write("aggregator.ini", config)
        cluster.aggregator.signal(signal.SIGHUP)
        wait_until(lambda: sender(cluster)["error"] and all(word in sender(cluster)["error"] for word in words), f"an error with {words}")  # pylint: disable=cell-var-from-loop
        print(sender(cluster)["error"])
        assert sender(cluster)["sent"] == sender(cluster)["dropped"] == 0
    cluster.write("aggregator.ini", good)
    cluster.aggregator.signal(signal.SIGHUP)
    cluster.wait_counter("samples_sent", 100)
    check_whole(cluster, reader.lines, "n1")


def test_a_server_that_hangs(cluster, served):
    """It holds up nobody, not even the end."""
    server, reader = served(subject=">")
    cluster.start_aggregator(config=section(server, "timeout = 1s\nsubject = my.subject"))
    cluster.start_nodes("n1")
    wait_until(lambda: reader.messages, "messages")
    assert reader.messages[0][0] == "my.subject"
    server.process.signal(signal.SIGSTOP)
    wait_until(lambda: "imeout" in sender(cluster)["error"], "an error")
    assert cluster.aggregator.stop() == 0
    server.process.signal(signal.SIGCONT)
