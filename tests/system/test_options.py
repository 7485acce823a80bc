"""Options and configuration: what is wrong is an error that says where and what is allowed, and nothing starts."""

import pytest
from lib.programs import run

FREE = "tcp://127.0.0.1:*"


def refused(program, *options, words=()):
    done = run(program, *options)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr, (word, done.stderr)
    return done.stderr


AGENT_LINES = [
    # text of the file, line, words of the error
    ("[agent]\nperiod = fast\n", 2, ["period", "fast"]),
    ("[agent]\nperiod = 1ms\n", 2, ["period", "10ms", "1h"]),
    ("[agent]\nperiod = 2h\n", 2, ["period", "10ms", "1h"]),
    ("[agent]\nperiod = -1s\n", 2, ["period"]),
    ("[agent]\nperiod =\n", 2, ["period"]),
    ("[agent]\n\n# a comment\nperod = 1s\n", 4, ["perod", "period"]),
    ("[agnet]\nperiod = 1s\n", 1, ["agnet", "agent"]),
    ("[agent]\nnode = a/b\n", 2, ["node", "a/b"]),
    ("[agent]\nnode = " + "x" * 65 + "\n", 2, ["node"]),
    ("[agent]\nconnect = master\n", 2, ["connect", "tcp://"]),
    ("[agent]\nconnect = tcp://master:99999\n", 2, ["connect"]),
    ("[agent]\nconnect = tcp://*:5555\n", 2, ["connect", "host"]),
    ("[agent]\nqueue = 0\n", 2, ["queue", "1"]),
    ("[agent]\nqueue = many\n", 2, ["queue", "many"]),
    ("[agent]\nlog_level = loud\n", 2, ["log_level", "debug"]),
    ("[agent]\nroot = /nowhere/at/all\n", 2, ["root", "/nowhere"]),
    ("[group network]\nperiod = 0\n", 2, ["period"]),
    ("[group netwrok]\nperiod = 1s\n", 1, ["netwrok", "network"]),
    ("[group network]\nenabled = perhaps\n", 2, ["enabled", "perhaps"]),
    ("[group network]\ncolour = red\n", 2, ["colour"]),
    ("[instance]\nmetadata = maybe\n", 2, ["metadata", "imds"]),
    ("[instance]\nendpoint = ftp://x\n", 2, ["endpoint", "http://"]),
    ("[agent]\nnonsense\n", 2, []),
    ("[agent\nperiod = 1s\n", 1, []),
    ("period = 1s\n", 1, ["period"]),
]


@pytest.mark.parametrize("text,line,words", AGENT_LINES, ids=range(len(AGENT_LINES)))
def test_errors_in_the_agents_file(cluster, text, line, words):
    path = cluster.write("bad.ini", text)
    refused("agent", "--config", path, "--once", words=[f"{path}:{line}", *words])


AGENT_FLAGS = [
    (["--period", "fast"], ["--period", "fast"]),
    (["--period"], ["--period"]),
    (["--period=0"], ["--period"]),
    (["--perod", "1s"], ["--perod", "--period"]),
    (["--node", "a b"], ["--node"]),
    (["--connect", "udp://a:1"], ["--connect", "tcp://"]),
    (["--connect", "tcp://a"], ["--connect"]),
    (["--config", "/nowhere/agent.ini"], ["/nowhere/agent.ini"]),
    (["--config"], ["--config"]),
    (["--log-level", "loud"], ["--log-level", "debug"]),
    (["--json"], ["--json", "--list-groups"]),
    (["--count", "-1"], ["--count"]),
    (["--count", "x"], ["--count"]),
    (["--once", "--count", "3"], ["--once", "--count"]),
    (["--count=3", "--once"], ["--once", "--count"]),
    (["--once", "--connect", "tcp://a:1"], ["--once", "--connect"]),
    (["--count", "3", "--connect", "tcp://a:1"], ["--count", "--connect"]),
    (["--ring", "no", "--once"], ['"no"', "--OPTION=no"]),
    (["--version", "--once"], ["--version", "--once", "one of them"]),
    (["--print-config", "--list-groups"], ["--print-config", "--list-groups"]),
    (["--list-groups", "--json", "--markdown"], ["--json", "--markdown"]),
    (["--colour"], ['"synop-agent --help"']),
    (["--node", "x" * 64 + "y"], ["--node", "64"]),
    (["--node", "x" * 100000], ["--node", "100000"]),
    (["word"], ["word"]),
    (["-x"], ["-x"]),
    (["-c"], ["-c needs a value"]),
    (["-perod", "1s"], ["-perod", "--period"]),
    (["-vx"], ["-vx"]),
    (["kyes", "init"], ['"kyes"', "did you mean keys?"]),
    (["--once", "run", "--job", "x"], ['"run"', "it comes first"]),
    (["keys"], ["init"]),
    (["keys", "init", "--kyes", "x"], ["--kyes", "--keys"]),
    (["run", "--jbo", "x", "true"], ["--jbo", "--job"]),
    (["keys", "make"], ["init"]),
    (["keys", "init", "--colour"], ["--colour"]),
]


