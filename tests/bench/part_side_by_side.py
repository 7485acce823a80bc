"""The agent beside prometheus-node-exporter and collectd, on this machine at the same time and the same rate.

The agent encrypts its frames and publishes them to an aggregator. node-exporter is scraped over a connection that is kept
open, without compression; with its default collectors, and with those alone that match the agent's groups. collectd reads
with plugins that match (those that walk all processes or sockets are not among them) and sends with its network plugin, unencrypted, to a port where nobody answers.
"""

import contextlib
import http.client
import pathlib
import shutil
import socket
import threading
import time

from lib.programs import wait_until
from measure import cpu_seconds, memory, say, threads

RATES = ((1.0, 15.0), (0.1, 6.0))  # interval and window, s
SETTLE = 3.0
COLLECTORS = (
    "cpu cpufreq diskstats filesystem infiniband loadavg meminfo meminfo_numa netclass netdev netstat pressure sockstat "
    "stat thermal_zone uname vmstat"
)
PLUGINS = (
    "contextswitch cpu cpufreq df disk infiniband interface load memory numa protocols swap thermal uptime vmem"
)
PLUGIN_FOLDER = pathlib.Path("/usr/lib/collectd")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Exporter:
    """node-exporter and who scrapes it."""

    def __init__(self, cluster, name, interval, *options):
        self.scrapes = 0
        self.interval = interval
        self.port = free_port()
        self.ending = threading.Event()
        program = shutil.which("prometheus-node-exporter")
        listen = f"--web.listen-address=127.0.0.1:{self.port}"
        self.program = cluster.start(name, program, listen, "--log.level=error", *options)
        wait_until(self.answers, f"an answer of {name}: {self.program.log()}", 20)
        self.thread = threading.Thread(target=self.scrape, daemon=True)
        self.thread.start()

    def answers(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def scrape(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        due = time.monotonic()
        with contextlib.suppress(OSError, http.client.HTTPException):
            while not self.ending.is_set():
                connection.request("GET", "/metrics")
                connection.getresponse().read()
                self.scrapes += 1
                due += self.interval
                self.ending.wait(max(0, due - time.monotonic()))
        connection.close()

    def samples(self):
        return self.scrapes

    def stop(self):
        self.ending.set()
        self.thread.join(20)
        self.program.stop()


class Collectd:
    def __init__(self, cluster, interval):
        self.interval = interval
        self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sink.bind(("127.0.0.1", 0))
        folder = cluster.folder / f"collectd-{interval}"
        folder.mkdir()
        plugins = [name for name in PLUGINS.split() if (PLUGIN_FOLDER / f"{name}.so").exists()]
        lines = [
            'Hostname "bench"',
            "FQDNLookup false",
            f'BaseDir "{folder}"',
            f'PIDFile "{folder}/pid"',
            f"Interval {interval}",
            *(f"LoadPlugin {name}" for name in (*plugins, "network")),
            f'<Plugin network>\n  Server "127.0.0.1" "{self.sink.getsockname()[1]}"\n</Plugin>',
        ]
        configuration = cluster.write(f"collectd-{interval}.conf", "\n".join(lines) + "\n")
        self.plugins = len(plugins)
        self.program = cluster.start(f"collectd-{interval}", "/usr/sbin/collectd", "-f", "-C", configuration)

    def samples(self):
        return time.monotonic() / self.interval

    def stop(self):
        self.program.stop()
        self.sink.close()


class Agent:
    def __init__(self, cluster, interval):
        self.cluster = cluster
        self.node = f"every{round(interval * 1000)}ms"
        self.program = cluster.start_agent(self.node, period=f"{round(interval * 1000)}ms")

    def samples(self):
        return self.cluster.node_status(self.node)["received"]

    def stop(self):
        self.program.stop()


def measure_all(subjects, window):
    """CPU seconds a sample of each, in the same window."""
    before = {name: (subject.samples(), cpu_seconds(subject.program.pid)) for name, subject in subjects.items()}
    time.sleep(window)
    costs = {}
    for name, subject in subjects.items():
        cpu = cpu_seconds(subject.program.pid) - before[name][1]
        count = subject.samples() - before[name][0]
        if count <= 0:
            raise RuntimeError(f"{name} has sampled nothing: {subject.program.log()[-2000:]}")
        costs[name] = cpu / count
    return costs


def side_by_side(figures, cluster):
    """(a) against other programs, and (c)."""
    cluster.endpoint = None
    aggregator = cluster.start_aggregator("--output", "none")
    for interval, window in RATES:
        subjects = {"agent": Agent(cluster, interval)}
        if shutil.which("prometheus-node-exporter"):
            only = ["--collector.disable-defaults", *(f"--collector.{name}" for name in COLLECTORS.split())]
            subjects["node-exporter"] = Exporter(cluster, f"exporter-{interval}", interval)
            subjects["node-exporter with matching collectors"] = Exporter(cluster, f"only-{interval}", interval, *only)
        elif interval == 1:
            figures.skip("node-exporter", "it is not installed")
        if pathlib.Path("/usr/sbin/collectd").exists():
            subjects["collectd"] = Collectd(cluster, interval)
        elif interval == 1:
            figures.skip("collectd", "collectd-core is not installed")
        time.sleep(SETTLE)
        costs = measure_all(subjects, window)
        report(figures, subjects, costs, interval)
        for subject in subjects.values():
            subject.stop()
    aggregator.stop()


def report(figures, subjects, costs, interval):
    aims = {"node-exporter": 1 / 40, "collectd": 1 / 10}
    what = f"agent, CPU a sample at {1 / interval:.0f} Hz"
    for name, cost in costs.items():
        if name != "agent":
            aim = ("ratio", aims[name]) if name in aims and interval == 1 else None
            figures.add(what, costs["agent"] * 1e3, "ms", name, cost * 1e3, aim)
    if len(costs) == 1:
        figures.add(what, costs["agent"] * 1e3, "ms")
    if interval != 1:
        return
    used = {name: memory(subject.program.pid) for name, subject in subjects.items()}
    mine = used["agent"]["rss"] / 1e6
    figures.add("agent, RSS", mine, "MB", aim=("value", 5))
    for name in used:
        if name != "agent":
            figures.add("agent, RSS", mine, "MB", name, used[name]["rss"] / 1e6)
    figures.add("agent, private memory", used["agent"]["private"] / 1e6, "MB")
    figures.add("agent, threads", threads(subjects["agent"].program.pid), "")
    for name, kinds in used.items():
        kinds = ", ".join(f"{kind} {size / 1e6:.1f} MB" for kind, size in kinds.items())
        say(f"      {name}: {kinds}, {threads(subjects[name].program.pid)} threads")
