"""Who takes all that he can of what there is for jobs: a user on a node, and a node at the aggregator. The others lose nothing."""

import json
import os
import shutil
import signal
import subprocess

import numpy
import pytest
from lib import protocol
from lib.hostile import MIB, Siege, evil
from lib.programs import BUILD, environment, wait_until

FLOOD, PLACES = 1100, 1024
SLEEP = "sleep 120 </dev/null >/dev/null 2>&1"
# In a namespace of process ids of its own: agents of other tests would see these jobs too.
NODE = f"""
setpriv --reuid 65534 --clear-groups sh -c 'i=0; while [ $i -lt {FLOOD} ]; do SYNOP_JOB_ID=flood-$i {SLEEP} & i=$((i + 1)); done
touch flooded; wait' &
setpriv --reuid 12346 --clear-groups env SYNOP_JOB_ID=claimed {SLEEP} &
while [ ! -e flooded ]; do sleep 0.05; done
{BUILD}/agent --config empty.ini --period 200ms >lines 2>log &
while [ ! -e go ]; do sleep 0.05; done
setpriv --reuid 12345 --clear-groups env SYNOP_JOB_ID=victim {SLEEP} &
setpriv --reuid 12345 --clear-groups env SYNOP_JOB_ID=claimed {SLEEP} &
wait
"""


@pytest.fixture(name="flooded")
def flooded_node(tmp_path):
    """The folder in which the agent of a node writes on which a user has taken all places for jobs."""
    if os.getuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can be several users")
    (tmp_path / "empty.ini").touch()
    tmp_path.chmod(0o777)
    node = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", NODE], cwd=tmp_path,
                            env=environment(), stdin=subprocess.DEVNULL, start_new_session=True)
    yield tmp_path
    node.send_signal(signal.SIGKILL)
    node.wait()


def rows(folder, group):
    """{job: its object} of the last whole line."""
    lines = (folder / "lines").read_text().splitlines(keepends=True) if (folder / "lines").exists() else []
    last = json.loads(next((line for line in reversed(lines) if line.endswith("\n")), "{}"))
    return {job["job_id"]: job["report"].get(group) for job in last.get("report", {}).get("job_data", [])}


def test_user_who_fills_all_places(flooded):
    """Another user's job is seen nevertheless, and a claim of its id is a row of its own."""
    wait_until(lambda: len(rows(flooded, "job_processes")) >= PLACES, "all places are taken")
    (flooded / "go").touch()
    wait_until(lambda: {"victim", "claimed", "claimed@12345"} <= set(rows(flooded, "job_processes")), "the others' jobs")
    assert len(rows(flooded, "job_processes")) == PLACES
    assert f"all {PLACES} places for jobs are taken" in (flooded / "log").read_text()
    assert "by user 65534" in (flooded / "log").read_text()


JOB = {"section": "job_data", "row": "job", "rows_name": "jobs", "fold_name": "total"}
JOBS = protocol.Group("job_cpu", **JOB, metrics=[protocol.Metric("user_time", protocol.COUNTER, per=10**9)])


def colliding(count):
    """Ids whose FNV-1a ends on 14 zeros, folded as a table once did that hashed with no key."""
    prime = numpy.uint64(0x100000001b3)
    letters = numpy.arange(ord("A"), ord("z") + 1, dtype=numpy.uint64)
    letters = letters[(letters <= ord("Z")) | (letters >= ord("a"))]
    found, number = [], 0
    while len(found) < count:
        stem = f"{number:x}-"
        number += 1
        total = 0xcbf29ce484222325
        for byte in stem.encode():
            total = ((total ^ byte) * 0x100000001b3) % 2**64
        ends = ((((numpy.uint64(total) ^ letters) * prime)[:, None] ^ letters[None, :]) * prime).astype(numpy.uint64)
        for one, two in numpy.argwhere(((ends ^ ends >> numpy.uint64(32)) & numpy.uint64(0x3fff)) == 0):
            found.append(stem + chr(int(letters[one])) + chr(int(letters[two])))
    return found[:count]


def test_ids_that_collide(cluster):
    """2,000 jobs in a frame, others in each, whose ids were all one chain of a hash table."""
    ids = colliding(12000)
    with Siege(cluster, growth=64 * MIB) as siege, evil(cluster, [protocol.Group("plain", metrics=[
            protocol.Metric("level", protocol.GAUGE, flags=protocol.OF_NODE)]), JOBS]) as peer:
        peer.start()
        for number in siege.turns(peer, each=100, seconds=5):
            first = number * 2000 % len(ids)
            jobs = {one: {"user_time": number} for one in ids[first:first + 2000]}
            peer.publish([protocol.table_wire(peer.groups, "job_cpu", 10**8, rows=jobs)])
