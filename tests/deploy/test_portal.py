"""The portal that the roll-out sets up on request: a real Prometheus, and VictoriaMetrics, scrape the aggregator of a host with
systemd; a Grafana that is played is given the dashboards. The second run changes nothing, and remove leaves nothing.
`make check-deploy` has a node there too, and VictoriaMetrics."""

import json
import os
import pathlib
import shutil
import subprocess
import urllib.parse

import pytest
import yaml
from lib.programs import wait_until
from lib.systemd_lab import lacking
from test_deploy import Deployment, mode

HOSTS = """\
[master]
m0 ansible_host=10.79.0.10

[worker]
{more}
[all:vars]
ansible_user=root
ansible_python_interpreter=/usr/bin/python3
ansible_ssh_private_key_file={key}
ansible_ssh_common_args=-o UserKnownHostsFile={known}
synop_portal_interval=1s
"""
FOLDER = "/etc/synop/portal"
WHOLE = bool(os.environ.get("SYNOP_DEPLOY_FRESH"))
ALONE = () if WHOLE else ("-e", "skip_worker=true")
JOBS = {"node", "synop"} if WHOLE else {"synop"}
# What the host's repository offers: a Prometheus that is this machine's, whose own service would listen everywhere, and what
# can be seen of a Grafana.
PACKAGES = {
    "prometheus": {
        "usr/bin/prometheus": '#!/bin/sh\nexec /opt/prometheus "$@"\n',
        "lib/systemd/system/prometheus.service": "[Service]\nExecStart=/usr/bin/prometheus\n[Install]\nWantedBy=multi-user.target\n",
    },
    "grafana": {
        "usr/sbin/grafana-server": '#!/bin/sh\nexec python3 -m http.server 3000 --bind "$GF_SERVER_HTTP_ADDR" -d /usr/share/doc\n',
        "lib/systemd/system/grafana-server.service": "[Service]\nExecStart=/usr/sbin/grafana-server\nUser=grafana\n[Install]\n"
                                                     "WantedBy=multi-user.target\n",
        "etc/grafana/provisioning/datasources/sample.yaml": "apiVersion: 1\n",
        "etc/grafana/provisioning/dashboards/sample.yaml": "apiVersion: 1\n",
        "DEBIAN/postinst": "#!/bin/sh\nuseradd --system --user-group --no-create-home grafana 2>/dev/null || :\n",
    },
}
ASK = """
import base64, json, sys, urllib.error, urllib.request
url, user = sys.argv[1:]
request = urllib.request.Request(url, headers={"Authorization": "Basic " + base64.b64encode(user.encode()).decode()})
try:
    print(urllib.request.urlopen(request, timeout=10).read().decode())
except urllib.error.HTTPError as error:
    print(json.dumps({"status": error.code}))
except OSError:
    print("{}")
"""


def build_repository(folder):
    """Its files lie in folder/repository."""
    (folder / "repository").mkdir()
    for name, files in PACKAGES.items():
        control = f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: played\n"
        for path, text in {"DEBIAN/control": control, **files}.items():
            place = folder / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
            place.chmod(0o755 if text.startswith("#!") else 0o644)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", folder / name, folder / "repository"], check=True,
                       capture_output=True)
    index = subprocess.run(["dpkg-scanpackages", "-m", "."], cwd=folder / "repository", check=True,
                           capture_output=True)
    (folder / "repository/Packages").write_bytes(index.stdout)


@pytest.fixture(name="master", scope="module")
def fixture_master(tmp_path_factory):
    """A host that knows the repository alone, and has no Prometheus yet."""
    reason = lacking() or next((f"not installed: {tool}" for tool in ("ansible-playbook", "dpkg-scanpackages", "prometheus")
                                if not shutil.which(tool)), None)
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("p")
    folder.joinpath("hosts").mkdir()
    made = Deployment(folder, HOSTS, ("m0",), ())
    build_repository(folder)
    with made.hosts:
        m0 = made.hosts["m0"]
        for path in folder.glob("repository/*"):
            m0.put(f"/root/repository/{path.name}", path.read_bytes())
        m0.run("sh", "-c", "cp /usr/bin/prometheus /opt/ && dpkg -P prometheus && rm -rf /etc/apt/sources.list* &&"
                           " echo 'deb [trusted=yes] file:/root/repository ./' >/etc/apt/sources.list && rm -f /etc/apt/apt.conf.d/*")
        made.write_inventory("m0\n" if WHOLE else "")
        yield made
    shutil.rmtree(folder, ignore_errors=True)


def ask(host, url, user="synop", password=None):
    password = password or host.text("cat", f"{FOLDER}/password")
    return json.loads(host.text("python3", "-c", ASK, url, f"{user}:{password}"))


