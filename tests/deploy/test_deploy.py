"""A cluster as people meet it: an inventory, one command, and hosts with a real systemd that are reached by ssh alone.

Each test begins with the cluster that the first deployment made, and leaves one behind that is up, but for the last. The
agents log every frame that they sample, so that the history can be held against the truth at the end.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import threading
import time

import pytest
from lib import packages
from lib.chaos import identity, split, told
from lib.munge import MISSING
from lib.programs import BUILD, ROOT, copy_built, copy_tree, parse_line, wait_until
from lib.systemd_lab import SystemdHosts, lacking

WORKERS = ["n1", "n2", "n3"]
DROP_IN = "/etc/systemd/system/synop-agent.service.d"
FRAMES = "/var/lib/synop/frames"
HOSTS = """\
[master]
m0 ansible_host=10.79.0.10

[worker]
n1 ansible_host=10.79.0.11
n2 ansible_host=10.79.0.12
n3 ansible_host=10.79.0.13
{more}
[all:vars]
ansible_user=root
ansible_python_interpreter=/usr/bin/python3
ansible_ssh_private_key_file={key}
ansible_ssh_common_args=-o UserKnownHostsFile={known}
synop_agent_options={{"agent": {{"period": "200ms", "frame_log": "{frames}"}}}}
synop_aggregator_options={{"history": {{"chunk_time": "1s"}}, "http": {{"listen": "*:5580", "auth": "none"}}}}
"""


PIDS = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text())


def newest_process():
    return int(pathlib.Path("/proc/loadavg").read_text().split()[-1])


@dataclasses.dataclass
class Play:
    code: int
    text: str

    def changed(self):
        """{host: how many tasks changed something}"""
        recap = self.text.split("PLAY RECAP", 1)[1]
        return {host: int(number) for host, number in re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", recap, re.M)}

    def succeeded(self):
        assert self.code == 0, self.text
        return self


class Deployment:
    """A checkout on this machine, its inventory, and the hosts."""

    def __init__(self, folder, inventory=HOSTS, names=("m0", *WORKERS), later=("n4",)):
        self.folder = folder
        self.checkout = folder / "synop"
        self.inventory, self.form = folder / "host.ini", inventory
        self.texts = []
        self.plays = []
        self.arguments = set()
        # make check-deploy shows that a checkout alone is enough; else what is built already is rolled out, of a copy, since
        # other tests run these programs meanwhile.
        (copy_tree if os.environ.get("SYNOP_DEPLOY_FRESH") else copy_built)(self.checkout)
        self.hosts = SystemdHosts(folder / "hosts", names, later=later)

    def write_inventory(self, more=""):
        self.inventory.write_text(self.form.format(more=more, key=self.hosts.key, known=self.hosts.known, frames=FRAMES))

    def play(self, book, *options):
        begin, ended = time.monotonic(), threading.Event()
        watch = threading.Thread(target=self.note_arguments, args=(ended,))
        watch.start()
        command = ["ansible-playbook", "-i", self.inventory, f"ansible/{book}.yaml", *options]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C.UTF-8", "ANSIBLE_PIPELINING": "1"}
        try:
            done = self.hosts.control(*command, cwd=self.checkout, env=environment, timeout=600)
        finally:
            ended.set()
            watch.join()
        self.plays.append([book, *options])
        self.texts.append(done.stdout + done.stderr)
        print(f"{book} {' '.join(map(str, options))}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
        return Play(done.returncode, done.stdout + done.stderr)

    def note_arguments(self, ended):
        """What any process has as arguments: those of the hosts are processes of this machine too."""
        looks, last = {}, newest_process()  # how often at each that is new: a young one may be about to become another program
        while not ended.wait(0.005):
            before, last = last, newest_process()
            new = range(before + 1, last + 1) if before <= last else [*range(before + 1, PIDS), *range(1, last + 1)]
            looks.update((number, 0) for number in new)
            for number in list(looks):
                looks[number] += 1
                try:
                    self.arguments.add(pathlib.Path(f"/proc/{number}/cmdline").read_text(errors="replace"))
                except OSError:
                    looks[number] = 50
                if looks[number] == 50:
                    del looks[number]

    def status(self):
        return parse_line(self.hosts["m0"].text("synop-aggregator", "status", "--json"))

    def sessions(self):
        """{node: session} of the nodes that are up"""
        return {node["node"]: node["session"] for node in self.status()["nodes"] if node["state"] == "up"}

    def wait_renewed(self, before, nodes, limit=90):
        """Until each of these is up with another session than before."""

        def renewed():
            now = self.sessions()
            return all(node in now and now[node] != before.get(node) for node in nodes)

        wait_until(renewed, f"new sessions of {', '.join(nodes)}", limit)

    def secrets(self):
        """The secret keys of all hosts, and the lines that hold them."""
        found = []
        for host in self.hosts:
            for path in host.path("/etc/synop").rglob("*.key"):
                found.append(path.read_text().split("=", 1)[1].strip())
        return found


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    reason = lacking() or (None if shutil.which("ansible-playbook") else "not installed: ansible-core")
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("d")
    folder.joinpath("hosts").mkdir()
    made = Deployment(folder)
    with made.hosts:
        made.write_inventory()
        made.first = made.play("deploy")
        if made.first.code == 0:
            made.hosts["m0"].run("mkdir", "-p", "/root/tests")
        yield made
        for host in made.hosts:
            if made.first.code and host.first():
                print(host.name, host.run("journalctl", "--no-pager", "-n", "40", check=False).stdout)
    shutil.rmtree(folder, ignore_errors=True)


def mode(path):
    return path.stat().st_mode & 0o777


def test_deploys(deployment):
    first = deployment.first.succeeded()
    assert "3 nodes: 3 up" in first.text
    assert sorted(deployment.sessions()) == WORKERS
    for name in ["m0", *WORKERS]:
        host, program = deployment.hosts[name], "aggregator" if name == "m0" else "agent"
        assert host.text("systemctl", "is-enabled", f"synop-{program}") == "enabled"
        keys = host.path("/etc/synop/keys")
        assert mode(keys / f"{program}.key") == 0o600
        assert mode(host.path(f"/etc/synop/{program}.ini")) == 0o644
        assert {path.name for path in keys.glob("*.key")} == {f"{program}.key"}, "a secret of another host"
        assert host.text("man", "-w", f"synop-{program}") == f"/usr/share/man/man1/synop-{program}.1"
        assert mode(host.path(f"/usr/share/bash-completion/completions/synop-{program}")) == 0o644


def test_commands_of_plain_users(deployment):
    """Who is not root reads the options, and nothing that is secret; the socket's group is what it says it is."""
    n1, m0 = deployment.hosts["n1"], deployment.hosts["m0"]
    line = parse_line(n1.text("runuser", "-u", "nobody", "--", "synop-agent", "--once", "--period", "50ms"))
    assert line["node"] == "n1" and line["report"]["system_data"]["load"]
    assert n1.run("runuser", "-u", "nobody", "--", "cat", "/etc/synop/keys/agent.key", check=False).returncode != 0
    page = (deployment.checkout / "docs/operations.md").read_text()
    script, = [block for block in re.findall(r"(?m)^    #!/bin/sh\n(?:    .*\n)*", page) if "-t epilog-synop" in block]
    m0.put("/etc/epilog-synop", re.sub("(?m)^    ", "", script).encode())
    m0.run("chmod", "755", "/etc/epilog-synop")
    m0.run("sh", "-c", "id slurm 2>/dev/null || useradd --system --no-create-home slurm")
    m0.run("systemctl", "restart", "synop-aggregator")  # it asks for the number of [jobs] scheduler_users when it starts
    m0.run("synop-aggregator", "job", "start", "77")

    def epilog():
        m0.run("runuser", "-u", "slurm", "--", "env", "-i", "SLURM_JOB_ID=77", "/etc/epilog-synop")

    epilog()
    told = wait_until(lambda: m0.text("journalctl", "-t", "epilog-synop", "-o", "cat", "--no-pager"), "the epilog's word")
    hint = re.search(r"Permission denied; it is for the group synop, .*: (usermod -aG synop slurm)$", told)
    assert "job 77: exit code 1: " in told and hint, told
    m0.run("sh", "-c", hint[1])
    epilog()
    assert m0.text("journalctl", "-t", "epilog-synop", "-o", "cat", "--no-pager") == told
    wait_until(lambda: deployment.status()["counters"]["jobs_ended"] == 1, "the end of the job")


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
def test_users_of_other_hosts_ask_for_their_jobs(deployment):
    """By client.ini alone, where the program is installed and munged runs with one key: a user for his own, SLURM's for all."""
    m0, n1, n2 = (deployment.hosts[name] for name in ("m0", "n1", "n2"))
    key = os.urandom(128)
    for host in (m0, n1, n2):
        host.put("/etc/munge/munge.key", key)
        host.run("sh", "-c", "chown -R munge: /etc/munge; chmod 700 /etc/munge; chmod 400 /etc/munge/munge.key")
        host.run("systemctl", "restart", "munge")
        host.run("sh", "-c", "id slurm 2>/dev/null || useradd --system --no-create-home slurm")
    assert mode(n2.path("/etc/synop/client.ini")) == 0o644
    n2.put("/usr/local/bin/synop-aggregator", m0.path(m0.text("sh", "-c", "command -v synop-aggregator")).read_bytes())
    n2.run("chmod", "755", "/usr/local/bin/synop-aggregator")

    def ask(user, *words):
        return n2.run("runuser", "-u", user, "--", "/usr/local/bin/synop-aggregator", *words, check=False)

    n1.run("systemd-run", "--unit", "job88", "--uid", "games", "--setenv", "SYNOP_JOB_ID=88", "sleep", "600")
    said = []
    try:
        wait_until(lambda: said.append(ask("games", "jobs")) or re.search(r"(?m)^88 +games ", said[-1].stdout), "his job")
    except AssertionError as error:
        raise AssertionError(f"{error}: {said[-1]}") from error
    done = ask("games", "report", "88")
    assert done.returncode == 0 and "88" in done.stdout.splitlines()[0], done
    assert not re.search("(?m)^88 ", ask("news", "jobs").stdout)
    refused = ask("news", "report", "88")
    assert refused.returncode == 1 and "no job 88 of yours" in refused.stderr, refused
    assert ask("slurm", "report", "88").returncode == 0
    n1.run("systemctl", "stop", "job88")
    n2.run("rm", "/usr/local/bin/synop-aggregator")


