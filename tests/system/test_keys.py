"""Keys from their making to their end, and that secrets stay secret."""

import os
import resource
import shutil
import signal
import stat
import subprocess

import pytest
from lib.cluster import assert_contiguous, read_key
from lib.programs import run, wait_until


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_files(cluster):
    folder = cluster.keys_of("n1")
    assert mode(cluster.master / "aggregator.key") == 0o600
    assert mode(folder / "agent.key") == 0o600
    assert {path.name for path in cluster.master.iterdir()} == {"aggregator.key", "aggregator.pub", "nodes"}
    assert {path.name for path in folder.iterdir()} == {"agent.key", "agent.pub", "aggregator.pub"}
    assert (cluster.master / "nodes" / "n1.pub").exists()
    assert "n1" in (folder / "agent.pub").read_text()


def test_init_overwrites_nothing(cluster):
    before = (cluster.master / "aggregator.key").read_text()
    done = run("aggregator", "keys", "init", "--keys", cluster.master)
    assert done.returncode in (1, 2) and str(cluster.master) in done.stderr
    assert (cluster.master / "aggregator.key").read_text() == before


@pytest.mark.parametrize("folder", ["k", "k/l", "./k/"])
def test_init_in_a_relative_folder(tmp_path, folder):
    done = run("agent", "keys", "init", "--keys", folder, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / folder / "agent.key").exists()


def test_hints_name_the_folder(cluster, tmp_path):
    """What `keys` says to do next works when it is pasted, whatever folder was named."""
    folder = tmp_path / "keys"
    first = run("aggregator", "keys", "add", "n1", "-", "--keys", folder)
    assert first.returncode == 1 and f'"synop-aggregator keys init --keys {folder}" comes first' in first.stderr
    hint = cluster.succeed("aggregator", "keys", "init", "--keys", folder).strip().splitlines()[-1]
    words = hint.partition("synop-aggregator ")[2].replace("NODE", "n1").replace("agent.pub", "-").split()
    public = (cluster.keys_of("n1", admit=False) / "agent.pub").read_text()
    cluster.succeed("aggregator", *words, "--socket", cluster.socket, stdin=public)
    assert (folder / "nodes" / "n1.pub").exists()
    unknown = run("aggregator", "keys", "revoke", "n2", "--keys", folder)
    assert f'"synop-aggregator keys list --keys {folder}"' in unknown.stderr


def test_add_list_revoke(cluster):
    keys = cluster.keys_of("n1", admit=False)
    public = read_key(keys / "agent.pub").decode()
    add = ["aggregator", "keys", "add", "n1", "-", "--keys", cluster.master, "--socket", cluster.socket]
    cluster.succeed(*add, stdin=(keys / "agent.pub").read_text())
    listed = cluster.succeed("aggregator", "keys", "list", "--keys", cluster.master)
    assert "n1" in listed and public in listed
    assert public in cluster.succeed("aggregator", "keys", "list", "--json", "--keys", cluster.master)
    again = run(*add, stdin=(keys / "agent.pub").read_text())
    assert again.returncode in (1, 2) and "n1" in again.stderr
    cluster.succeed(*add, "--replace", stdin=(keys / "agent.pub").read_text())
    cluster.succeed("aggregator", "keys", "revoke", "n1", "--keys", cluster.master, "--socket", cluster.socket)
    assert public not in cluster.succeed("aggregator", "keys", "list", "--keys", cluster.master)
    gone = run("aggregator", "keys", "revoke", "n1", "--keys", cluster.master)
    assert gone.returncode in (1, 2) and "n1" in gone.stderr


@pytest.mark.parametrize("name", ["../n1", "a/b", "", ".n1", "-n1", "x" * 65, "n 1", "n\n1"])
def test_names_that_are_refused(cluster, name):
    keys = cluster.keys_of("n1", admit=False)
    done = run("aggregator", "keys", "add", "--keys", cluster.master, "--", name, keys / "agent.pub")
    assert done.returncode == 2 and done.stderr
    assert not list((cluster.master / "nodes").iterdir())


@pytest.mark.parametrize("text", ["", "public = short\n", "secret = {key}\n", "public = {key}\npublic = {key}\n",
                                  "public = {key}x\n", "\0" * 100, "public: {key}\n"], ids=range(7))
