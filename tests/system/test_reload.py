"""SIGHUP, which "systemctl reload" sends: configuration and keys are read again. What may change while the programs run
is taken over, of the rest the log says by name that it takes effect after a restart, and what is broken changes nothing."""

import shutil
import signal

import pytest

from lib.cluster import assert_contiguous
from lib.programs import wait_until


def reload(program, says, config=None, text=None):
    """Writes the configuration, sends SIGHUP, and waits until the log says so once more. Returns what was logged."""
    if config is not None:
        config.write_text(text)
    before = program.log()
    program.signal(signal.SIGHUP)
    wait_until(lambda: says in program.log()[len(before):], f"{program.name} says {says!r}")
    return program.log()[len(before):]


READ_AGAIN = "read again"


@pytest.mark.sanitized
def test_aggregator_takes_what_it_can(cluster):
    aggregator = cluster.start_aggregator(config="[aggregator]\nreader_queue = 1M\n[ticks]\nperiod = 1s\n")
    ini = cluster.folder / "aggregator.ini"
    told = reload(aggregator, READ_AGAIN, ini, "[aggregator]\nreader_queue = 2M\nlog_level = debug\n"
                  "[history]\nmax_age = 1d\n[ticks]\nperiod = 2s\n")
    assert f'{ini}:2: [aggregator] reader_queue: "1M" is "2M" now' in told
    assert f'{ini}:3: [aggregator] log_level: "info" is "debug" now' in told
    assert f'{ini}:5: [history] max_age: "30d" is "1d" now' in told
    assert f'{ini}:7: [ticks] period: from "1s" to "2s" takes effect after a restart' in told
    # Once more: what runs is told again, what was taken is no news, and another way to write it is none either.
    told = reload(aggregator, READ_AGAIN, ini, "[aggregator]\nreader_queue = 2048k\nlog_level = debug\n"
                  "[history]\nmax_age = 24h\n[ticks]\nperiod = 2s\n")
    assert told.count("[") == 1 and "[ticks] period" in told, told
    # An option that is no longer there is its default again.
    told = reload(aggregator, READ_AGAIN, ini, "[ticks]\nperiod = 1s\n")
    assert f'{ini}: [aggregator] reader_queue: "2M" is "32M" now' in told and "restart" not in told


def test_aggregator_goes_down_later(cluster):
    """A limit that is taken over counts at once."""
    aggregator = cluster.start_aggregator(config="[aggregator]\nstale_periods = 500\ndown_periods = 1000\n")
    cluster.start_nodes("n1")
    cluster.agents["n1"].kill()
    reload(aggregator, READ_AGAIN, cluster.folder / "aggregator.ini",
           "[aggregator]\nstale_periods = 3\ndown_periods = 5\n")
    cluster.wait_event("node_down", node="n1")


def test_aggregator_keys(cluster):
    """Keys come and go with the files, and its own key is told to wait."""
    aggregator = cluster.start_aggregator()
    folder = cluster.keys_of("n1", admit=False)
    shutil.copy(folder / "agent.pub", cluster.master / "nodes" / "n1.pub")
    reload(aggregator, READ_AGAIN)
    cluster.wait_event("keys_reloaded", check=lambda line: line["nodes"] == 1)
    assert cluster.node_status("n1")
    other = cluster.folder / "other"
    cluster.succeed("aggregator", "keys", "init", "--keys", other)
    shutil.copy(other / "aggregator.key", cluster.master / "aggregator.key")
    reload(aggregator, "aggregator.key: another key takes effect after a restart")


@pytest.mark.parametrize("text, says", [
    ("[aggregator]\nlog_level = loud\n", ":2: [aggregator] log_level: expected one of error, warning, info, debug"),
    ("[aggregator]\n\nreader_queue 5\n", ':3: expected "key = value"'),
    ("[agregator]\n", ":1: unknown section [agregator], did you mean [aggregator]?"),
    ("[aggregator]\nstale_periods = 20\n", "must be more than stale_periods"),
])
def test_aggregator_broken_file(cluster, text, says):
    aggregator = cluster.start_aggregator(config="[aggregator]\nlog_level = debug\n")
    ini = cluster.folder / "aggregator.ini"
    told = reload(aggregator, "the configuration stays as it was", ini, text)
    assert says in told and "error: " in told
    told = reload(aggregator, READ_AGAIN, ini, "[aggregator]\nlog_level = debug\n")
    assert "now" not in told and "restart" not in told


def test_file_that_is_gone(cluster):
    aggregator = cluster.start_aggregator(config="[aggregator]\nreader_queue = 1M\n")
    (cluster.folder / "aggregator.ini").unlink()
    told = reload(aggregator, "the configuration stays as it was")
    assert "aggregator.ini: No such file or directory" in told


AGENT = "[group load]\nperiod = 200ms\n[group vm]\nenabled = yes\n"