def test_status_says_why_a_start_failed(deployment):
    """Also to those who may not read the journal."""
    n1 = deployment.hosts["n1"]
    before = deployment.sessions()
    n1.put(f"{DROP_IN}/wrong.conf", b"[Service]\nExecStart=\nExecStart=/usr/bin/synop-agent --period soon\nRestartSec=60\n")
    n1.run("sh", "-c", "systemctl daemon-reload && systemctl restart synop-agent", check=False)
    shown = n1.run("runuser", "-u", "nobody", "--", "systemctl", "status", "--no-pager", "synop-agent", check=False).stdout
    n1.run("sh", "-c", f"rm -r {DROP_IN} && systemctl daemon-reload && systemctl restart synop-agent")
    deployment.wait_renewed(before, ["n1"])
    assert "auto-restart" in shown and re.search(r'Status: "--period: expected a duration', shown), shown


def test_second_run_changes_nothing_and_names_who_is_ill(deployment):
    """n4 is new and lacks a library, n5 is not there, and the clock of n3 is wrong."""
    before = deployment.sessions()
    n3, n4 = deployment.hosts["n3"], deployment.hosts["n4"]
    n4.boot()
    shift = deployment.folder / "shift.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shift, ROOT / "tests/lib/wall_shift.c"], check=True)
    n3.put("/usr/lib/shift.so", shift.read_bytes())
    n3.put("/usr/lib/shift.ns", struct.pack("=q", 6_000_000_000))
    n3.put(f"{DROP_IN}/shift.conf", b"[Service]\nEnvironment=LD_PRELOAD=/usr/lib/shift.so WALL_SHIFT_FILE=/usr/lib/shift.ns\n")
    n3.run("sh", "-c", "systemctl daemon-reload && systemctl restart synop-agent")
    n4.wait_ready()
    n4.run("sh", "-c", "mount --bind /dev/null $(realpath /usr/lib/*/libsodium.so.23)")
    deployment.wait_renewed(before, ["n3"])
    before = deployment.sessions()
    deployment.write_inventory("n4 ansible_host=10.79.0.14\nn5 ansible_host=10.79.0.99\n")
    play = deployment.play("deploy", "-e", "synop_clock_limit=2")
    assert play.code != 0
    fatal = play.text[play.text.rindex("fatal: "):]
    assert "2 of 6 hosts" in fatal and "n4: " in fatal and "libsodium" in fatal, fatal
    assert re.search(r"n5: .*(No route|unreachable|timed out|could not be sent)", fatal), fatal
    assert re.search(r"n3: its clock is off by 6\.\d+ s", play.text), play.text
    assert all(play.changed()[host] == 0 for host in ["m0", *WORKERS]), play.text
    assert deployment.sessions() == before
    n4.run("sh", "-c", "umount $(realpath /usr/lib/*/libsodium.so.23)")
    n3.run("sh", "-c", f"rm -r {DROP_IN} && systemctl daemon-reload && systemctl restart synop-agent")
    deployment.write_inventory("n4 ansible_host=10.79.0.14\n")


