"""[send NAME] type = cloudwatch: to a server that is as strict as the service, and makes each signature anew."""

import collections
import contextlib
import re
import signal
import socket
import threading
import time

import pytest
from lib.cloudwatch import CloudWatch, Metadata
from lib.gpus import Gpus
from lib.programs import parse_line, run, wait_until
from lib.sigv4 import Signed
from test_send import history, sender

KEYS = {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "not/a+secret", "AWS_REGION": "eu-test-1",
        "AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"}
ALLOW = "names = synop\nallow = synop_load_load_*\ngroups = load,cpu_usage,memory_info"


def section(watch, name="cw", more=ALLOW, period="200ms", resolution=1):
    return (f"[history]\nchunk_time = 500ms\n[send {name}]\ntype = cloudwatch\nurl = {watch.url}\nperiod = {period}\n"
            f"resolution = {resolution}\nretry = 500ms\n{more}\n")


def start(cluster, watch, env=None, **more):
    cluster.start_aggregator(config=section(watch, **more), env=KEYS if env is None else env)


def load(watch, node="n1"):
    """{second: {value: how often}}"""
    found = collections.defaultdict(collections.Counter)
    for at, value, count in watch.find("synop_load_load_1", instance=node):
        found[at][value] += count
    return found


def wanted(cluster, node="n1"):
    found = collections.defaultdict(collections.Counter)
    for ms, values in history(cluster, "load", "load_1", node).items():
        found[ms // 1000][next(iter(values))] += 1
    return found


def check_whole(cluster, watch, node="n1"):
    """Each value of the history is there, as often as it was, but for those of the last second. Returns how many came twice."""
    want = wanted(cluster, node)
    whole = sorted(want)[:-1]
    wait_until(lambda: all(not want[at] - load(watch, node)[at] for at in whole), f"{len(whole)} s of {node}")
    return sum((load(watch, node)[at] - want[at]).total() for at in whole)


def failing(cluster, *words, name="cw"):
    return wait_until(lambda: all(word in sender(cluster, name)["error"] for word in words), f"an error with {words}")


def test_the_checker_knows_the_published_example():
    """Of AWS' own test suite: get-vanilla."""
    headers = {"host": "example.amazonaws.com", "x-amz-date": "20150830T123600Z"}
    text = ("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
    secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    assert Signed(text).is_by(secret, "GET", "/", "", headers, b"")
    assert not Signed(text).is_by(secret, "GET", "/", "", headers, b"x")


def test_values_are_folded_and_none_is_lost(cluster):
    """Each value of the history is there, as often as it was: kill -9 and a receiver that answers 500 between."""
    state = {"answer": None}
    with CloudWatch(answer=lambda data: state["answer"]) as watch:
        start(cluster, watch)
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: len(load(watch, "n2")) > 3, "samples")
        state["answer"] = 500, "InternalFailure", "not now"
        failing(cluster, "InternalFailure: not now")
        cluster.aggregator.kill()
        start(cluster, watch)
        failing(cluster, "InternalFailure: not now")
        state["answer"] = None
        for node in ("n1", "n2"):
            check_whole(cluster, watch, node)
        assert any(len(one.values) > 1 or one.values[0][1] > 1 for one in watch.taken)
        assert {one.name for one in watch.taken} == {"synop_load_load_1", "synop_load_load_5", "synop_load_load_15"}
        assert {(one.namespace, one.resolution) for one in watch.taken} == {("synop", 1)}
        assert sender(cluster, "cw")["dropped"] == 0


def test_gpumon(cluster):
    """Its namespace, its dimensions, its four metrics and their units; two namespaces are two requests."""
    gpus = Gpus(cluster.folder, "gpus 2\n")
    with CloudWatch() as watch:
        start(cluster, watch, more="names = gpumon, synop\nallow = synop_load_load_1\nnamespace = Ours/Own")
        cluster.start_agent("n1", *gpus.options, env=gpus.environment)
        cluster.wait_node("n1")
        wait_until(lambda: watch.find("GPU Usage", GPUNumber="1") and watch.find("synop_load_load_1"), "both")
        ours = [one for one in watch.taken if one.namespace == "DeepLearningTrain"]
        assert {(one.name, one.unit) for one in ours} == {("GPU Usage", "Percent"), ("Memory Usage", "Percent"),
                                                          ("Power Usage (Watts)", "None"), ("Temperature (C)", "None")}
        assert {dict(one.dimensions)["GPUNumber"] for one in ours} == {"0", "1"}
        names = {name for one in ours for name, _ in one.dimensions}
        assert names <= {"GPUNumber", "InstanceId", "InstanceType", "ImageId", "instance"} and ("InstanceId" in names) != ("instance" in names)
        assert {one.namespace for one in watch.taken} == {"DeepLearningTrain", "Ours/Own"}


def test_minutes_are_gathered(cluster):
    """With resolution 60 a minute's values come together: not a request for each flush of the history."""
    with CloudWatch() as watch:
        start(cluster, watch, resolution=60)
        cluster.start_nodes("n1")
        began = time.time()
        wait_until(lambda: watch.requests, "a request")
        time.sleep(3)
        minutes = int(time.time()) // 60 - int(began) // 60
        assert len(watch.requests) <= 2 + minutes
        assert all(one.time % 60 == 0 and one.resolution == 60 for one in watch.taken)


@pytest.mark.parametrize("answer, words", [
    ((400, "Throttling", "Rate exceeded"), ["Throttling: fewer requests", "(Rate exceeded)"]),
    ((429, "TooManyRequests", "slowly", {"Retry-After": "1"}), ["TooManyRequests: slowly"]),
    ((403, "AccessDenied", "no"), ["the keys need the permission cloudwatch:PutMetricData (no)"]),
])
def test_answers_that_are_tried_again(cluster, answer, words):
    state = {"answer": answer}
    with CloudWatch(answer=lambda data: state["answer"]) as watch:
        start(cluster, watch)
        cluster.start_nodes("n1")
        failing(cluster, *words)
        state["answer"] = None
        check_whole(cluster, watch)
        assert sender(cluster, "cw")["dropped"] == 0
        assert cluster.aggregator.log().count("it is tried again") == 1


def test_wrong_keys_and_a_wrong_clock(cluster):
    with CloudWatch() as watch:
        start(cluster, watch, env=KEYS | {"AWS_ACCESS_KEY_ID": "AKIDNOBODY"})
        cluster.start_nodes("n1")
        failing(cluster, "InvalidClientTokenId: AWS does not know the access key")
        cluster.aggregator.stop()
        start(cluster, watch, env=KEYS | {"AWS_SECRET_ACCESS_KEY": "another"})
        failing(cluster, "SignatureDoesNotMatch: the secret key is not that of the access key")
        watch.skew = -3600
        failing(cluster, "SignatureDoesNotMatch: this host's clock is 3", "s ahead of AWS', and is to be set right (Signature expired")
        watch.skew = 0
        cluster.aggregator.stop()
        start(cluster, watch)
        wait_until(lambda: load(watch), "samples")
        assert sender(cluster, "cw")["dropped"] == 0
        assert "not/a+secret" not in "".join(program.log() for program in cluster.programs)


def test_keys_of_a_role_are_renewed(cluster):
    """IMDSv2: the region and the keys, anew before they end, and when AWS says that they have ended."""
    env = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "", "HOME": "/nonexistent"}
    with Metadata(life=200) as beside, CloudWatch() as watch:  # less than 5 minutes: anew for each request
        env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = beside.url
        watch.keys = beside.made
        start(cluster, watch, env=env)
        cluster.start_nodes("n1")
        wait_until(lambda: load(watch), "samples")
        assert beside.asked.count("/latest/meta-data/placement/region") == 1

        def used():
            """The keys of requests that were taken, in order."""
            return [headers["Authorization"].split("/")[0] for _, headers, _, result in list(watch.requests) if result == 200]

        wait_until(lambda: len(set(used())) >= 3, "requests with three keys")
        beside.life = 3600
        wait_until(lambda: used()[-1] == used()[-2], "keys that are kept")
        count = len(beside.made)
        for name, (secret, _) in list(beside.made.items()):
            beside.made[name] = secret, "another"
        wait_until(lambda: any(result == "ExpiredToken" for *_, result in watch.requests), "an answer that they have ended")
        wait_until(lambda: len(beside.made) > count and sender(cluster, "cw")["error"] == "", "it goes on")
        assert all("X-Amz-Security-Token" in headers for _, headers, *_ in watch.requests)


