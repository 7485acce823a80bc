"""What Prometheus gets: CPU a sample, what keeping the newest values costs a frame, and how long lines take meanwhile."""

import http.client
import json
import pathlib
import shutil
import threading
import time

from lib.programs import wait_until
from lib.web import url_of
from measure import cpu_seconds, memory, quantile, run_tool, say
from part_load import LATENCY_WINDOW, NODES, WINDOW, Ages, make_keys, running_aggregator, start_load
from part_side_by_side import free_port

SCRAPES = 5
TURNS = 4
HTTP = ("--http", "127.0.0.1:0")


def thread_seconds(pid, name):
    """CPU time of its thread of that name."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            return int((task / "schedstat").read_text().split()[0]) / 1e9
    raise RuntimeError(f"no thread {name}")


class Client:
    """Over one connection, as Prometheus does."""

    def __init__(self, url, path):
        host, port = url.removeprefix("http://").split(":")
        self.connection = http.client.HTTPConnection(host, int(port), timeout=60)
        self.path = path

    def get(self, **headers):
        self.connection.request("GET", self.path, headers=headers)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{self.path}: {answer.status}")
        return body


def count_samples(body):
    return sum(1 for line in body.split(b"\n") if line and not line.startswith(b"#"))


def copy_seconds(body):
    """Of the same bytes to another place."""
    target = bytearray(len(body))
    begin = time.thread_time()
    for _ in range(20):
        target[:] = body
    return (time.thread_time() - begin) / 20


def scrape(figures, pid, url):
    client = Client(url, "/metrics")
    body = client.get()
    count = count_samples(body)
    copied = copy_seconds(body) / count * 1e9
    results = {}
    for words, headers in (("", {}), (", gzip", {"Accept-Encoding": "gzip"})):
        cpu = thread_seconds(pid, "http")
        begin = time.monotonic()
        for _ in range(SCRAPES):
            client.get(**headers)
        seconds = (time.monotonic() - begin) / SCRAPES
        cpu = (thread_seconds(pid, "http") - cpu) / SCRAPES
        figures.add(f"a scrape of {NODES} nodes{words}, CPU a sample", cpu / count * 1e9, "ns", "memcpy of the answer",
                    copied)
        results[words] = cpu / count * 1e9
        say(f"      {count} samples, {len(body) / 1e6:.1f} MB, within {seconds * 1e3:.0f} ms{words}")
    one = Client(url, json.loads(Client(url, "/sd").get())[0]["labels"]["__metrics_path__"])
    count = count_samples(one.get())
    cpu = thread_seconds(pid, "http")
    for _ in range(200):
        one.get()
    results["one"] = (thread_seconds(pid, "http") - cpu) / 200 / count * 1e9
    return results


def node_exporter(cluster):
    """CPU a sample of Debian's; None: it is not installed."""
    program = shutil.which("prometheus-node-exporter")
    if not program:
        return None
    port = free_port()
    started = cluster.start("node-exporter", program, f"--web.listen-address=127.0.0.1:{port}", "--log.level=error")
    client = Client(f"http://127.0.0.1:{port}", "/metrics")

    def answers():
        try:
            return client.get()
        except OSError:
            client.connection.close()
            return None

    count = count_samples(wait_until(answers, "an answer of node-exporter", 20))
    cpu = cpu_seconds(started.pid)
    for _ in range(20):
        client.get()
    cpu = (cpu_seconds(started.pid) - cpu) / 20
    started.stop()
    return cpu / count * 1e9


def frame_cost(cluster, load, pid):
    cpu, frames = cpu_seconds(pid), load.ask()["frames"]
    time.sleep(WINDOW)
    return (cpu_seconds(pid) - cpu) / (load.ask()["frames"] - frames) * 1e6


def line_ages(reader, ages, during=None):
    """With somebody who scrapes as fast as he gets answers, or without."""
    ending = threading.Event()

    def run():
        while not ending.is_set():
            during.get()

    thread = threading.Thread(target=run)
    if during:
        thread.start()
    reader.note = ages.note
    time.sleep(LATENCY_WINDOW)
    reader.note = None
    ending.set()
    if during:
        thread.join()


def latency(figures, cluster):
    """In turns, so that what others do to this host is in both."""
    alone, scraped = Ages(), Ages()
    with running_aggregator(cluster, *HTTP, read=True) as (aggregator, reader):
        client = Client(url_of(aggregator), "/metrics")
        with start_load(cluster, cluster.endpoint, "spread", "full"):
            for _ in range(TURNS):
                line_ages(reader, alone)
                line_ages(reader, scraped, client)
    for part, words in ((0.5, "p50"), (0.99, "p99")):
        figures.add(f"frame made to line while pages are read without a pause, {words}", quantile(scraped.ages, part), "ms",
                    "nobody reads pages", quantile(alone.ages, part))
    figures.add("the same, by which p99 is later", quantile(scraped.ages, 0.99) - quantile(alone.ages, 0.99), "ms",
                aim=("value", 2))


def writer(figures):
    """The page without HTTP, of nodes whose frames have all changed."""
    result = run_tool("bench_exporter", NODES, 5)
    what = f"page of {NODES} nodes of {result['samples']:.0f} values, written"
    figures.add(f"{what}: CPU a sample", result["exporter_ns"], "ns", "memcpy of its pieces", result["copy_ns"])
    figures.add(f"{what}: of that to read the frames", result["begin_ns"], "ns")
    few = run_tool("bench_exporter", 10, 200)
    figures.add("page of 10 nodes, which caches hold, written: CPU a sample", few["exporter_ns"], "ns", "memcpy of its pieces",
                few["copy_ns"])
    figures.add("page: the longest piece", result["piece_most"] / 1024, "KiB", aim=("value", 64))
    figures.add("page: what putting a frame takes of the intake, CPU", result["put_ns"] / 1e3, "us")
    puts = run_tool("bench_exporter", NODES, 4, "beside")
    for at, words in enumerate(("p50", "p99", "p99.9")):
        figures.add(f"a frame put while pages are written without a pause, {words}", puts["asked"][at], "us",
                    "nobody reads pages", puts["alone"][at])


def pages(figures, cluster):
    make_keys(cluster)
    writer(figures)
    cost = {}
    for name, options in (("off", ()), ("on", HTTP)):
        with running_aggregator(cluster, *options, read=False) as (aggregator, _):
            with start_load(cluster, cluster.endpoint, "spread", "full") as load:
                cost[name] = frame_cost(cluster, load, aggregator.pid)
                rss = memory(aggregator.pid)["rss"]
                if name == "on":
                    results = scrape(figures, aggregator.pid, url_of(aggregator))
                    figures.add("aggregator, memory a node that pages of all take", (memory(aggregator.pid)["rss"] - rss)
                                / NODES / 1e3, "kB")
                    cost["asked"] = frame_cost(cluster, load, aggregator.pid)
    figures.add("aggregator, CPU a frame, HTTP that nobody asks", cost["on"], "us", "HTTP off", cost["off"])
    figures.add("aggregator, CPU a frame, combined reports for pages too", cost["asked"], "us", "HTTP off", cost["off"])
    theirs = node_exporter(cluster)
    if theirs:
        figures.add("a scrape of one node, CPU a sample", results["one"], "ns", "node-exporter", theirs)
    latency(figures, cluster)