def test_adds_a_worker_and_touches_no_other(deployment):
    wait_until(lambda: len(deployment.sessions()) >= 3, "three workers")
    before = deployment.sessions()
    before.pop("n4", None)
    if deployment.hosts["n4"].first() is None:
        deployment.hosts["n4"].boot()
        deployment.hosts["n4"].wait_ready()
    deployment.write_inventory("n4 ansible_host=10.79.0.14\n")
    play = deployment.play("deploy", "--limit", "n4").succeeded()
    assert set(play.changed()) == {"n4"}
    after = deployment.sessions()
    assert after.keys() == {*WORKERS, "n4"}
    assert {node: after[node] for node in before} == before
    again = deployment.play("deploy").succeeded()
    assert set(again.changed().values()) == {0}, again.text
    assert deployment.sessions() == after


def test_comes_back_by_itself(deployment):
    """kill -9 of an agent, a hang of another, a third one's host that boots again."""
    before = deployment.sessions()
    n1, n2, n3 = (deployment.hosts[name] for name in WORKERS)
    n2.put(f"{DROP_IN}/quick.conf", b"[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\nRestartSec=1\n")
    n2.run("sh", "-c", "systemctl daemon-reload && systemctl restart synop-agent")
    deployment.wait_renewed(before, ["n2"])
    before = deployment.sessions()
    n1.run("systemctl", "kill", "--signal=KILL", "--kill-who=main", "synop-agent")
    n2.run("systemctl", "kill", "--signal=STOP", "--kill-who=main", "synop-agent")
    n3.reboot()
    deployment.wait_renewed(before, WORKERS)
    assert "Watchdog timeout" in n2.text("journalctl", "-u", "synop-agent", "--no-pager")