def test_files_that_are_no_public_key(cluster, text):
    key = read_key(cluster.keys_of("n1", admit=False) / "agent.pub").decode()
    bad = cluster.write("bad.pub", text.format(key=key))
    done = run("aggregator", "keys", "add", "n2", bad, "--keys", cluster.master)
    assert done.returncode in (1, 2) and "bad.pub" in done.stderr
    assert key not in done.stderr.replace(f"public = {key}", "") or "secret" not in text


def test_one_key_under_two_names(cluster):
    """Refused when it is added, and told with both names when somebody copied the file by hand."""
    keys = cluster.keys_of("n1")
    done = run("aggregator", "keys", "add", "n2", keys / "agent.pub", "--keys", cluster.master)
    assert done.returncode in (1, 2) and "n1" in done.stderr
    shutil.copy(keys / "agent.pub", cluster.master / "nodes" / "n2.pub")
    program = cluster.start("twofold", "aggregator", "--config", cluster.empty, "--keys", cluster.master, "--socket",
                            cluster.socket, "--listen", "tcp://127.0.0.1:*")
    wait_until(lambda: "n1.pub" in program.log() and "n2.pub" in program.log(), "both names in the log")


@pytest.mark.parametrize("loose", [0o640, 0o604, 0o644, 0o620])
def test_loose_secrets_are_refused(cluster, loose):
    keys = cluster.keys_of("n1")
    os.chmod(cluster.master / "aggregator.key", loose)
    done = run("aggregator", "--config", cluster.empty, "--keys", cluster.master, "--socket", cluster.socket,
               "--listen", "tcp://127.0.0.1:*")
    assert done.returncode in (1, 2) and "aggregator.key" in done.stderr and "600" in done.stderr
    os.chmod(keys / "agent.key", loose)
    done = run("agent", "--config", cluster.empty, "--keys", keys, "--node", "n1", "--connect", "tcp://127.0.0.1:9")
    assert done.returncode in (1, 2) and "agent.key" in done.stderr and "600" in done.stderr
    assert read_key(keys / "agent.key").decode() not in done.stderr


@pytest.mark.sanitized
def test_revoked_while_it_runs(cluster):
    """`keys revoke` cuts a node off at once; `keys add` lets it in again; the other node notices nothing."""
    cluster.start_aggregator()
    cluster.start_nodes("n1", "n2")
    cluster.succeed("aggregator", "keys", "revoke", "n1", "--keys", cluster.master, "--socket", cluster.socket)
    wait_until(lambda: cluster.node_status("n1") is None or cluster.node_status("n1")["state"] != "up", "n1 is out")
    mark = cluster.aggregator.mark()
    cluster.aggregator.wait_lines(8, after=mark, type="node", node="n2")
    assert not cluster.aggregator.lines(mark, type="node", node="n1")
    assert cluster.counter("key_revoked") > 0
    # A listed key again: the agent's connection was never ended, so it heals without a new handshake.
    mark = cluster.aggregator.mark()
    cluster.keys_add("n1", cluster.folder / "keys" / "n1" / "agent.pub")
    cluster.wait_node("n1", after=mark)
    assert_contiguous(cluster.aggregator.lines(), "n2")


def test_reload_by_signal(cluster):
    """SIGHUP reads the folder: what an administrator changed by hand counts from then on."""
    cluster.start_aggregator()
    cluster.start_nodes("n1")
    public = cluster.master / "nodes" / "n1.pub"
    aside = cluster.folder / "aside.pub"
    shutil.move(public, aside)
    cluster.wait_node("n1", after=cluster.aggregator.mark())
    cluster.aggregator.process.send_signal(1)
    cluster.wait_event("keys_reloaded")
    mark = cluster.aggregator.mark()
    before = cluster.counter("key_revoked")
    wait_until(lambda: cluster.counter("key_revoked") >= before + 3, "dropped frames of n1")
    assert not cluster.aggregator.lines(mark, type="node", node="n1")
    shutil.move(aside, public)
    cluster.aggregator.process.send_signal(1)
    cluster.wait_node("n1", after=mark)