def test_keys_of_a_container_and_of_a_file(cluster):
    shared = cluster.write("credentials", "[default]\naws_access_key_id = AKIDWRONG\naws_secret_access_key = x\n\n"
                           "[ours]\naws_access_key_id = AKIDTEST\naws_secret_access_key = not/a+secret\n")
    with Metadata(container_token="Basic abc") as beside, CloudWatch() as watch:
        watch.keys |= {"ASIAROLE0": ("secret/0", "session+token/0==")}
        token = cluster.write("token", "Basic abc\n")
        start(cluster, watch, env={"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{beside.url}/container", "AWS_DEFAULT_REGION": "eu-test-1",
                                   "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token), "HOME": "/nonexistent"})
        cluster.start_nodes("n1")
        wait_until(lambda: load(watch), "samples by the container's role")
        assert beside.asked == ["/container"]
        cluster.aggregator.stop()
        count = len(watch.taken)
        start(cluster, watch, more=f"{ALLOW}\nprofile = ours\ncredentials_file = {shared}\nregion = eu-test-1", env={})
        wait_until(lambda: len(watch.taken) > count, "samples by the file's keys")
        shared.write_text("[other]\n")
        failing(cluster, "credentials has no profile ours")


def test_none_of_them(cluster):
    with CloudWatch() as watch:
        start(cluster, watch, env={"AWS_REGION": "eu-test-1", "AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"})
        cluster.start_nodes("n1")
        failing(cluster, "there are no keys for AWS", "AWS_EC2_METADATA_DISABLED says that it is not to be asked")
        assert not watch.requests


def test_what_is_refused_is_dropped_alone(cluster):
    """One metric of one node, which the service does not take."""
    def answer(data):
        bad = any(one.name == "synop_memory_info_used_bytes" and ("instance", "n2") in one.dimensions for one in data)
        return (400, "InvalidParameterValue", "used is not taken") if bad else None

    with CloudWatch(answer=answer) as watch:
        start(cluster, watch, more="names = synop\nallow = *\ngroups = memory_info,load")
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: sender(cluster, "cw")["dropped"] > 3, "samples that are dropped")
        check_whole(cluster, watch)
        refused = [data for *_, data, result in watch.requests if result == "InvalidParameterValue"]
        assert any(len(data) == 1 for data in refused)
        log = cluster.aggregator.log()
        assert len(re.findall(r"CloudWatch refuses a metric: InvalidParameterValue: used is not taken; \d+ samples are dropped", log)) == 1


@pytest.mark.parametrize("bad, words", [
    ("names = synop", "allow: must say which of synop's own names are sent"),
    ("namespace = AWS/EC2", "namespace: must be at most 255 characters, and not begin with AWS/"),
    ("resolution = 5", "resolution"),
    ("url = ftp://x", "url: must begin with http:// or https:// or tcp:// or udp://"),
    ("url = tcp://h:1", "format: must be emf, for a url that is no http"),
    ("format = emf", "url: must be given, tcp://127.0.0.1:25888"),
    ("bearer_file = /x", "bearer_file"),
    ("folder = /x", "format: must be emf, for a folder"),
    ("format = emf\nfolder = /x\nurl = tcp://h:1", "folder: goes with no url"),
])
def test_options_that_are_wrong(cluster, bad, words):
    done = cluster.start("aggregator", "aggregator", "-c", cluster.write("a.ini", f"[send x]\ntype = cloudwatch\n{bad}\n"), "--history",
                         cluster.history)
    assert done.wait() == 2 and words in done.log(), done.log()


def test_a_set_for_cloudwatch_is_none_for_prometheus(cluster):
    done = cluster.start("aggregator", "aggregator", "-c", cluster.write("a.ini", "[send x]\nurl = http://h/\nnames = gpumon\n"),
                         "--history", cluster.history)
    assert done.wait() == 2 and "is no name for Prometheus" in done.log(), done.log()


def values_of(lines, name, node):
    """{second: {value: how often}}, of lines in the embedded metric format."""
    found = collections.defaultdict(collections.Counter)
    for line in list(lines):
        if line.get("instance") == node and name in line:
            found[line["_aws"]["Timestamp"] // 1000].update(line[name])
    return found


class Agent:
    """CloudWatch's agent: lines over TCP."""

    def __init__(self, port=0, lines=None):
        self.lines, self.stop = [] if lines is None else lines, threading.Event()
        self.server = socket.create_server(("127.0.0.1", port))
        self.server.settimeout(0.1)
        self.port = self.server.getsockname()[1]
        self.url = f"tcp://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stop.is_set():
            with contextlib.suppress(TimeoutError):
                with self.server.accept()[0] as one:
                    one.settimeout(0.1)
                    self.read(one)

    def read(self, one):
        left = b""
        while not self.stop.is_set():
            with contextlib.suppress(TimeoutError):
                if not (data := one.recv(65536)):
                    return
                *whole, left = (left + data).split(b"\n")
                self.lines += [parse_line(line) for line in whole]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop.set()
        self.thread.join()
        self.server.close()

    def values(self, name, node):
        return values_of(self.lines, name, node)


def test_lines_for_the_agent(cluster):
    """All values, in CloudWatch's embedded metric format; also after the agent was away."""
    with Agent() as agent:
        cluster.start_aggregator(config=section(agent, more=f"{ALLOW}\nformat = emf"))
        cluster.start_nodes("n1")
        wait_until(lambda: len(agent.values("synop_load_load_1", "n1")) > 2, "lines")
    failing(cluster, "127.0.0.1")
    with Agent(agent.port, agent.lines) as agent:
        want = wanted(cluster)
        wait_until(lambda: all(not want[at] - agent.values("synop_load_load_1", "n1")[at] for at in sorted(want)[:-1]), "all values")
        about, = agent.lines[-1]["_aws"]["CloudWatchMetrics"]
        assert about["Namespace"] == "synop" and about["Dimensions"] == [["instance"]]
        assert {one["Name"] for one in about["Metrics"]} == {"synop_load_load_1", "synop_load_load_5", "synop_load_load_15"}
        assert sender(cluster, "cw")["dropped"] == 0


def test_lines_in_files(cluster):
    """All values, in whole lines of plain text, in files that are begun anew by size; also after kill -9."""
    folder = cluster.folder / "emf"
    folder.mkdir()
    config = (f"[history]\nchunk_time = 500ms\n[send emf]\ntype = cloudwatch\nformat = emf\nfolder = {folder}\nsize = 4k\nperiod = 200ms\n"
              f"resolution = 1\n{ALLOW}\n")

    def lines():
        text = "".join(path.read_text() for path in sorted(folder.glob("emf-*.jsonl")))
        return [parse_line(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    cluster.start_aggregator(config=config)
    cluster.start_nodes("n1")
    wait_until(lambda: len(list(folder.iterdir())) > 1, "two files")
    cluster.aggregator.kill()
    cluster.start_aggregator(config=config)
    want = wanted(cluster)
    wait_until(lambda: all(not want[at] - values_of(lines(), "synop_load_load_1", "n1")[at] for at in sorted(want)[:-1]), "all values")
    assert sender(cluster, "emf")["url"] == str(folder) and sender(cluster, "emf")["dropped"] == 0
    cluster.aggregator.stop()
    assert all(path.read_text().endswith("\n") for path in folder.iterdir())


def test_dry_run(cluster):
    """As many series as were sent, and what they cost."""
    with CloudWatch() as watch:
        start(cluster, watch)
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: len(load(watch, "n1")) > 2 and len(load(watch, "n2")) > 2, "samples")
        config = cluster.write("two.ini", section(watch) + "[send lines]\ntype = file\nfolder = /nonexistent\n"
                               "[send every]\ntype = cloudwatch\nnames = synop\nallow = *\nnodes = n1\nperiod = 1h\n")
        text = cluster.succeed("aggregator", "send", "--dry-run", "--price", "0.3", "--config", config, "--history", cluster.history,
                               "--socket", cluster.socket)
        rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()}
        count = len({(one.name, one.dimensions) for one in watch.taken})
        assert count == 6 and rows["cw"] == ["cloudwatch", "2", str(count), "1.80"]
        assert rows["lines"] == ["file", "0", "0", "0.00"]
        assert rows["every"][:2] == ["cloudwatch", "1"] and int(rows["every"][2]) > 300
        assert rows["all"][0] == str(count + int(rows["every"][2]))
        assert [one["sender"] for one in cluster.status()["senders"]] == ["cw"]
    for options, words in ((["--price", "x", "--dry-run"], "--price: must be a number, as 0.30"), ([], "send --dry-run")):
        done = run("aggregator", "send", *options, "--config", cluster.empty)
        assert done.returncode == 2 and words in done.stderr, done.stderr


def test_reload(cluster):
    with CloudWatch() as watch:
        start(cluster, watch)
        cluster.start_nodes("n1")
        wait_until(lambda: load(watch), "samples")
        cluster.write("aggregator.ini", section(watch, more=ALLOW.replace("load_*", "load_5") + "\nnamespace = again"))
        cluster.aggregator.signal(signal.SIGHUP)
        wait_until(lambda: any(one.namespace == "again" for one in watch.taken), "the new namespace")
        assert {one.name for one in watch.taken if one.namespace == "again"} == {"synop_load_load_5"}
