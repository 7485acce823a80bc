"""Senders: CPU of ours and of the receiver for each sample, of a stored history of many nodes that is sent at once."""

import http.server
import json
import shutil
import sqlite3
import subprocess
import threading
import time

from lib.programs import BUILD, environment, wait_until
from lib.receivers import Prometheus, Victoria
from measure import cpu_seconds, say

NODES, FRAMES = 10, 600
AIM = ("value", 0.3)


def made(cluster):
    path = cluster.folder / "made.db"
    command = [BUILD / "tests/bench/bench_history", path, "", 64, 1000, NODES, FRAMES]
    subprocess.run([*map(str, command)], stdout=subprocess.DEVNULL, env=environment(), check=True, timeout=600)
    return path


def sent(cluster, path, database, period, more=""):
    """Seconds of CPU of both until all is sent, and how many samples that were."""
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE IF NOT EXISTS cursors (name TEXT PRIMARY KEY, chunk INTEGER NOT NULL, until INTEGER NOT NULL,"
                     " time INTEGER NOT NULL, part INTEGER NOT NULL, event INTEGER NOT NULL) WITHOUT ROWID")
        file.execute("INSERT OR REPLACE INTO cursors VALUES ('real', 0, 0, 0, 0, 0)")
    file.close()
    before = cpu_seconds(database.process.pid)
    cluster.start_aggregator("--history", path, config=f"[send real]\nurl = {database.url}\nperiod = {period}\n{more}")

    def sender():
        return cluster.status()["senders"][0]

    wait_until(lambda: (one := sender())["sent"] + one["dropped"] > 0 and one["waiting"] == 0, "all is sent", 300)
    time.sleep(0.5)
    one = sender()
    assert one["dropped"] == 0, one
    ours, theirs = cpu_seconds(cluster.aggregator.pid), cpu_seconds(database.process.pid) - before
    cluster.aggregator.stop()
    return ours, theirs, one["sent"]


class Sink(http.server.BaseHTTPRequestHandler):
    """Takes all, as either protocol."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.send_header("X-Prometheus-Remote-Write-Samples-Written", str(2**40))
        self.end_headers()

    def log_message(self, *arguments):
        pass


def alone(cluster, path, period_ms, protocol):
    """Microseconds of CPU a sample of a sender and nothing else."""
    copy = cluster.folder / "alone.db"
    shutil.copy(path, copy)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        command = [BUILD / "tests/bench/bench_send", copy, url, period_ms, protocol]
        done = subprocess.run([*map(str, command)], capture_output=True, env=environment(), check=True, timeout=120)
        server.shutdown()
    return json.loads(done.stdout)["us"]


def send(figures, cluster):
    path = made(cluster)
    for period in (1, 15):
        figures.add(f"a sample each {period} s: CPU, remote write 2.0", alone(cluster, path, 1000 * period, 2), "us/val", "1.0",
                    alone(cluster, path, 1000 * period, 1), AIM)
    for kind, arguments in ((Prometheus, ("2h",)), (Victoria, ())):
        if not kind.path():
            figures.skip(kind.name, "it is not here")
            continue
        for period in ("1s", "15s"):
            database = kind(cluster, *arguments).start()
            ours, theirs, samples = sent(cluster, path, database, period)
            figures.add(f"{kind.name}, a sample each {period}: CPU", ours / samples * 1e6, "us/val", "the receiver's",
                        theirs / samples * 1e6, AIM)
            say(f"      {samples} samples, {ours:.1f} s of ours, start and all")
            database.process.stop()
