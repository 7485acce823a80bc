"""Senders: CPU of ours and of the receiver for each sample, of a stored history of many nodes that is sent at once."""

import sqlite3
import subprocess
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


def send(figures, cluster):
    path = made(cluster)
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