@pytest.mark.parametrize("flags,words", AGENT_FLAGS, ids=lambda value: " ".join(value))
def test_errors_of_the_agents_options(cluster, flags, words):
    before = [] if "--config" in flags or flags[0] in ("keys", "run") else ["--config", cluster.empty]
    refused("agent", *before, *flags, words=words)


AGGREGATOR_LINES = [
    ("[aggregator]\nlisten = tcp://*\n", 2, ["listen", "tcp://"]),
    ("[aggregator]\nlisten = *:5555\n", 2, ["listen", "tcp://"]),
    ("[aggregator]\nlisten = tcp://*:65535\n", 2, ["listen"]),
    ("[aggregator]\nlistne = tcp://*:5555\n", 2, ["listne", "listen"]),
    ("[aggregator]\nstale_periods = 0\n", 2, ["stale_periods"]),
    ("[aggregator]\ndown_periods = x\n", 2, ["down_periods", "x"]),
    ("[aggregator]\noutput = xml\n", 2, ["output", "json", "none"]),
    ("[aggregator]\nlog_level = loud\n", 2, ["log_level", "debug"]),
    ("[aggregator]\nsocket = /tmp/" + "x" * 150 + "\n", 2, ["socket", "107"]),
    ("[aggregators]\n\n", 1, ["aggregators"]),
    ("[agent]\nperiod = 1s\n", 1, ["agent"]),
]


@pytest.mark.parametrize("text,line,words", AGGREGATOR_LINES, ids=range(len(AGGREGATOR_LINES)))
def test_errors_in_the_aggregators_file(cluster, text, line, words):
    path = cluster.write("bad.ini", text)
    refused("aggregator", "--config", path, "--keys", cluster.master, words=[f"{path}:{line}", *words])
    assert not cluster.socket.exists()


AGGREGATOR_FLAGS = [
    (["--listen", "5555"], ["--listen", "tcp://"]),
    (["--keys", "/nowhere/keys", "--listen", FREE], ["/nowhere/keys"]),
    (["serve-me"], ["serve-me", "a command comes first"]),
    (["statsu"], ["'statsu'", "did you mean status?"]),
    (["kyes"], ["did you mean keys?"]),
    (["keys", "ad"], ["did you mean add?"]),
    (["job", "strat", "7"], ["did you mean start?"]),
    (["tail", "--nod", "n"], ["--nod", "--node"]),
    (["export", "-oout"], ["-oout"]),
    (["--history-enabled", "no"], ["'no'", "--OPTION=no"]),
    (["--no-node-lines", "yes"], ["'yes'", "--OPTION=yes"]),
    (["--version", "--print-config"], ["--version", "--print-config"]),
    (["report", "a", "b"], ["'b'", "aggregator report --help"]),
    (["status", "extra"], ["'extra'", "aggregator status --help"]),
    (["report", ""], ["JOBID"]),
    (["job", "end", ""], ["ID"]),
    (["replay", "--count"], ["--count", "aggregator replay --help"]),
    (["tail", "--colour", "red"], ["--colour"]),
    (["tail", "more"], ["more"]),
    (["tail", "--type", "foo"], ["--type", "foo", "node, cluster, event or job"]),
    (["tail", "--type", "node,evnt"], ["--type", "evnt"]),
    (["tail", "--type", "[n"], ["--type", "[n", "']'"]),
    (["tail", "--node", "n1,n[2-"], ["--node", '"n[2-"', "']'"]),
    (["tail", "--node", "n[]"], ["--node", "n[]"]),
    (["tail", "--group", "[a-z]*,cpu["], ["--group", '"cpu["']),
    (["--tick-grace", "2s"], ["grace", "period, 1s"]),
    (["--tick-period", "250ms", "--tick-grace", "1s"], ["grace", "period, 0.25s"]),
    (["status", "--node"], ["--node"]),
    (["keys"], ["init", "add", "list", "revoke"]),
    (["keys", "add"], ["NODE"]),
    (["keys", "add", "n1"], ["FILE"]),
    (["keys", "add", "n1", "/nowhere/n1.pub"], ["/nowhere/n1.pub"]),
    (["keys", "revoke"], ["NODE"]),
    (["keys", "list", "--nothing"], ["--nothing"]),
    (["keys", "change"], ["init", "add", "list", "revoke"]),
]


