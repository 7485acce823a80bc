"""/api/v1/ over HTTP: every address with every parameter, held to docs/openapi.json, to the commands, and to strangers."""

import contextlib
import http.client
import json
import os
import pathlib
import pwd
import signal
import socket
import threading
import time
import urllib.parse

import jsonschema
import pytest
from lib.api import API, DESCRIPTION, HTTP, Stream, ask, check, error_of
from lib.cluster import Cluster
from lib.hostile import MIB
from lib.programs import LIMIT, memory_bytes, parse_line, run, wait_until
from lib.web import get, url_of

JOB = "api-job"
USER = pwd.getpwuid(os.geteuid()).pw_name
# A value that fits, for each parameter; for those of a choice and for numbers and booleans the description has them.
GOOD = {"node": "n*", "group": "load,cpu_*", "type": "event", "user": USER, "scheduler": "synop", "from": "-1h", "to": "now", "at": "-1s",
        "job": JOB, "step": "10s", "metric": "cpu_usage.user", "row": "*", "request": "status"}
# What a parameter needs beside it.
BESIDE = {"user": f"&job={JOB}", "scheduler": f"&job={JOB}", "rate": "&metric=vm.page_faults", "combined": "&metric=load.load_1"}
BAD = ["%ff", "a%0ab", "x" * 1100, "*a" * 5]  # of every text: no UTF-8, a control, too long, too many stars


@pytest.fixture(name="shown", scope="module")
def fixture_shown():
    """A cluster of two with a job on it, and its address: for all tests that leave it as it is."""
    cluster = Cluster()
    try:
        yield cluster, begin(cluster)
        assert not cluster.aggregator.sanitizer_report()
    finally:
        cluster.close()


def begin(cluster):
    cluster.start_aggregator(config=HTTP + "[jobs]\ngrace = 1s\n[history]\nchunk_time = 300ms\n")
    cluster.start_nodes("n1", "n2")
    cluster.start("job", "agent", "run", "--job", JOB, "--", "sleep", "600")
    url = url_of(cluster.aggregator)
    wait_until(lambda: get(url, f"{API}jobs/{JOB}").status == 200, "the job")
    return url


def asked(route, parameters, parameter, value):
    """The path and the words of a request with that value of a parameter, and what is needed beside it."""
    words = f"{parameter['name']}={value if '%' in value else urllib.parse.quote(str(value))}"
    if route == "query":
        words += BESIDE.get(parameter["name"], "")
    for one in parameters:
        if one["required"] and f"{one['name']}=" not in words:
            words += f"&{one['name']}={GOOD[one['name']]}"
    return f"{route}?{words}"


def values_of(parameter):
    """That fit."""
    schema = parameter["schema"]
    if "enum" in schema:
        return schema["enum"]
    if schema["type"] == "integer":
        return [schema["minimum"], schema["maximum"]]
    return [GOOD[parameter["name"]]]


def wrong_values_of(parameter):
    schema, name = parameter["schema"], parameter["name"]
    wrong = list(BAD)
    if "enum" in schema:
        wrong += ["nothing-of-that", "Yes"]
    elif schema["type"] == "integer":
        wrong += ["0", "-1", "1.5", "x", "", str(schema["maximum"] + 1), "9" * 40]
    elif name in ("from", "to", "at"):
        wrong += ["yesterday", "2026-13-01", ""]
    elif name == "step":
        wrong += ["5 furlongs", "0", "-5m", ""]
    else:
        wrong += ["[a"] if parameter["x-expects"].startswith("globs") else [""]
    if not parameter["x-expects"].startswith("globs"):
        wrong.remove("*a" * 5)
    return wrong


# ---- the description ----

