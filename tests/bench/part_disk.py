"""Bytes a sample on disk for one hour of the same changing data: our history, Prometheus and VictoriaMetrics.

Each metric has one name (the rule's), so that a sample of theirs is a value of ours. The history is what the aggregator
leaves; Prometheus' is its snapshot, a block as its compaction makes them, index and all; VictoriaMetrics' its data and
index when its parts are merged into one."""

import json
import subprocess
import time
import urllib.request

from lib.programs import BUILD, environment, wait_until
from lib.receivers import Prometheus, Victoria
from measure import say
from part_send import sent

NODES, HOUR = 4, 3600
SAMPLES, PAUSE_MS = 64, 1000  # taken of this machine, a second apart
OPTIONS = "names = synop\n"


def size_of(*folders):
    return sum(file.stat().st_size for folder in folders for file in folder.rglob("*") if file.is_file())


def metric(database, name):
    lines = database.get("/metrics").decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


class Snapshots(Prometheus):
    def samples(self):
        return metric(self, "prometheus_tsdb_head_samples_appended_total")

    def arguments(self):
        return [*super().arguments(), "--web.enable-admin-api"]

    def stored(self):
        request = urllib.request.Request(f"http://{self.address}/api/v1/admin/tsdb/snapshot", method="POST")
        with urllib.request.urlopen(request, timeout=300) as answer:
            return size_of(self.folder / "data/snapshots" / json.load(answer)["data"]["name"])


class Merged(Victoria):
    def samples(self):
        return metric(self, 'vm_rows{type="storage/')

    def stored(self):
        self.flush()
        wait_until(lambda: metric(self, 'vm_rows{type="storage/inmemory"') == 0, "samples that are in files", 120)
        self.get("/internal/force_merge")
        time.sleep(1)  # it begins to
        wait_until(lambda: metric(self, "vm_active_merges") == 0, "parts that are merged", 120)
        return size_of(self.folder / "data/data", self.folder / "data/indexdb")


def hour(figures, cluster, what, *more):
    path = cluster.folder / f"{what}.db"
    command = [BUILD / "tests/bench/bench_history", path, "", SAMPLES, PAUSE_MS, NODES, HOUR, *more]
    subprocess.run([*map(str, command)], stdout=subprocess.DEVNULL, env=environment(), check=True, timeout=600)
    ours = path.stat().st_size
    for kind, arguments in ((Snapshots, ("2h",)), (Merged, ())):
        if not kind.path():
            figures.skip(kind.name, "it is not here")
            continue
        database = kind(cluster, *arguments).start()
        samples = sent(cluster, path, database, "1s", OPTIONS)[2]
        theirs = database.stored()
        stored = int(database.samples())
        if stored < samples:
            figures.note(kind.name, f"it has {stored} of {samples} samples")
        figures.add(f"an hour of {NODES} nodes, {what}: the history", ours / samples, "B/val", kind.name, theirs / samples)
        say(f"      {samples} samples: {ours / 1e6:.2f} MB, {theirs / 1e6:.2f} MB")
        database.process.stop()


def disk(figures, cluster):
    hour(figures, cluster, "as they are here")
    hour(figures, cluster, "counters made to move", "move")