def test_rotates_keys(deployment):
    before = deployment.sessions()
    old = {node: deployment.hosts[node].path("/etc/synop/keys/agent.pub").read_text() for node in before}
    secrets = deployment.secrets()
    play = deployment.play("deploy", "-e", "rotate_keys=true", "--tags", "keys").succeeded()
    assert f"{len(before)} up" in play.text  # it has waited for them
    deployment.wait_renewed(before, list(before), 1)
    for node in before:
        keys = deployment.hosts[node].path("/etc/synop/keys")
        assert (keys / "agent.pub").read_text() != old[node]
        assert mode(keys / "agent.key") == 0o600 and not (keys / "new").exists()
    assert not set(secrets) & set(deployment.secrets()) - {deployment.secrets()[0]}


def test_check_only_says_what_it_would_do(deployment):
    before = deployment.sessions()
    longer = '{"synop_aggregator_options": {"history": {"max_age": "9d"}, "http": {"listen": "*:5580", "auth": "none"}}}'
    play = deployment.play("deploy", "--check", "--tags", "config", "-e", longer).succeeded()
    assert play.changed()["m0"] > 0
    assert all(play.changed()[node] == 0 for node in before)
    assert deployment.sessions() == before
    assert "9d" not in deployment.hosts["m0"].path("/etc/synop/aggregator.ini").read_text()


def test_names_who_failed_with_tags_too(deployment):
    """A value that the agent does not take is no reason to lose what runs, and none to say that all is well."""
    before = deployment.sessions()
    soon = '{"synop_agent_options": {"agent": {"period": "soon"}}}'
    play = deployment.play("deploy", "--tags", "config", "--limit", "n1", "-e", soon)
    assert play.code != 0
    fatal = play.text[play.text.rindex("fatal: "):]
    assert "1 of 1 hosts: n1: Configure the agent: " in fatal and "[agent] period: expected a duration" in fatal, fatal
    assert deployment.sessions() == before


