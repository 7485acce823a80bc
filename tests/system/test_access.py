"""Who may ask: two users and an admin go through every address and command on the same data, and nobody learns what is
another's. Credentials of a real munged, tokens, the owner of a local connection."""

import http.client
import json
import os
import pathlib
import pwd
import shutil
import stat
import subprocess
import threading
import time
import urllib.parse

import pytest
from lib.api import API, DESCRIPTION, HTTP
from lib.cluster import Cluster
from lib.munge import MISSING, Munged
from lib.programs import BUILD, LIMIT, environment, run, wait_until
from lib.web import get, url_of

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be several users"),
              pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]


class User:
    """One of Debian's own users with a job: its number, and words that nobody else is to see."""

    def __init__(self, name, job):
        self.account = pwd.getpwnam(name)
        self.name, self.uid = name, self.account.pw_uid
        self.job, self.title, self.command = job, f"title-of-{name}", f"cmd{name}x"
        self.secrets = [job, self.title, self.command, f'"{name}"', f" {name} "]

    @property
    def prefix(self):
        return ("setpriv", f"--reuid={self.uid}", f"--regid={self.account.pw_gid}", "--clear-groups")


GAMES, UUCP = User("games", "774401"), User("uucp", "774402")
USERS = (GAMES, UUCP)
ADMIN = pwd.getpwnam("daemon")


