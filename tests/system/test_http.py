"""What the aggregator and the agent show over HTTP: every address, form and option of it."""

import datetime
import gzip
import http.client
import json
import signal
import socket
import subprocess

import pytest
from lib.programs import LIMIT, run, wait_until
from lib.web import OPENMETRICS, get, has, samples, text_of, url_of, value

NODES = ("n1", "n2")
HTTP = "[http]\nlisten = 127.0.0.1:0\nnames = master.example\n"


@pytest.fixture(name="shown")
def fixture_shown(cluster):
    """A cluster of two, and its address."""
    aggregator = cluster.start_aggregator(config=HTTP)
    cluster.start_nodes(*NODES)
    url = url_of(aggregator)
    for node in NODES:
        wait_until(lambda node=node: get(url, f"/nodes/{node}/metrics").status == 200, f"{node}'s page")
    wait_until(lambda: "synop_cluster_" in get(url, "/metrics").text, "a combined report")
    return cluster, url


def check_with_promtool(text):
    """Nothing to say but of names that are node-exporter's own."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=LIMIT,
                          check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "not 'camelCase'" not in line
            and not line.startswith("node_entropy_")]
    assert not said and done.returncode in (0, 3), said


def open_families(text):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


@pytest.mark.sanitized
def test_addresses(shown):
    _, url = shown
    index = get(url, "/addresses")
    assert index.status == 200 and index.headers["Content-Type"].startswith("text/html")
    for path in ("/metrics", "/sd", "/aggregator/metrics", "/healthz", "/readyz"):
        assert f'href="{path[1:]}"' in index.text
        assert get(url, path).status == 200
    for path in ("/nodes/n3/metrics", "/nodes/", "/nodes/n1", "/nodes//metrics", "/nodes/n1/metrics/", "/metricsx",
                 "/nodes/" + "n" * 300 + "/metrics", "/../etc/passwd"):
        assert get(url, path).status == 404, path
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert get(url, "/metrics", method=method).status == 405
    head = get(url, "/metrics", method="HEAD")
    assert head.status == 200 and not head.body


@pytest.mark.sanitized
def test_text(shown):
    """Prometheus' own tool finds nothing, and each node's series are those of its own page."""
    _, url = shown
    page = get(url, "/metrics")
    assert page.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    check_with_promtool(page.text)
    every = {(name, labels) for name, labels in samples(page.text)}
    for node in NODES:
        own = get(url, f"/nodes/{node}/metrics").text
        check_with_promtool(own)
        series = set(samples(own))
        assert len(series) > 200 and not any(dict(labels).get("instance") for _, labels in series)
        missing = {(name, tuple(sorted((*labels, ("instance", node))))) for name, labels in series} - every
        assert not {name for name, _ in missing if not name.startswith(("synop_job", "synop_process"))}


@pytest.mark.sanitized
def test_open_metrics(shown):
    _, url = shown
    page = get(url, "/metrics", Accept=f"{OPENMETRICS},application/openmetrics-text;version=0.0.1;q=0.75,*/*;q=0.1")
    assert page.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert page.text.endswith("# EOF\n")
    families = open_families(page.text)
    assert families["synop_node_frames"].type == "counter" and families["node_load1"].type == "gauge"
    assert families["synop_aggregator"].type == "info"
    assert len(families) > 200
    assert get(url, "/metrics", Accept="application/openmetrics-text;q=0, text/plain").text[-6:] != "# EOF\n"


@pytest.mark.sanitized
def test_one_connection(shown):
    """It lasts, over requests of all kinds, also such as come before the answer to those ahead of them."""
    _, url = shown
    host, port = url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT)
    for path in ("/metrics", "/nodes/n1/metrics", "/none", "/sd", "/", "/metrics"):
        connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        local = connection.sock.getsockname()
        answer = connection.getresponse()
        assert answer.read() and not answer.will_close and connection.sock.getsockname() == local
    connection.close()
    with socket.create_connection((host, int(port)), timeout=LIMIT) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 49 +
                       b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answers = b""
        while chunk := client.recv(65536):
            answers += chunk
    assert answers.count(b"HTTP/1.1 200 OK") == 50


def test_gzip(shown):
    _, url = shown
    page = get(url, "/metrics", Accept_Encoding="deflate, gzip;q=0.5")
    assert page.headers["Content-Encoding"] == "gzip"
    text = gzip.decompress(page.body).decode()
    assert len(page.body) < len(text) / 4
    assert {name for name, _ in samples(text)} >= {"node_load1", "synop_node_up", "synop_aggregator_frames_total"}
    for refused in ("gzip;q=0", "identity", "gzipped"):
        assert "Content-Encoding" not in get(url, "/metrics", Accept_Encoding=refused).headers


@pytest.mark.sanitized
def test_filters(shown):
    _, url = shown

    def seen(query):
        text = get(url, f"/metrics?{query}").text
        names = {dict(labels).get("instance") or dict(labels).get("node") for _, labels in samples(text)} - {None}
        return names, {name for name, _ in samples(text)}

    nodes, names = seen("node=n1")
    assert nodes == {"n1"} and {"node_load1", "synop_node_up"} <= names
    assert not any(name.startswith(("synop_aggregator", "synop_cluster")) for name in names)
    assert seen("node=n*")[0] == set(NODES) and seen("node=x*")[0] == set() and seen("node=n1,n2")[0] == set(NODES)
    nodes, names = seen("group=load")
    assert nodes == set(NODES) and "node_load1" in names and "node_memory_MemFree_bytes" not in names
    assert {name for name in names if name.startswith("synop_cluster")} == \
           {name for name in names if name.startswith("synop_cluster_load_")} != set()
    nodes, names = seen("node=n2&group=lo%61d")
    assert nodes == {"n2"} and "node_load1" in names and not any("cluster" in name for name in names)
    text = get(url, "/nodes/n1/metrics?group=load").text
    assert has(text, "node_load1") and not has(text, "node_memory_MemFree_bytes")
    for query in ("node=" + "*a" * 5, "group=x,*a*a*a*a*", "node=" + "a" * 2000):
        assert get(url, f"/metrics?{query}").status == 400
    assert get(url, "/metrics?node=*a*a*,*b*b*&group=" + "a," * 500).status == 200


@pytest.mark.sanitized
def test_values(shown):
    """Those of the line that was just written."""
    cluster, url = shown
    line = cluster.aggregator.wait_line(lambda one: "memory_info" in one["report"].get("system_data", {}),
                                        type="node", node="n1", after=cluster.aggregator.mark())
    group = line["report"]["system_data"]["memory_info"]
    text = get(url, "/nodes/n1/metrics").text
    assert value(text, "node_memory_MemTotal_bytes") == group["total"]
    status = cluster.node_status("n1")
    text = get(url, "/aggregator/metrics").text
    assert value(text, "synop_node_up", node="n1") == 1
    assert value(text, "synop_node_state", node="n1", state="up") == 1
    assert value(text, "synop_node_state", node="n1", state="down") == 0
    assert abs(value(text, "synop_node_clock_offset_seconds", node="n1") - status["clock"]["wall_offset"]) < 0.01
    assert 0 <= value(text, "synop_aggregator_tick_spread_seconds") < 1
    assert 0 <= value(text, "synop_node_clock_bound_seconds", node="n1") < 1
    counters = cluster.status()["counters"]
    levels = {"missing", "connections", "clients", "jobs_running", "http_connections", "api_streams", "api_readers",
              "watch_readers", "watch_metrics", "traces_open"}
    for name, count in counters.items():
        shown_as = f"synop_aggregator_{name}" + ("" if name in levels else "_total")
        assert value(text, shown_as) <= count + 50
    assert value(text, "synop_aggregator_info") == 1


def test_combined(shown):
    """The numbers of a combined report that was printed."""
    cluster, url = shown

    def agree():
        text = get(url, "/aggregator/metrics").text
        at = value(text, "synop_aggregator_tick_timestamp_seconds")
        lines = cluster.aggregator.lines(type="cluster")
        line = next((one for one in lines[::-1] if one["time"].startswith(time_text(at))), None)
        if line is None or "user" not in line["report"]["system_data"]["cpu_usage"].get("average_usage", {}):
            return False
        free = line["report"]["system_data"]["memory_info"]["free"]
        for stat in ("sum", "mean", "min", "max", "p50", "p95"):
            assert value(text, "synop_cluster_memory_info_free_bytes", stat=stat) == \
                pytest.approx(free[stat], rel=1e-9)
        busy = line["report"]["system_data"]["cpu_usage"]["average_usage"]["user"]
        assert value(text, "synop_cluster_cpu_usage_user_ratio", stat="max") == pytest.approx(busy["max"] / 100)
        return True

    wait_until(agree, "a combined report that is a line too")


def test_jobs(cluster):
    """What a job is stands beside its metrics, and no other series has its label."""
    cluster.start_aggregator(config=HTTP)
    cluster.start_nodes("n1")
    url = url_of(cluster.aggregator)
    name = f"page-{cluster.folder.name[-8:]}"
    cluster.start("job", "agent", "run", "--job", name, "--", "sleep", "600")
    wait_until(lambda: has(text_of(url, "/nodes/n1/metrics"), "synop_job_info", job_id=name), "the job")
    text = wait_until(lambda: (found := text_of(url, "/nodes/n1/metrics")) and
                      has(found, "synop_job_memory_rss_bytes", job_id=name) and found, "what it uses")
    assert value(text, "synop_job_info", job_id=name) == 1
    labels = next(dict(labels) for family, labels in samples(text)
                  if family == "synop_job_info" and dict(labels)["job_id"] == name)
    assert labels["user"] and "scheduler" in labels and "job" not in labels
    assert all(family.startswith("synop_") and "job" in family
               for family, labels in samples(text) if dict(labels).get("job_id") == name)


def time_text(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()[:19]


@pytest.mark.sanitized
def test_targets(shown):
    _, url = shown
    page = get(url, "/sd", Host="master.example:5580")
    assert page.headers["Content-Type"] == "application/json"
    assert json.loads(page.text) == [
        {"targets": ["master.example:5580"],
         "labels": {"__metrics_path__": f"/nodes/{node}/metrics", "__scheme__": "http", "instance": node}}
        for node in NODES]
    for host in ("a b", "a\"b", "a/b", "<x>"):
        assert get(url, "/sd", Host=host).status == 403


@pytest.mark.sanitized
def test_down(cluster):
    """A node that is silent has no values any more, and its state says why; one that is revoked is gone."""
    cluster.start_aggregator("--stale-periods", "3", "--down-periods", "6", config=HTTP)
    cluster.start_nodes(*NODES)
    cluster.keys_of("never")
    url = url_of(cluster.aggregator)
    wait_until(lambda: get(url, "/nodes/n1/metrics").status == 200, "n1's page")
    wait_until(lambda: get(url, "/nodes/never/metrics").status == 503, "a page of a node that was never heard")
    cluster.agents["n1"].kill()
    wait_until(lambda: get(url, "/nodes/n1/metrics").status == 503, "n1 is down")
    text = get(url, "/metrics").text
    assert not any(dict(labels).get("instance") == "n1" for _, labels in samples(text))
    assert any(dict(labels).get("instance") == "n2" for _, labels in samples(text))
    assert value(text, "synop_node_up", node="n1") == 0 and value(text, "synop_node_state", node="n1", state="down") == 1
    assert value(text, "synop_node_state", node="never", state="never") == 1
    assert not has(text, "synop_node_last_seen_timestamp_seconds", node="never")
    cluster.start_agent("n1")
    wait_until(lambda: get(url, "/nodes/n1/metrics").status == 200, "n1 is back")
    cluster.succeed("aggregator", "keys", "revoke", "n1", "--keys", cluster.master, "--socket", cluster.socket)
    wait_until(lambda: get(url, "/nodes/n1/metrics").status == 404, "n1 is gone")
    assert not has(text_of(url, "/metrics"), "synop_node_up", node="n1")


def test_stale_group(cluster):
    """A group that an agent has no longer has no values, while the others go on."""
    cluster.start_aggregator(config=HTTP)
    cluster.start_nodes("n1")
    url = url_of(cluster.aggregator)
    wait_until(lambda: has(text_of(url, "/nodes/n1/metrics"), "node_load1"), "the load")
    cluster.write("n1.ini", "[group load]\nenabled = no\n")
    cluster.agents["n1"].signal(signal.SIGHUP)
    wait_until(lambda: not has(text_of(url, "/nodes/n1/metrics"), "node_load1"), "the load is gone")
    assert has(text_of(url, "/nodes/n1/metrics"), "node_memory_MemFree_bytes")


@pytest.mark.sanitized
def test_timestamps_and_names(cluster):
    cluster.start_aggregator("--http-timestamps=yes", "--prometheus-names", "moneo", config=HTTP)
    cluster.start_nodes("n1")
    url = url_of(cluster.aggregator)
    wait_until(lambda: has(text_of(url, "/nodes/n1/metrics"), "node_mem_available"), "moneo's names")
    line = next(one for one in get(url, "/nodes/n1/metrics").text.splitlines() if one.startswith("node_mem_available"))
    assert len(line.split()) == 3 and len(line.split()[2]) == 13
    assert not has(text_of(url, "/nodes/n1/metrics"), "node_load1")
    wait_until(lambda: has(text_of(url, "/nodes/n1/metrics"), "node_net_rx"), "a rate")


@pytest.mark.sanitized
def test_reload_of_names(cluster):
    """New names from a file; a bad row leaves the old ones, and is named."""
    names = cluster.write("own.names", "[load]\nload_1 own_load\n")
    cluster.start_aggregator("--prometheus-names", names, config=HTTP)
    cluster.start_nodes("n1")
    url = url_of(cluster.aggregator)
    wait_until(lambda: has(text_of(url, "/nodes/n1/metrics"), "own_load"), "own names")
    names.write_text("[load]\nload_5 other_load\n")
    cluster.aggregator.signal(signal.SIGHUP)
    text = wait_until(lambda: (found := text_of(url, "/nodes/n1/metrics")) and has(found, "other_load") and found, "names")
    line = cluster.aggregator.lines(type="node")[-1]["report"]["system_data"]["load"]
    assert value(text, "other_load") == pytest.approx(line["load_5"], abs=0.1)
    names.write_text("[load]\nload_5 other_load\nload_1 a-b\n")
    cluster.aggregator.signal(signal.SIGHUP)
    wait_until(lambda: f"{names}:3: " in cluster.aggregator.log(), "what is wrong")
    assert has(text_of(url, "/nodes/n1/metrics"), "other_load")
    cluster.aggregator.stop()
    failed = run("aggregator", "--config", cluster.empty, "--keys", cluster.master, "--socket", cluster.folder / "t",
                 "--history", cluster.folder / "h.db", "--listen", "tcp://127.0.0.1:*", "--http", "127.0.0.1:0",
                 "--prometheus-names", names)
    assert failed.returncode == 2 and f"{names}:3: " in failed.stderr


# ---- who may ask ----


def password_file(cluster, *users):
    lines = [cluster.succeed("aggregator", "keys", "password", user, stdin=f"{user}-secret\n") for user in users]
    return cluster.write("passwords", "# who may ask\n" + "".join(lines))


@pytest.mark.sanitized
def test_password(cluster):
    path = password_file(cluster, "grafana", "anna")
    cluster.start_aggregator("--http", "127.0.0.1:0", "--http-password-file", path)
    url = url_of(cluster.aggregator)
    refused = get(url, "/metrics")
    assert refused.status == 401 and refused.headers["WWW-Authenticate"].startswith("Basic ")
    assert get(url, "/healthz").status == 200
    wait_until(lambda: get(url, "/readyz").status == 200, "it is ready")
    for user in ("anna:anna-secret", "grafana:grafana-secret"):
        assert get(url, "/metrics", user=user).status == 200
    for user in ("anna:grafana-secret", "anna:", "nobody:x", ":", "anna"):
        wait_until(lambda user=user: get(url, "/metrics", user=user).status == 401, "not let in")
    for header in ("Basic !!!!", "Basic", "Bearer abc", "Basic " + "QUFB" * 400):
        assert get(url, "/metrics", Authorization=header).status == 401
    for _ in range(8):
        answers = {get(url, "/metrics", user="anna:wrong").status for _ in range(8)}
    assert 429 in answers
    assert get(url, "/metrics", user="anna:anna-secret").status == 200  # known already
    assert cluster.counter("http_unauthorized") > 8
    path.write_text(cluster.succeed("aggregator", "keys", "password", "anna", stdin="other\n"))
    cluster.aggregator.signal(signal.SIGHUP)
    wait_until(lambda: get(url, "/metrics", user="anna:other").status == 200, "the other password")
    assert get(url, "/metrics", user="anna:anna-secret").status != 200
    path.write_text("anna\n")
    cluster.aggregator.signal(signal.SIGHUP)
    wait_until(lambda: f"{path}:1: " in cluster.aggregator.log(), "what is wrong")
    assert get(url, "/metrics", user="anna:other").status == 200


def start_badly(cluster, *options):
    failed = run("aggregator", "--config", cluster.empty, "--keys", cluster.master, "--socket", cluster.folder / "t",
                 "--history", cluster.folder / "h.db", "--listen", "tcp://127.0.0.1:*", *options)
    assert failed.returncode == 2, failed.stderr
    return failed.stderr


@pytest.mark.sanitized
def test_what_is_refused(cluster):
    """Nobody opens the door by an oversight."""
    path = password_file(cluster, "anna")
    assert "password_file" in start_badly(cluster, "--http", "0.0.0.0:0")
    assert "password_file" in start_badly(cluster, "--http", "*:0")
    assert "give one of them" in start_badly(cluster, "--http", "127.0.0.1:0", "--http-auth", "none",
                                             "--http-password-file", path)
    assert "both" in start_badly(cluster, "--http", "127.0.0.1:0", "--http-certificate", path)
    assert "certificate" in start_badly(cluster, "--http", "127.0.0.1:0", "--http-certificate", path, "--http-key", path)
    assert "HOST:PORT" in start_badly(cluster, "--http", "nowhere")
    assert "No such file" in start_badly(cluster, "--http", "127.0.0.1:0", "--http-password-file", "/none")
    cluster.start_aggregator("--http", "0.0.0.0:0", "--http-auth", "none")
    url = url_of(cluster.aggregator).replace("0.0.0.0", "127.0.0.1")
    assert get(url, "/metrics").status == 200
    assert "everybody who reaches" in cluster.aggregator.log()


def make_certificate(folder):
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=master",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True, timeout=LIMIT)
    return certificate, key


@pytest.mark.sanitized
def test_tls(cluster):
    certificate, key = make_certificate(cluster.folder)
    first = cluster.write("first.pem", certificate.read_text())
    cluster.start_aggregator("--http", "127.0.0.1:0", "--http-certificate", certificate, "--http-key", key,
                             "--http-password-file", password_file(cluster, "anna"))
    cluster.keys_of("n1")
    url = url_of(cluster.aggregator)
    assert url.startswith("https://")
    page = get(url, "/metrics", trust=certificate, user="anna:anna-secret")
    assert page.status == 200 and has(page.text, "synop_aggregator_info")
    assert get(url, "/metrics", trust=certificate).status == 401
    wait_until(lambda: '"__scheme__":"https"' in get(url, "/sd", trust=certificate, user="anna:anna-secret").text,
               "a target")
    make_certificate(cluster.folder)
    cluster.aggregator.signal(signal.SIGHUP)

    def renewed():
        try:
            return get(url, "/healthz", trust=certificate).status == 200
        except OSError:
            return False

    wait_until(renewed, "the new certificate")
    with pytest.raises(OSError):
        get(url, "/healthz", trust=first)


# ---- ports ----


@pytest.mark.sanitized
def test_taken_port(cluster):
    """The aggregator works without it, says so, and has it when it is free."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cluster.start_aggregator("--http", f"127.0.0.1:{port}")
        cluster.start_nodes("n1")
        assert "error: [http] listen: " in cluster.aggregator.log() and "in use" in cluster.aggregator.log()
    wait_until(lambda: get(url_of(cluster.aggregator), "/readyz").status == 200, "the port")