def test_another_version_is_no_success(deployment):
    before = deployment.sessions()
    play = deployment.play("deploy", "--skip-tags", "build", "--limit", "n1", "-e", "synop_version=9.9")
    assert play.code != 0
    fatal = play.text[play.text.rindex("fatal: "):]
    version = re.search(r'"(.*)"', (ROOT / "include/synop/version.h").read_text())[1]
    assert f'/usr/bin/synop-agent is "synop agent {version}", and was to be 9.9' in fatal.replace('\\"', '"'), fatal
    assert deployment.sessions() == before


def with_frames(deployment):
    return [host for host in deployment.hosts if host.path(FRAMES).exists()]


def sampled(deployment):
    return {identity(frame) for host in with_frames(deployment) for frame in split(host.path(FRAMES).read_bytes())[0]}


def test_upgrades_in_batches_and_loses_no_frame(deployment):
    """Another build of both programs, two workers at a time. The history then has every frame that was ever sampled."""
    before = deployment.sessions()
    newer = deployment.folder / "newer"
    newer.mkdir()
    for program in ("agent", "aggregator"):
        source = deployment.checkout / "build" / program
        newer.joinpath(program).write_bytes(source.read_bytes() + b"newer")
    # As a run leaves it that was cut short: the new program is there, and the old one runs.
    n1 = deployment.hosts["n1"]
    n1.put("/usr/bin/newer", newer.joinpath("agent").read_bytes())
    n1.run("sh", "-c", "chmod 755 /usr/bin/newer && mv /usr/bin/newer /usr/bin/synop-agent")
    play = deployment.play("deploy", "--skip-tags", "build", "-e", f"synop_build={newer}", "-e", "synop_serial=2")
    play.succeeded()
    assert play.text.count("PLAY [Deploy the agents]") == (len(before) + 1) // 2
    deployment.wait_renewed(before, list(before))
    for host in with_frames(deployment):
        host.run("systemctl", "stop", "synop-agent")
    m0 = deployment.hosts["m0"]
    logged = sampled(deployment)

    def kept():
        m0.run("rm", "-f", "/var/lib/synop/export")
        m0.run("synop-aggregator", "export", "--format", "msgpack", "-o", "/var/lib/synop/export")
        return [identity(frame) for frame in split(m0.path("/var/lib/synop/export").read_bytes())[0]]

    try:
        wait_until(lambda: logged <= set(kept()), "every frame in the history", 60)
    except AssertionError:
        pytest.fail(f"not in the history: {told(logged - set(kept()))}")
    stored = kept()
    assert len(stored) == len(set(stored)), "a frame twice"
    sessions = {}
    for node, session, sequence in stored:
        sessions.setdefault((node, session), []).append(sequence)
    for name, numbers in sessions.items():
        assert sorted(numbers) == list(range(1, len(numbers) + 1)), f"{name}: {sorted(numbers)}"
    for node in before:
        deployment.hosts[node].run("systemctl", "start", "synop-agent")
    deployment.wait_renewed({}, list(before))


def test_no_secret_is_told(deployment):
    secrets = deployment.secrets()
    assert secrets
    told_by = "\n".join(deployment.texts)
    assert not [secret for secret in secrets if secret in told_by]
    assert any("keys\0init" in words for words in deployment.arguments), "nothing was looked at"
    assert not [words for words in deployment.arguments if any(secret in words for secret in secrets)]
    for host in deployment.hosts:
        log = host.run("journalctl", "--no-pager", check=False).stdout if host.first() else ""
        assert not [secret for secret in secrets if secret in log]
        left = host.path("/root/.ansible/tmp")
        assert not left.exists() or not list(left.iterdir())
    for path in deployment.folder.glob(".ansible/**/*"):
        assert not path.is_file() or not [s for s in secrets if s.encode() in path.read_bytes()], path


def test_removes_one_worker(deployment):
    before = deployment.sessions()
    play = deployment.play("remove", "--limit", "n3").succeeded()
    assert set(play.changed()) == {"n3"}
    n3 = deployment.hosts["n3"]
    assert n3.run("systemctl", "cat", "synop-agent", check=False).returncode != 0
    assert n3.run("ls", "/etc/synop", check=False).returncode != 0
    listed = [node["node"] for node in deployment.status()["nodes"]]
    assert "n3" not in listed and len(listed) == len(before) - 1


