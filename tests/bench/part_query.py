"""The same questions to the history, to Prometheus and to VictoriaMetrics, about the same points, in the same run.

Points are what the history answers; both others get samples that have the same means in the same steps, in blocks as their
compaction leaves them, of that one metric and nothing else. They answer over HTTP; the history over HTTP too, where the
aggregator starts a process for each answer, as the command, process and all, and alone (bench_query.c), as a process that runs
already. What nodes have now is asked of an aggregator with 1,000 agents. Each figure is the best of some."""

import csv
import datetime
import functools
import json
import math
import socket
import subprocess
import time
import urllib.parse
import urllib.request

from lib.programs import BUILD, environment
from lib.receivers import Prometheus, program
from lib.web import url_of
from measure import run_tool, say
from part_disk import Merged
from part_http import HTTP, Client
from part_load import make_keys, running_aggregator, start_load
from part_tiers import tool

TIMES = 5
HOUR, DAY = 3600, 86400


def utc(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Question:
    """About a metric from `begin` until `end`, in steps; `samples` of the others are in each step. With `top` one number of
    each of so many nodes, of the whole interval. Without `aim_ms` there is no aim."""

    def __init__(self, what, path, metric, begin, end, step, samples, aim_ms=None, top=None):
        self.what, self.path, self.metric, self.begin, self.end = what, path, metric, begin, end
        self.step, self.samples, self.aim_ms, self.top = step, samples, aim_ms, top

    def words(self, step):
        asked = {"metric": self.metric, "from": utc(self.begin), "to": utc(self.end), "step": f"{step}s"}
        return asked | ({"top": self.top} if self.top and step != self.step else {})

    @property
    def asked(self):
        return self.words(self.end - self.begin if self.top else self.step)

    def command(self, words, form):
        metric, *rest = words.items()
        options = [f"--{key}={value}" for key, value in rest]
        return [str(BUILD / "aggregator"), "query", metric[1], "--config=/dev/null", f"--socket={self.path}.none",
                f"--history={self.path}", f"--format={form}", *options]

    def series(self):
        """{node: [(seconds, value)]}: of each step samples around its mean, as far away as the least and the greatest."""
        done = subprocess.run(self.command(self.words(self.step), "csv"), capture_output=True, text=True, env=environment(),
                              check=True, timeout=60)
        found = {}
        for at, node, _, mean, least, most, _ in list(csv.reader(done.stdout.splitlines()))[1:]:
            if not mean:
                continue
            begin = datetime.datetime.fromisoformat(at[:19] + "+00:00").timestamp()
            half = (float(most) - float(least)) / 2 if self.samples > 1 else 0
            for i in range(self.samples):
                value = float(mean) + (half if i % 2 else -half)
                found.setdefault(node, []).append((begin + self.step * (i + 0.5) / self.samples, value))
        return found

    def promql(self):
        if self.top:
            text = f"topk({self.top}, avg_over_time(m[{self.end - self.begin}s]))"
            return "/api/v1/query", {"query": text, "time": self.end}
        return "/api/v1/query_range", {"query": f"avg_over_time(m[{self.step}s])", "start": self.begin + self.step,
                                       "end": self.end, "step": self.step}


class Blocks(Prometheus):
    def fill(self, series):
        path = self.folder / "samples"
        with open(path, "w", encoding="ascii") as file:
            file.write("# TYPE m gauge\n")
            for node, points in series.items():
                file.writelines(f'm{{node="{node}"}} {value!r} {at:.3f}\n' for at, value in points)
            file.write("# EOF\n")
        subprocess.run([program("promtool"), "tsdb", "create-blocks-from", "--max-block-duration=24h", "openmetrics", str(path),
                        str(self.folder / "data")], stdout=subprocess.DEVNULL, env=environment(), check=True, timeout=600)
        path.unlink()
        return self.start()


class Imported(Merged):
    def fill(self, series):
        self.start()
        lines = (json.dumps({"metric": {"__name__": "m", "node": node}, "timestamps": [round(at * 1000) for at, _ in points],
                             "values": [value for _, value in points]}) for node, points in series.items())
        body = "\n".join(lines).encode()
        urllib.request.urlopen(f"http://{self.address}/api/v1/import", body, timeout=600).close()
        self.stored()
        return self


def best_ms(ask):
    taken = []
    for _ in range(TIMES):
        begin = time.monotonic()
        answer = ask()
        taken.append((time.monotonic() - begin) * 1000)
    return min(taken), answer


def theirs(database, question):
    """Milliseconds, and the values of the answer."""
    path, arguments = question.promql()
    taken, answer = best_ms(lambda: database.get(path, nocache=1, **arguments))
    points = (one.get("values", [one.get("value")]) for one in json.loads(answer)["data"]["result"])
    return taken, [float(value) for series in points for _, value in series]


def ours(question):
    """Milliseconds of the command, what bench_query says, and the values of the answer."""
    command = question.command(question.asked, "json")
    whole, done = best_ms(lambda: subprocess.run(command, capture_output=True, env=environment(), check=True, timeout=60))
    words = [word for pair in question.asked.items() for word in pair]
    values = [point[1] for series in json.loads(done.stdout)["series"] for point in series["points"] if point[4]]
    return whole, run_tool("bench_query", question.path, TIMES, *words), values


def over_http(cluster, question):
    """Milliseconds, of an aggregator that has this history; it adds little to it."""
    cluster.endpoint = None
    aggregator = cluster.start_aggregator("--history", question.path, "--output", "none", *HTTP)
    client = Client(url_of(aggregator), "/api/v1/query?" + urllib.parse.urlencode(question.asked))
    taken, _ = best_ms(client.get)
    aggregator.stop()
    return taken


def same(some, others):
    """In whatever order."""
    return len(some) == len(others) and all(map(functools.partial(math.isclose, rel_tol=1e-9), sorted(some), sorted(others)))


def compare(figures, cluster, question):
    whole, alone, values = ours(question)
    aim = ("value", question.aim_ms) if question.aim_ms else None
    faster = ("ratio", 1) if question.aim_ms else None
    figures.add(f"{question.what}: alone", alone["ms"], "ms", aim=aim)
    figures.add(f"{question.what}: the command", whole, "ms")
    served = over_http(cluster, question)
    say(f"      {alone['points']} points, {alone['bytes'] / 1e6:.1f} MB of JSON, {alone['cpu_ms']:.3g} ms of CPU alone")
    series = question.series()
    for kind in (Blocks, Imported):
        if not kind.path():
            figures.skip(kind.name, "it is not here")
            continue
        database = kind(cluster).fill(series)
        taken, answer = theirs(database, question)
        if not same(answer, values):
            figures.note(kind.name, f"another answer: {len(answer)} points, ours {len(values)}")
        figures.add(f"{question.what}: alone", alone["ms"], "ms", kind.name, taken, faster)
        figures.add(f"{question.what}: over HTTP", served, "ms", kind.name, taken, faster)
        database.process.stop()


def tiers_of(cluster, name, nodes, hours):
    path = cluster.folder / name
    tool(path, "fill", nodes, hours, 1, 0)
    return path, int(time.time()) // HOUR * HOUR


def frames_of(cluster, name, nodes, seconds):
    """The last second before which there are frames of so many seconds."""
    path = cluster.folder / name
    begin = run_tool("bench_history", path, "", 64, 50, nodes, seconds)["start"]
    return path, int(datetime.datetime.fromisoformat(begin[:19] + "+00:00").timestamp()) + seconds


def instant(figures, cluster):
    """What nodes have now: of made-up nodes alone, and of an aggregator with agents."""
    for nodes, name in ((1000, "1,000"), (10000, "10,000")):
        alone = run_tool("bench_now", nodes, 16, 5)
        aim = ("value", 5) if nodes == 1000 else None
        figures.add(f"top 10 of {name} nodes now: CPU time", alone["top_ms"], "ms", aim=aim)
        figures.add(f"a byte for each of {name} nodes: CPU time", alone["levels_ms"], "ms")
        figures.add("the same of the mean of 16 CPUs each: CPU time", alone["cpus_ms"], "ms")
        figures.add(f"a tick's line of {name} nodes, 20 readers: CPU time", alone["tick_20_ms"], "ms")
        say(f"      {alone['levels_bytes'] / 1e3:.1f} KB with names; as numbers {alone['values_bytes'] / 1e3:.1f} KB, "
            f"{alone['values_ms']:.3g} ms")
    make_keys(cluster)
    with running_aggregator(cluster, *HTTP, read=False) as (aggregator, _):
        with start_load(cluster, cluster.endpoint, "spread", "full"):
            words = ["metric=memory_info.free", "top=10"]
            taken, _ = best_ms(lambda: local_request(cluster.socket, "\t".join(["now", *words])))
            figures.add("top 10 of 1,000 nodes now: UNIX socket", taken, "ms", aim=("value", 5))
            client = Client(url_of(aggregator), "/api/v1/now?" + "&".join(words))
            figures.add("top 10 of 1,000 nodes now: over HTTP", best_ms(client.get)[0], "ms", aim=("value", 5))
            command = [str(BUILD / "aggregator"), "query", "memory_info.free", "--now", "--top=10", "--config=/dev/null",
                       f"--socket={cluster.socket}"]
            taken, _ = best_ms(lambda: subprocess.run(command, capture_output=True, env=environment(), check=True, timeout=60))
            figures.add("top 10 of 1,000 nodes now: the command", taken, "ms")


def local_request(path, words):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(path))
        client.sendall(words.encode() + b"\n")
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.startswith(b'{"type":"now"'), answer[:200]


def query(figures, cluster):
    instant(figures, cluster)
    path, end = tiers_of(cluster, "day.db", 100, 25)
    compare(figures, cluster, Question("24 h of 100 nodes by the minute", path, "made.m0", end - DAY, end, 60, 6, 50))
    path, end = tiers_of(cluster, "week.db", 1000, 8 * 24)  # hours are taken from the first whole day on
    compare(figures, cluster, Question("7 d of 1,000 nodes by the hour", path, "made.m0", end - 7 * DAY, end, HOUR, 6, 200))
    path, end = frames_of(cluster, "hour.db", 100, HOUR + 60)
    end -= end % 2
    compare(figures, cluster,
            Question("1 h of 100 nodes from frames by the second", path, "memory_info.free", end - HOUR, end, 1, 1, 500))
    path, end = frames_of(cluster, "now.db", 1000, 120)
    end -= end % 60
    compare(figures, cluster,
            Question("top 10 of 1,000 nodes in a minute of the past, from frames", path, "memory_info.free", end - 60, end, 1, 1,
                     top=10))