def test_off(cluster):
    """Nothing is loaded, and no thread is there."""
    cluster.start_aggregator()
    cluster.start_nodes("n1")
    with open(f"/proc/{cluster.aggregator.pid}/maps", encoding="utf-8") as maps:
        assert "microhttpd" not in maps.read()
    assert "HTTP" not in cluster.aggregator.log()


# ---- the agent ----


def start_page(cluster, *options, **more):
    return cluster.start("agent-page", "agent", "--config", cluster.empty, "--node", "n1", "--period", "200ms",
                         "--jobs-book", cluster.folder / "jobs", *options, **more)


@pytest.mark.sanitized
def test_agent_alone(cluster):
    agent = start_page(cluster, "--http", "127.0.0.1:0")
    url = url_of(agent)
    wait_until(lambda: has(text_of(url, "/metrics"), "node_load1"), "values")
    text = get(url, "/metrics").text
    check_with_promtool(text)
    assert not any(dict(labels).get("instance") for _, labels in samples(text))
    assert value(text, "node_memory_MemTotal_bytes") > 0
    assert len(open_families(get(url, "/metrics", Accept=OPENMETRICS).text)) > 100
    assert not has(text_of(url, "/metrics?group=memory*"), "node_load1")
    for path, status in (("/", 200), ("/healthz", 200), ("/readyz", 200), ("/sd", 404)):
        assert get(url, path).status == status
    before = value(text, "node_cpu_seconds_total", cpu="0", mode="user")
    wait_until(lambda: value(get(url, "/metrics").text, "node_cpu_seconds_total", cpu="0", mode="user") > before, "time")
    assert not agent.lines()
    assert agent.stop() == 0


