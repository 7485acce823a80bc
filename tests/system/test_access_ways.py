"""Other ways to be let in: the UNIX socket open to all, behind a proxy, beside passwords, and where everybody sees all."""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess

import pytest
from lib.api import API
from lib.cluster import Cluster
from lib.munge import MISSING, Munged
from lib.programs import LIMIT, run, wait_until
from lib.web import get, url_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be several users")
GAMES, UUCP = (pwd.getpwnam(name) for name in ("games", "uucp"))
JOBS = {GAMES: "775501", UUCP: "775502"}


def as_user(account):
    return ("setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups")


class Scene:
    def __init__(self, config, *options):
        self.cluster = Cluster()
        self.cluster.folder.chmod(0o755)
        self.jobs = []
        self.config = config
        self.cluster.start_aggregator(*options, config=config.format(folder=self.cluster.folder))
        self.cluster.start_nodes("n1")
        for account, job in JOBS.items():
            self.jobs.append(subprocess.Popen([*as_user(account), "env", f"SYNOP_JOB_ID={job}", "sleep", "600"]))
        for job in JOBS.values():
            self.cluster.aggregator.wait_line(type="job", event="started", job_id=job)
        self.url = url_of(self.cluster.aggregator)

    def close(self):
        for job in self.jobs:
            job.kill()
            job.wait()
        self.cluster.close()

    def seen(self, **headers):
        """Whose of the two jobs an answer has."""
        page = get(self.url, f"{API}jobs", **headers)
        return page.status, {job for job in JOBS.values() if job in page.text}

    def command(self, account, *words):
        return run("aggregator", words[0], "--config", self.cluster.empty, "--socket", self.cluster.socket, *words[1:],
                   prefix=as_user(account))


OPEN = """[http]
listen = 127.0.0.1:0
trusted_proxies = 127.0.0.1
[access]
socket = everybody
proxy_user_header = X-Remote-User
tokens = {folder}/tokens
admins = @uucp
"""


@pytest.fixture(name="scene")
def fixture_scene(request):
    made = Scene(request.param)
    yield made
    made.close()


@pytest.mark.parametrize("scene", [OPEN], indirect=True)
def test_socket_and_proxy(scene):
    """The kernel says who opens the socket; a proxy that is trusted says who asks it, and nobody else is believed."""
    mine, other = JOBS[GAMES], JOBS[UUCP]
    assert scene.cluster.socket.stat().st_mode & 0o777 == 0o666
    done = scene.command(GAMES, "tail", "--group", "job_*", "--count", "3")
    assert done.returncode == 0 and mine in done.stdout and other not in done.stdout and "others_left_out" in done.stdout
    done = scene.command(UUCP, "tail", "--group", "job_*", "--count", "3")
    assert mine in done.stdout and other in done.stdout, "of a group of admins"
    socket = str(scene.cluster.socket)
    for words in ("reload", "flush", "as=*\tjobs", "as=10:uucp\tjobs"):
        script = ("import socket,sys\ns=socket.socket(socket.AF_UNIX);s.connect(sys.argv[1]);s.sendall(sys.argv[2].encode()+b'\\n');"
                  "sys.stdout.write(s.makefile().read())")
        done = subprocess.run([*as_user(GAMES), "/usr/bin/python3", "-c", script, socket, words], capture_output=True, text=True,
                              check=True)
        assert done.stdout.startswith("error ") and other not in done.stdout and "admin" in done.stdout, done.stdout
    assert scene.seen() == (200, set()), "a proxy without a word of who asks"
    assert scene.seen(X_Remote_User="games") == (200, {mine})
    assert scene.seen(X_Remote_User="uucp") == (200, {mine, other})
    for name in ("no such", "*", "-", "", "a:b", "x" * 200):
        assert scene.seen(X_Remote_User=name) == (200, set()), name
    token = scene.cluster.succeed("aggregator", "token", "games", "--config", scene.cluster.empty, "--access-tokens",
                                  scene.cluster.folder / "tokens").strip()
    assert scene.seen(Authorization=f"Bearer {token}", X_Remote_User="uucp") == (200, {mine}), "a credential goes before the header"


PASSWORDS = """[http]
listen = 127.0.0.1:0
password_file = {folder}/passwords
[access]
munge_socket = {folder}/m/s
"""


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
def test_passwords():
    """Who has a password sees all; without one not even a user of this host is let in, but by a credential."""
    cluster = Cluster()
    line = run("aggregator", "keys", "password", "ops", stdin="secret\n").stdout
    folder = cluster.folder
    folder.chmod(0o755)
    (folder / "passwords").write_text(line)
    munged = Munged(folder / "m")
    try:
        cluster.start_aggregator(config=PASSWORDS.format(folder=folder))
        url = url_of(cluster.aggregator)
        path = f"{API}jobs"
        assert get(url, path).status == 401
        page = get(url, path, user="ops:secret")
        assert page.status == 200 and "others_left_out" not in page.text
        assert get(url, path, Authorization="MUNGE " + munged.credential(f"GET {path}", user=GAMES.pw_uid)).status == 200
        page = get(url, path, Authorization="MUNGE nonsense")
        assert page.status == 401 and page.headers["WWW-Authenticate"].startswith("Basic")
        assert get(url, path, user="ops:wrong").status == 401
        done = run("aggregator", "jobs", "--config", cluster.empty, "--url", url, prefix=as_user(GAMES))
        assert done.returncode == 1 and "does not let games in" in done.stderr and "synop-aggregator token games" in done.stderr
    finally:
        munged.stop()
        cluster.close()


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
def test_silent_munged(cluster):
    """A munged that takes connections and never answers: who shows a credential is refused, and holds nobody up."""
    cluster.folder.chmod(0o755)
    place = cluster.folder / "silent"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(place))
        place.chmod(0o777)
        silent.listen(64)
        cluster.start_aggregator(config=f"[http]\nlisten = 127.0.0.1:0\n[access]\nmunge_socket = {place}\n")
        url = url_of(cluster.aggregator)
        for _ in range(5):
            page = get(url, f"{API}jobs", Authorization="MUNGE MUNGE:AwQDAAA:")
            assert page.status == 401 and "MUNGE: munged does not answer" in page.text, page.text
            assert get(url, f"{API}jobs").status == 200
        ini = cluster.write("client.ini", f"[access]\nmunge_socket = {place}\n")
        done = run("aggregator", "jobs", "--config", ini, "--url", url, prefix=as_user(GAMES))
        assert done.returncode == 0 and done.stdout.startswith("JOB"), done  # by its connection