def found(host, port, query):
    """The jobs of the series."""
    answer = ask(host, f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}")
    return {one["metric"].get("job") for one in answer.get("data", {}).get("result", [])}


def check_engine(host, port, unit="synop-portal"):
    wait_until(lambda: found(host, port, "up==1") == JOBS, "targets")
    wait_until(lambda: found(host, port, "node_load1 or synop_aggregator_uptime_seconds") == JOBS, "values")
    assert ask(host, f"http://127.0.0.1:{port}/api/v1/query?query=up", password="wrong")["status"] == 401
    listening = host.text("ss", "-Hltn", f"sport = :{port}").split()
    assert f"127.0.0.1:{port}" in listening and not {f"0.0.0.0:{port}", f"*:{port}", f"[::]:{port}"} & set(listening)
    assert host.text("systemctl", "is-enabled", unit) == "enabled"


def test_prometheus_and_grafana(master):
    m0 = master.hosts["m0"]
    play = master.play("deploy", "-e", "synop_portal=prometheus", *ALONE).succeeded()
    assert f"prometheus: http://127.0.0.1:9090 on m0, user synop, password in {FOLDER}/password" in play.text
    assert "Grafana: dashboards in its folder synop, http://127.0.0.1:3000" in play.text
    check_engine(m0, 9090)
    assert m0.run("systemctl", "is-active", "prometheus", check=False).stdout.strip() == "inactive"
    assert mode(m0.path(f"{FOLDER}/password")) == mode(m0.path(f"{FOLDER}/environment")) == 0o600
    source, = yaml.safe_load(m0.text("cat", "/etc/grafana/provisioning/datasources/synop.yaml"))["datasources"]
    assert source["uid"] == source["name"] == "synop" and source["basicAuthUser"] == "synop"
    place = source["secureJsonData"]["basicAuthPassword"].removeprefix("$__file{").removesuffix("}")
    password = m0.text("runuser", "-u", "grafana", "--", "cat", place)
    assert ask(m0, f"{source['url']}/api/v1/query?query=up", password=password)["data"]["result"]
    provider, = yaml.safe_load(m0.text("cat", "/etc/grafana/provisioning/dashboards/synop.yaml"))["providers"]
    assert "cluster.json" in m0.text("runuser", "-u", "grafana", "--", "ls", provider["options"]["path"])
    wait_until(lambda: "127.0.0.1:3000" in m0.text("ss", "-Hltn", "sport = :3000"), "Grafana")


def test_second_run_changes_nothing(master):
    play = master.play("deploy", "-e", "synop_portal=prometheus", "-e", "skip_worker=true", "--tags", "portal").succeeded()
    assert set(play.changed().values()) == {0}, play.text


def test_victoria_metrics(master):
    """One that was here before runs as the portal, and stays when that is removed."""
    if not WHOLE:
        pytest.skip("VictoriaMetrics is set up by make check-deploy")
    if not shutil.which("victoria-metrics"):
        pytest.skip("not installed: victoria-metrics")
    m0 = master.hosts["m0"]
    master.play("deploy", "-e", "synop_portal=victoria-metrics", "-e", "skip_worker=true", "--tags", "portal").succeeded()
    check_engine(m0, 8428)
    assert m0.text("cat", f"{FOLDER}/brought").split() == ["prometheus", "grafana"]


def test_no_password_is_told(master):
    password = master.hosts["m0"].text("cat", f"{FOLDER}/password")
    assert len(password) > 20
    assert password not in "".join(master.texts) and not [words for words in master.arguments - {""} if password in words
                                                          and "urllib" not in words]
    assert password not in master.hosts["m0"].run("journalctl", "--no-pager").stdout
    for path in pathlib.Path(master.folder).glob(".ansible/**/*"):
        assert not path.is_file() or password.encode() not in path.read_bytes(), path


def test_remove_leaves_nothing(master):
    m0 = master.hosts["m0"]
    victoria = m0.run("sh", "-c", "command -v victoria-metrics", check=False).stdout
    master.play("remove", "-e", "synop_purge=true", *ALONE).succeeded()
    left = m0.run("sh", "-c", "ls -d /etc/synop /var/lib/synop* /etc/grafana/*/*/synop* /etc/grafana/synop* /etc/systemd/system/*synop* "
                  "/etc/systemd/system/grafana*; getent passwd synop-portal; command -v prometheus grafana-server", check=False)
    assert left.stdout == ""
    assert m0.run("systemctl", "cat", "synop-portal", check=False).returncode != 0
    assert m0.run("sh", "-c", "command -v victoria-metrics", check=False).stdout == victoria