def start_job(cluster, user):
    program = cluster.folder / user.command
    shutil.copy("/bin/sleep", program)
    program.chmod(0o755)
    log = open(cluster.folder / "jobs.log", "ab")
    # Its environment is its claim, which the agent believes of the process's own user: he has it only once he is that.
    claim = ("env", f"SYNOP_JOB_ID={user.job}", f"SYNOP_JOB_NAME={user.title}")
    return subprocess.Popen([*user.prefix, *claim, program, "600"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)


class Scene:
    def __init__(self):
        self.cluster = Cluster()
        self.cluster.folder.chmod(0o755)
        self.jobs = []
        self.munged = Munged(self.cluster.folder / "m")
        self.tokens = self.cluster.folder / "tokens"
        self.ini = self.cluster.write("client.ini", f"[access]\nmunge_socket = {self.munged.socket}\n")
        config = HTTP + (f"[access]\nadmins = daemon\nmunge_socket = {self.munged.socket}\ntokens = {self.tokens}\n"
                         "[jobs]\ngrace = 1s\n[history]\nchunk_time = 300ms\n[ticks]\nperiod = 200ms\n")
        self.cluster.start_aggregator(config=config)
        self.cluster.start_nodes("n1")
        self.jobs = [start_job(self.cluster, user) for user in USERS]
        self.url = url_of(self.cluster.aggregator)
        for user in USERS:
            wait_until(lambda user=user: get(self.url, f"{API}jobs/{user.job}").status == 200, f"the job of {user.name}")

    def close(self):
        for job in self.jobs:
            job.kill()
            job.wait()
        self.munged.stop()
        self.cluster.close()

    def token(self, name):
        return self.cluster.succeed("aggregator", "token", name, "--config", self.cluster.empty, "--access-tokens",
                                    self.tokens).strip()

    def ask(self, path, user=None, credential=None):
        """As that user, by a credential made for the request; `user` None: as root, by the connection."""
        headers = {}
        if user is not None:
            headers["Authorization"] = f"MUNGE {credential or self.munged.credential('GET ' + path, user=user.uid)}"
        return get(self.url, path, **headers)

    def command(self, user, *words, **more):
        return run("aggregator", words[0], "--config", self.ini, "--url", self.url, *words[1:], prefix=user.prefix, **more)


@pytest.fixture(name="scene", scope="module")
def fixture_scene():
    scene = None
    try:
        scene = Scene()
        yield scene
    finally:
        if scene:
            scene.close()


def assert_hidden(text, other, where):
    for secret in other.secrets:
        assert secret not in text, f"{where}: {secret!r} in {text[max(0, text.index(secret) - 200):][:400]}"


def own(text, user):
    return user.job in text


# ---- every address ----

def spelled(path, **arguments):
    """As credentials are bound to it."""
    words = "&".join(f"{name}={urllib.parse.quote(value, safe='')}" for name, value in arguments.items())
    return f"{path}?{words}" if words else path


def addresses(user):
    """Every address of the API but those that never end, with what it needs; and what it is to show of the user's own."""
    job, everything = user.job, {"from": "-1h", "to": "now"}
    asked = {
        "": [({}, False)], "openapi.json": [({}, False)], "status": [({}, False)], "nodes": [({}, False)], "groups": [({}, False)],
        "query": [({"metric": "job_cpu.usage", "rows": "yes", "format": form}, True) for form in ("json", "csv", "table", "levels", "arrow")]
                 + [({"metric": "job_memory.rss", "job": job, "format": "table"}, True),
                    ({"metric": "job_memory.rss", "fold": "sum"}, False),
                    ({"metric": "job_cpu.cpus", "row": "*", "top": "5"}, True), ({"metric": "cpu_usage.user", "job": job}, False)],
        "now": [({"metric": "job_memory.rss", "row": "*"}, True), ({"metric": "job_memory.rss", "row": "*", "top": "9"}, True),
                ({"metric": "job_memory.rss"}, False)],
        "metrics": [({"format": form}, False) for form in ("json", "csv", "table")] + [({"metric": "job_*"}, False)],
        "jobs": [({"format": form}, True) for form in ("json", "lines", "table")] + [({"user": "*"}, True)],
        "jobs/{id}": [({}, True)],
        "jobs/{id}/report": [({"format": form}, form not in ("csv", "jobstats"))
                             for form in ("json", "text", "csv", "html", "jobstats")],
        "events": [(everything, False)], "alerts": [({}, False), ({"at": "-1s"}, False)],
        "lines": [(everything, True), (everything | {"type": "job"}, True), (everything | {"format": "lines"}, True),
                  (everything | {"group": "job_*"}, True), (everything | {"type": "cluster"}, False)],
        "socket": [({"request": words}, shows) for words, shows in
                   (("jobs", True), ("nodes\tjson", False), ("alerts", False), ("status", False), ("groups\tjson", False),
                    ("now\tmetric=job_cpu.cpus\trow=*", True))],
    }
    endless = {"stream", "watch"}
    assert set(asked) | endless == {path.removeprefix(API) for path in DESCRIPTION["paths"]}, "an address is not asked"
    for path, cases in asked.items():
        for arguments, shows in cases:
            yield spelled(API + path.replace("{id}", job), **arguments), shows
    for path in ("/metrics", "/nodes/n1/metrics", "/aggregator/metrics", "/sd", "/addresses"):
        yield path, False


@pytest.mark.parametrize("user", USERS, ids=lambda user: user.name)
def test_every_address(scene, user):
    """Each user sees his own job, and of the other's nothing; what was left out is said."""
    other = UUCP if user is GAMES else GAMES
    for path, shows in addresses(user):
        page = scene.ask(path, user)
        if "format=jobstats" in path and page.status == 500:
            continue  # a job of under two samples has none
        assert page.status == 200, f"{path}: {page.status} {page.text[:300]}"
        text = page.body.decode(errors="replace")
        assert_hidden(text, other, path)
        assert not shows or own(text, user) or "levels" in path, f"{path}: {text[:500]}"


def test_admins_see_all(scene):
    """By MUNGE, since they are listed; and root on the aggregator's host by its connection."""
    admin = User("daemon", "0")
    for path in (f"{API}jobs", f"{API}jobs?format=table", spelled(f"{API}lines", **{"from": "-1h", "group": "job_*"}),
                 spelled(f"{API}query", metric="job_cpu.usage", rows="yes"), "/metrics"):
        for text in (scene.ask(path, admin).text, scene.ask(path).text):
            assert own(text, GAMES) and own(text, UUCP), path
            assert "others_left_out" not in text


def test_another_s_is_as_none(scene):
    """The job of another and one that never was have the same answer, but for its number."""
    for path in ("jobs/{}", "jobs/{}/report?format=text", "query?metric=job_cpu.usage&job={}", "jobs/{}?user=uucp"):
        answers = [scene.ask(API + path.format(job), GAMES) for job in (UUCP.job, "774499")]
        texts = [page.text.replace(job, "JOB") for page, job in zip(answers, (UUCP.job, "774499"))]
        assert texts[0] == texts[1] and answers[0].status == answers[1].status != 200, texts
        assert "no job JOB of yours" in texts[0]


def test_choices_find_nothing_out(scene):
    """A choice that matches only what another has is answered as one that matches nothing: it is no question about him."""
    def answers(path, **arguments):
        texts = []
        for there, none in ((UUCP.job, "774499"), (UUCP.name, "news")):
            pair = [scene.ask(spelled(f"{API}{path}", **{name: value.format(job=word, user=word) for name, value in arguments.items()}),
                              GAMES) for word in (there, none)]
            for page in pair:
                assert page.status == 200, page.text
                texts.append(json.loads(page.text.replace(there, "IT").replace(none, "IT")))
        return texts

    def without_times(answer):
        return {key: value for key, value in answer.items() if key not in ("time", "from", "to", "start", "end", "read_from", "sources")}

    for path, arguments in (("jobs", {"user": "{user}"}), ("query", {"metric": "job_cpu.usage", "rows": "yes", "row": "{job}*"}),
                            ("now", {"metric": "job_memory.rss", "row": "{job}*"}), ("events", {"type": "job_*", "from": "-1h"}),
                            ("lines", {"type": "job", "from": "-1h", "node": "n1"})):
        found = answers(path, **arguments)
        for there, none in (found[:2], found[2:]):
            assert there.get("others_left_out", there.get("metrics", [{}])[0].get("others_left_out")) is True, (path, there)
            if path in ("jobs", "now", "events"):
                assert without_times(there) == without_times(none), path


def test_lists_of_processes(scene):
    """Who asks for which job is not to be seen by who looks at the processes of the aggregator's host."""
    seen = []

    def look():
        asking = threading.Thread(target=lambda: scene.ask(f"{API}jobs/{UUCP.job}/report?format=html", UUCP))
        asking.start()
        while asking.is_alive():
            children = pathlib.Path(f"/proc/{scene.cluster.aggregator.pid}/task").glob("*/children")
            for child in " ".join(path.read_text() for path in children).split():
                try:
                    words = pathlib.Path(f"/proc/{child}/cmdline").read_text().split("\0")
                except OSError:
                    continue
                seen.extend([words] if "answer" in words else [])
        asking.join()
        return seen

    wait_until(look, "a child that answers")
    for words in seen:
        assert words == ["synop-aggregator", "answer", ""], words


def test_what_is_left_out_is_said(scene):
    assert json.loads(scene.ask(f"{API}jobs", GAMES).text)["others_left_out"] is True
    assert "Jobs of other users are left out." in scene.ask(f"{API}jobs?format=table", GAMES).text
    assert json.loads(scene.ask(f"{API}query?metric=job_cpu.usage&rows=yes", GAMES).text)["others_left_out"] is True
    lines = json.loads(scene.ask(spelled(f"{API}lines", **{"from": "-1h", "type": "job"}), GAMES).text)
    assert lines["others_left_out"] is True and all(line["user"] == "games" for line in lines["lines"]) and lines["lines"]
    now = json.loads(scene.ask(spelled(f"{API}now", metric="job_memory.rss", row="*"), GAMES).text)
    rows = json.dumps(now["metrics"][0]["rows"])  # other tests have jobs of this user too
    assert now["metrics"][0]["others_left_out"] is True and own(rows, GAMES) and not own(rows, UUCP)
    assert "synop_others_left_out 1" in scene.ask("/metrics", GAMES).text


# ---- streams ----

@pytest.mark.parametrize("words", ["stream?", "stream?type=node&group=job_*,gpu_processes", "stream?type=cluster",
                                   "watch?metric=job_memory.rss&row=*", "socket?request=tail",
                                   "socket?request=watch%09metric%3Djob_memory.rss%09row%3D%2A"])
def test_streams(scene, words):
    """Lines as they come: of both users at once, and of an admin beside them."""
    path, _, arguments = words.partition("?")
    target = spelled(API + path, **dict(urllib.parse.parse_qsl(arguments)))
    parts = urllib.parse.urlsplit(scene.url)
    readers = []
    for user in (GAMES, UUCP, None):
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=LIMIT)
        headers = {"Authorization": f"MUNGE {scene.munged.credential('GET ' + target, user=user.uid)}"} if user else {}
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200
        readers.append((connection, answer, b""))
    texts = []
    for connection, answer, _ in readers:
        text = b""
        while text.count(b"\n") < 16:
            text += answer.read1(65536)
        texts.append(text.decode())
        connection.close()
    assert_hidden(texts[0], UUCP, words)
    assert_hidden(texts[1], GAMES, words)
    if "cluster" not in words:
        assert own(texts[0], GAMES) and own(texts[1], UUCP) and own(texts[2], GAMES) and own(texts[2], UUCP)
        assert "others_left_out" in texts[0] and "others_left_out" not in texts[2]
    else:
        assert "job_cpu" in texts[2] and "job_cpu" not in texts[0]