def test_unreadable_key_is_left_out(cluster):
    """A broken file fails closed: its node is out, the others stay, and the log names it."""
    cluster.start_aggregator()
    cluster.start_nodes("n1", "n2")
    (cluster.master / "nodes" / "n1.pub").write_text("public = broken\n")
    cluster.aggregator.process.send_signal(1)
    wait_until(lambda: "n1.pub" in cluster.aggregator.log(), "the file's name in the log")
    mark = cluster.aggregator.mark()
    cluster.aggregator.wait_lines(5, after=mark, type="node", node="n2")
    assert not cluster.aggregator.lines(mark + 1, type="node", node="n1")


def test_agent_is_admitted_later(cluster):
    """An agent whose key is not listed is refused, and told to people; it gets in by itself once it is listed."""
    cluster.start_aggregator()
    keys = cluster.keys_of("n1", admit=False)
    agent = cluster.start_agent("n1")
    cluster.wait_event("key_refused")
    cluster.wait_counter("key_refused", 1)
    assert agent.alive()
    cluster.keys_add("n1", keys / "agent.pub")
    cluster.wait_node("n1", limit=120)


def test_wrong_aggregator(cluster):
    """An agent that was given another aggregator's key never talks to this one."""
    cluster.start_aggregator()
    keys = cluster.keys_of("n1")
    cluster.succeed("aggregator", "keys", "init", "--keys", cluster.folder / "other")
    shutil.copy(cluster.folder / "other" / "aggregator.pub", keys / "aggregator.pub")
    cluster.start_agent("n1")
    cluster.wait_counter("handshake_failed", 1)
    assert not cluster.aggregator.lines(type="node")


@pytest.mark.sanitized
def test_secrets_show_nowhere(cluster):
    """Not in an argument, not in the environment, not in a log at its most talkative, not in the output."""
    cluster.start_aggregator("--log-level", "debug")
    for node in ("n1", "n2"):
        cluster.start_agent(node, "--log-level", "debug")
        cluster.wait_node(node)
    cluster.aggregator.process.send_signal(1)
    cluster.wait_event("keys_reloaded")
    status = cluster.succeed("aggregator", "status", "--json", "--socket", cluster.socket)
    secrets = [read_key(path) for path in cluster.folder.rglob("*.key")]
    assert len(secrets) == 3
    for program in cluster.programs:
        places = [open(f"/proc/{program.pid}/{name}", "rb").read() for name in ("cmdline", "environ")]
        places += [program.out_path.read_bytes(), program.log_path.read_bytes(), status.encode()]
        for secret in secrets:
            assert not any(secret in place for place in places), program.name


def start_refused(program, cluster, keys):
    """What it says when it does not start with this folder of keys."""
    options = ["--listen", "tcp://127.0.0.1:*", "--socket", cluster.socket, "--history", cluster.history,
               "--endpoint-file", cluster.folder / "refused"]
    if program == "agent":
        options = ["--node", "n1", "--connect", "tcp://127.0.0.1:9", "--ring-path",
                   cluster.folder / "ring", "--jobs-book", cluster.folder / "jobs"]
    started = cluster.start(f"refused-{len(cluster.programs)}", program, "--config", cluster.empty, "--keys", keys,
                            *options)
    wait_until(lambda: not started.alive() or "connecting" in started.log() or (cluster.folder / "refused").exists(),
               "an end or a start")
    assert not started.alive() and started.wait() in (1, 2), started.log()
    return started.log()


@pytest.mark.parametrize("loose", [0o777, 0o770, 0o757, 0o1777])
@pytest.mark.parametrize("place", ["aggregator", "aggregator/nodes", "agent"])
def test_folders_that_others_can_write_to_are_refused(cluster, place, loose):
    """Who can write there admits himself, or gives the agents another aggregator."""
    program = place.partition("/")[0]
    keys = cluster.keys_of("n1") if program == "agent" else cluster.master
    folder = keys / "nodes" if place.endswith("nodes") else keys
    folder.chmod(loose)
    said = start_refused(program, cluster, keys)
    assert f"{folder}: " in said and f"chmod go-w {folder}" in said and f"{loose:04o}" in said, said
    if program == "aggregator":
        listed = run("aggregator", "keys", "list", "--keys", keys)
        assert listed.returncode == 1 and f"chmod go-w {folder}" in listed.stderr
    # What the service's group may read is fine, and so is what it says to do.
    folder.chmod(0o750)
    if program == "aggregator":
        cluster.start_aggregator()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes folders of other users")
