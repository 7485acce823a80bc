"""A login node beside the aggregator's host, as a site has them: each with an address and a munged of its own, with one key.
Users ask by client.ini alone."""

import os
import pwd
import shutil
import subprocess
import time

import pytest
from lib import lab
from lib.cluster import Cluster
from lib.munge import MISSING, Munged
from lib.programs import run, wait_until
from lib.web import url_of

pytestmark = pytest.mark.skipif(bool(lab.lacking() or MISSING), reason=str(lab.lacking() or MISSING))
GAMES, UUCP = (pwd.getpwnam(name) for name in ("games", "uucp"))
JOBS = {GAMES: "776601", UUCP: "776602"}


def on(host, account=None):
    """What runs a command there: a program of this one's files, with that host's network."""
    user = ("setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups") if account else ()
    return ("ip", "netns", "exec", host.namespace, *user)


class Site:
    def __init__(self, hosts):
        self.master, self.login = hosts["m0"], hosts["login"]
        self.cluster = Cluster()
        self.cluster.folder.chmod(0o755)
        self.jobs = []
        self.munged = [Munged(self.cluster.folder / name) for name in ("mm", "ml")]
        self.munged[1].stop()
        shutil.copy(self.cluster.folder / "mm/key", self.cluster.folder / "ml/key")
        self.munged[1].start()
        line = run("aggregator", "keys", "password", "ops", stdin="secret\n").stdout
        passwords = self.cluster.write("passwords", line)
        self.cluster.start_aggregator(prefix=on(self.master), config=f"""[http]
listen = {self.master.address}:0
password_file = {passwords}
[access]
munge_socket = {self.cluster.folder}/mm/s
admins = root
""")
        self.cluster.start_agent("n1", prefix=on(self.master))
        self.cluster.wait_node("n1")
        for account, job in JOBS.items():
            self.jobs.append(subprocess.Popen([*on(self.master, account), "env", f"SYNOP_JOB_ID={job}", "sleep", "600"]))
        for job in JOBS.values():
            self.cluster.aggregator.wait_line(type="job", event="started", job_id=job)
        self.client = self.cluster.write("client.ini", f"""[access]
url = {url_of(self.cluster.aggregator)}/
munge_socket = {self.cluster.folder}/ml/s
""")

    def close(self):
        for job in self.jobs:
            job.kill()
            job.wait()
        for munged in self.munged:
            munged.stop()
        self.cluster.close()

    def ask(self, account, *words):
        place = ["--config", self.client, "--socket", self.cluster.folder / "none"]
        place += [] if words[0] in ("tail", "status") else ["--history", self.cluster.folder / "none.db"]
        return run("aggregator", words[0], *place, *words[1:], prefix=on(self.login, account))


@pytest.fixture(name="site", scope="module")
def fixture_site():
    with lab.Hosts(["m0", "login"]) as hosts:
        made = Site(hosts)
        yield made
        made.close()


def test_login_node(site):
    """Own jobs by every command, others' by none; root of the login node is root everywhere munged is, so an admin here."""
    for account, other in ((GAMES, UUCP), (UUCP, GAMES)):
        for words in (["jobs"], ["report", JOBS[account]], ["query", "job_memory.rss", "--job", JOBS[account]],
                      ["tail", "--group", "job_*", "--count", "2"], ["replay", "--from", "-5s"], ["top", "--once", "--view", "jobs"]):
            done = site.ask(account, *words)
            assert done.returncode == 0 and JOBS[account] in done.stdout, f"{words}: {done}"
            assert JOBS[other] not in done.stdout + done.stderr, words
        assert f"no job {JOBS[other]} of yours" in site.ask(account, "report", JOBS[other]).stderr
    done = site.ask(None, "jobs")
    assert all(job in done.stdout for job in JOBS.values()), done


def test_another_key(site):
    """A munged of another realm vouches for nobody; without one, and without a token, nobody is let in, and is said why."""
    munged = site.munged[1]
    munged.stop()
    key = site.cluster.folder / "ml/key"
    kept = key.read_bytes()
    try:
        done = site.ask(GAMES, "jobs")
        assert done.returncode == 1 and "does not let games in" in done.stderr and "MUNGE" in done.stderr, done
        key.chmod(0o600)
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        munged.start()
        done = site.ask(GAMES, "jobs")
        assert done.returncode == 1 and "does not let games in" in done.stderr, done
        munged.stop()
    finally:
        key.chmod(0o600)
        key.write_bytes(kept)
        key.chmod(0o400)
        munged.start()
    wait_until(lambda: site.ask(GAMES, "jobs").returncode == 0, "the right key again")


def test_wire(site):
    """What went over the network is of no use to who copied it: a credential of this host, used on that one, is used up."""
    path = "/api/v1/jobs"
    url = url_of(site.cluster.aggregator)
    script = ("import sys,urllib.request as u\n"
              "try: r=u.urlopen(u.Request(sys.argv[1],headers={'Authorization':'MUNGE '+sys.argv[2]}));print(r.status,r.read().decode())\n"
              "except u.HTTPError as e: print(e.code,e.read().decode())")

    def send(credential, target=path):
        return subprocess.run([*on(site.login), "/usr/bin/python3", "-c", script, url + target, credential], capture_output=True,
                              text=True, check=True).stdout

    fresh = site.munged[1].credential(f"GET {path}", user=GAMES.pw_uid)
    assert send(fresh).startswith("200 ") and send(fresh).startswith("401 ")
    moved = site.munged[1].credential(f"GET {path}", user=GAMES.pw_uid)
    assert "made for another request" in send(moved, f"{path}/{JOBS[GAMES]}")
    assert send(moved).startswith("401 "), "it was looked at once"
    old = site.munged[1].credential(f"GET {path}", "--ttl", "1", user=GAMES.pw_uid)
    time.sleep(2.2)
    assert send(old).startswith("401 ") and "xpired" in send(old)