@pytest.mark.parametrize("flags,words", AGGREGATOR_FLAGS, ids=lambda value: " ".join(value))
def test_errors_of_the_aggregators_options(cluster, flags, words):
    more = ["--keys", cluster.master] if flags[0] == "keys" and len(flags) > 1 and flags[1] == "add" else []
    before = ["--config", cluster.empty] if flags[0].startswith("--") else []
    done = run("aggregator", *before, *flags, *more)
    assert done.returncode == 2 or (done.returncode == 1 and "/nowhere" in str(flags)), done
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr, (word, done.stderr)


def test_commands_that_are_told_apart(cluster):
    """An error of a command does not say that a command comes first; a file that is no socket is called that."""
    for words in (["report", "a", "b"], ["status", "extra"]):
        assert "comes first" not in run("aggregator", *words).stderr
    for command in (["status"], ["tail"], ["job", "end", "1"]):
        done = run("aggregator", *command, "--config", cluster.empty, "--socket", cluster.empty)
        assert done.returncode == 1 and "is not a socket" in done.stderr, done


@pytest.mark.parametrize("program", ["agent", "aggregator"])
def test_help_shows_how_a_yes_is_written(program):
    shown = run(program, "--help").stdout
    flag, yes = ("--ring", "ring") if program == "agent" else ("--history-enabled", "history")
    assert f"  {flag}[=yes|no]" in shown and f"{flag} yes" not in shown
    for value in ("yes", "no"):
        done = run(program, "--config", "/dev/null", f"{flag}={value}", "--print-config")
        assert done.returncode == 0 and f"enabled = {value}" in done.stdout.partition(f"[{yes}]")[2]


def test_files_count_and_connect_yield(cluster):
    """A node that publishes, by its file: --once and --count on the command line go to standard output nevertheless."""
    path = cluster.write("own.ini", "[agent]\nconnect = tcp://127.0.0.1:9\ncount = 3\nperiod = 10ms\n")
    for flags, lines in ((["--once"], 1), (["--count", "2"], 2), ([], 3)):
        done = run("agent", "--config", path, *flags)
        assert done.returncode == 0 and len(done.stdout.splitlines()) == lines, (flags, done)


def test_patterns_of_tail(cluster):
    """Those that are fine: there is just no aggregator."""
    for flags in (["--type", "node,e*"], ["--type", "[c-n]*"], ["--node", "n[]x],[!]]*,\\[n"], ["--type", ""]):
        done = run("aggregator", "tail", "--config", cluster.empty, "--socket", cluster.socket, *flags)
        assert "is an aggregator running" in done.stderr, (flags, done)


def test_key_that_is_there_and_refused(cluster):
    """Only a key that is absent is to be made."""
    key = cluster.master / "aggregator.key"
    options = ["--config", cluster.empty, "--keys", cluster.master, "--listen", FREE]
    key.chmod(0o640)
    assert "init" not in refused("aggregator", *options, words=["aggregator.key", "chmod"])
    key.chmod(0o600)
    key.write_text("garbage\n")
    assert "init" not in refused("aggregator", *options, words=["aggregator.key:1"])
    key.unlink()
    refused("aggregator", *options, words=["aggregator.key", f'"synop-aggregator keys init --keys {cluster.master}" makes it'])