# ---- commands ----

def commands(user):
    return [("jobs",), ("jobs", "--json"), ("report", user.job), ("report", user.job, "--format", "json"),
            ("query", "job_memory.rss", "--job", user.job),
            ("query", "job_memory.rss", "--rows"), ("query", "--list", "job_m*.*"), ("query", "--list", "job_cpu*", "--format", "json"), ("query", "job_cpu.cpus", "--now", "--rows"),
            ("replay", "--from", "-10s"), ("tail", "--count", "40"), ("tail", "--group", "job_*", "--count", "3"),
            ("top", "--once", "--view", "jobs"), ("top", "--once", "--view", "node", "--node", "n1"), ("top", "--once"),
            ("top", "--once", "--view", "events"), ("status",), ("status", "--json")]


@pytest.mark.parametrize("user", USERS, ids=lambda user: user.name)
def test_every_command(scene, user):
    """As on a login node: neither socket nor history, MUNGE says who asks."""
    other = UUCP if user is GAMES else GAMES
    for words in commands(user):
        done = scene.command(user, *words)
        assert done.returncode == 0, f"{words}: {done.stdout[-500:]} {done.stderr}"
        assert_hidden(done.stdout + done.stderr, other, words)
        if "--list" in words:
            assert "job_" in done.stdout and "load" not in done.stdout, done.stdout
        elif words[0] not in ("status",) and words[1:] not in (("--once",), ("--once", "--view", "events")):
            assert own(done.stdout, user), f"{words}: {done.stdout[:2000]} {done.stderr}"
    for words in (("report", other.job), ("query", "job_memory.rss", "--job", other.job)):
        done = scene.command(user, *words)
        assert done.returncode != 0 and f"no job {other.job} of yours" in done.stderr, done
        assert f"{scene.url}/, asked as {user.name} by MUNGE" in done.stderr


