"""The packages, make install, the default configuration, and completion in bash.

Services are started, upgraded and removed on hosts with systemd in test_deploy.py; here packages are installed into a
root without it.
"""

import os
import re
import shutil
import subprocess
import tarfile

import pytest

from lib import packages
from lib.packages import PROGRAMS, Root, make
from lib.programs import BUILD, ROOT

CHANGELOG = (ROOT / "ansible/packages/debian/changelog").read_text()
COMPLETION = ROOT / "ansible/packages/completion.bash"
# Of dpkg, rpm and systemd's tools, and the user, which stays.
KEPT = re.compile(r"/(etc/(passwd|shadow|group|gshadow|subuid|subgid)-?|etc/\.pwd\.lock|var/(lib/(dpkg|rpm|systemd)|log|cache)/.*"
                  r"|root/\.rpmdb/.*)$")


def output(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


def need(*tools):
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.fixture(scope="module")
def debs():
    if packages.lacking("deb"):
        pytest.skip(packages.lacking("deb"))
    return packages.debs()


@pytest.fixture(scope="module")
def rpms():
    if packages.lacking("rpm"):
        pytest.skip(packages.lacking("rpm"))
    return packages.rpms()


@pytest.fixture
def root(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root for an overlay")
    try:
        with Root(tmp_path / "root") as made:
            if made.enter("sh", "-c", "dpkg -s synop-agent synop-aggregator").returncode == 0:
                pytest.skip("synop is installed on this machine")
            made.run("rm", "-f", "/var/lib/man-db/auto-update")  # its index of all pages takes long, and is not looked at
            yield made
    except OSError as error:
        pytest.skip(str(error))


def expected(program):
    """Path and mode of what both kinds of packages hold, but for documents and the unit's folder."""
    return {
        f"etc/synop/{program}.ini": 0o644,
        f"usr/bin/synop-{program}": 0o755,
        f"usr/lib/sysusers.d/synop-{program}.conf": 0o644,
        f"usr/lib/tmpfiles.d/synop-{program}.conf": 0o644,
        f"usr/share/bash-completion/completions/synop-{program}": 0o644,
        f"usr/share/man/man1/synop-{program}.1.gz": 0o644,
    } | {f"usr/share/synop-{program}/{path}": 0o644 for path in shared(program)}


def shared(program):
    """Names files, the aggregator's dashboards, and the page with uPlot."""
    yield from (f"names/{path.name}" for path in (ROOT / "aggregator/names").iterdir())
    if program == "aggregator":
        folder = ROOT / "aggregator/dashboards"
        yield from (f"dashboards/{path.relative_to(folder)}" for path in [*folder.glob("*.json"), *folder.glob("*/*.yaml")])
        yield from (f"page/{path.name}" for path in (ROOT / "aggregator/page").iterdir() if path.suffix != ".md")
        yield from (f"page/uplot/{path.name}" for path in (ROOT / "build/page/uplot").glob("*"))


def test_versions_agree():
    version = re.search(r'SYNOP_VERSION "(.*)"', (ROOT / "include/synop/version.h").read_text())[1]
    assert CHANGELOG.startswith(f"synop ({version}) ")
    spec = (ROOT / "ansible/packages/synop.spec").read_text()
    assert re.search(r"^Version: (.*)$", spec, re.M)[1] == version
    assert f"> - {version}-1\n" in spec


def test_default_configuration_changes_nothing(tmp_path):
    """Every line of the shipped file says the default, also when it is no comment any more."""
    for program in PROGRAMS:
        shipped = ROOT / program / f"{program}.ini"
        # A value may go on in further lines.
        plain, inside = [], False
        for line in shipped.read_text().splitlines():
            inside = bool(re.match(r"# [a-z_]+ = .", line) or inside and line.startswith("#   "))
            # What is below "# [send NAME]" needs a section with a name, which has no default.
            if line.startswith("# ["):
                break
            plain.append(line[2:] if inside else line)
        opened = tmp_path / f"{program}.ini"
        opened.write_text("\n".join(plain) + "\n")
        shown = [output(BUILD / program, "--config", file, "--print-config") for file in ("/dev/null", shipped, opened)]
        values = [[line for line in text.splitlines() if line and not line.startswith("#")] for text in shown]
        assert values[0] == values[1] == values[2]
        assert len(values[0]) > 20


def test_contents_of_the_debian_packages(debs, tmp_path):
    date = int(output("date", "+%s", "-d", re.search(r"^ -- .*>  (.*)$", CHANGELOG, re.M)[1]))
    for program, deb in zip(PROGRAMS, debs):
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as unpacked:
            with tarfile.open(fileobj=unpacked.stdout, mode="r|") as tar:
                members = list(tar)
                assert {(member.uid, member.gid) for member in members} == {(0, 0)}
                assert {member.mtime for member in members} == {date}, "not reproducible"
            unpacked.stdout.read()
        files = {member.name[2:]: member.mode for member in members if member.isfile()}
        document = f"usr/share/doc/synop-{program}/"
        assert {f"{document}copyright", f"{document}changelog.gz"} <= set(files)
        unit, = [name for name in files if name.endswith(f"systemd/system/synop-{program}.service")]
        assert files.pop(unit) == files.pop(f"usr/share/lintian/overrides/synop-{program}") == 0o644
        files = {name: mode for name, mode in files.items() if not name.startswith(document)}
        assert files == expected(program)

        output("dpkg-deb", "-R", deb, tmp_path / program)
        assert (tmp_path / program / "DEBIAN/conffiles").read_text() == f"/etc/synop/{program}.ini\n"
        depends = output("dpkg-deb", "-f", deb, "Depends")
        assert "libzmq5" in depends and ("libsqlite3" in depends) == (program == "aggregator")
        assert ("libncursesw6" in depends) == (program == "aggregator")
        assert ("gnuplot" in output("dpkg-deb", "-f", deb, "Recommends")) == (program == "aggregator")
        binary = (tmp_path / program / f"usr/bin/synop-{program}").read_bytes()
        assert str(BUILD).encode() not in binary, "the path of the build is in the program"


def test_debian_packages_satisfy_lintian(debs):
    need("lintian")
    changes, = debs[0].parent.glob("*.changes")
    assert output("lintian", "--allow-root", "--display-info", "--pedantic", changes) == ""


def test_debian_packages_install_upgrade_and_purge(debs, root, tmp_path):
    said = root.run("dpkg", "-i", *root.bring(*debs))
    assert said.count("synop-agent keys init") == 1 and "synop-aggregator keys init" in said
    for program in PROGRAMS:
        assert root.run(f"synop-{program}", "--version").strip().endswith(re.search(r"\((.*)\)", CHANGELOG)[1])
        root.shell(f"test -L /etc/systemd/system/multi-user.target.wants/synop-{program}.service")
        root.run("man", "-w", f"synop-{program}")
    assert root.run("stat", "-c", "%U:%G %a", "/etc/synop/keys") == "synop:synop 700\n"

    root.shell("synop-agent keys init --node n1; synop-aggregator keys init; "
               "synop-aggregator keys add n1 /etc/synop/keys/agent.pub")
    assert root.run("stat", "-c", "%U %a", "/etc/synop/keys/agent.key", "/etc/synop/keys/aggregator.key") == "synop 600\n" * 2
    root.shell("echo '# ours' >>/etc/synop/agent.ini")
    said = root.run("dpkg", "--force-confold", "-i", *root.bring(*(packages.newer(deb, tmp_path, "99") for deb in debs)))
    assert "keys init" not in said
    assert root.run("dpkg-query", "-W", "-f", "${Version} ${Status}\n", "synop-agent") == "99 install ok installed\n"
    assert root.shell("tail -n 1 /etc/synop/agent.ini") == "# ours\n"

    root.shell("mkdir -p /var/lib/synop; cd /var/lib/synop; touch ring jobs jobs.broken history.db history.db-wal")
    root.run("dpkg", "-r", "synop-agent")
    root.shell("test -e /etc/synop/agent.ini -a -e /etc/synop/keys/agent.key")
    # What the aggregator on the same host needs stays.
    root.run("dpkg", "-P", "synop-agent")
    assert root.shell("ls /etc/synop /etc/synop/keys /var/lib/synop").split() == [
        "/etc/synop:", "aggregator.ini", "keys", "/etc/synop/keys:", "aggregator.key", "aggregator.pub", "nodes",
        "/var/lib/synop:", "history.db", "history.db-wal"]
    assert "the history stays" in root.run("dpkg", "-P", "synop-aggregator")
    left = {name for name in root.written() if not KEPT.match(name)}
    assert left == {"/var/lib/synop/history.db", "/var/lib/synop/history.db-wal"}
    assert root.run("getent", "passwd", "synop").startswith("synop:")


def test_contents_of_the_rpms(rpms):
    for program, rpm in zip(PROGRAMS, rpms):
        listed = output("rpm", "-qp", "--qf", "[%{FILENAMES} %{FILEMODES:octal} %{FILEUSERNAME}:%{FILEGROUPNAME}\n]", rpm)
        files = {}
        for line in listed.splitlines():
            name, mode, owner = line.split()
            assert owner == "root:root"
            if int(mode, 8) & 0o170000 == 0o100000:
                files[name[1:]] = int(mode, 8) & 0o7777
        assert files.pop(f"usr/lib/systemd/system/synop-{program}.service") == 0o644
        assert any(re.match(r"usr/share/licenses/.*/LICENSE$", name) for name in files)
        files = {name: mode for name, mode in files.items() if not re.match("usr/share/(doc|licenses)/", name)}
        assert files == expected(program)
        assert output("rpm", "-qpc", rpm) == f"/etc/synop/{program}.ini\n"


def test_rpms_satisfy_rpmlint(rpms):
    need("rpmlint")
    config = ROOT / "ansible/packages/rpmlint.toml"
    said = output("rpmlint", "-c", config, *rpms, ROOT / "ansible/packages/synop.spec")
    assert "0 errors, 0 warnings" in said, said


def test_rpms_install_and_erase(rpms, root):
    """Without looking at what they need: the system's own libraries are Debian's packages."""
    root.run("rpm", "-i", "--nodeps", *root.bring(*rpms))
    for program in PROGRAMS:
        root.run(f"synop-{program}", "--version")
    assert root.run("stat", "-c", "%U:%G %a", "/etc/synop/keys") == "synop:synop 700\n"
    root.run("rpm", "-e", "synop-agent", "synop-aggregator")
    assert {name for name in root.written() if not KEPT.match(name)} == set()


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_make_install_and_uninstall(tmp_path):
    for prefix in ("/usr/local", "/opt/synop"):
        where = (f"DESTDIR={tmp_path}", f"PREFIX={prefix}")
        make("install-agent", "install-aggregator", *where)
        files = files_in(tmp_path)
        for program in PROGRAMS:
            assert {f"{prefix[1:]}/bin/{program}", f"{prefix[1:]}/bin/synop-{program}", f"etc/synop/{program}.ini"} <= files
            assert output(f"{tmp_path}{prefix}/bin/{program}", "--version") == output(BUILD / program, "--version")
            names = f"{prefix[1:]}/share/synop-{program}/names"
            assert f"{names}/node-exporter.names" in files
            unit = (tmp_path / prefix[1:] / f"lib/systemd/system/synop-{program}.service").read_text()
            assert f"ExecStart={prefix}/bin/synop-{program}" in unit
            page = (tmp_path / prefix[1:] / f"share/man/man1/{program}.1").read_text()
            assert f".Nm synop-{program}\n" in page and f"\n.Nm {program}\n" not in page
        assert output(f"{tmp_path}{prefix}/bin/agent", "names", "node-exporter") == ""
        boards = f"{prefix}/share/synop-aggregator/dashboards"
        assert f"path: {boards}\n" in (tmp_path / boards[1:] / "provisioning/dashboards.yaml").read_text()
        make("uninstall", *where)
        assert files_in(tmp_path) == set()
        assert not list(tmp_path.rglob("synop-*"))
        assert not (tmp_path / "etc/synop").exists()


def test_make_install_leaves_changed_options_alone(tmp_path):
    place = tmp_path / "etc/synop/agent.ini"
    place.parent.mkdir(parents=True)
    place.write_text("[agent]\nperiod = 5s\n")
    make("install-agent", f"DESTDIR={tmp_path}")
    assert place.read_text() == "[agent]\nperiod = 5s\n"
    make("uninstall", f"DESTDIR={tmp_path}")
    assert files_in(tmp_path) == {"etc/synop/agent.ini"}


def complete(folder, *words):
    """What bash would offer for the last of the words."""
    script = f'. {COMPLETION}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _synop; printf "%s\\n" "${{COMPREPLY[@]}}"'
    path = f"{folder}:{os.environ['PATH']}"
    return set(output("bash", "-uc", script, "bash", *words, env=os.environ | {"PATH": path}).split())


def test_completion_offers_commands_options_and_values(tmp_path):
    for program in PROGRAMS:
        (tmp_path / f"synop-{program}").symlink_to(BUILD / program)

    def ask(*words):
        return complete(tmp_path, *words)

    assert ask("synop-aggregator", "rep") == {"replay", "report"}
    assert ask("synop-aggregator", "keys", "") == {"init", "add", "list", "revoke"}
    assert ask("synop-aggregator", "job", "s") == {"start"}
    assert ask("synop-agent", "") == {"bench-node", "keys", "names", "run", "top"}
    assert {"--time", "--file"} <= ask("synop-agent", "bench-node", "--")
    assert ask("synop-agent", "--log", "=") == ask("synop-agent", "--nothing", "=") == set()
    assert ask("synop-agent", "--log-level", "") == {"error", "warning", "info", "debug"}
    assert ask("synop-agent", "--realtime", "=", "y") == {"yes"}
    assert ask("synop-aggregator", "--verbose", "report", "1", "--format", "=") == {
        "text", "json", "csv", "perfmon", "jobstats", "clustercockpit"}
    assert ask("synop-aggregator", "top", "--view", "=") == {"cluster", "jobs", "events", "node"}
    assert ask("synop-agent", "run", "--", "keys", "") == set()
    assert {"-c", "-v", "-h", "-V", "--verbose"} <= ask("synop-agent", "-") and "-o" in ask("synop-aggregator", "export", "-")
    assert ask("synop-aggregator", "-o", "") == {"json", "none"}
    assert ask("synop-aggregator", "report", "-o", "") == set()

    # Every option of every table: those of the file that have a flag, and those of a command.
    for program in PROGRAMS:
        table = output(BUILD / program, "--config", "/dev/null", "--print-config", "--markdown")
        flags = set(re.findall(r"\| `(--[a-z-]+(?:\.NAME\.[a-z-]+)?)", table))
        named = {flag.replace(".NAME.", ".x.") for flag in flags if ".NAME." in flag}
        sections = {flag.rsplit(".", 1)[0] + "." for flag in named}
        assert flags and {flag for flag in flags if ".NAME." not in flag} <= ask(f"synop-{program}", "--")
        assert named == set().union(*(ask(f"synop-{program}", section) for section in sections))
    shown = output(BUILD / "aggregator", "export", "--help")
    assert set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", shown, re.M)) <= ask("synop-aggregator", "export", "--from", "-1h", "--")


def test_completion_offers_nodes(tmp_path):
    (tmp_path / "aggregator").symlink_to(BUILD / "aggregator")
    keys = tmp_path / "keys"
    shim = tmp_path / "synop-aggregator"
    shim.write_text(f'#!/bin/sh\n[ "$1 $2" = "keys list" ] && set -- "$@" --keys {keys}\nexec {BUILD}/aggregator "$@"\n')
    shim.chmod(0o755)
    output(BUILD / "aggregator", "keys", "init", "--keys", keys)
    output(BUILD / "agent", "keys", "init", "--keys", tmp_path / "n1", "--node", "n1")
    output(BUILD / "aggregator", "keys", "add", "n1", tmp_path / "n1/agent.pub", "--keys", keys)
    assert complete(tmp_path, "synop-aggregator", "keys", "revoke", "") == {"n1"}
    for command in ("tail", "top"):
        assert complete(tmp_path, "synop-aggregator", command, "--node", "n") == {"n1"}
