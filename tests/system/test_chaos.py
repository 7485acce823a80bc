"""Agents and aggregator killed at random, links cut, packets lost: history has every frame that any agent sampled.

CHAOS_SECONDS says for how long (20 s; `make soak`: 300 s), CHAOS_SEED repeats a run. What a run that failed left behind
is in $SYNOP_BUILD/chaos.
"""

import os
import random
import shutil
from collections import Counter

import pytest
from lib import lab
from lib.chaos import MASTER, NODES, Chaos, told
from lib.programs import BUILD, run

SECONDS = float(os.environ.get("CHAOS_SECONDS", 20))
LOST = 0.05  # of all packets


@pytest.fixture
def hosts():
    why = lab.lacking(loss=True)
    if why:
        pytest.skip(f"no chaos: {why}")
    with lab.Hosts((MASTER, *NODES)) as made:
        yield made


def keep(cluster, chaos):
    """All but the secrets."""
    to = BUILD / "chaos"
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(cluster.folder, to, ignore=shutil.ignore_patterns("s", "*.key"))
    (to / "journal").write_text("\n".join(chaos.journal))


def assert_logs_whole(logged):
    """The truth itself: each session is numbered from 1 on."""
    last = {}
    for node, session, sequence in logged:
        assert sequence == last.get((node, session), 0) + 1, told([(node, session, sequence)])
        last[node, session] = sequence


def assert_same(chaos, logged, exported):
    stored = dict(exported)
    twice = [one for one, count in Counter(one for one, _ in exported).items() if count > 1]
    lost = logged.keys() - stored.keys()
    extra = stored.keys() - logged.keys()
    wrong = [one for one in logged.keys() & stored.keys() if logged[one] != stored[one]]
    foreign = extra - chaos.excused(extra, stored)
    assert not lost, f"sampled, and not in the history:\n{told(lost)}"
    assert not twice, f"more than once in the history:\n{told(twice)}"
    assert not wrong, f"not byte for byte as it was sampled:\n{told(wrong)}"
    assert not foreign, f"in the history, and in no log:\n{told(foreign)}"
    return len(extra)


def assert_enough(chaos, logged):
    least = chaos.least()
    killed = {"agent": chaos.kills(start.program for start in chaos.starts), "master": chaos.kills(chaos.aggregators),
              "link": chaos.cuts}
    late = sum(event["count"] for event in chaos.events("replayed"))
    print(f"{len(logged)} frames of {len({one[1] for one in logged})} sessions, {late} of them late; killed: agents "
          f"{killed['agent']} times, the aggregator {killed['master']} times; {chaos.cuts} cuts")
    for kind, count in least.items():
        assert killed[kind] >= count, (kind, killed, least)
    assert late >= SECONDS / 2 and len(logged) >= 2 * SECONDS


def test_chaos(cluster, hosts):
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(1 << 32))
    print(f"CHAOS_SEED={seed} CHAOS_SECONDS={SECONDS:g}")
    chaos = Chaos(cluster, hosts, seed, SECONDS)
    for node in NODES:
        cluster.keys_of(node)
    try:
        chaos.run(LOST)
        chaos.heal()
        chaos.stop()
        logged = chaos.logged()
        assert_logs_whole(logged)
        checked = run("aggregator", "check", cluster.history)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        unlogged = assert_same(chaos, logged, chaos.exported())
        assert not chaos.events("gap", "history_failed"), chaos.events("gap", "history_failed")
        assert_enough(chaos, logged)
        print(f"{unlogged} frames of killed agents were in the ring and not yet in the log")
    except BaseException:
        print("\n".join(chaos.journal))
        keep(cluster, chaos)
        raise
