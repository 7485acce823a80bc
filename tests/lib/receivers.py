"""Prometheus and VictoriaMetrics, on free ports of this host: what they scrape, or are sent, and what is asked back of them."""

import json
import math
import os
import shutil
import socket
import urllib.error
import urllib.parse
import urllib.request

from lib.programs import LIMIT, wait_until


def program(*names):
    return next((found for name in names if (found := shutil.which(name))), None)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Database:
    """One of them; `start` after a `kill` goes on with the same data at the same port."""

    def __init__(self, cluster, port=None):
        self.cluster, self.port = cluster, port or free_port()
        self.folder = cluster.folder / f"{self.name}-{self.port}"
        self.folder.mkdir()
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.address}/api/v1/write"
        self.process = None
        self.starts = 0

    @classmethod
    def path(cls):
        return program(*cls.programs)

    def get(self, path, **arguments):
        query = urllib.parse.urlencode(arguments)
        with urllib.request.urlopen(f"http://{self.address}{path}?{query}", timeout=LIMIT) as answer:
            return answer.read()

    def is_ready(self):
        assert self.process.alive(), self.process.log()
        try:
            return self.get(self.ready)
        except (urllib.error.URLError, ConnectionError):
            return False

    def start(self):
        self.starts += 1
        self.process = self.cluster.start(f"{self.name}-{self.port}-{self.starts}", self.path(), *self.arguments())
        wait_until(self.is_ready, f"{self.name} at {self.address}")
        return self

    def kill(self):
        self.process.kill()


SCRAPES = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
- job_name: node
  http_sd_configs: [{{url: "{url}/sd", refresh_interval: 1s}}]
- job_name: synop
  metrics_path: /aggregator/metrics
  static_configs: [{{targets: ["{host}"]}}]
"""


class Prometheus(Database):
    name, programs, ready = "prometheus", ("prometheus",), "/-/ready"

    def __init__(self, cluster, window=None, scrapes=None):
        """`scrapes`: the address of an aggregator's pages, to be read each second, as docs/prometheus.md has it."""
        super().__init__(cluster)
        text = f"storage:\n  tsdb:\n    out_of_order_time_window: {window}\n" if window else ""
        if scrapes:
            text += SCRAPES.format(url=scrapes, host=urllib.parse.urlsplit(scrapes).netloc)
        (self.folder / "prometheus.yml").write_text(text)

    def arguments(self):
        return [f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                f"--web.listen-address={self.address}", "--web.enable-remote-write-receiver", "--log.level=warn"]

    def query(self, text):
        """A list of series, or a number's [time, text]."""
        try:
            return json.loads(self.get("/api/v1/query", query=text))["data"]["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{text}: {json.loads(error.read())['error']}") from None

    def all(self):
        """{series: {ms: value}}, without markers, which it does not show."""
        found = {}
        for one in self.query('{job="synop"}[1h]'):
            series = tuple(sorted(one["metric"].items()))
            found[series] = {round(at * 1000): float(value) for at, value in one["values"]}
        return found

    def count(self):
        """Of each name by itself: count_over_time leaves names out."""
        names = {one["metric"]["__name__"] for one in self.query('count by (__name__) (last_over_time({job="synop"}[1h]))')}
        return sum(int(self.query(f'sum(count_over_time({name}{{job="synop"}}[1h]))')[0]["value"][1]) for name in names)


class Victoria(Database):
    name, programs, ready = "victoria", ("victoria-metrics", "victoria-metrics-prod"), "/health"

    def arguments(self):
        return [f"-storageDataPath={self.folder}/data", f"-httpListenAddr={self.address}", "-dedup.minScrapeInterval=1ms",
                "-retentionPeriod=1y", "-loggerLevel=WARN", "-search.latencyOffset=0s"]

    def flush(self):
        self.get("/internal/force_flush")

    def all(self):
        self.flush()
        found = {}
        for line in self.get("/api/v1/export", **{"match[]": '{job="synop"}'}).splitlines():
            one = json.loads(line)
            series = tuple(sorted(one["metric"].items()))
            times = found.setdefault(series, {})
            for ms, value in zip(one["timestamps"], one["values"]):
                assert ms not in times, f"{series} has {ms} twice"
                if value is not None and not math.isnan(float(value)):
                    times[ms] = float(value)
        return found

    def count(self):
        """Each that it has, as they are stored: all() fails where one is there twice."""
        return sum(map(len, self.all().values()))


def away_seconds():
    """How long a receiver is away: `make soak` takes longer."""
    return float(os.environ.get("SEND_AWAY_SECONDS", "2"))


INFLUX = """
reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
  query-log-enabled = false
[monitor]
  store-enabled = false
[http]
  bind-address = "{address}"
  auth-enabled = {auth}
  log-enabled = false
[[udp]]
  enabled = true
  bind-address = "{address}"
  database = "synop"
  batch-timeout = "100ms"
[logging]
  level = "warn"
"""


class Influx(Database):
    """InfluxDB 1, with a database `synop`; over UDP at the same port too."""

    name, programs = "influx", ("influxd",)

    def __init__(self, cluster, password=None):
        super().__init__(cluster)
        self.password = password
        self.url = f"http://{self.address}"
        (self.folder / "influx.conf").write_text(INFLUX.format(rpc=free_port(), folder=self.folder, address=self.address,
                                                               auth=str(bool(password)).lower()))

    def arguments(self):
        return ["-config", str(self.folder / "influx.conf")]

    def ask(self, text, login=True):
        login = {"u": "admin", "p": self.password} if self.password and login else {}
        query = urllib.parse.urlencode({"q": text, "db": "synop", "epoch": "ms"})
        where = f"http://{self.address}/query?{urllib.parse.urlencode(login)}"
        with urllib.request.urlopen(where, data=query.encode(), timeout=LIMIT) as answer:
            found = json.loads(answer.read())["results"]
        assert not any("error" in one for one in found), found
        return [series for one in found for series in one.get("series", [])]

    def is_ready(self):
        assert self.process.alive(), self.process.log()
        try:
            if self.password:
                try:
                    self.ask(f"CREATE USER admin WITH PASSWORD '{self.password}' WITH ALL PRIVILEGES", login=False)
                except urllib.error.HTTPError:  # it is there
                    pass
            return self.ask("CREATE DATABASE synop") == []
        except (urllib.error.URLError, ConnectionError):
            return False

    def find(self, name, **tags):
        """{ms: value} of the series with these tags."""
        where = " AND ".join(f"\"{key}\" = '{value}'" for key, value in tags.items())
        found = self.ask(f'SELECT "value" FROM "{name}" WHERE {where} GROUP BY *')
        assert len(found) <= 1, found
        return dict(found[0]["values"]) if found else {}
