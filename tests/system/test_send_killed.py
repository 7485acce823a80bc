"""kill -9 of the aggregator in the middle of a backlog (of `make soak`: half a minute), once for all types: it goes on in the middle,
nothing is missing afterwards, and what is there twice is what was on its way."""

import os
import shutil
import signal
import time

import pytest
import test_send
import test_send_cloudwatch
import test_send_influx
import test_send_nats
import test_send_otlp
from lib.cloudwatch import CloudWatch
from lib.cut_relay import Relay
from lib.otlp import Collector
from lib.programs import wait_until
from lib.receivers import Influx
from lib.remote_write import Answer, Receiver
from lib.sent_lines import check_lines
from test_send_kafka import Mock

pytestmark = [pytest.mark.skipif("SEND_AWAY_SECONDS" not in os.environ, reason="of make soak: it takes half a minute"),
              pytest.mark.skipif(not (Influx.path() and test_send_nats.PATH and shutil.which("kcat")), reason="there are no receivers here")]

KILLS = 4
NODES = ("n1", "n2")
HTTP = "period = 200ms\ngroups = load,cpu_usage,memory_info\nnames = synop"


class Receivers:
    """One of each type; slow once they are back."""

    def __init__(self, cluster):
        self.folder, self.gone, self.pid, self.out = (cluster.folder / name for name in ("lines", "gone", "pid", "out"))
        self.folder.mkdir()
        self.remote, self.otel = Receiver(lambda samples: Answer(after=0.05)), Collector(lambda points: time.sleep(0.05))
        self.watch, self.kafka = CloudWatch(answer=lambda data: time.sleep(0.05)), Mock()
        self.nats = test_send_nats.Server(cluster, "-js", "-sd", str(cluster.folder / "js")).start()
        test_send_nats.make_stream(self.nats)
        self.influx = Influx(cluster).start()
        self.relays = {one: Relay(url.rsplit("/", url.count("/") - 2)[0]) for one, url in (
            ("one", self.remote.url), ("otel", self.otel.url), ("cw", self.watch.url.rstrip("/")), ("flux", self.influx.url),
            ("jet", self.nats.url))}

    def at(self, one, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.relays[one].port}"

    def configuration(self):
        command = f"test -e {self.gone} && exit 3; echo $$ > {self.pid}; exec cat >> {self.out}"
        sections = {
            "one": f"url = {self.at('one')}/api/v1/write\n{HTTP}",
            "otel": f"type = otlp\nurl = {self.at('otel')}/v1/metrics\n{HTTP}",
            "cw": f"type = cloudwatch\nurl = {self.at('cw')}/\nresolution = 1\nperiod = 200ms\n{test_send_cloudwatch.ALLOW}",
            "flux": f"type = influx\nurl = {self.at('flux')}\ndatabase = synop\n{HTTP}",
            "jet": f"type = nats\nurl = {self.at('jet', 'nats')}\ncluster = fritz\nperiod = 1s\njetstream = yes",
            "kafka": f"type = kafka\nbrokers = {self.kafka.brokers}\ntimeout = 1s",
            "spool": f"type = file\nfolder = {self.folder}\nzstd = no",
            "prog": f"type = exec\ncommand = {command}",
        }
        return "[history]\nchunk_time = 500ms\n" + "".join(f"[send {name}]\n{text}\nretry = 200ms\n" for name, text in sections.items())

    def leave(self):
        for relay in self.relays.values():
            relay.cut()
        self.kafka.tell("down")
        self.folder.rename(f"{self.folder}.other")
        self.gone.touch()
        os.kill(int(self.pid.read_text()), signal.SIGKILL)

    def come(self):
        for relay in self.relays.values():
            relay.restore()
        self.kafka.tell("up")
        self.kafka.tell("throttle 50")
        self.folder.with_name("lines.other").rename(self.folder)
        self.gone.unlink()

    def close(self):
        for one in (*self.relays.values(), self.remote, self.kafka):
            one.close()
        for one in (self.otel, self.watch):
            one.__exit__(None)

    # ---- lines that came ----

    def of_kafka(self):
        return [data.decode() for *_, data in self.kafka.messages()]

    def of_files(self):
        return [line for path in sorted(self.folder.iterdir()) for line in path.read_bytes().splitlines(True) if line.endswith(b"\n")]

    def of_program(self):
        """Whole ones: the program was killed, too."""
        return [line for line in self.out.read_bytes().splitlines() if line.startswith(b'{"type"') and line.endswith(b"}")]


@pytest.fixture
def receivers(cluster):
    made = Receivers(cluster)
    yield made
    made.close()


def senders(cluster):
    return {one["sender"]: one for one in cluster.status()["senders"]}


def begun(cluster, before):
    """Some of the backlog was taken by each that takes it in small parts, and some waits still."""
    now = senders(cluster)
    return all(now[name]["sent"] > before[name]["sent"] for name in ("one", "otel")) and now


def test_kills_in_a_backlog(cluster, receivers):
    config = receivers.configuration()
    cluster.start_aggregator(config=config, env=test_send_cloudwatch.KEYS)
    cluster.start_nodes(*NODES)
    wait_until(lambda: all(one["sent"] and not one["error"] for one in senders(cluster).values()), "all types send")
    receivers.leave()
    wait_until(lambda: all(one["error"] and one["waiting"] >= 20 for one in senders(cluster).values()), "all types fail")
    receivers.come()
    for _ in range(KILLS):
        now = wait_until(lambda: begun(cluster, dict.fromkeys(("one", "otel"), {"sent": 0})), "a part of the backlog")
        assert now["one"]["waiting"] > 2 and now["otel"]["waiting"] > 2, "the backlog is over"
        cluster.aggregator.kill()
        cluster.start_aggregator(config=config, env=test_send_cloudwatch.KEYS)
    for node in NODES:
        cluster.wait_node(node)
    for node in NODES:
        test_send.check_whole(cluster, receivers.remote, node)
        test_send_otlp.check_whole(cluster, receivers.otel, node)
        test_send_cloudwatch.check_whole(cluster, receivers.watch, node)
        test_send_nats.check_whole(cluster, lambda: test_send_nats.stored(receivers.nats), node)
    test_send_influx.check_whole(cluster, lambda name, node: receivers.influx.find(name, host=node), *NODES)
    twice = {name: check_lines(cluster, read, twice=10**6) for name, read in (
        ("kafka", receivers.of_kafka), ("spool", receivers.of_files), ("prog", receivers.of_program))}
    twice |= {"one": receivers.remote.twice, "otel": receivers.otel.twice}
    print("twice:", twice)
    assert not receivers.remote.conflicts
    for name, requests in (("one", receivers.remote.requests), ("otel", receivers.otel.requests)):  # and one when it was cut
        assert twice[name] <= (KILLS + 1) * max(len(samples) for *_, samples, _ in requests)
    assert all(one["dropped"] == one["lost"] == one["broken"] == 0 for one in senders(cluster).values())