@pytest.mark.parametrize("program", ["agent", "aggregator"])
def test_print_config(cluster, program):
    """What it prints is a file that it reads, with the same values; each says where it came from."""
    section = program
    path = cluster.write("own.ini", f"[{section}]\nlog_level = debug\n")
    first = run(program, "--config", path, "--keys", cluster.master, "--print-config")
    assert first.returncode == 0, first.stderr
    assert f"{path}:2" in first.stdout and "default" in first.stdout and "command line" in first.stdout
    assert f"keys = {cluster.master}" in first.stdout and "log_level = debug" in first.stdout
    again = run(program, "--config", cluster.write("again.ini", first.stdout), "--print-config")
    assert again.returncode == 0, again.stderr

    def values(text):
        lines = (line.partition("#")[0].strip() for line in text.splitlines() if not line.startswith(("#", ";")))
        return [line for line in lines if line]

    assert values(first.stdout) == values(again.stdout)


@pytest.mark.parametrize("program", ["agent", "aggregator"])
def test_help_and_version(program):
    shown = run(program, "--help")
    assert shown.returncode == 0 and shown.stderr == "" and f"{program} " in shown.stdout
    assert max(len(line) for line in shown.stdout.splitlines()) <= 120
    version = run(program, "--version")
    assert version.returncode == 0 and program in version.stdout and len(version.stdout.splitlines()) == 1


AGENT_COMMANDS = [[], ["keys"], ["keys", "init"], ["run"]]
AGGREGATOR_COMMANDS = [[], ["tail"], ["status"], ["report"], ["export"], ["replay"], ["check"], ["jobs"], ["job"], ["keys"],
                       ["keys", "list"], ["keys", "add"]]


@pytest.mark.parametrize("program,command", [("agent", command) for command in AGENT_COMMANDS] +
                         [("aggregator", command) for command in AGGREGATOR_COMMANDS], ids=str)
def test_letters_work_in_every_command(cluster, program, command):
    """-h and -V as the long ones; -v is understood beside them; -c wherever a file is read."""
    long = run(program, *command, "--help")
    assert long.returncode == 0 and "  -v, --verbose " in long.stdout and "  -h, --help " in long.stdout
    for flags in (["-h"], ["-hv"], ["-v", "-h"], ["-V", "-h"]):
        assert run(program, *command, *flags).stdout == long.stdout
    version = run(program, *command, "--version")
    assert version.returncode == 0 and version.stdout.startswith(f"synop {program} ")
    assert run(program, *command, "-vV").stdout == version.stdout
    reads = "  -c, --config FILE " in long.stdout
    assert reads == (command[:1] not in (["keys"], ["run"]))
    path = cluster.write("own.ini", f"[{program}]\nlog_level = error\n")
    if reads:
        shown = run(program, *command, "-c", path, "-v", "--print-config")
        assert shown.returncode == 0 and "\nlog_level = warning\n" in shown.stdout, shown


def test_verbose_says_more(cluster):
    flags = ["run", "--job", "letters", "sh", "-c", "exit 0"]
    assert run("agent", *flags).stderr == ""
    assert "debug: run: " in run("agent", flags[0], "-v", *flags[1:]).stderr
    # A word of the command's own is not read.
    assert "debug" not in run("agent", "run", "--job", "letters", "echo", "-v").stderr
    assert run("agent", "run", "--job", "letters", "echo", "-V").stdout == "-V\n"


def test_help_names_every_option(cluster):
    for program in ("agent", "aggregator"):
        shown = run(program, "--help").stdout
        config = run(program, "--config", cluster.empty, "--print-config").stdout
        section = ""
        for line in config.splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif " = " in line and section == program and not line.startswith(("#", ";")):
                key = line.partition(" = ")[0].strip()
                assert "--" + key.replace("_", "-") in shown, (program, key)


def test_command_line_wins(cluster):
    path = cluster.write("own.ini", "[agent]\nnode = from-file\nperiod = 10ms\n")
    assert '"node":"from-file"' in run("agent", "--config", path, "--once").stdout
    assert '"node":"from-line"' in run("agent", "--config", path, "--node", "from-line", "--once").stdout


@pytest.mark.parametrize("text", ["[agent]\r\nperiod = 20ms\r\n", "\n\n; note\n[agent]\nperiod=20ms",
                                  "[agent]\n  period =  20ms  ; often\n"], ids=["crlf", "bare", "spaces"])
def test_spellings_of_a_file(cluster, text):
    path = cluster.folder / "own.ini"
    path.write_bytes(text.encode())
    done = run("agent", "--config", path, "--print-config")
    assert done.returncode == 0 and "period = 20ms" in done.stdout, done.stderr
