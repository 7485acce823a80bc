"""[send NAME] type = kafka: to librdkafka's own mock cluster, since no broker is packaged; what kcat reads of it is what the
stream printed."""

import ctypes.util
import json
import math
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import msgpack
import pytest
from lib.programs import wait_until
from lib.receivers import away_seconds
from lib.sent_lines import check_lines, differences, name_of, printed, sender, taken

pytestmark = pytest.mark.skipif(not shutil.which("kcat") or not ctypes.util.find_library("rdkafka"),
                                reason="there is no kcat, or no librdkafka here")

MOCK = pathlib.Path(__file__).parent.parent / "lib/kafka_mock.py"


class Mock:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, MOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.brokers = self.process.stdout.readline().strip()

    def tell(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def messages(self, topic="synop"):
        """[(key, partition, bytes)]"""
        done = subprocess.run(["kcat", "-C", "-q", "-e", "-X", "fetch.wait.max.ms=10", "-b", self.brokers, "-t", topic, "-o", "beginning", "-D", "", "-f", "%K %k %p %S %s"],
                              capture_output=True, timeout=60, check=False)
        found, data = [], done.stdout
        while data:
            _, key, partition, size, data = data.split(b" ", 4)
            found.append((key.decode(), int(partition), data[:int(size)]))
            data = data[int(size):]
        return found

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def mock():
    made = Mock()
    yield made
    made.close()


def section(mock, more=""):
    return f"[history]\nchunk_time = 500ms\n[send one]\ntype = kafka\nbrokers = {mock.brokers}\nretry = 200ms\n{more}\n"


def test_what_is_in_the_topic_is_what_was_printed(cluster, mock):
    """Each node's in one partition; brokers that are away, that are slow and that refuse: nothing is missing, and nothing
    there twice, but for what was on its way when the aggregator was killed."""
    config = section(mock, "timeout = 1s")
    cluster.start_aggregator(config=config)
    cluster.start_nodes("n1", "n2")
    wait_until(lambda: len(mock.messages()) > 20, "messages")
    mock.tell("refuse 3")
    mock.tell("down")
    wait_until(lambda: sender(cluster)["error"].startswith("topic synop: "), "an error")
    time.sleep(away_seconds())
    mock.tell("up")
    wait_until(lambda: sender(cluster)["error"] == "", "it goes on")
    assert check_lines(cluster, lambda: [data.decode() for *_, data in mock.messages()]) == 0
    once = taken(cluster, lambda: [data.decode() for *_, data in mock.messages()])
    mock.tell("throttle 300")
    cluster.aggregator.kill()
    cluster.start_aggregator(config=config)
    cluster.wait_node("n1")
    mock.tell("throttle 0")
    check_lines(cluster, lambda: [data.decode() for *_, data in mock.messages()], twice=math.inf, once=once)
    found = mock.messages()
    assert all(json.loads(data)["node"] == key for key, _, data in found)
    assert len({(key, partition) for key, partition, _ in found}) == 2
    assert sender(cluster)["url"] == mock.brokers


def test_msgpack(cluster, mock):
    """Through a queue that has no room for all."""
    properties = "linger.ms=1, compression.type=none, queue.buffering.max.messages=1"
    cluster.start_aggregator(config=section(mock, f"encoding = msgpack\ntopic = packed\nproperties = {properties}"))
    cluster.start_nodes("n1")
    found = wait_until(lambda: len(found := mock.messages("packed")) > 10 and found, "messages")
    want = printed(cluster)
    for key, _, data in found:
        line = msgpack.unpackb(data, strict_map_key=True)
        wrong = list(differences(line, want[name_of(line)][0]))  # a whole number may be too large
        assert key == "n1" and all(value == float(other) >= 2**63 for _, value, other in wrong), wrong
    sequence = [msgpack.unpackb(data)["seq"] for *_, data in found]
    assert sequence == sorted(sequence) and "it is tried again" not in cluster.aggregator.log()


def test_words_that_help(cluster, mock):
    cluster.start_aggregator(config=section(mock, "properties = no.such.thing=1"))
    cluster.start_nodes("n1")
    wait_until(lambda: sender(cluster)["error"].startswith('no.such.thing: No such configuration property'), "a word")
    secret = cluster.folder / "password"
    login = section(mock, f"timeout = 500ms\nuser = u\npassword_file = {secret}")
    cluster.write("aggregator.ini", login)
    cluster.aggregator.signal(signal.SIGHUP)
    wait_until(lambda: sender(cluster)["error"] == f"{secret}: No such file or directory", "a word about the password")
    secret.write_text("secret\n")
    wait_until(lambda: "SASL Handshake not supported by broker" in sender(cluster)["error"], "a word about the broker")
    cluster.write("aggregator.ini", login.replace("user = u", "").replace("password_file", "# password_file"))
    cluster.aggregator.signal(signal.SIGHUP)
    check_lines(cluster, lambda: [data.decode() for *_, data in mock.messages()])
