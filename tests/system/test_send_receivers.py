"""[send NAME] to real receivers: what is asked back of them is what the history has, none missing and none twice, whoever was
away or killed meanwhile. Beside each a receiver of the test's own takes the same: what it got, of all series, is what the
real one must have; and that is compared with the history (test_send.py)."""

import math
import time

import pytest
from lib.programs import parse_line, wait_until
from lib.receivers import Prometheus, Victoria, away_seconds
from lib.remote_write import Receiver
from test_send import GROUPS, check_whole, ms_of, sender, values

needs_prometheus = pytest.mark.skipif(not Prometheus.path(), reason="there is no prometheus here")
needs_victoria = pytest.mark.skipif(not Victoria.path(), reason="there is no victoria-metrics here")


def configuration(receiver, database, more=""):
    text = "[history]\nchunk_time = 1s\n"
    for name, url, rest in (("one", receiver.url, ""), ("real", database.url, more)):
        text += f"[send {name}]\nurl = {url}\nnames = synop,node-exporter\nperiod = 1s\ngroups = {GROUPS}\n{rest}\n"
    return text


def rest(cluster, seconds):
    """Time passes; the cluster lives."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert cluster.aggregator.alive() and all(agent.alive() for agent in cluster.agents.values())
        time.sleep(0.1)


def samples(receiver):
    return {series: found for series, times in list(receiver.taken.items()) if (found := values(times))}


def differences(want, got):
    missing = [(series, ms) for series, times in want.items() for ms in times if ms not in got.get(series, {})]
    more = [(series, ms) for series, times in got.items() for ms in times if ms not in want.get(series, {})]
    wrong = [(series, ms) for series, times in want.items() for ms, value in times.items()
             if ms in got.get(series, {}) and not math.isclose(got[series][ms], value, rel_tol=1e-14)]  # VictoriaMetrics' own
    return missing, more, wrong


def stop_agents(cluster):
    """So that nothing more comes; what came is sent."""
    for agent in cluster.agents.values():
        agent.stop()
    rest_of = "the senders at the end"
    wait_until(lambda: all(one["waiting"] == 0 for one in cluster.status()["senders"]), rest_of)
    time.sleep(2)  # the last chunk is closed and sent
    wait_until(lambda: all(one["waiting"] == 0 for one in cluster.status()["senders"]), rest_of)


def check_same(cluster, receiver, database):
    for node in cluster.agents:
        check_whole(cluster, receiver, node, "node_load1")
    stop_agents(cluster)
    assert not receiver.conflicts
    want = samples(receiver)
    wait_until(lambda: not any(differences(want, database.all())) or time.monotonic() > end, "the same", 3600) \
        if (end := time.monotonic() + 20) else None
    missing, more, wrong = differences(want, database.all())
    assert not (missing or more or wrong), (len(missing), missing[:3], len(more), more[:3], len(wrong), wrong[:3])
    assert database.count() == sum(map(len, want.values()))
    assert sender(cluster, "real")["dropped"] == 0


def disturb(cluster, database, config, repeats=False):
    """The receiver is killed, is away, and comes back; the aggregator is killed, and is away so that frames come late."""
    cluster.start_nodes("n1", "n2", period="1s")
    wait_until(lambda: sender(cluster, "real")["sent"] > 300, "samples")
    database.kill()
    rest(cluster, away_seconds())
    assert sender(cluster, "real")["retries"] > 0
    database.start()
    wait_until(lambda: sender(cluster, "real")["waiting"] <= 2, "it has caught up")
    seen = len(database.all())
    database.kill()
    database.start()
    if repeats:
        wait_until(lambda: cluster.aggregator.log().count("is sent once more") >= 2, "it has seen that")
        wait_until(lambda: sender(cluster, "real")["waiting"] <= 2, "it has caught up")
    assert len(database.all()) >= seen > 20
    cluster.aggregator.kill()
    time.sleep(4)
    cluster.start_aggregator(config=config)
    cluster.wait_event("replayed")
    rest(cluster, 4)


@needs_prometheus
def test_prometheus(cluster):
    database = Prometheus(cluster, window="30m").start()
    with Receiver() as receiver:
        config = configuration(receiver, database)
        cluster.start_aggregator(config=config)
        disturb(cluster, database, config)
        check_same(cluster, receiver, database)


@needs_victoria
def test_victoria_metrics(cluster):
    database = Victoria(cluster).start()
    with Receiver() as receiver:
        config = configuration(receiver, database, "repeat = 10s")
        cluster.start_aggregator(config=config)
        disturb(cluster, database, config, repeats=True)
        check_same(cluster, receiver, database)


def late_ms(cluster, node):
    """Of the frames that came late."""
    text = cluster.succeed("aggregator", "replay", "--config", cluster.empty, "--history", cluster.history, "--socket",
                           cluster.socket, "--node", node, "--type", "node")
    return {ms_of(line["time"]) for line in map(parse_line, text.splitlines()) if line.get("late")}


@needs_prometheus
def test_prometheus_that_takes_nothing_late(cluster):
    """What comes late is refused, dropped and counted, and costs nothing that was in time. Frames are asked for so slowly
    that newer ones are sent before them."""
    database = Prometheus(cluster).start()
    with Receiver() as receiver:
        config = configuration(receiver, database).replace("period = 1s", "period = 500ms") + \
            "[aggregator]\nreplay_rate = 20\n"
        cluster.start_aggregator(config=config)
        cluster.start_nodes("n1", "n2", period="50ms")
        wait_until(lambda: sender(cluster, "real")["sent"] > 300, "samples")
        cluster.aggregator.kill()
        time.sleep(5)
        cluster.start_aggregator(config=config)
        wait_until(lambda: sender(cluster, "real")["late_dropped"] > 0, "late samples that are refused")
        wait_until(lambda: all(one["missing"] == 0 for one in cluster.status()["nodes"]), "the last late frame")
        stop_agents(cluster)
        seen = sender(cluster, "real")
        missing, more, wrong = differences(samples(receiver), database.all())
        assert not more and not wrong and seen["dropped"] == seen["late_dropped"] == len(missing) > 0
        for node in cluster.agents:
            assert {ms for series, ms in missing if dict(series)["instance"] == node} <= late_ms(cluster, node)
        lines = [line for line in cluster.aggregator.log().splitlines() if "are dropped" in line]
        assert len(lines) == 1 and "400: out of order" in lines[0] and "that came late" in lines[0], lines
