"""[send NAME]: samples of the history on their way to a receiver of remote write, one that does as it is told."""

import collections
import contextlib
import csv
import datetime
import itertools
import signal
import sqlite3
import time

import pytest
from lib.programs import LIMIT, wait_until
from lib.remote_write import Answer, Receiver

GROUPS = "load,cpu_usage,memory_info"


def section(receiver, name="one", period="200ms", more=""):
    return f"[history]\nchunk_time = 500ms\n[send {name}]\nurl = {receiver.url}\nnames = synop\nperiod = {period}\ngroups = {GROUPS}\n{more}\n"


def sender(cluster, name="one"):
    return next(one for one in cluster.status()["senders"] if one["sender"] == name)


def ms_of(text):
    at = datetime.datetime.fromisoformat(text[:19]).replace(tzinfo=datetime.timezone.utc)
    return int(at.timestamp()) * 1000 + int(text[20:23])


def history(cluster, group, column, node, row=""):
    """{ms: values} of a metric, as the history has it. Frames that came at once, before the node's clock was known, may have
    one millisecond: of them one is sent."""
    folder = cluster.folder / f"export-{time.monotonic_ns()}"
    cluster.succeed("aggregator", "export", "--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket,
                    "--group", group, "-o", folder)
    with open(folder / f"{group}.csv", encoding="utf-8") as file:
        rows = csv.reader(file)
        heads = next(rows)
        lines = [dict(zip(heads, line)) for line in rows]
    device = heads[2]
    wanted = (line for line in lines if line["node"] == node and (device == "period" or line[device] == row))
    found = collections.defaultdict(set)
    for line in wanted:
        if line[column]:
            found[ms_of(line["time"])].add(float(line[column]))
    return found


def values(times):
    return {ms: value for ms, value in times.items() if value is not None}


def check_whole(cluster, receiver, node, family="synop_load_load_1"):
    """All that the history has of the node is there, each sample once."""
    want = history(cluster, "load", "load_1", node)
    assert want
    wait_until(lambda: want.keys() <= values(receiver.find(family, instance=node)).keys(), f"{len(want)} samples of {node}")
    got = values(receiver.find(family, instance=node))
    assert all(got[ms] in want[ms] for ms in want)
    assert sender(cluster)["dropped"] == 0


def test_what_is_sent_is_what_the_history_has(cluster):
    with Receiver() as receiver:
        cluster.start_aggregator(config=section(receiver, more="labels = cluster=c1\njob = ours"))
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: len(receiver.find("synop_load_load_1", instance="n2")) > 20, "samples")
        for node in ("n1", "n2"):
            check_whole(cluster, receiver, node)
        assert receiver.twice == 0
        series = dict(next(iter(receiver.taken)))
        assert series["job"] == "ours" and series["cluster"] == "c1"
        _, headers, _, _ = receiver.requests[0]
        assert headers["Content-Encoding"] == "snappy" and headers["User-Agent"].startswith("synop/")
        assert cluster.counter("samples_sent") >= receiver.samples() > 0
        table = cluster.succeed("aggregator", "status", "--socket", cluster.socket)
        assert "SENDER" in table and "\none " in table


def test_samples_come_soon(cluster):
    """Chunks are closed for senders, long before [history] chunk_time."""
    def lags():
        """Of samples at a multiple of the period: all but the first, which came before the node's clock was known."""
        return [at - ms for at, ms in arrived if round(ms / 1000) % 10 == 0]

    arrived = []
    with Receiver(lambda samples: arrived.append((time.time() * 1000, max(ms for _, ms, _ in samples))) or Answer()) as receiver:
        cluster.start_aggregator(config=section(receiver, period="10s").replace("chunk_time = 500ms", "chunk_time = 1h"))
        cluster.start_nodes("n1", period="1s")
        wait_until(lambda: any(lag < 3000 for lag in lags()), "a sample within 3 s")  # the machine may be busy once
        times = sorted(receiver.find("synop_load_load_1", instance="n1"))
        assert all(round(ms / 1000) % 10 == 0 for ms in times[1:]), times


def test_a_receiver_that_is_away(cluster):
    """5xx, 429 with Retry-After, closed connections, a hang, a slow answer, nobody there: all is sent afterwards, once."""
    state = {"answer": Answer(503, "not now")}
    with Receiver(lambda samples: state["answer"]) as receiver:
        cluster.start_aggregator(config=section(receiver, more="timeout = 1s\nretry = 500ms"))
        cluster.start_nodes("n1")

        def failing(words):
            return wait_until(lambda: words in sender(cluster)["error"], f"an error with {words}")

        failing("503: not now")
        state["answer"] = Answer(0)
        failing("Empty reply")
        state["answer"] = Answer(None)
        failing("timed out")
        state["answer"] = Answer(429, "slowly", {"Retry-After": "2"})
        before = len(receiver.requests)
        wait_until(lambda: any(status == 429 for *_, status in receiver.requests[before:]), "a 429")
        at = next(moment for moment, *_, status in receiver.requests[before:] if status == 429)
        state["answer"] = Answer(200, "taken", after=0.2)
        wait_until(lambda: receiver.taken, "samples")
        assert next(moment for moment, *_, status in receiver.requests if status == 200) - at >= 2
        seen = sender(cluster)
        assert seen["retries"] >= 4 and seen["behind"] > 0
        check_whole(cluster, receiver, "n1")
        assert receiver.twice == 0
        state["answer"] = Answer()
        wait_until(lambda: sender(cluster)["error"] == "" and sender(cluster)["waiting"] <= 2, "it has caught up")
        assert cluster.aggregator.log().count("it is tried again") == 1