@pytest.mark.sanitized
def test_agent_samples_something_else(cluster):
    """Groups, their periods and what they leave out change without a new session, and no frame is lost."""
    aggregator = cluster.start_aggregator()
    agent = cluster.start_agent("n1", config=AGENT)
    cluster.wait_node("n1", check=lambda line: "vm" in str(line["report"]) and line["seq"] > 3)
    ini = cluster.folder / "n1.ini"
    told = reload(agent, READ_AGAIN, ini, "[group load]\nperiod = 1s\n[group vm]\nenabled = no\n"
                  "[group network]\nexclude = lo\n[ring]\nmax_age = 20m\n")
    assert f'{ini}:2: [group load] period: "200ms" is "1s" now' in told
    assert f'{ini}:4: [group vm] enabled: "yes" is "no" now' in told
    assert f'{ini}:6: [group network] exclude: "" is "lo" now' in told
    assert f'{ini}:8: [ring] max_age: from "15m" to "20m" takes effect after a restart' in told
    mark = aggregator.mark()
    cluster.wait_node("n1", after=mark, check=lambda line: groups(line) and "vm" not in groups(line))
    aggregator.wait_lines(12, after=mark, type="node", node="n1")
    after = [line for line in aggregator.lines(mark + 5, type="node", node="n1")]
    assert sum("load" in groups(line) for line in after) < len(after) / 2
    assert not any('"lo"' in str(line).replace("'", '"') for line in after if "network" in groups(line))
    told = reload(agent, READ_AGAIN, ini, AGENT)
    mark = aggregator.mark()
    cluster.wait_node("n1", after=mark, check=lambda line: "vm" in groups(line))
    lines = aggregator.lines(type="node", node="n1")
    assert len({line["session"] for line in lines}) == 1
    assert_contiguous(lines, "n1")
    assert cluster.counter("lost") == 0 and cluster.counter("wrong_schema") == 0


def groups(line):
    return {name for section in line["report"].values() if isinstance(section, dict) for name in section}


@pytest.mark.sanitized
def test_agent_moves_to_new_keys(cluster):
    """A key rotation: both ends read the new public key, and the node goes on under it."""
    aggregator = cluster.start_aggregator()
    agent = cluster.start_agent("n1")
    session = cluster.wait_node("n1")["session"]
    folder = cluster.keys_of("n1")
    other = cluster.folder / "other"
    cluster.succeed("agent", "keys", "init", "--keys", other, "--node", "n1")
    for name in ("agent.key", "agent.pub"):
        shutil.copy(other / name, folder / name)
    shutil.copy(other / "agent.pub", cluster.master / "nodes" / "n1.pub")
    mark = aggregator.mark()
    reload(aggregator, READ_AGAIN)
    reload(agent, READ_AGAIN)
    cluster.wait_event("node_revoked", after=mark, node="n1")
    assert cluster.wait_node("n1", after=mark, check=lambda line: not line.get("late"))["session"] == session
    before = agent.log().count("connecting to")
    reload(agent, READ_AGAIN)  # nothing has changed: the connection stays
    assert agent.log().count("connecting to") == before == 2


def test_agent_goes_to_another_aggregator(cluster):
    cluster.start_aggregator()
    keys = cluster.keys_of("n1")
    ini = cluster.write("own.ini", "[agent]\nconnect = tcp://127.0.0.1:1\nperiod = 200ms\n")
    agent = cluster.start("agent-own", "agent", "--config", ini, "--keys", keys, "--node", "n1",
                          "--ring-path", keys / "ring")
    wait_until(lambda: "connecting to tcp://127.0.0.1:1" in agent.log(), "a first try")
    reload(agent, READ_AGAIN, ini, f"[agent]\nconnect = {cluster.endpoint}\nperiod = 200ms\n")
    cluster.wait_node("n1")


@pytest.mark.parametrize("broken", ["file", "key"])
def test_agent_keeps_what_it_had(cluster, broken):
    aggregator = cluster.start_aggregator()
    agent = cluster.start_agent("n1", config=AGENT)
    cluster.wait_node("n1")
    ini = cluster.folder / "n1.ini"
    if broken == "file":
        told = reload(agent, "the configuration stays as it was", ini, "[group load]\nperiod = never\n")
        assert f"{ini}:2: [group load] period: expected a duration" in told
    else:
        (cluster.keys_of("n1") / "agent.key").write_text("secret = no\n")
        told = reload(agent, "the configuration stays as it was")
        assert "agent.key" in told and "this node's key" in told
    mark = aggregator.mark()
    aggregator.wait_lines(3, after=mark, type="node", node="n1")
    assert agent.alive()


def test_agent_alone(cluster):
    """One that writes lines does not end of it either, and takes the level over."""
    ini = cluster.write("own.ini", "")
    agent = cluster.start("alone", "agent", "--config", ini, "--period", "100ms")
    agent.wait_line()
    told = reload(agent, READ_AGAIN, ini, "[agent]\nlog_level = debug\n[group vm]\nenabled = no\n")
    assert f'{ini}:2: [agent] log_level: "info" is "debug" now' in told
    assert f'{ini}:4: [group vm] enabled: from "yes" to "no" takes effect after a restart' in told
    agent.wait_lines(2, after=agent.mark())