@pytest.mark.parametrize("place", ["aggregator", "aggregator/nodes", "agent"])
def test_folders_of_strangers_are_refused(cluster, place):
    """As of somebody who could write to the folder for a moment, and put his own in the place of nodes/."""
    program = place.partition("/")[0]
    keys = cluster.keys_of("n1") if program == "agent" else cluster.master
    folder = keys / "nodes" if place.endswith("nodes") else keys
    os.chown(folder, 65534, 65534)
    said = start_refused(program, cluster, keys)
    assert f"{folder}: " in said and "65534" in said and f"chown 0 {folder}" in said, said


def test_reload_from_a_folder_that_others_can_write_to(cluster):
    """The nodes that were admitted stay, nobody new comes in, and it is told until it is mended."""
    cluster.start_aggregator()
    cluster.start_nodes("n1")
    nodes = cluster.master / "nodes"
    shutil.copy(cluster.keys_of("n2", admit=False) / "agent.pub", nodes / "n2.pub")
    for folder in (cluster.master, nodes):
        mark = cluster.aggregator.mark()
        before = mode(folder)
        folder.chmod(0o777)
        cluster.aggregator.process.send_signal(1)
        event = cluster.wait_event("keys_reloaded", after=mark)
        assert event["nodes"] == 1 and f"{folder}: " in event["error"] and "stays as it was" in event["error"]
        assert f"chmod go-w {folder}" in cluster.aggregator.log()
        folder.chmod(before)
    cluster.wait_node("n1", after=cluster.aggregator.mark())
    mark = cluster.aggregator.mark()
    cluster.aggregator.process.send_signal(1)
    event = cluster.wait_event("keys_reloaded", after=mark)
    assert event["nodes"] == 2 and "error" not in event


def test_agent_reloads_from_a_folder_that_others_can_write_to(cluster):
    """It stays with the aggregator that it has."""
    cluster.start_aggregator()
    cluster.start_nodes("n1")
    keys = cluster.keys_of("n1")
    keys.chmod(0o777)
    (keys / "aggregator.pub").unlink()
    shutil.copy(keys / "agent.pub", keys / "aggregator.pub")
    cluster.agents["n1"].process.send_signal(1)
    wait_until(lambda: f"chmod go-w {keys}" in cluster.agents["n1"].log(), "the folder in the log")
    cluster.wait_node("n1", after=cluster.aggregator.mark())


def dumped(folder, process):
    """Whether it leaves a core when it crashes, as far as it is allowed to."""
    resource.prlimit(process.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    process.send_signal(signal.SIGSEGV)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = -os.WTERMSIG(status)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV
    return os.WCOREDUMP(status)


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY and os.geteuid() != 0,
                    reason="cores are limited here")
def test_no_core_with_a_secret(cluster):
    """A core would hold the secret key, whatever the limit is that the program was started with."""
    asleep = subprocess.Popen(["sleep", "1000"], cwd=cluster.folder)
    if not dumped(cluster.folder, asleep):
        pytest.skip("nothing leaves a core here")
    for core in cluster.folder.glob("core*"):
        core.unlink()
    cluster.start_aggregator(cwd=cluster.folder)
    cluster.start_agent("n1", cwd=cluster.folder)
    cluster.wait_node("n1")
    for program in (cluster.agents["n1"], cluster.aggregator):
        program.killed = True
        assert not dumped(cluster.folder, program.process), program.name
    assert not list(cluster.folder.glob("core*"))


def test_run_keeps_limits(cluster):
    """What `agent run` becomes is the user's own: it may leave a core as before."""
    words = ["agent", "run", "--job", "j", "--", "sh", "-c", "ulimit -Sc; ulimit -Hc"]
    limit = resource.getrlimit(resource.RLIMIT_CORE)
    told = cluster.succeed(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (limit[1], limit[1])))
    same = "unlimited" if limit[1] == resource.RLIM_INFINITY else str(limit[1] // 512)
    assert told.split()[-2:] == [same, same]