def test_a_web_page_is_no_answer(cluster):
    """A proxy's that wants a login, or a wrong url's: nothing counts as taken, whatever the type."""
    state = {"answer": Answer(200, " \n<!DOCTYPE HTML><title>Log in")}
    with Receiver(lambda samples: state["answer"]) as receiver:
        cluster.start_aggregator(config=section(receiver, more="retry = 200ms"))
        cluster.start_nodes("n1")
        wait_until(lambda: sender(cluster)["error"] == "what answers 200 is a web page, and no receiver: is its url right?", "a word")
        assert sender(cluster)["sent"] == sender(cluster)["dropped"] == 0
        receiver.taken.clear()
        state["answer"] = Answer()
        check_whole(cluster, receiver, "n1")


def test_what_the_history_has_deleted(cluster):
    """Before it was sent: that is counted, the log says why, and the rest is sent."""
    state = {"answer": Answer(503, "not now")}
    with Receiver(lambda samples: state["answer"]) as receiver:
        cluster.start_aggregator(config=section(receiver, more="retry = 200ms"))
        cluster.start_nodes("n1")
        waiting = wait_until(lambda: (count := sender(cluster)["waiting"]) >= 8 and count, "what waits")
        with contextlib.closing(sqlite3.connect(cluster.history, timeout=LIMIT)) as database, database:
            gone = database.execute("SELECT max (id) FROM chunks").fetchone()[0] - 2
            database.execute("DELETE FROM chunks WHERE id <= ?", (gone,))
        state["answer"] = Answer()
        lost = wait_until(lambda: sender(cluster)["lost"], "what is lost")
        assert 0 < lost <= waiting + 8
        assert f"the history deleted {lost} chunks before they were sent" in cluster.aggregator.log()
        check_whole(cluster, receiver, "n1")
        assert cluster.counter("send_chunks_lost") == lost


def test_a_receiver_that_is_back_is_noticed(cluster):
    """Within `retry`, also after a long while; and `waiting` is what waits, also while nothing is taken."""
    state = {"answer": Answer(503, "not now")}
    with Receiver(lambda samples: state["answer"]) as receiver:
        cluster.start_aggregator(config=section(receiver, more="retry = 1s"))
        cluster.start_nodes("n1")
        wait_until(lambda: sender(cluster)["waiting"] >= 8, "what waits")
        pauses = [after[0] - before[0] for before, after in itertools.pairwise(receiver.requests)]
        assert len(pauses) >= 3 and min(pauses) >= 0.5, pauses
        assert sorted(pauses)[1] < 2, pauses
        state["answer"] = Answer()
        check_whole(cluster, receiver, "n1")


@pytest.mark.parametrize("closes", [False, True], ids=["kept", "closed"])
def test_what_was_taken_last_is_sent_once_more(cluster, closes):
    """When a connection is gone that should have been there. A receiver that closes each by itself is the same one still."""
    state = {"end": False}

    def answer(_):
        end, state["end"] = state["end"], False
        return Answer(headers={"Connection": "close"} if closes else {}, ends=end)

    with Receiver(answer) as receiver:
        cluster.start_aggregator(config=section(receiver, more="repeat = 1s"))
        cluster.start_nodes("n1")
        for count in (1, 2):
            wait_until(lambda: len(receiver.find("synop_load_load_1", instance="n1")) > 20 * count, "samples")
            state["end"] = True
            if not closes:
                wait_until(lambda: cluster.aggregator.log().count("is sent once more") == count, "it was noticed")
        check_whole(cluster, receiver, "n1")
        assert (receiver.twice == 0) == closes and not receiver.conflicts


def test_what_is_refused_is_dropped_alone(cluster):
    """Of a request with several nodes only the samples of the one that is refused are dropped; the log says so once, in the
    receiver's words."""
    def answer(samples):
        bad = any(dict(series)["instance"] == "n2" for series, _, _ in samples)
        return Answer(400, "no n2\nhere \x1b[31m") if bad else Answer()

    with Receiver(answer) as receiver:
        cluster.start_aggregator(config=section(receiver))
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: sender(cluster)["dropped"] > 100, "samples that are dropped")
        want = history(cluster, "load", "load_1", "n1")
        wait_until(lambda: want.keys() <= receiver.find("synop_load_load_1", instance="n1").keys(), "all of n1")
        assert {dict(series)["instance"] for series in receiver.taken} == {"n1"}
        lines = [line for line in cluster.aggregator.log().splitlines() if "dropped" in line]
        assert len(lines) == 1 and "the receiver answers 400: no n2 here  [31m; " in lines[0], lines
        assert cluster.counter("samples_dropped") > 100 and cluster.counter("samples_late_dropped") == 0
        assert not any(status == 400 and len({dict(series)["instance"] for series, _, _ in samples}) == 1
                       and {dict(series)["instance"] for series, _, _ in samples} == {"n1"}
                       for *_, samples, status in receiver.requests)


