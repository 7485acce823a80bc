"""Counting of jobs by perf events, live: software events, which every kernel has, against perf stat on the same load."""

import os

import pytest
from lib import counted
from lib.programs import BUILD


@pytest.fixture(autouse=True)
def perf_is_there():
    why = counted.why_not()
    if why:
        pytest.skip(why)


@pytest.mark.parametrize("in_cgroup", [False, True], ids=["processes", "cgroup"])
def test_job_as_perf_counts_it(in_cgroup):
    """Children, grandchildren and threads that came and went: each as perf has it, within 1 %."""
    ours, theirs = counted.count_job(BUILD, f"counted-{os.getpid()}-{int(in_cgroup)}", in_cgroup, counted.SOFTWARE)
    assert theirs["page_faults"] > 50000 and theirs["context_switches"] > 1500
    for name, expected in theirs.items():
        room = 0.01 * expected + (3 if name == "migrations" else 0)
        assert abs(ours[name] - expected) <= room, (name, ours, theirs)
