"""synop-agent --send cloudwatch: a lone agent, whose child posts to a server that is as strict as the service. What was sampled is
in the agent's frame log, since it publishes beside it, to nobody."""

import collections
import os
import pathlib
import re
import signal
import time

import msgpack
import pytest
from lib.cloudwatch import CloudWatch, Metadata
from lib.cut_relay import Relay
from lib.gpus import Gpus
from lib.programs import listed_groups, run, wait_until
from lib.receivers import away_seconds

KEYS = {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "not/a+secret", "AWS_REGION": "eu-test-1",
        "AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"}
AWAY = away_seconds()
METRIC = "synop_load_uptime_seconds"
NAMES = ["--cloudwatch-names", "synop", "--cloudwatch-allow", METRIC]
LOAD = "".join(f"[group {one['name']}]\nenabled = no\n" for one in listed_groups() if one["name"] != "load")
AT = [one["name"] for group in listed_groups() if group["name"] == "load" for one in group["metrics"]].index("uptime")


def log_of(cluster):
    return cluster.folder / "frames.log"


def start(cluster, watch, *options, config="", env=None, url=None):
    cluster.endpoint = "tcp://127.0.0.1:9"  # the port of discard: nobody is there
    return cluster.start_agent("n1", "--send", "cloudwatch", "--cloudwatch-url", url or watch.url, "--cloudwatch-period", "200ms",
                               "--cloudwatch-resolution", "1", "--frame-log", log_of(cluster), *(options or NAMES),
                               config=LOAD + config, env=KEYS if env is None else env)