def test_shuts_down_and_removes_all(deployment):
    deployment.play("shutdown").succeeded()
    for host, program in (("m0", "aggregator"), ("n1", "agent")):
        shown = deployment.hosts[host].text("systemctl", "show", "-p", "ActiveState,UnitFileState", f"synop-{program}")
        assert sorted(shown.split()) == ["ActiveState=inactive", "UnitFileState=disabled"]
    deployment.play("remove").succeeded()
    for host in deployment.hosts:
        if host.first():
            assert host.run("sh", "-c", "ls /etc/synop; find /usr -name 'synop-a*'", check=False).stdout == ""
    assert deployment.hosts["m0"].run("ls", "/var/lib/synop/history.db", check=False).returncode == 0


def test_readme_says_what_was_run(deployment):
    """Each of its commands, with all of its options."""
    lines = re.findall(r"(?m)^    ansible-playbook -i host.ini ansible/(\w+).yaml *([^#\n]*)", (ROOT / "README.md").read_text())
    assert len(lines) >= 6
    for book, options in lines:
        words = set(options.split()) - {"-e"}
        assert any(play[0] == book and words <= set(play[1:]) for play in deployment.plays), f"{book} {options}"


def test_packages_and_a_master_that_is_a_worker(deployment):
    """On hosts from which everything was removed."""
    if not os.environ.get("SYNOP_DEPLOY_FRESH"):
        pytest.skip("packages are rolled out by make check-deploy")
    if not list(BUILD.glob("deb/synop-agent_*.deb")):
        pytest.skip(f"no packages in {BUILD}/deb")
    deployment.write_inventory("m0\n")
    options = ["-e", "synop_install=package", "-e", f"synop_build={BUILD}"]
    play = deployment.play("deploy", *options).succeeded()
    assert "4 nodes: 4 up" in play.text
    again = deployment.play("deploy", *options).succeeded()
    assert set(again.changed().values()) == {0}, again.text
    assert deployment.hosts["n1"].run("dpkg", "--verify", "synop-agent", check=False).stdout.count("/usr/") == 0
    # The same version, built anew. The worker on the master stays when the aggregator is removed without it.
    n1 = deployment.hosts["n1"]
    packages.rebuilt(next(BUILD.glob("deb/synop-agent_*.deb")), deployment.folder / "debs")
    debs = f'{{"synop_packages": {{"Debian": "{deployment.folder}/debs/synop-{{{{ synop_program }}}}_*.deb"}}}}'
    deployment.play("deploy", *options, "--limit", "n1", "--tags", "worker", "-e", debs).succeeded()
    assert n1.run("test", "-e", "/usr/share/doc/synop-agent/built-anew").returncode == 0
    # By hand: an upgrade restarts the service, a purge ends it.
    before = deployment.sessions()
    newer = packages.newer(next(BUILD.glob("deb/synop-agent_*.deb")), deployment.folder, "99")
    n1.put("/root/newer.deb", newer.read_bytes())
    n1.run("dpkg", "--force-confold", "-i", "/root/newer.deb")
    deployment.wait_renewed(before, ["n1"])
    assert n1.text("dpkg-query", "-W", "-f", "${Version}", "synop-agent") == "99"
    n1.run("dpkg", "-P", "synop-agent")
    assert n1.run("pgrep", "-x", "synop-agent", check=False).returncode == 1
    assert n1.run("ls", "/etc/synop", "/var/lib/synop/ring", check=False).stdout == ""
    deployment.play("remove", "-e", "synop_purge=true", "-e", "skip_worker=true").succeeded()
    shown = deployment.hosts["m0"].text("sh", "-c", "ls /etc/synop /etc/synop/keys; systemctl is-active synop-agent")
    assert shown.split() == ["/etc/synop:", "agent.ini", "keys", "/etc/synop/keys:", "agent.key", "agent.pub",
                             "aggregator.pub", "active"]
    deployment.play("remove", "-e", "synop_purge=true").succeeded()
    for host in deployment.hosts:
        if host.first() and host.name != "n4":
            places = "/etc/synop /usr/bin/synop-* /var/lib/synop /var/cache/synop /usr/share/doc/synop-*"
            left = host.run("sh", "-c", f"ls -d {places}; dpkg-query -W 'synop-*'", check=False).stdout
            assert left == "", f"{host.name}: {left}"
