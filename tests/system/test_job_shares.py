"""A node that takes all that it can of what there is for jobs: the others lose nothing. (Users on a node: test_users.py.)"""

import numpy
from lib import protocol
from lib.hostile import MIB, Siege, evil

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
    with Siege(cluster, growth=64 * MIB, prompt=Siege.healthy) as siege, evil(cluster, [protocol.Group("plain", metrics=[
            protocol.Metric("level", protocol.GAUGE, flags=protocol.OF_NODE)]), JOBS]) as peer:
        peer.start()
        for number in siege.turns(peer, each=100, seconds=3):
            first = number * 2000 % len(ids)
            jobs = {one: {"user_time": number} for one in ids[first:first + 2000]}
            peer.publish([protocol.table_wire(peer.groups, "job_cpu", 10**8, rows=jobs)])