def test_several_senders_and_one_that_hangs(cluster):
    """One that hangs holds up neither the others, nor the stream, nor the end; sections come, change and go at a reload."""
    with Receiver() as receiver, Receiver(lambda samples: Answer(None)) as dead:
        hangs = section(dead, "dead", more="timeout = 10m").partition("500ms\n")[2]
        cluster.start_aggregator(config=section(receiver) + hangs)
        cluster.start_nodes("n1")
        wait_until(lambda: len(dead.requests) == 1 and len(receiver.find("synop_load_load_1", instance="n1")) > 10, "both")
        mark = cluster.aggregator.mark()
        cluster.aggregator.wait_lines(5, after=mark, type="node")
        check_whole(cluster, receiver, "n1")
        config = section(receiver, more="labels = again=yes")
        cluster.write("aggregator.ini", config)
        cluster.aggregator.signal(signal.SIGHUP)
        wait_until(lambda: [one["sender"] for one in cluster.status()["senders"]] == ["one"], "the other one gone")
        wait_until(lambda: any(("again", "yes") in series for series in list(receiver.taken)), "the new label")
        cluster.write("aggregator.ini", config + hangs)
        cluster.aggregator.signal(signal.SIGHUP)
        wait_until(lambda: len(dead.requests) == 2, "the other one back, where it was")
        assert dead.requests[0][2] == dead.requests[1][2]
        assert cluster.aggregator.stop() == 0


def test_kill_and_restart(cluster):
    """kill -9 while samples are on their way: none is missing afterwards, and what is sent twice is the same."""
    with Receiver(lambda samples: Answer(after=0.1)) as receiver:
        config = section(receiver)
        cluster.start_aggregator(config=config)
        cluster.start_nodes("n1", "n2")
        for _ in range(3):
            count = len(receiver.requests)
            wait_until(lambda: len(receiver.requests) > count + 3, "requests")  # pylint: disable=cell-var-from-loop
            cluster.aggregator.kill()
            cluster.start_aggregator(config=config)
        cluster.wait_node("n1")
        for node in ("n1", "n2"):
            check_whole(cluster, receiver, node)
        assert cluster.succeed("aggregator", "check", "--config", cluster.empty, cluster.history).endswith("whole\n")


def test_stale_markers_of_a_node_that_goes_down(cluster):
    with Receiver() as receiver:
        cluster.start_aggregator(config=section(receiver))
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: len(receiver.find("synop_load_load_1", instance="n2")) > 5, "samples")
        cluster.agents["n2"].kill()
        event = cluster.wait_event("node_down", node="n2")
        times = wait_until(lambda: (found := receiver.find("synop_load_load_1", instance="n2"))
                           and found[max(found)] is None and found, "a marker")
        assert list(times.values()).count(None) == 1 and max(times) == ms_of(event["time"])
        ends = {series: moments[max(moments)] for series, moments in receiver.taken.items()}
        assert {dict(series)["instance"] for series, value in ends.items() if value is None} == {"n2"}
        assert all(value is None for series, value in ends.items() if dict(series)["instance"] == "n2")
        assert all(value is not None for series, value in ends.items() if dict(series)["instance"] == "n1")


@pytest.mark.parametrize("bad, words", [
    ("url = ftp://x", "url: must begin with http:// or https://"),
    ("url = http://u:p@h/", "must hold no user and password"),
    ("url = http://", "url: is no URL"),
    ("url = http://h:99999/", "url: is no URL"),
    ("url = http://h/\nnames = nodeexporter", "names: "),
    ("url = http://h/\nlabels = job=x", "is the node's name, or the option job"),
    ("url = http://h/\nlabels = 1x=x", "is no name of a label"),
    ("url = http://h/\nlabels = x=1, y=1, x=2", "\"x\" stands twice"),
    ("url = http://h/\nlabels = " + ", ".join(f"x{i}=1" for i in range(63)), "labels: at most 62 labels"),
    ("url = http://h/\nuser = x", "user: goes with password_file"),
    ("", "url: must be given"),
])
def test_options_that_are_wrong(cluster, bad, words):
    done = cluster.start("aggregator", "aggregator", "-c", cluster.write("a.ini", f"[send x]\n{bad}\n"), "--history",
                         cluster.history)
    assert done.wait() == 2 and words in done.log(), done.log()
