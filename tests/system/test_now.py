"""Values of this instant: `now` and `watch` on the socket and over HTTP, `query --now`, and levels of the past."""

import base64
import contextlib
import csv
import json
import math
import signal
import socket
import time

import pytest
from lib import api
from lib.api import API, HTTP, Stream, check, error_of
from lib.cluster import Cluster
from lib.programs import LIMIT, cpu_seconds, parse_line, run, wait_until
from lib.web import get, url_of


@pytest.fixture(name="shown", scope="module")
def fixture_shown():
    """A cluster of three, of which one never came, and its address."""
    cluster = Cluster()
    try:
        cluster.start_aggregator(config=HTTP + "[history]\nchunk_time = 300ms\n")
        cluster.keys_of("n3")
        cluster.start_nodes("n10", "n2", period="500ms")
        url = url_of(cluster.aggregator)
        wait_until(lambda: all(ask(url, "now?metric=cpu_usage.user")["metrics"][0]["values"][i] is not None for i in (0, 2)),
                   "two frames of both")
        yield cluster, url
        assert not cluster.aggregator.sanitizer_report()
    finally:
        cluster.close()


def ask(url, path):
    return check(api.ask(url, path), "Now")


class Client:
    """Of the UNIX socket."""

    def __init__(self, cluster, *words):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT)
        self.socket.connect(str(cluster.socket))
        self.socket.sendall("\t".join(words).encode() + b"\n")
        self.file = self.socket.makefile("rb")

    def line(self):
        return self.file.readline().decode()

    def close(self):
        self.file.close()
        self.socket.close()


def answer_of(cluster, *words):
    with contextlib.closing(Client(cluster, *words)) as client:
        line = client.line()
        assert not client.line(), "one line, then the end"
        return line


def query(cluster, *words, code=0):
    done = run("aggregator", "query", *words, "--config", cluster.empty, "--socket", cluster.socket, "--history", cluster.history)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_values_are_those_of_lines(shown):
    """A value that moves slowly, a share, a counter and a row, between those of the lines before and after."""
    cluster, url = shown
    mark = cluster.aggregator.mark()
    metrics = ["memory_info.total", "cpu_usage.user", "vm.page_faults", "network.devices.lo.rx_bytes", "load.tasks / load.load_1"]
    answer = ask(url, "now?" + "&".join(f"metric={one.replace(' ', '%20')}" for one in metrics))
    assert answer["nodes"] == ["n2", "n3", "n10"] and answer["states"] == "un"
    by_name = {one["metric"]: one for one in answer["metrics"]}
    assert [one["unit"] for one in answer["metrics"]] == ["bytes", "percent", "1/s", "bytes/s", ""]
    wait_until(lambda: cluster.aggregator.lines(type="node", node="n2", after=mark), "a line after it")
    lines = [one["report"]["system_data"] for one in cluster.aggregator.lines(type="node", node="n2")[1:]][-8:]  # changes are known

    def is_of_lines(name, values):
        value = by_name[name]["values"][0]
        assert any(math.isclose(value, one, rel_tol=1e-3, abs_tol=1e-3) for one in values), (name, value, values)

    is_of_lines("memory_info.total", [one["memory_info"]["total"] for one in lines])
    is_of_lines("cpu_usage.user", [one["cpu_usage"]["average_usage"]["user"] for one in lines])
    is_of_lines("vm.page_faults", [one["vm"]["page_faults"] / one["vm"]["period"] for one in lines])
    is_of_lines("network.rx_bytes", [one["network"]["devices"]["lo"]["rx_bytes"] / one["network"]["period"] for one in lines])
    assert by_name["network.rx_bytes"]["row"] == "lo"
    assert all(one["values"][1] is None and one["count"] == 2 for one in answer["metrics"])


def test_forms(shown):
    """Levels, ranks and rows; the socket says the same as HTTP."""
    cluster, url = shown
    one = ask(url, "now?metric=memory_info.total&encoding=levels")["metrics"][0]
    assert "values" not in one and one["low"] == 0 and one["high"] == one["max"]
    assert list(base64.b64decode(one["levels"])) == [250, 255, 250]
    top = ask(url, "now?metric=cpu_usage.user&row=*&top=1")["metrics"][0]["top"]
    rows = ask(url, "now?metric=cpu_usage.user&row=0,1")["metrics"][0]["rows"]
    assert len(top) == 1 and top[0]["row"] and {one["node"] for one in rows} == {"n2", "n10"}
    assert ask(url, "now?metric=memory_info.total,memory_info.free&node=n3")["nodes"] == ["n3"]
    line = check(parse_line(answer_of(cluster, "now", "metric=memory_info.total")), "Now")
    same = ask(url, "now?metric=memory_info.total")
    assert (line["nodes"], line["list"], line["metrics"]) == (same["nodes"], same["list"], same["metrics"])


