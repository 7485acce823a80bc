"""[send NAME] type = otlp: to a receiver whose decoder is protoc's."""

import itertools
import time

import pytest
from lib.otlp import PB, Collector
from lib.programs import LIMIT, wait_until
from test_send import history, sender, values


def section(collector, more="", groups="load,cpu_usage,memory_info"):
    return (f"[history]\nchunk_time = 500ms\n[send otel]\ntype = otlp\nurl = {collector.url}\nnames = synop\nperiod = 200ms\n"
            f"groups = {groups}\nretry = 500ms\n{more}\n")


def check_whole(cluster, collector, node):
    want = history(cluster, "load", "load_1", node)
    assert want

    def missing():
        return want.keys() - values(collector.find("synop_load_load_1", node)).keys()

    end = time.monotonic() + LIMIT
    while missing() and time.monotonic() < end:
        time.sleep(0.1)
    assert not missing(), f"{len(missing())} of {len(want)} samples of {node}: {sorted(missing())[:5]}"
    got = values(collector.find("synop_load_load_1", node))
    assert all(got[ms] in want[ms] for ms in want)


def test_what_is_sent_is_what_the_history_has(cluster):
    with Collector() as collector:
        cluster.start_aggregator(config=section(collector, "job = ours\nlabels = cluster=c1, rack=r2"))
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: len(collector.find("synop_load_load_1", "n2")) > 20, "samples")
        for node in ("n1", "n2"):
            check_whole(cluster, collector, node)
        assert collector.twice == 0
        resources = {resource for resource, *_ in collector.taken}
        assert resources == {(("cluster", "c1"), ("host.name", node), ("rack", "r2"), ("service.name", "ours")) for node in ("n1", "n2")}
        assert {name for _, _, more in collector.taken for name, _ in more} == {"cpu", "group", "numa_node"}
        assert len(collector.find("synop_cpu_usage_user_seconds_total", "n1", cpu="0")) > 20
        assert collector.metrics["synop_cpu_usage_user_seconds_total"][:2] == ("sum", "s")
        assert collector.metrics["synop_memory_info_used_bytes"][:2] == ("gauge", "By")
        assert collector.metrics["synop_load_load_1"].description
        *_, status = collector.requests[0]
        assert status == 200 and collector.requests[0][1]["Content-Encoding"] == "gzip"
        assert sender(cluster, "otel")["dropped"] == 0


def test_sums_have_one_start(cluster):
    """The node's boot: the same for all points, also after a restart of the aggregator and of the agent."""
    with Collector() as collector:
        cluster.start_aggregator(config=section(collector))
        cluster.start_nodes("n1")

        def starts():
            return {point.start for (_, name, _), times in list(collector.taken.items()) if name.endswith("_total")
                    for point in list(times.values())}

        wait_until(starts, "sums")
        cluster.aggregator.kill()
        cluster.start_aggregator(config=section(collector))
        cluster.agents["n1"].kill()
        count = len(collector.requests)
        cluster.start_nodes("n1")
        wait_until(lambda: len(collector.requests) > count + 3, "more")
        start, = starts()
        assert abs(start / 1e9 - (time.time() - time.clock_gettime(time.CLOCK_MONOTONIC))) < 2


def test_series_that_end(cluster):
    """An agent that is restarted without a group ends its series."""
    with Collector() as collector:
        cluster.start_aggregator(config=section(collector))
        cluster.start_nodes("n1")
        wait_until(lambda: len(collector.find("synop_load_load_1", "n1")) > 5, "samples")
        cluster.agents["n1"].stop()
        cluster.start_nodes("n1", config="[group load]\nenabled = no\n")
        wait_until(lambda: None in collector.find("synop_load_load_1", "n1").values(), "a point without a value")
        assert None not in collector.find("synop_memory_info_used_bytes", "n1").values()


@pytest.mark.parametrize("status", [429, 503, 401])
def test_answers_that_are_tried_again(cluster, status):
    """Retry-After is waited for; nothing is lost, nothing twice."""
    state = {"answer": (status, PB.Status(message="not now"), {"Retry-After": "2"} if status == 429 else {})}
    with Collector(lambda points: state["answer"]) as collector:
        cluster.start_aggregator(config=section(collector))
        cluster.start_nodes("n1")
        wait_until(lambda: f"{status}: not now" in sender(cluster, "otel")["error"], "the answer")
        wait_until(lambda: len(collector.requests) >= 2, "it is tried again")
        if status == 429:
            assert all(after[0] - before[0] >= 2 for before, after in itertools.pairwise(collector.requests))
        state["answer"] = None
        check_whole(cluster, collector, "n1")
        assert collector.twice == 0 and sender(cluster, "otel")["dropped"] == 0


def test_partial_success(cluster):
    """Points that are rejected are counted, in the receiver's words, and not sent again."""
    def answer(points):
        return 200, PB.Response(partial_success=PB.PartialSuccess(rejected_data_points=2, error_message="two are\nbad"))

    with Collector(answer) as collector:
        cluster.start_aggregator(config=section(collector))
        cluster.start_nodes("n1")
        wait_until(lambda: sender(cluster, "otel")["dropped"] >= 4, "points that are dropped")
        seen = sender(cluster, "otel")
        assert seen["dropped"] % 2 == 0 and seen["sent"] > seen["dropped"] and collector.twice == 0
        assert "it rejects 2 of" in cluster.aggregator.log() and "two are bad" in cluster.aggregator.log()


def test_what_is_refused_is_dropped_alone(cluster):
    def answer(points):
        bad = any(dict(resource)["host.name"] == "n2" for resource, *_ in points)
        return (400, PB.Status(code=3, message="no n2")) if bad else None

    with Collector(answer) as collector:
        cluster.start_aggregator(config=section(collector))
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: sender(cluster, "otel")["dropped"] > 10, "samples that are dropped")
        check_whole(cluster, collector, "n1")
        assert {dict(resource)["host.name"] for resource, *_ in collector.taken} == {"n1"}
        assert "400: no n2" in cluster.aggregator.log()
