"""Tables of a history: how long each format takes, how large it is, and how much memory; then 10 million rows of one table."""

import contextlib
import gzip
import json
import shutil
import subprocess
import time

from lib.programs import BUILD, environment, memory_bytes
from measure import say

NODES, FRAMES = 100, 300
ROWS = 10_000_000
MIB = 2**20


def size_of(path):
    return sum(one.stat().st_size for one in path.iterdir()) if path.is_dir() else path.stat().st_size


def measured(command):
    """(seconds, MiB of memory at most)"""
    begin = time.monotonic()
    child = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    memory = 0
    while child.poll() is None:
        with contextlib.suppress(OSError, ValueError):  # it has just ended
            memory = max(memory, memory_bytes(child.pid, "VmHWM") / MIB)
        time.sleep(0.02)
    assert child.returncode == 0, command
    return time.monotonic() - begin, memory


def gzipped(folder):
    """Every table, as people keep them: the seconds."""
    begin = time.monotonic()
    for path in folder.glob("*.csv"):
        with open(path, "rb") as table, gzip.open(f"{path}.gz", "wb", compresslevel=6) as packed:
            shutil.copyfileobj(table, packed)
        path.unlink()
    return time.monotonic() - begin


def export(figures, cluster):
    """A history of this machine's samples, as those of 100 nodes."""
    history = cluster.folder / "export.db"
    subprocess.run([str(BUILD / "tests/bench/bench_history"), history, "", "64", "100", str(NODES), str(FRAMES)],
                   stdout=subprocess.DEVNULL, env=environment(), check=True, timeout=600)
    csv = None
    for form in ("csv", "hdf5", "parquet", "arrow"):
        path = cluster.folder / f"export-{form}"
        seconds, memory = measured([BUILD / "aggregator", "export", "--config", cluster.empty, "--history", history, "--from", "-3h",
                                    "--format", form, "-o", path])
        size = size_of(path)
        if form == "csv":
            rows = sum(sum(1 for _ in open(one, "rb")) - 1 for one in path.glob("*.csv"))
            say(f"      {rows:,} rows, {size / MIB:.0f} MiB as plain CSV")
            figures.add("csv.gz: the gzip alone", gzipped(path), "s")
            csv = size = size_of(path)
        figures.add(f"{form}{'.gz' * (form == 'csv')}: size", size / MIB, "MiB", "csv.gz", csv / MIB)
        figures.add(f"{form}: export", seconds, "s")
        figures.add(f"{form}: memory", memory, "MiB")
    for form in ("parquet", "arrow"):
        path = cluster.folder / f"rows.{form}"
        done = subprocess.run([str(BUILD / "tests/unit/test_columnar"), "rows", str(ROWS), form, str(path)], stdout=subprocess.PIPE,
                              env=environment(), check=True, timeout=600)
        said = json.loads(done.stdout)
        figures.add(f"{form}: 10 million rows of 11 columns", said["seconds"], "s")
        figures.add(f"{form}: memory for them", said["rss_mib"], "MiB", aim=("value", 64))
        figures.add(f"{form}: size of them", said["bytes"] / ROWS, "B/row")
        path.unlink()