def test_agent_reload(cluster):
    config = cluster.write("agent.ini", "[prometheus]\nnames = moneo\n[group load]\nenabled = no\n")
    agent = cluster.start("agent-page", "agent", "--config", config, "--node", "n1", "--period", "200ms",
                          "--jobs-book", cluster.folder / "jobs", "--http", "127.0.0.1:0")
    url = url_of(agent)
    wait_until(lambda: has(text_of(url, "/metrics"), "node_net_rx"), "a rate")
    config.write_text("[prometheus]\nnames = node-exporter\n")
    agent.signal(signal.SIGHUP)
    wait_until(lambda: has(text_of(url, "/metrics"), "node_load1"), "other names, and a group more")
    config.write_text("[prometheus]\nnames = node-exportr\n")
    agent.signal(signal.SIGHUP)
    wait_until(lambda: "did you mean node-exporter" in agent.log(), "what is wrong")
    assert has(text_of(url, "/metrics"), "node_load1")


@pytest.mark.sanitized
def test_agent_beside(cluster):
    """An agent that publishes shows the same to Prometheus; one without the option has nothing of it."""
    cluster.start_aggregator()
    cluster.start_agent("n1", "--http", "127.0.0.1:0")
    cluster.start_agent("n2")
    for node in NODES:
        cluster.wait_node(node)
    url = url_of(cluster.agents["n1"])
    wait_until(lambda: has(text_of(url, "/metrics"), "node_load1"), "values")
    with open(f"/proc/{cluster.agents['n2'].pid}/maps", encoding="utf-8") as maps:
        assert "microhttpd" not in maps.read()