def test_description(shown):
    """The file is what the server sends, and every address in it is there, with every parameter, and answers as it says."""
    _, url = shown
    assert ask(url, "openapi.json") == DESCRIPTION, "docs/openapi.json is stale: make docs"
    assert get(url, API.rstrip("/")).text == get(url, API).text
    jsonschema.Draft202012Validator.check_schema({"$defs": DESCRIPTION["components"]["schemas"]})
    assert {one["path"] for one in check(ask(url, ""), "Index")["paths"]} == set(DESCRIPTION["paths"])
    for path, methods in DESCRIPTION["paths"].items():
        assert set(methods) == {"get"}
        content = methods["get"]["responses"]["200"]["content"]
        if "$ref" not in content.get("application/json", {}).get("schema", {}):
            continue  # the stream, and files
        name = content["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
        short = path.removeprefix(API).replace("{id}", JOB)
        parameters = [one for one in methods["get"]["parameters"] if one["in"] == "query"]
        if not any(one["required"] for one in parameters):
            check(ask(url, short), name)
        for parameter in parameters:
            for value in values_of(parameter):
                if value not in ("csv", "table", "lines", "plot", "parquet", "arrow"):
                    check(ask(url, asked(short, parameters, parameter, str(value))), name)


def test_wrong_values(shown):
    """Each parameter with each wrong value: 400, and which one it was. Parameters that do not exist, and paths."""
    _, url = shown
    for path, methods in DESCRIPTION["paths"].items():
        short = path.removeprefix(API).replace("{id}", JOB)
        parameters = [one for one in methods["get"]["parameters"] if one["in"] == "query"]
        for parameter in parameters:
            for value in wrong_values_of(parameter):
                error = error_of(url, asked(short, parameters, parameter, value), 400, parameter["name"])
                assert parameter["name"] in error["message"]
            if not parameter["x-expects"].startswith(("globs", "metrics")):
                path = asked(short, parameters, parameter, str(values_of(parameter)[0]))
                assert "twice" in error_of(url, f"{path}&{path.split('?')[1]}", 400, parameter["name"])["message"]
        assert "no parameter" in error_of(url, f"{short}?nonsense=1", 400, "nonsense")["message"]
    assert "did you mean type?" in error_of(url, "events?tpye=x", 400, "tpye")["message"]
    assert "before to" in error_of(url, "events?from=now&to=-1h", 400, "from")["message"]
    assert f"did you mean {API}events?" in error_of(url, "evnts", 404)["message"]
    for path in ("nothing", "nodes/", "nodes/n1", "jobs/", "../metrics", "jobs%2f", "%ff%00"):
        error_of(url, path, 404)
    assert JOB in error_of(url, "jobs/none", 404)["message"], "it names those that there are"
    error_of(url, "jobs/a%0ab", 400)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        page = get(url, API + "nodes", method=method)
        assert page.status == 405 and page.headers["Allow"] == "GET, HEAD" and check(json.loads(page.text), "Error")
    page = get(url, API + "nodes", Origin="http://elsewhere.example")
    assert page.status == 200 and not any(name.lower().startswith("access-control") for name in page.headers)


# ---- the same as the commands ----

def test_same_as_commands(shown):
    cluster, url = shown
    places = ["--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket]

    def settled(document):
        """Without what moves on from one moment to the next."""
        if isinstance(document, dict):
            return {key: settled(value) for key, value in document.items()
                    if key not in ("time", "uptime", "seq", "last_seen", "clock", "received", "counters", "missing", "session")}
        return [settled(value) for value in document] if isinstance(document, list) else document

    status = ask(url, "status")
    assert settled(status) == settled(cluster.status()) and set(status["counters"]) == set(cluster.status()["counters"])
    nodes = ask(url, "nodes")["nodes"]
    assert settled(nodes) == settled(status["nodes"]) and [set(one) for one in nodes] == [set(one) for one in status["nodes"]]
    assert [one["node"] for one in ask(url, "nodes?node=n2")["nodes"]] == ["n2"]
    assert settled(ask(url, "nodes?facts=no")["nodes"]) == settled([one | {"facts": None} for one in nodes])
    assert ask(url, "nodes?state=down") == {"nodes": []} and len(ask(url, "nodes?state=up&node=n1,n2")["nodes"]) == 2

    listed = json.loads(run("agent", "--list-groups", "--json", "--config", cluster.empty).stdout)["groups"]
    groups = ask(url, "groups")["groups"]
    assert [one["name"] for one in groups] == sorted(one["name"] for one in groups)
    for group in groups:
        own = next(one for one in listed if one["name"] == group["name"])
        assert group["nodes"] == 2 and group["help"] == own["help"] and group["section"] == own["section"]
        metrics = {one["name"]: one for one in own["metrics"]}
        assert {one["name"] for one in group["metrics"]} == set(metrics)
        for metric in group["metrics"]:
            assert all(metrics[metric["name"]][key] == value for key, value in metric.items() if key != "nodes")
    assert [one["name"] for one in ask(url, "groups?group=lo?d,vm")["groups"]] == ["load", "vm"]

    def jobs_agree():
        lines = [parse_line(line) for line in cluster.succeed("aggregator", "jobs", "--json", *places).splitlines()]
        return lines and ask(url, "jobs") == {"jobs": lines, "left_out": 0, "damaged": 0}

    wait_until(jobs_agree, "the same jobs")
    assert JOB in [one["job_id"] for one in ask(url, "jobs?running=yes")["jobs"]]
    assert ask(url, "jobs?user=nobody-*")["jobs"] == []

    query = ["--from", "-10s", "--to", "-2s", "--step", "1s", "load.load_1"]

    def queries_agree():
        said = json.loads(cluster.succeed("aggregator", "query", "--format", "json", *query, *places))
        asked = f"query?metric=load.load_1&from={said['from']}&to={said['to']}&step=1s"
        return (answer := ask(url, asked)) == said and sum(point[4] for one in answer["series"] for point in one["points"]) and said

    said = wait_until(queries_agree, "the same values")
    assert [one["node"] for one in said["series"]] == ["n1", "n2"]
    page = get(url, f"{API}query?metric=load.load_1&from={said['from']}&to={said['to']}&step=1s&format=csv")
    assert page.status == 200 and page.headers["Content-Type"] == "text/csv"
    assert len(page.text.splitlines()) == 1 + sum(len(one["points"]) for one in said["series"])
    assert [one["node"] for one in ask(url, "query?metric=load.load_1&node=n2&top=1")["series"]] == ["n2"]
    assert "load.load_1" in error_of(url, "query?metric=load.load_2", 400, "metric")["message"]

    def events_agree():
        lines = [parse_line(line) for line in cluster.succeed("aggregator", "replay", "--type", "event", *places).splitlines()]
        return ask(url, "events") == {"events": lines, "left_out": 0, "damaged": 0} and lines

    lines = wait_until(events_agree, "the same events")
    ups = [line for line in lines if line["event"] == "node_up"]
    assert ask(url, "events?type=node_up&limit=1") == {"events": ups[-1:], "left_out": len(ups) - 1, "damaged": 0}
    assert ask(url, "events?node=n1&type=node_*")["events"] == [line for line in ups if line["node"] == "n1"]


def test_job_reports(shown):
    """Of a job that has ended, word for word."""
    cluster, url = shown
    job = cluster.start("short", "agent", "run", "--job", "short", "--", "sleep", "600")
    cluster.aggregator.wait_line(type="job", event="started", job_id="short")
    job.stop()
    cluster.aggregator.wait_line(type="job", event="ended", job_id="short")

    def reports_agree():
        said = run("aggregator", "report", "short", "--format", "json", "--config", cluster.empty, "--history", cluster.history,
                   "--socket", cluster.socket)
        page = get(url, f"{API}jobs/short")
        return said.returncode == 0 and page.status == 200 and page.text == said.stdout and json.loads(page.text)

    report = check(wait_until(reports_agree, "the same report"), "JobReport")
    assert report["ended"] and report["nodes"][0]["samples"] > 0
    assert ask(url, "jobs/short?scheduler=synop")["job_id"] == "short"
    error_of(url, "jobs/short?user=nobody-there", 404)


def test_report_files(shown):
    """Each form is a download, and what the command writes."""
    cluster, url = shown
    job = cluster.start("kept", "agent", "run", "--job", "kept", "--", "sleep", "600")
    cluster.aggregator.wait_line(type="job", event="started", job_id="kept")
    job.stop()
    cluster.aggregator.wait_line(type="job", event="ended", job_id="kept")
    places = ["--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket]
    kinds = {"text": ("txt", "text/plain;charset=utf-8"), "json": ("json", "application/json"), "csv": ("csv", "text/csv"),
             "html": ("html", "text/html"), "pdf": ("pdf", "application/pdf")}

    def file_of(form):
        page = get(url, f"{API}jobs/kept/report?format={form}")
        assert page.status == 200 and page.headers["Content-Type"] == kinds[form][1]
        assert page.headers["Content-Disposition"] == f'attachment; filename="job-kept.{kinds[form][0]}"'
        return page.body

    for form in ("text", "json", "csv"):
        wait_until(lambda form=form: file_of(form) == cluster.succeed("aggregator", "report", "kept", "--format", form, *places)
                   .encode(), f"the same {form}")

    def written(form):
        path = cluster.folder / f"kept.{form}"
        path.unlink(missing_ok=True)
        cluster.succeed("aggregator", "report", "kept", f"--{form}", path, *places)
        return path.read_bytes()

    # Both have the time of their making in them.
    wait_until(lambda: written("html") == file_of("html"), "the same html, of one second")
    assert file_of("pdf").startswith(b"%PDF")
    wait_until(lambda: abs(len(file_of("pdf")) - len(written("pdf"))) < 64, "a pdf of that size")
    assert get(url, f"{API}jobs/kept/report").headers["Content-Type"] == "text/html"
    head, *lines = file_of("csv").decode().splitlines()
    assert head == "node,quantity,unit,total,mean,minimum,maximum"
    report = ask(url, "jobs/kept")
    usage = [line.split(",") for line in lines if ",cpu_usage," in line]
    assert [one[0] for one in usage] == ["", *(one["node"] for one in report["nodes"])]
    assert float(usage[0][4]) == pytest.approx(report["total"]["cpu_usage"]["mean"])
    assert "there is no job none; the newest that there are: " in error_of(url, "jobs/none/report", 404)["message"]
    error_of(url, "jobs/kept/report?format=perfmon", 400, "format")


def test_lines(shown):
    """What replay prints."""
    cluster, url = shown
    places = ["--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket]
    end = json.loads(cluster.succeed("aggregator", "query", "--format", "json", "load.load_1", "--from", "-2s", *places))["to"]

    def lines_agree(words, *options):
        said = [parse_line(line) for line in
                cluster.succeed("aggregator", "replay", "--from", "-1h", "--to", end, *options, *places).splitlines()]
        return check(ask(url, f"lines?from=-1h&to={end}&limit=10000&{words}"), "Lines") == {
            "lines": said, "left_out": 0, "damaged": 0} and said

    wait_until(lambda: lines_agree("node=n1&group=load", "--node", "n1", "--group", "load"), "the same lines of a node")
    wait_until(lambda: lines_agree("type=cluster&group=load", "--type", "cluster", "--group", "load"), "the same combined reports")
    wait_until(lambda: lines_agree("type=event", "--type", "event"), "the same events")
    newest = ask(url, "lines?from=-10m&type=node&node=n2&group=load&limit=2")
    assert len(newest["lines"]) == 2 and newest["left_out"] > 0
    assert [set(line["report"]["system_data"]) for line in newest["lines"]] == [{"load"}] * 2
    assert ask(url, "lines?node=none")["lines"] == []


# ---- the stream ----

def test_stream(shown):
    """Lines as `tail` has them, filtered in the same way."""
    cluster, url = shown
    with contextlib.closing(Stream(url, "node=n1&group=load")) as stream:
        assert stream.begin() == 200
        assert stream.answer.getheader("Content-Type") == "text/event-stream"
        assert stream.answer.readline() == b"retry: 3000\n"
        events = stream.events()
        lines = [next(events) for _ in range(3)]
        assert all(line["node"] == "n1" and list(line["report"]["system_data"]) == ["load"] for line in lines)
        wait_until(lambda: cluster.aggregator.lines(type="node", node="n1")[-1]["seq"] > lines[-1]["seq"], "a later line")
        shown_lines = {line["seq"]: line for line in cluster.aggregator.lines(type="node", node="n1")}
        for line in lines:
            assert shown_lines[line["seq"]]["report"]["system_data"]["load"] == line["report"]["system_data"]["load"]
    error_of(url, "stream?type=nothing", 400, "type")
    wait_until(lambda: cluster.counter("api_streams") == 0, "it has gone")


def test_slow_streams(shown):
    """Who does not read loses his own lines, and is told; there are so many streams, and others are answered meanwhile."""
    cluster, url = shown
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(contextlib.closing(Stream(url, receive=4096))) for _ in range(24)]
        wait_until(lambda: cluster.counter("api_streams") == 16, "as many as one host may have")
        wait_until(lambda: cluster.counter("api_refused") >= 8, "the others refused")
        refused = [stream for stream in streams[16:] if stream.begin() == 503]
        assert len(refused) == 8 and all(stream.answer.getheader("Retry-After") for stream in refused)
        assert len(ask(url, "nodes")["nodes"]) == 2
    wait_until(lambda: cluster.counter("api_streams") == 0, "their places")


@pytest.mark.sanitized
def test_end_of_stream(cluster):
    """What was dropped for a stream that is not read is said in it, and its end with the aggregator's."""
    cluster.start_aggregator(config=HTTP + "[aggregator]\nreader_queue = 64k\n")
    cluster.start_nodes("n1", period="50ms")
    with contextlib.closing(Stream(url_of(cluster.aggregator), "type=node,event", receive=4096)) as stream:
        assert stream.begin() == 200
        wait_until(lambda: cluster.counter("lines_dropped") > 5, "dropped lines")
        lines = stream.events()
        dropped = next(line for line in lines if line.get("event") == "dropped")
        assert dropped["lines"] > 0 and next(lines)["type"] == "node"
    with contextlib.closing(Stream(url_of(cluster.aggregator), "type=event")) as stream:
        assert stream.begin() == 200
        cluster.keys_of("n3")
        assert next(stream.events())["event"] == "keys_reloaded"
        assert cluster.aggregator.stop() == 0
        assert not list(stream.events()), "it ends as answers end"


# ---- many at once ----

def test_thousand_requests(shown):
    """At once, of the past and of now: each has an answer, 200 or 503 with a time to come again, and lines are not late."""
    cluster, url = shown
    before, statuses, lock = memory_bytes(cluster.aggregator.pid), [], threading.Lock()
    paths = ["jobs", "events", "nodes", "status", f"jobs/{JOB}"]

    def work(number):
        for k in range(10):
            path = paths[(number + k) % len(paths)]
            with contextlib.suppress(ConnectionError, http.client.HTTPException):
                page = get(url, API + path)
                with lock:
                    statuses.append((path, page.status, page.headers.get("Retry-After")))

    mark = cluster.aggregator.mark()
    workers = [threading.Thread(target=work, args=(number,)) for number in range(100)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert len(statuses) == 1000
    assert all(status == 200 or (status == 503 and after) for _, status, after in statuses), set(statuses)
    assert sum(status == 200 for path, status, _ in statuses if path in ("nodes", "status")) == 400
    assert any(status == 503 for _, status, _ in statuses) and any(
        status == 200 for path, status, _ in statuses if path == "events")
    times = sorted(line["seq"] for line in cluster.aggregator.lines(after=mark, type="node", node="n1"))
    assert times == list(range(times[0], times[0] + len(times))), "no line is missing"
    wait_until(lambda: cluster.counter("api_readers") == 0, "the end of all children")
    assert memory_bytes(cluster.aggregator.pid) - before < 64 * MIB


def waiting_child(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                if pathlib.Path(f"/proc/{child}/comm").read_text() == "synop-waits\n":
                    return child
    return None


def stop_waiting_child(url, pid):
    """It takes the next question, and never answers."""
    assert ask(url, f"jobs/{JOB}")["job_id"] == JOB
    child = wait_until(lambda: waiting_child(pid), "a child that waits", 60)
    os.kill(int(child), signal.SIGSTOP)
    return int(child)


def test_gone(shown):
    """Who goes away while he waits ends what is done for him."""
    cluster, url = shown
    parts = urllib.parse.urlsplit(url)
    child = stop_waiting_child(url, cluster.aggregator.pid)
    with socket.create_connection((parts.hostname, parts.port)) as client:
        client.sendall(f"GET {API}jobs/{JOB} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_until(lambda: cluster.counter("api_readers") == 1, "the child's question", 60)
    wait_until(lambda: cluster.counter("api_readers") == 0 and not os.path.exists(f"/proc/{child}"), "its end", 60)
    assert ask(url, f"jobs/{JOB}")["job_id"] == JOB, "who stays has an answer"


def test_child_breaks(shown):
    """A child that ends before it has answered is an error of its request, and of no other."""
    cluster, url = shown
    child, pages = stop_waiting_child(url, cluster.aggregator.pid), []
    worker = threading.Thread(target=lambda: pages.append(get(url, f"{API}jobs/{JOB}")))
    worker.start()
    wait_until(lambda: cluster.counter("api_readers") == 1, "the child's question", 60)
    os.kill(child, signal.SIGKILL)
    worker.join()
    assert pages[0].status == 500 and check(json.loads(pages[0].text), "Error")
    assert ask(url, f"jobs/{JOB}")["job_id"] == JOB


def test_child_waits(shown):
    """One child is there before it is asked, and answers; where it was ended meanwhile, another does."""
    cluster, url = shown
    pid = cluster.aggregator.pid
    assert ask(url, f"jobs/{JOB}")["job_id"] == JOB
    wait_until(lambda: waiting_child(pid), "a child that waits", 60)
    first = waiting_child(pid)
    assert ask(url, f"jobs/{JOB}")["job_id"] == JOB
    wait_until(lambda: waiting_child(pid) not in (None, first), "another one", 60)
    second = waiting_child(pid)
    os.kill(int(second), signal.SIGKILL)
    wait_until(lambda: pathlib.Path(f"/proc/{second}/stat").read_text().split()[2] == "Z", "its end", 60)
    assert ask(url, f"jobs/{JOB}")["job_id"] == JOB


@pytest.mark.skipif(not os.environ.get("CROWD"), reason="it takes more than half a minute: make soak")
def test_late(shown):
    """A child that hangs is ended after 30 s, and those of another address are answered meanwhile."""
    cluster, url = shown
    pages, workers = [], [threading.Thread(target=lambda: pages.append(get(url, API + "events"))) for _ in range(2)]
    for count, one in enumerate(workers, 1):
        child = wait_until(lambda: waiting_child(cluster.aggregator.pid), "a child that waits", 60)
        os.kill(int(child), signal.SIGSTOP)
        one.start()
        wait_until(lambda: cluster.counter("api_readers") == count, "the child's question", 60)
    parts = urllib.parse.urlsplit(url)
    other = http.client.HTTPConnection(parts.hostname, parts.port, timeout=LIMIT, source_address=("127.0.0.2", 0))
    other.request("GET", API + "events")
    assert other.getresponse().status == 200
    for one in workers:
        one.join()
    assert [page.status for page in pages] == [504, 504] and check(json.loads(pages[0].text), "Error")
    assert ask(url, "jobs")["jobs"]


def test_at_once(cluster):
    """Who looks at a new cluster before its history has anything has asked nothing wrong; he may have otherwise."""
    cluster.start_aggregator(config=HTTP)
    url = url_of(cluster.aggregator)
    for more in ("&combined=1", "&fold=mean&node=n*", "&step=5s&from=-5m", "&rows=1&top=3"):
        answer = ask(url, f"query?metric=cpu_usage.busy{more}")
        assert check(answer, "Query")["metric"] == "cpu_usage.busy" and answer["series"] == [] and answer["tiers"] == []
    for more in ("", "&encoding=levels", "&row=cpu*", "&top=3"):
        answer = check(ask(url, f"now?metric=cpu_usage.busy{more}"), "Now")
        assert answer["nodes"] == [] and answer["metrics"][0]["metric"] == "cpu_usage.busy" and answer["metrics"][0]["count"] == 0
    for form in ("csv", "levels", "table", "parquet", "arrow"):
        assert get(url, f"{API}query?metric=cpu_usage.busy&format={form}").status == 200, form
    error_of(url, "query?metric=cpu_usage.busy&from=now&to=-1h", 400, "from")
    error_of(url, "query?metric=cpu_usage.busy&job=123", 400, "job")
    error_of(url, "query?node=n1", 400, "metric")
    assert "there are none yet" in run("aggregator", "query", "cpu_usage.busy", "--history", cluster.history, "--config", cluster.empty).stderr


def test_passwords(cluster):
    """The same are needed as for the pages, and what refuses is JSON."""
    path = cluster.write("passwords", cluster.succeed("aggregator", "keys", "password", "anna", stdin="right\n"))
    cluster.start_aggregator("--history-enabled=no", config=f"{HTTP}password_file = {path}\n")
    url = url_of(cluster.aggregator)
    page = get(url, API + "jobs")
    assert page.status == 401 and check(json.loads(page.text), "Error")
    assert get(url, API + "nodes", user="anna:right").status == 200
    page = get(url, API + "jobs", user="anna:right")
    assert page.status == 503 and "enabled" in json.loads(page.text)["error"]["message"]
    assert not os.path.exists(cluster.history)
