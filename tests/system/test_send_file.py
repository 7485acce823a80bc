"""[send NAME] type = file: what its folder has is what the stream printed, whatever happens to the aggregator and the disk."""

import math
import os
import signal
import subprocess
import sys
import time

import pytest
from lib.programs import parse_line, wait_until
from lib.sent_lines import check_lines, printed, sender, taken


def section(folder, more="", name="one"):
    return f"[history]\nchunk_time = 500ms\n[send {name}]\ntype = file\nfolder = {folder}\nretry = 200ms\n{more}\n"


def files(folder):
    return sorted(path for path in folder.iterdir() if path.name.startswith("one-"))


def lines_of(path, strict=True):
    data = path.read_bytes()
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        done = subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=False)
        assert done.returncode == 0 or not strict, done.stderr
        data = done.stdout
    assert not strict or not data or data.endswith(b"\n")
    return data[:data.rfind(b"\n") + 1].splitlines()


def read(folder, ended=False):
    """All lines. Every file is whole, but for the last one while it is written."""
    paths = files(folder)
    return [line for path in paths for line in lines_of(path, ended or path != paths[-1])]


def check_end(cluster, folder, **more):
    """Nothing is missing, and every file is whole, also once the aggregator has ended."""
    check_lines(cluster, lambda: read(folder), **more)
    assert cluster.aggregator.stop() == 0
    read(folder, ended=True)


@pytest.fixture
def folder(cluster):
    made = cluster.folder / "lines"
    made.mkdir()
    return made


@pytest.mark.parametrize("zstd", ["yes", "no"])
def test_what_is_in_files_is_what_was_printed(cluster, folder, zstd):
    """With files that are begun anew by size, and of those that are kept no more than so many."""
    size = 16384 if zstd == "yes" else 131072
    cluster.start_aggregator(config=section(folder, f"zstd = {zstd}\nsize = {size}"))
    cluster.start_nodes("n1", "n2")
    wait_until(lambda: len(files(folder)) >= 3, "three files")
    assert check_lines(cluster, lambda: read(folder)) == 0
    assert all(path.stat().st_size >= size for path in files(folder)[:-1])
    assert {path.suffix for path in files(folder)} == {".zst" if zstd == "yes" else ".jsonl"}
    assert sender(cluster)["url"] == str(folder) and sender(cluster)["type"] == "file"
    cluster.write("aggregator.ini", section(folder, f"zstd = {zstd}\nage = 1s\nkeep = 2"))
    cluster.aggregator.signal(signal.SIGHUP)
    before = files(folder)[-1]
    wait_until(lambda: files(folder)[0] > before and len(files(folder)) == 2, "two files, of later times")


def test_groups_nodes_and_a_period(cluster, folder):
    cluster.start_aggregator(config=section(folder, "zstd = no\ngroups = load\nnodes = n2\nperiod = 1s"))
    cluster.start_nodes("n1", "n2")
    wait_until(lambda: len(read(folder)) >= 4, "lines")
    lines = [line.decode() for line in read(folder)]
    assert all('"node":"n2"' in line and '"report":{"system_data":{"load":{' in line for line in lines)
    assert len(lines) < len(cluster.aggregator.lines(type="node", node="n2")) / 2


def test_a_period_is_of_each_group(cluster, folder):
    """A frame is sent for one of its groups that is due, and without another that is not."""
    cluster.start_aggregator(config=section(folder, "zstd = no\ngroups = load, memory_info\nperiod = 400ms"))
    cluster.start_nodes("n1", config="[group load]\nperiod = 600ms\n")
    wait_until(lambda: len(read(folder)) >= 12, "lines")
    both = [line["report"]["system_data"].keys() for lines in printed(cluster).values() for line in lines]
    sent = [parse_line(line)["report"]["system_data"].keys() for line in read(folder)]
    assert sum("load" in groups for groups in both) > 3 and all("memory_info" in groups for groups in both)
    assert any(groups == {"load"} for groups in sent) and any("load" not in groups for groups in sent)


@pytest.mark.parametrize("zstd", ["yes", "no"])
def test_kill_and_half_a_line(cluster, folder, zstd):
    """kill -9 of the aggregator, and behind what it wrote the half of a line: the file goes on from what is whole."""
    config = section(folder, f"zstd = {zstd}")
    cluster.start_aggregator(config=config)
    cluster.start_nodes("n1")
    once = set()
    for count in (1, 2):
        wait_until(lambda: len(read(folder)) > 10 * count, "lines")  # pylint: disable=cell-var-from-loop
        once |= taken(cluster, lambda: read(folder))
        cluster.aggregator.kill()
        path, = files(folder)
        data = path.read_bytes()
        path.write_bytes(data + data[:60])
        cluster.start_aggregator(config=config)
        cluster.wait_node("n1")
    check_end(cluster, folder, twice=math.inf, once=once)
    assert len(files(folder)) == 1


def test_a_full_disk_and_a_folder_that_is_gone(cluster, folder):
    """Nothing half is left, the words say what is wrong, and it goes on by itself."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    prefix = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c",
              "import os, subprocess, sys; split = sys.argv.index('--'); subprocess.run(sys.argv[1:split], check=True);"
              "os.execvp(sys.argv[split + 1], sys.argv[split + 1:])", *mount, "--"]
    if os.geteuid() or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted")
    cluster.start_aggregator(config=section(folder, "zstd = no\nsize = 1M"), prefix=prefix)
    cluster.start_nodes("n1")
    wait_until(lambda: sender(cluster)["error"].endswith(": No space left on device"), "a full disk")
    inside = folder.__class__(f"/proc/{cluster.aggregator.pid}/root") / str(folder).lstrip("/")
    assert str(files(inside)[0]).endswith(sender(cluster)["error"].split(":")[0])
    wait_until(lambda: files(inside)[0].read_bytes()[-1:] in (b"", b"\n"), "what was written in part is taken back")
    subprocess.run(["nsenter", f"--mount=/proc/{cluster.aggregator.pid}/ns/mnt", "mount", "-o", "remount,size=64M", str(folder)],
                   check=True)
    assert check_lines(cluster, lambda: read(inside)) == 0
    wait_until(lambda: sender(cluster)["error"] == "", "all is well")
    assert cluster.aggregator.log().count("it is tried again") == 1


def test_a_folder_that_comes(cluster, folder):
    folder.rmdir()
    cluster.start_aggregator(config=section(folder))
    cluster.start_nodes("n1")
    wait_until(lambda: sender(cluster)["error"] == f"{folder}: No such file or directory", "an error")
    folder.mkdir()
    check_lines(cluster, lambda: read(folder))
    moved = files(folder)[0].rename(cluster.folder / "moved")  # as logrotate does
    wait_until(lambda: files(folder), "another file")
    other, = files(folder)
    check_lines(cluster, lambda: lines_of(moved) + read(folder))
    other.unlink()  # as it may, too
    seen = printed(cluster)
    time.sleep(0.5)
    wait_until(lambda: files(folder), "another file")
    wait_until(lambda: len(printed(cluster)) > len(seen) + 10, "more lines")
    check_lines(cluster, lambda: read(folder), since=printed(cluster).keys() - seen.keys() - set(list(printed(cluster))[:len(seen) + 9]))