def sampled(cluster):
    """{second: {value: how often}}"""
    found = collections.defaultdict(collections.Counter)
    with log_of(cluster).open("rb") as file:
        for frame in msgpack.Unpacker(file, raw=False, strict_map_key=False):
            (_, _, _, _, values, _), = frame[7]
            found[frame[5] // 10**9][values[AT]] += 1
    return found


def sent(watch):
    found = collections.defaultdict(collections.Counter)
    for at, value, count in watch.find(METRIC, instance="n1"):
        found[at][value] += count
    return found


def all_sent(cluster, watch):
    """What was sampled by now arrives: each value, as often as it was, or oftener."""
    wait_until(lambda: len(sampled(cluster)) > 2, "samples of 3 s")
    want = sampled(cluster)
    wait_until(lambda: all(not want[at] - sent(watch)[at] for at in want), f"{len(want)} s of values")
    return want


def children(agent):
    return [int(pid) for pid in pathlib.Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()]


def child(agent):
    """That runs: before, it bears the agent's own command line."""
    pid, = wait_until(lambda: children(agent), "a child")
    wait_until(lambda: b"send-child" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes(), "send-child")
    return pid


def logged(agent, *words):
    wait_until(lambda: all(word in agent.log() for word in words), f"{words} in the log")


def frames(cluster):
    return sum(sum(one.values()) for one in sampled(cluster).values())


def test_each_value_is_sent_once(cluster):
    """Also those of the last moment, which are posted when the agent ends; libcurl is in the child alone, which ends too."""
    with CloudWatch() as watch:
        agent = start(cluster, watch)
        wait_until(lambda: len(sent(watch)) > 3, "samples")
        pid = child(agent)
        assert "libcurl" in pathlib.Path(f"/proc/{pid}/maps").read_text()
        assert "libcurl" not in pathlib.Path(f"/proc/{agent.pid}/maps").read_text()
        wait_until(lambda: sampled(cluster) != sent(watch), "a value that was not posted yet")
        agent.signal(signal.SIGTERM)
        assert agent.wait() == 0
        assert not pathlib.Path(f"/proc/{pid}").exists()
        assert sent(watch) == sampled(cluster)
        assert any(count > 1 or len(one.values) > 1 for one in watch.taken for _, count in one.values)
        assert {(one.namespace, one.unit, one.resolution, one.dimensions) for one in watch.taken} == {("synop", "Seconds", 1, (("instance", "n1"),))}
        assert "send cloudwatch" not in agent.log()


def test_a_child_that_is_killed_loses_nothing(cluster):
    """What was not taken goes once more, to the next one; one that is stopped holds nothing up."""
    state = {"answer": (503, "ServiceUnavailable", "not now")}
    with CloudWatch(answer=lambda data: state["answer"]) as watch:
        agent = start(cluster, watch)
        logged(agent, "ServiceUnavailable: not now", "it is tried again")
        first = child(agent)
        os.kill(first, signal.SIGKILL)
        logged(agent, "the child was ended by signal 9; another one starts in 0.5 s")
        wait_until(lambda: children(agent) not in ([], [first]), "another child")
        os.kill(child(agent), signal.SIGSTOP)
        count = frames(cluster)
        wait_until(lambda: frames(cluster) > count + 10, "samples beside a child that hangs")
        state["answer"] = None
        os.kill(child(agent), signal.SIGCONT)
        all_sent(cluster, watch)
        assert "dropped" not in agent.log()


@pytest.mark.parametrize("answer, words", [
    ((400, "Throttling", "Rate exceeded"), ["Throttling: fewer requests", "(Rate exceeded)"]),
    ((429, "TooManyRequests", "slowly", {"Retry-After": "1"}), ["TooManyRequests: slowly"]),
    ((403, "AccessDenied", "no"), ["the keys need the permission cloudwatch:PutMetricData (no)"]),
])
def test_answers_that_are_tried_again(cluster, answer, words):
    state = {"answer": answer}
    with CloudWatch(answer=lambda data: state["answer"]) as watch:
        agent = start(cluster, watch)
        logged(agent, *words)
        state["answer"] = None
        logged(agent, "it goes on, after")
        all_sent(cluster, watch)
        assert agent.log().count("it is tried again") == 1


def test_a_service_that_is_away(cluster):
    """For AWAY seconds (SEND_AWAY_SECONDS): connections end, and none is taken. What was posted right then may be there twice."""
    with CloudWatch() as watch:
        relay = Relay(watch.url.rstrip("/"))
        agent = start(cluster, watch, url=f"http://127.0.0.1:{relay.port}/")
        wait_until(lambda: sent(watch), "samples")
        relay.cut()
        logged(agent, "it is tried again")
        time.sleep(AWAY)
        relay.restore()
        logged(agent, "it goes on, after")
        want = all_sent(cluster, watch)
        more = sum((sent(watch)[at] - want[at]).total() for at in sorted(want)[:-1])
        print(f"cloudwatch of an agent: away for {AWAY:g} s, {sum(one.total() for one in want.values())} values, {more} twice")
        relay.close()


def test_wrong_keys_a_wrong_clock_and_a_role(cluster):
    with Metadata() as beside, CloudWatch() as watch:
        agent = start(cluster, watch, env=KEYS | {"AWS_SECRET_ACCESS_KEY": "another"})
        logged(agent, "SignatureDoesNotMatch: the secret key is not that of the access key")
        agent.stop()
        log_of(cluster).unlink()
        watch.skew = -3600
        agent = start(cluster, watch)
        logged(agent, "this host's clock is 3", "s ahead of AWS', and is to be set right")
        watch.skew = 0
        all_sent(cluster, watch)
        agent.stop()
        watch.keys = beside.made
        count = len(watch.taken)
        agent = start(cluster, watch, env={"AWS_EC2_METADATA_SERVICE_ENDPOINT": beside.url, "HOME": "/nonexistent"})
        wait_until(lambda: len(watch.taken) > count, "samples by the instance's role")
        assert "secret" not in agent.log().replace("the secret key is", "")


def test_what_is_refused_is_dropped_alone(cluster):
    with CloudWatch(answer=lambda data: (400, "InvalidParameterValue", "no such load") if any("load_5" in one.name for one in data) else None) as watch:
        agent = start(cluster, watch, "--cloudwatch-names", "synop", "--cloudwatch-allow", f"{METRIC},synop_load_load_5")
        logged(agent, "CloudWatch refuses a metric: InvalidParameterValue: no such load; ")
        all_sent(cluster, watch)
        assert len(re.findall(r"\d+ samples are dropped", agent.log())) == 1


def test_reload(cluster):
    """Another child goes on with the new options, and what the first had gathered is not lost."""
    with CloudWatch() as watch:
        agent = start(cluster, watch, config="[cloudwatch]\nnames = synop\nallow = synop_load_uptime*\nnamespace = before\n",
                      *["--cloudwatch-labels", "site=s1"])
        wait_until(lambda: sent(watch), "samples")
        pid = child(agent)
        cluster.write("n1.ini", LOAD + "[cloudwatch]\nnames = synop\nallow = synop_load_uptime*\nnamespace = after\n")
        agent.signal(signal.SIGHUP)
        wait_until(lambda: any(one.namespace == "after" for one in watch.taken), "the new namespace")
        assert child(agent) != pid
        all_sent(cluster, watch)
        assert all(("site", "s1") in one.dimensions for one in watch.taken)
        assert "the child" not in agent.log()


def test_gpumon(cluster):
    """The default: its namespace, dimensions and metrics; without an aggregator nothing goes to standard output."""
    gpus = Gpus(cluster.folder, "gpus 2\n")
    with CloudWatch() as watch:
        agent = cluster.start("alone", "agent", "--config", cluster.empty, "--send", "cloudwatch", "--cloudwatch-url", watch.url,
                              "--cloudwatch-period", "1s", "--node", "n1", *gpus.options, env=KEYS | gpus.environment)
        wait_until(lambda: watch.find("GPU Usage", GPUNumber="1"), "samples")
        assert {(one.namespace, one.name, one.unit) for one in watch.taken} == {
            ("DeepLearningTrain", "GPU Usage", "Percent"), ("DeepLearningTrain", "Memory Usage", "Percent"),
            ("DeepLearningTrain", "Power Usage (Watts)", "None"), ("DeepLearningTrain", "Temperature (C)", "None")}
        agent.stop()
        assert not agent.lines()
    text = cluster.succeed("agent", "--config", cluster.empty, "--send", "cloudwatch", "--dry-run", "--price", "0.3", "--period", "200ms",
                           *gpus.options, env=gpus.environment)
    rows = [line.rsplit(None, 2) for line in text.splitlines()]
    assert rows[1] == ["DeepLearningTrain/GPU Usage", "2", "0.60"] and rows[-1] == ["all", "8", "2.40"], text


@pytest.mark.parametrize("options, words", [
    (["--send", "nowhere", "--dry-run"], "--dry-run goes with --send"),
    (["--send", "cloudwatch", "--cloudwatch-names", "synop"], "allow: must say which of synop's own names are sent"),
    (["--send", "cloudwatch", "--cloudwatch-names", "nosuch"], "nosuch"),
    (["--send", "cloudwatch", "--cloudwatch-url", "ftp://x"], "must begin with http:// or https://"),
    (["--send", "cloudwatch", "--dry-run", "--price", "x"], "must be a number, as 0.30"),
    (["--send", "cloudwatch", "--dry-run", "--once"], "--dry-run and --once: give one of them"),
    (["--send", "kafka"], "send"),
])
def test_options_that_are_wrong(cluster, options, words):
    done = run("agent", "--config", cluster.empty, *options)
    assert done.returncode == 2 and words in done.stderr, done.stderr