PLAIN = "[http]\nlisten = 127.0.0.1:0\n[access]\nadmins = daemon\n"


@pytest.mark.parametrize("scene", [PLAIN], indirect=True)
def test_everybody(scene):
    """A reload opens all to all, and closes it again. Whoever can open neither socket nor history is answered over HTTP."""
    mine, other = JOBS[GAMES], JOBS[UUCP]
    ini = pathlib.Path(scene.cluster.folder / "aggregator.ini")

    def jobs():
        done = run("aggregator", "jobs", "--config", scene.cluster.empty, "--socket", scene.cluster.socket, "--history",
                   scene.cluster.history, prefix=as_user(GAMES), env={"SYNOP_URL": scene.url})
        assert done.returncode == 0, done.stderr
        return {job for job in JOBS.values() if job in done.stdout}

    assert jobs() == {mine}
    ini.write_text(PLAIN + "everybody_sees = all\n")
    scene.cluster.aggregator.signal(signal.SIGHUP)
    wait_until(lambda: jobs() == {mine, other}, "all jobs")
    ini.write_text(PLAIN)
    scene.cluster.aggregator.signal(signal.SIGHUP)
    wait_until(lambda: jobs() == {mine}, "his own again")


def page_as(account, url):
    script = "import sys,urllib.request as u;sys.stdout.write(u.urlopen(sys.argv[1]).read().decode())"
    return subprocess.run([*as_user(account), "/usr/bin/python3", "-c", script, url], capture_output=True, text=True, check=True,
                          timeout=LIMIT).stdout


def test_page_of_an_agent(cluster):
    """Series of jobs are for root and the agent's user on its host, until everybody may see them; the others are for all."""
    cluster.folder.chmod(0o755)
    ini = cluster.write("agent.ini", "")
    job = subprocess.Popen([*as_user(UUCP), "env", "SYNOP_JOB_ID=775503", "sleep", "600"])
    try:
        agent = cluster.start("agent-page", "agent", "--config", ini, "--node", "n1", "--period", "200ms", "--jobs-book",
                              cluster.folder / "jobs", "--http", "127.0.0.1:0")
        root, url = url_of(agent), f"{url_of(agent)}/metrics"
        wait_until(lambda: "775503" in get(root, "/metrics").text, "root sees the job")
        assert "synop_others_left_out" not in get(root, "/metrics").text
        for path in (url, f"{url}?group=job_*", f"{url}?group=*"):
            page = page_as(GAMES, path)
            assert not any(word in page for word in ("775503", "uucp", "synop_job_")), page[-2000:]
            assert "synop_others_left_out 1" in page
        assert "node_load1" in page_as(GAMES, url)
        ini.write_text("[access]\neverybody_sees = all\n")
        agent.signal(signal.SIGHUP)
        wait_until(lambda: "775503" in page_as(GAMES, url), "everybody sees all")
    finally:
        job.kill()
        job.wait()


def test_where_to_ask():
    """Without an aggregator, an address, or a token that is private, a command says what is missing, and what to do."""
    folder = pathlib.Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    try:
        empty = folder / "empty.ini"
        empty.write_text("")
        place = ["--config", empty, "--history", folder / "none.db", "--socket", folder / "none"]
        done = run("aggregator", "jobs", *place)
        assert done.returncode == 1 and "none.db" in done.stderr
        done = run("aggregator", "tail", "--config", empty, "--socket", folder / "none")
        assert done.returncode == 1 and "--url" in done.stderr
        done = run("aggregator", "jobs", *place, "--url", "http://127.0.0.1:1/")
        assert done.returncode == 1 and "http://127.0.0.1:1/" in done.stderr and "is the aggregator there?" in done.stderr
        done = run("aggregator", "top", "--once", *place, "--url", "http://127.0.0.1:1/")
        assert done.returncode == 1 and "http://127.0.0.1:1/" in done.stderr
        ini = folder / "client.ini"
        ini.write_text("[access]\nurl = http://127.0.0.1:1\n")
        done = run("aggregator", "report", "7", "--config", ini, *place[2:])
        assert done.returncode == 1 and "http://127.0.0.1:1/" in done.stderr
    finally:
        shutil.rmtree(folder)