def test_files_and_pictures(scene, tmp_path):
    """Reports and plots as files, made where the history is."""
    folder = scene.cluster.folder / "out"
    folder.mkdir()
    folder.chmod(0o777)
    done = scene.command(GAMES, "report", GAMES.job, "--html", folder / "r.html", "-o", folder / "r.txt")
    assert done.returncode == 0, done.stderr
    assert GAMES.job in (folder / "r.html").read_text() and GAMES.job in (folder / "r.txt").read_text()
    again = scene.command(GAMES, "report", GAMES.job, "--html", folder / "r.html")
    assert again.returncode == 1 and "r.html" in again.stderr
    done = scene.command(GAMES, "report", GAMES.job, "--hdf5", folder / "r.h5")
    assert done.returncode == 1 and "on the aggregator's host" in done.stderr


# ---- credentials ----

def refusal(page, status=401):
    assert page.status == status, page.text
    return json.loads(page.text)["error"]["message"]


def test_munge(scene):
    """What is sent twice, too old, for another request, or no credential, is refused in munged's words."""
    path = f"{API}jobs"
    fresh = scene.munged.credential(f"GET {path}", user=GAMES.uid)
    assert scene.ask(path, GAMES, fresh).status == 200
    assert "eplayed" in refusal(scene.ask(path, GAMES, fresh))
    old = scene.munged.credential(f"GET {path}", "--ttl", "1", user=GAMES.uid)
    time.sleep(2.5)
    assert "xpired" in refusal(scene.ask(path, GAMES, old))
    other = scene.munged.credential(f"GET {path}?user=uucp", user=GAMES.uid)
    assert "made for another request" in refusal(scene.ask(path, GAMES, other))
    assert "MUNGE" in refusal(scene.ask(path, GAMES, "MUNGE:AwQDAAAAAAAA:"))
    assert refusal(scene.ask(path, GAMES, "x")).startswith("MUNGE: ")
    encoded = scene.munged.credential(f"GET {path}?user=%2A", user=GAMES.uid)
    assert scene.ask(f"{path}?user=*", GAMES, encoded).status == 200, "one spelling, however it was sent"


