"""A new metric is one added row: in a copy of the sources, one row is added to the metrics of vm, and nothing else."""

import pathlib
import re
import subprocess

from lib.programs import LIMIT, copy_built, environment, make, parse_line


def unused_key(source):
    """A line of /proc/vmstat that vm does not show yet."""
    with open("/proc/vmstat", encoding="ascii") as vmstat:
        keys = [line.split()[0] for line in vmstat if line.startswith(("pg", "thp_", "numa_"))]
    return next(key for key in keys if not re.search(rf"\b{key}\b", source))


def test_one_row(tmp_path):
    tree = tmp_path / "tree"
    copy_built(tree)
    path = tree / "agent" / "groups" / "group_vm.c"
    source = path.read_text()
    key = unused_key(source)
    head, end, rest = source[source.index("static const struct metric metrics[] = {"):].partition("\n};")
    row = f'\n  {{ "row_of_a_test", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "{key}", .help = "Added." }},'
    before = source[:source.index("static const struct metric metrics[] = {")]
    path.write_text(before + head + row + end + rest)
    make(tree, "programs")

    def shown(*arguments):
        return subprocess.run([tree / "build" / "agent", *arguments], capture_output=True, text=True, timeout=LIMIT,
                              check=True, env=environment(), stdin=subprocess.DEVNULL).stdout

    groups = {group["name"]: group for group in parse_line(shown("--list-groups", "--json"))["groups"]}
    metric = next(one for one in groups["vm"]["metrics"] if one["name"] == "row_of_a_test")
    assert metric["kind"] == "counter" and metric["help"] == "Added."
    assert "row_of_a_test" in shown("--list-groups")
    line = parse_line(shown("--config", "/dev/null", "--once", "--period", "100ms"))
    assert isinstance(line["report"]["system_data"]["vm"]["row_of_a_test"], int)
    make(tree, "generated-docs", "DOCS=made")
    assert "| `row_of_a_test` |" in (tree / "made" / "metrics.md").read_text()


def test_nothing_else_was_edited():
    """The names of vm's metrics stand in one file only; their documentation is made."""
    root = pathlib.Path(__file__).resolve().parents[2]
    source = (root / "agent" / "groups" / "group_vm.c").read_text()
    names = re.findall(r'^  (?:\{|VM\w* \() ?"([a-z0-9_]{8,})"', source, re.MULTILINE)
    names.remove("oom_kills")  # jobs count those too
    names.remove("page_faults")  # perf events, too
    assert len(names) > 5
    for folder in ("agent", "aggregator", "common", "include"):
        for path in sorted((root / folder).rglob("*.[ch]")):
            if path.name != "group_vm.c":
                text = path.read_text()
                assert not [name for name in names if f'"{name}"' in text], path
