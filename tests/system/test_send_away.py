"""A receiver that is away for minutes (SEND_AWAY_SECONDS, of `make soak`): afterwards nothing is missing, and nothing is there twice
but what was on its way. Of the types that have no such test beside their own receivers (test_send_receivers.py, test_send_influx.py,
test_send_nats.py, test_send_kafka.py, test_send_agent.py)."""

import contextlib
import os
import signal
import time

import pytest
import test_send_cloudwatch
import test_send_otlp
from lib.cloudwatch import CloudWatch
from lib.cut_relay import Relay
from lib.otlp import Collector
from lib.programs import wait_until
from lib.receivers import away_seconds
from lib.sent_lines import check_lines, sender

pytestmark = pytest.mark.skipif("SEND_AWAY_SECONDS" not in os.environ, reason="of make soak: it takes minutes")


class Behind:
    """A server, with a network before it that can be cut."""

    def __init__(self, server, path=""):
        self.relay = Relay(server.url.removesuffix(path))
        self.url = f"http://127.0.0.1:{self.relay.port}{path}"


@contextlib.contextmanager
def away(cluster, name, leave, come):
    """`leave` before, `come` after it, what is sent fails meanwhile, and all that waited was taken at the end. That takes as long as
    it takes on a busy machine, whose receivers are slow: as long as more is taken."""
    def has_caught_up(sent):
        """Or takes more."""
        one = sender(cluster, name)
        return one["sent"] > sent or one["behind"] < time.monotonic() - back

    leave()
    wait_until(lambda: sender(cluster, name)["error"], "an error")
    time.sleep(away_seconds())
    yield sender(cluster, name)
    come()
    back = time.monotonic()
    wait_until(lambda: sender(cluster, name)["error"] == "", "it goes on")
    while (one := sender(cluster, name))["behind"] >= time.monotonic() - back:
        wait_until(lambda: has_caught_up(one["sent"]), "more is taken")  # pylint: disable=cell-var-from-loop
        time.sleep(0.2)
    print(f"{one['type']}: all that waited was taken in {time.monotonic() - back:.1f} s")


def report(cluster, name, twice):
    one = sender(cluster, name)
    assert one["dropped"] == one["lost"] == one["broken"] == 0
    print(f"{one['type']}: away for {away_seconds():g} s, {one['sent']} sent, {one['retries']} retries, {twice} twice")


def test_cloudwatch(cluster):
    with CloudWatch() as watch:
        behind = Behind(watch, "/")
        test_send_cloudwatch.start(cluster, behind)
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: test_send_cloudwatch.load(watch, "n2"), "samples")
        with away(cluster, "cw", behind.relay.cut, behind.relay.restore) as meanwhile:
            assert meanwhile["waiting"] > 0
        report(cluster, "cw", sum(test_send_cloudwatch.check_whole(cluster, watch, node) for node in ("n1", "n2")))
        behind.relay.close()


def test_otlp(cluster):
    with Collector() as collector:
        behind = Behind(collector, "/v1/metrics")
        cluster.start_aggregator(config=test_send_otlp.section(behind, groups="load,cpu_usage,memory_info"))
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: collector.find("synop_load_load_1", "n2"), "samples")
        with away(cluster, "otel", behind.relay.cut, behind.relay.restore):
            pass
        for node in ("n1", "n2"):
            test_send_otlp.check_whole(cluster, collector, node)
        report(cluster, "otel", collector.twice)
        behind.relay.close()


def test_file(cluster):
    """Its folder is gone."""
    folder, other = cluster.folder / "lines", cluster.folder / "other"
    folder.mkdir()
    cluster.start_aggregator(config=f"[history]\nchunk_time = 500ms\n[send one]\ntype = file\nfolder = {folder}\nzstd = no\nage = 1s\n")
    cluster.start_nodes("n1", "n2")
    wait_until(lambda: any(path.stat().st_size for path in folder.iterdir()), "lines")
    with away(cluster, "one", lambda: folder.rename(other), lambda: other.rename(folder)):
        pass
    twice = check_lines(cluster, lambda: [line for path in sorted(folder.iterdir()) for line in path.read_bytes().splitlines(True) if line.endswith(b"\n")])
    report(cluster, "one", twice)


def test_exec(cluster):
    """Its program ends at once."""
    out, gone, pid = cluster.folder / "out", cluster.folder / "gone", cluster.folder / "pid"
    command = f"test -e {gone} && exit 3; echo $$ > {pid}; echo >> {out}; exec cat >> {out}"

    def leave():
        gone.touch()
        os.kill(int(pid.read_text()), signal.SIGKILL)

    def lines():
        """Whole ones."""
        return [line for line in out.read_bytes().splitlines() if line.startswith(b'{"type"') and line.endswith(b"}")]

    cluster.start_aggregator(config=f"[history]\nchunk_time = 500ms\n[send one]\ntype = exec\nretry = 1s\ncommand = {command}\n")
    cluster.start_nodes("n1", "n2")
    wait_until(lambda: out.exists() and lines(), "lines")
    with away(cluster, "one", leave, gone.unlink):
        pass
    report(cluster, "one", check_lines(cluster, lines, twice=2000))