def test_what_is_wrong(shown):
    cluster, url = shown
    error = error_of(url, "now?metric=memory_info.totl", 400, "metric")
    assert "near are memory_info.total" in error["message"] and error["expected"].startswith("metrics")
    assert "top" in error_of(url, "watch?metric=load.load_1&top=1&bottom=1", 400, "bottom")["message"]
    assert "no rows" in error_of(url, "watch?metric=load.load_1&row=x", 400, "row")["message"]
    assert "no listed node" in error_of(url, "now?metric=load.load_1&node=x", 400, "node")["message"]
    assert "16 at most" in error_of(url, "now?metric=" + ",".join(f"load.load_1%2B{i}" for i in range(17)), 400, "metric")["message"]
    for words in ([], ["metric=x.y"], ["metric=load.load_1", "x"], ["metric=load.load_1", "top=9999"], ["metric="]):
        assert answer_of(cluster, "now", *words).startswith("error "), words
        assert answer_of(cluster, "watch", *words).startswith("error "), words


def test_long_paths(shown):
    """A path of many signs is looked for as two metrics at each of them, among all names: the aggregator is not held up."""
    cluster, _ = shown
    begin = cpu_seconds(cluster.aggregator.pid)
    assert answer_of(cluster, "now", "metric=" + "a/" * 2000).startswith("error metric: no node has a metric")
    assert cpu_seconds(cluster.aggregator.pid) - begin < 1


def test_watch(shown):
    """A line at once and each tick, with names in the first; the same for all; nothing is kept when all have gone."""
    cluster, url = shown
    words = "metric=memory_info.used&metric=load.load_1&encoding=levels"
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(contextlib.closing(Stream(url, words, path="watch"))) for _ in range(3)]
        assert all(stream.begin() == 200 for stream in streams)
        readers = [stream.events() for stream in streams]
        lines = [[next(reader) for _ in range(3)] for reader in readers]
        assert cluster.counter("watch_readers") == 3 and cluster.counter("watch_metrics") == 2
        for own in lines:
            assert check(own[0], "Now")["nodes"] == ["n2", "n3", "n10"]
            assert all("nodes" not in line and line["list"] == own[0]["list"] for line in own[1:])
            times = [line["time"] for line in own[1:]]
            assert times == sorted(times) and all(time.endswith(".000000000Z") for time in times), times
        shared = {line["time"] for line in lines[0][1:]} & {line["time"] for line in lines[1][1:]}
        for at in shared:
            assert len({json.dumps(line) for own in lines for line in own if line["time"] == at}) == 1
    wait_until(lambda: cluster.counter("watch_readers") == 0 and cluster.counter("watch_metrics") == 0, "they have gone")


@pytest.mark.sanitized
def test_watch_when_nodes_come_and_go(cluster):
    cluster.start_aggregator(config=HTTP)
    assert answer_of(cluster, "watch", "metric=load.load_1").startswith("error metric: no node has a metric")
    assert parse_line(answer_of(cluster, "now", "metric=load.load_1"))["nodes"] == []
    cluster.start_nodes("n1", period="200ms")
    with contextlib.closing(Client(cluster, "watch", "metric=load.load_1")) as client:
        assert parse_line(client.line())["nodes"] == ["n1"]
        cluster.keys_of("n2")
        cluster.aggregator.signal(signal.SIGHUP)

        def next_that(wanted):
            return next(line for line in (parse_line(client.line()) for _ in range(60)) if wanted(line))

        assert next_that(lambda line: "nodes" in line)["nodes"] == ["n1", "n2"]
        cluster.agents["n1"].kill()
        silent = next_that(lambda line: line["states"] in ("sn", "dn"))
        assert silent["metrics"][0]["values"] == [None, None] and silent["metrics"][0]["mean"] is None
    assert cluster.counter("watch_lines_skipped") == 0


