"""[send NAME] to real receivers: what is asked back of them is what the history has, none missing and none twice, whoever was
away or killed meanwhile. Beside each a receiver of the test's own takes the same: what it got, of all series, is what the
real one must have; and that is compared with the history (test_send.py)."""

import math
import time

import pytest
from lib.cut_relay import Relay
from lib.programs import LIMIT, parse_line, wait_until
from lib.receivers import Prometheus, Victoria, away_seconds
from lib.remote_write import Receiver
from test_send import GROUPS, check_whole, ms_of, sender, values

needs_prometheus = pytest.mark.skipif(not Prometheus.path(), reason="there is no prometheus here")
needs_victoria = pytest.mark.skipif(not Victoria.path(), reason="there is no victoria-metrics here")


def configuration(**urls):
    text = "[history]\nchunk_time = 500ms\n"
    for name, url in urls.items():
        text += f"[send {name}]\nurl = {url}\nnames = synop,node-exporter\nperiod = 200ms\ngroups = {GROUPS}\nretry = 200ms\n"
    return text


@pytest.fixture
def relay(cluster):
    """Between the aggregator, which is started first, and its agents."""
    made = []

    def start(config):
        cluster.start_aggregator(config=config)
        made.append(Relay(cluster.endpoint))
        direct, cluster.endpoint = cluster.endpoint, made[0].endpoint
        for node in ("n1", "n2"):
            cluster.start_agent(node, "--queue=1", period="200ms")
        cluster.endpoint = direct
        return made[0]

    yield start
    for one in made:
        one.close()


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


def late_ms(cluster, node):
    """Of the frames that came late."""
    text = cluster.succeed("aggregator", "replay", "--config", cluster.empty, "--history", cluster.history, "--socket",
                           cluster.socket, "--node", node, "--type", "node")
    return {ms_of(line["time"]) for line in map(parse_line, text.splitlines()) if line.get("late")}


def has_caught_up(cluster, name="real"):
    """All that is committed was taken; before, this holds only by chance."""
    one = sender(cluster, name)
    return one["error"] == "" and one["waiting"] <= 2


def catch_up(cluster, name="real"):
    wait_until(lambda: has_caught_up(cluster, name), f"{name} has caught up")


def stop_agents(cluster, receiver):
    """So that nothing more comes; what came is sent: the last chunk is closed, and the receiver has the last frame."""
    for agent in cluster.agents.values():
        agent.stop()

    def has_last(node):
        last = max(ms_of(line["time"]) for line in cluster.aggregator.lines(type="node", node=node))
        return last in values(receiver.find("node_load1", instance=node))

    for node in cluster.agents:
        cluster.wait_event("node_down", node=node)
        wait_until(lambda: has_last(node), f"the last frame of {node}")
    wait_until(lambda: not any(one["waiting"] for one in cluster.status()["senders"]), "the senders at the end")


def check_same(cluster, receiver, database):
    assert not receiver.conflicts
    end = time.monotonic() + LIMIT
    while any(found := differences(want := samples(receiver), database.all())) and time.monotonic() < end:
        time.sleep(0.2)
    missing, more, wrong = found
    assert not (missing or more or wrong), (len(missing), missing[:3], len(more), more[:3], len(wrong), wrong[:3])
    assert database.count() == sum(map(len, want.values()))
    assert sender(cluster, "real")["dropped"] == 0


def kill_receiver(cluster, database, repeats):
    """It is killed, is away, and comes back; and once more, so soon that nothing is sent meanwhile."""
    def repeated(count):
        return not repeats or cluster.aggregator.log().count("is sent once more") >= count

    database.kill()
    wait_until(lambda: sender(cluster, "real")["waiting"] >= 4, "chunks that wait")
    rest(cluster, away_seconds())
    database.start()
    wait_until(lambda: has_caught_up(cluster) and repeated(1), "it has caught up")
    assert "it goes on, after" in cluster.aggregator.log()
    seen = len(database.all())
    database.kill()
    database.start()
    wait_until(lambda: repeated(2), "it has seen that")
    catch_up(cluster)
    assert len(database.all()) >= seen > 20


def replayed(cluster, node):
    return sum(event["count"] for event in cluster.aggregator.lines(type="event", event="replayed", node=node))


def kill_aggregator(cluster, link, config):
    """While its agents' link is cut, so that their frames come from their rings, late."""
    link.cut()
    cluster.aggregator.kill()
    time.sleep(2)
    cluster.start_aggregator(config=config)
    link.restore()
    for node in cluster.agents:  # in parts, on a busy host; live frames may come behind them
        cluster.wait_event("node_up", node=node)
        wait_until(lambda: replayed(cluster, node) >= 3, f"frames of {node} that come late")
    wait_until(lambda: all(one["missing"] == 0 for one in cluster.status()["nodes"]), "the last late frame")


@needs_prometheus
def test_prometheus(cluster, relay):
    """One that takes samples out of order, and one that does not: it refuses those that come late, which are dropped and
    counted, and cost nothing that was in time."""
    database, strict = Prometheus(cluster, window="30m").start(), Prometheus(cluster).start()
    with Receiver() as receiver:
        # Frames are asked for so slowly that, of one node, newer ones are sent before.
        config = "[aggregator]\nreplay_rate = 4\n" + configuration(one=receiver.url, real=database.url, strict=strict.url)
        link = relay(config)
        wait_until(lambda: sender(cluster, "real")["sent"] > 300, "samples")
        assert sender(cluster, "one")["protocol"] == "2.0" and sender(cluster, "real")["protocol"] == "1.0"
        kill_receiver(cluster, database, False)
        before = sender(cluster, "strict")["dropped"]  # a busy host brings frames late at any time
        kill_aggregator(cluster, link, config)
        wait_until(lambda: sender(cluster, "strict")["late_dropped"] > 0, "late samples that are refused")
        for node in cluster.agents:
            check_whole(cluster, receiver, node, "node_load1")
        stop_agents(cluster, receiver)
        check_same(cluster, receiver, database)
        seen = sender(cluster, "strict")
        missing, more, wrong = differences(samples(receiver), strict.all())
        assert not more and not wrong and seen["dropped"] == seen["late_dropped"] > 0
        assert seen["dropped"] <= len(missing) <= before + seen["dropped"]
        for node in cluster.agents:
            assert {ms for series, ms in missing if dict(series)["instance"] == node} <= late_ms(cluster, node)
        lines = [line for line in cluster.aggregator.log().splitlines() if "are dropped" in line]
        assert len(lines) == 1 and "send strict" in lines[0] and "400: out of order" in lines[0] and "that came late" in lines[0]


@needs_victoria
def test_victoria_metrics(cluster, relay):
    database = Victoria(cluster).start()
    with Receiver() as receiver:
        config = configuration(one=receiver.url, real=database.url) + "repeat = 10s\n"
        link = relay(config)
        wait_until(lambda: sender(cluster, "real")["sent"] > 300, "samples")
        assert sender(cluster, "real")["protocol"] == "1.0"  # which does not look at what kind a request is of
        kill_receiver(cluster, database, True)
        kill_aggregator(cluster, link, config)
        for node in cluster.agents:
            check_whole(cluster, receiver, node, "node_load1")
        stop_agents(cluster, receiver)
        check_same(cluster, receiver, database)
