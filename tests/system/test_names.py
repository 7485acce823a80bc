"""Names files against node-exporter itself: each family that it shows on this machine, and each that its best known
dashboard asks for, is in our set, or in its list of what is not there, and why."""

import fnmatch
import re

import pytest
from lib.node_exporter import node_exporter
from lib.programs import LIMIT, ROOT, run

NAMES = (ROOT / "aggregator/names/node-exporter.names").read_text()
MAPPED = set(re.findall(r"^\w+ +((?:node|process)_\w+)", NAMES, re.MULTILINE))
ABSENT = re.findall(r"^- (\S+)", NAMES, re.MULTILINE)
DASHBOARD = {line.split()[0].lstrip("*") for line in (ROOT / "docs/dashboards.txt").read_text().split("\n\n")[1].splitlines()[1:]}


def unknown(families):
    """Those that the set says nothing of."""
    return {name for name in families if name not in MAPPED and not any(fnmatch.fnmatchcase(name, glob) for glob in ABSENT)}


@pytest.fixture(scope="module")
def shown():
    """The text that node-exporter shows here."""
    with node_exporter() as exporter:
        return exporter()


def test_node_exporter_shows_nothing_that_the_set_does_not_know(shown):
    types = dict(re.findall(r"^# TYPE (node_\w+) (\w+)$", shown, re.MULTILINE))
    assert len(types) > 50
    # The service manager's are off by default, but in Debian's package.
    assert unknown(name for name in types if not name.startswith("node_systemd_")) == set()


def test_types_are_those_of_node_exporter(shown):
    types = dict(re.findall(r"^# TYPE (node_\w+) (\w+)$", shown, re.MULTILINE))
    ours = {}
    for family, rest in re.findall(r"^\w+ +(node_\w+)(.*)$", NAMES, re.MULTILINE):
        written = re.search(r"\b(counter|gauge|untyped)\b", re.sub(r'"[^"]*"', "", rest))
        ours.setdefault(family, written[1] if written else "counter" if family.endswith("_total") else "gauge")
    assert {name: ours[name] for name in types if name in ours} == {name: types[name] for name in types if name in ours}


def test_labels_are_those_of_node_exporter(shown):
    """Those that our line gives, it gives too."""
    theirs, block, wrong = {}, [], []
    for family, labels in re.findall(r"^(node_\w+)\{(.*)\} ", shown, re.MULTILINE):
        theirs.setdefault(family, set()).update(re.findall(r'(\w+)="', labels))
    for line in NAMES.splitlines():
        if line.startswith("["):
            block = re.findall(r'(\w+)="', line)
        elif (match := re.match(r"\w+ +(node_\w+) *(\{.*?\})?", line)) and match[1] in theirs:
            wrong += [(match[1], name) for name in block + re.findall(r'(\w+)="', match[2] or "") if name not in theirs[match[1]]]
    assert wrong == []


def test_each_collector_has_a_duration():
    """Where one's success is said, the time is too, of the same group."""
    said = {"success": set(), "duration_seconds": set()}
    for line in NAMES.splitlines():
        if line.startswith("["):
            *_, group = re.match(r"\[(\w+)(?: (\w+)\])?", line).groups()
            group = group or re.match(r"\[(\w+)", line)[1]
        elif match := re.match(r'\w+ +node_scrape_collector_(\w+) +\{collector="(\w+)"\}', line):
            said[match[1]].add((group, match[2]))
    assert said["success"] and said["success"] == said["duration_seconds"]


def test_dashboard_asks_for_nothing_that_the_set_does_not_know():
    assert len(DASHBOARD) > 150
    assert unknown(DASHBOARD) == set()


@pytest.mark.parametrize("sets, code, out, err", [
    (["node-exporter", "dcgm-exporter", "moneo,synop"], 0, "", ""),
    (["{}/odd"], 1, "odd:2: group load has no metric laod_1; did you mean load_1?\n", ""),
    (["own.names"], 1, "own.names:2: group load has no metric laod_1; did you mean load_1?\n", ""),
    (["{}/wrong"], 2, "", "wrong:2: \"conter\": expected a type"),
    (["mone"], 2, "", "did you mean moneo?"),
    ([], 2, "", "expected \"synop-agent names SET...\""),
    (["--hlp"], 2, "", "unknown option --hlp, did you mean --help?"),
    (["-V"], 0, "synop agent ", ""),
    (["-v", "-h"], 0, "Usage: synop-agent names", ""),
])
def test_names_are_checked(tmp_path, monkeypatch, sets, code, out, err):
    monkeypatch.chdir(tmp_path)
    for odd in ("odd", "own.names"):
        (tmp_path / odd).write_text("[load]\nlaod_1 a\n")
    (tmp_path / "wrong").write_text("[load]\nload_1 a conter\n")
    done = run("agent", "names", *(name.format(tmp_path) for name in sets))
    assert done.returncode == code
    assert out in done.stdout and (out or not done.stdout)
    assert err in done.stderr and (err or not done.stderr)