def test_slow_watchers_lose_their_own(shown):
    """Who reads nothing has one line waiting; others get theirs."""
    cluster, _ = shown
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(contextlib.closing(Client(cluster, "watch", "metric=load.load_1"))) for _ in range(20)]
        quick = stack.enter_context(contextlib.closing(Client(cluster, "watch", "metric=load.load_1")))
        times = [parse_line(quick.line())["time"] for _ in range(4)]
        assert times == sorted(times) and len(set(times)) == 4
        assert all(parse_line(one.line())["type"] == "now" for one in slow)


def test_query_now(shown):
    cluster, _ = shown
    table = query(cluster, "memory_info.total", "--now")
    assert table.stdout.startswith("memory_info.total in GiB\n") and [line.split()[0] for line in table.stdout.splitlines()[3:]] == \
        ["NAME", "n2", "n3", "n10"]
    assert " - " in table.stdout.replace("\n", " "), "n3 has none"
    document = json.loads(query(cluster, "cpu_usage.user", "--now", "--rows", "--top", "1", "--format", "json").stdout)
    assert document["step"] == 0 and document["tiers"] == [] and len(document["series"]) == 1 and document["left_out"] > 0
    assert document["series"][0]["points"][0][1] == document["series"][0]["mean"]
    total = json.loads(query(cluster, "memory_info.total", "--now", "--fold", "sum", "--format", "json").stdout)
    each = json.loads(query(cluster, "memory_info.total", "--now", "--format", "json").stdout)
    assert total["folded"] == 3 and total["series"][0]["mean"] == sum(one["mean"] for one in each["series"] if one["mean"])
    rows = list(csv.reader(query(cluster, "network.rx_bytes", "--now", "--row", "lo", "--format", "csv").stdout.splitlines()))
    assert [row[1:3] for row in rows[1:]] == [["n2", "lo"], ["n10", "lo"]] and rows[0][3] == "network.rx_bytes (bytes/s)"
    assert json.loads(query(cluster, "network.rx_bytes", "--now", "--format", "json").stdout)["shows"] == "rate"
    for words, text in ((["x.y"], "no node has a metric"), (["load.load_1", "--from", "-1h"], "[query] from"),
                        (["load.load_1", "--row", "x"], "[query] row"), (["load.load_1", "--format", "plot"], "[query] format"),
                        (["load.load_1", "--top", "1", "--bottom", "1"], "[query] bottom"),
                        (["load.load_1\tx"], "no tab")):
        assert text in query(cluster, *words, "--now", code=2).stderr
    gone = run("aggregator", "query", "load.load_1", "--now", "--config", cluster.empty, "--socket", cluster.folder / "none")
    assert gone.returncode == 1 and "is an aggregator running?" in gone.stderr


def test_levels_of_the_past(shown):
    """Each byte is the value that the same question has as numbers."""
    cluster, url = shown
    time.sleep(2)
    times = ["--from", "-20s", "--to", "-1s", "--step", "1s"]
    for metric, more in (("memory_info.used", []), ("cpu_usage.user", []), ("network.rx_bytes", ["--row", "lo"])):
        rate = ["--rate"] if metric == "network.rx_bytes" else []
        levels = json.loads(query(cluster, metric, *times, *more, "--format", "levels").stdout)
        numbers = json.loads(query(cluster, metric, *times, *more, *rate, "--format", "json").stdout)
        assert levels["nodes"] == ["n2", "n10"] and levels["unit"] == numbers["unit"] and levels.get("rows", []) == more[1:] * 2
        # The second question may begin a step later.
        moved = round((float(numbers["series"][0]["points"][0][0]) - begin_of(levels)) / levels["step"])
        seen = 0
        for i, series in enumerate(numbers["series"]):
            for step, point in enumerate(series["points"][: len(levels["steps"]) - moved]):
                byte = base64.b64decode(levels["steps"][step + moved])[i]
                if point[1] is None:
                    assert byte == 255
                    continue
                assert abs(byte - 250 * (point[1] - levels["low"]) / (levels["high"] - levels["low"])) <= 0.5001
                seen += 1
        assert seen > 2
    page = get(url, f"{API}query?metric=memory_info.used&from=-20s&format=levels")
    assert page.status == 200 and page.headers["Content-Type"] == "application/json" and check(json.loads(page.text), "Levels")


def begin_of(document):
    return time.mktime(time.strptime(document["from"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