def test_munged_is_away(scene):
    """Whoever shows a credential is refused and is said why; nobody else notices. The command says what to do."""
    credential = scene.munged.credential(f"GET {API}jobs", user=GAMES.uid)
    scene.munged.stop()
    try:
        for _ in range(3):
            assert "MUNGE" in refusal(scene.ask(f"{API}jobs", GAMES, credential))
        assert scene.ask(f"{API}jobs").status == 200
        done = scene.command(GAMES, "jobs")  # by the connection, which is of this host
        assert done.returncode == 0 and own(done.stdout, GAMES)
        assert_hidden(done.stdout, UUCP, "jobs")
    finally:
        scene.munged.start()
    # It is asked again when it was away for a while.
    wait_until(lambda: scene.ask(f"{API}jobs", GAMES).status == 200, "munged again")


def test_tokens(scene):
    """Made, used at once, of one user alone, and taken away; a file that others can get at is used by neither side."""
    token = scene.token("games")
    assert token.startswith("synop_") and stat.S_IMODE(scene.tokens.stat().st_mode) == 0o600
    assert token not in scene.tokens.read_text() and "games" in scene.tokens.read_text()
    page = get(scene.url, f"{API}jobs", Authorization=f"Bearer {token}")
    assert page.status == 200 and own(page.text, GAMES)
    assert_hidden(page.text, UUCP, "a token")
    assert "nobody's" in refusal(get(scene.url, f"{API}jobs", Authorization=f"Bearer {token}x"))
    scene.tokens.chmod(0o644)
    assert "chmod 600" in refusal(get(scene.url, f"{API}jobs", Authorization=f"Bearer {token}"))
    scene.tokens.chmod(0o600)
    scene.cluster.succeed("aggregator", "token", "games", "--revoke", "--config", scene.cluster.empty, "--access-tokens",
                          scene.tokens)
    assert "nobody's" in refusal(get(scene.url, f"{API}jobs", Authorization=f"Bearer {token}"))


def test_token_of_the_command(scene):
    """From SYNOP_TOKEN_FILE, which nobody else may read; only where MUNGE is not to be had."""
    ini = scene.cluster.write("no-munge.ini", f"[access]\nmunge_socket = {scene.cluster.folder}/none\n")
    file = scene.cluster.folder / "token-of-uucp"
    file.write_text(scene.token("uucp") + "\n")
    os.chown(file, GAMES.uid, -1)

    def jobs():
        return run("aggregator", "jobs", "--config", ini, "--url", scene.url, prefix=GAMES.prefix, env={"SYNOP_TOKEN_FILE": str(file)})

    file.chmod(0o600)
    assert own(jobs().stdout, UUCP) and not own(jobs().stdout, GAMES), "he has the token of another"
    file.chmod(0o640)
    assert own(jobs().stdout, GAMES), "it is not used: the connection says who asks"


# ---- connections of this host ----

def test_owner_of_the_connection(scene):
    """Without any credential the kernel says who connects: over TCP, and by the UNIX socket where that is open to all."""
    script = ("import http.client,sys;c=http.client.HTTPConnection(sys.argv[1],int(sys.argv[2]));"
              "c.request('GET','/api/v1/jobs?format=table');sys.stdout.write(c.getresponse().read().decode())")
    parts = urllib.parse.urlsplit(scene.url)
    for user, other in ((GAMES, UUCP), (UUCP, GAMES)):
        done = subprocess.run([*user.prefix, "/usr/bin/python3", "-c", script, parts.hostname, str(parts.port)], check=True,
                              capture_output=True, text=True, timeout=LIMIT, env=environment())
        assert own(done.stdout, user), done.stdout
        assert_hidden(done.stdout, other, "by the connection")
