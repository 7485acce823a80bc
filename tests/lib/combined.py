"""The combined report, computed from the node lines of the same tick by a second mind."""

import math

from lib import expected
from lib.programs import time_ns

SHARE_MARGIN = 1.01e-4  # node lines show shares with four decimals, and a mean or rank is of such
S = 1_000_000_000


def tick_of(line, period_ns):
    return (time_ns(line["time"]) + period_ns // 2) // period_ns


def at_tick(line, period_ns):
    """Was it sampled at the tick's instant, as far as is known?"""
    bound = line["clock"]["bound"]
    away = abs(time_ns(line["time"]) - tick_of(line, period_ns) * period_ns)
    return bound is None or away <= min(period_ns // 2, bound * S + max(period_ns // 10, 5_000_000))


def members(lines, period_ns):
    """Yields each combined line, with the node lines that are in it: the first of each node that belongs to its instant,
    came before it and is not late. For nodes whose period is the tick's."""
    ticks = {}
    for line in lines:
        if line["type"] == "node" and not line.get("late") and at_tick(line, period_ns):
            ticks.setdefault(tick_of(line, period_ns), {}).setdefault(line["node"], line)
        elif line["type"] == "cluster":
            yield line, ticks.pop(tick_of(line, period_ns), {})


def close(said, expected, scale, margin=0.0):
    return math.isclose(said, expected, rel_tol=1e-9, abs_tol=1e-9 * scale + margin)


def rank(values, percent):
    """Nearest rank."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def check_metric(said, metric, values, where):
    """`values`: {node: number} of those that have one."""
    assert (said is None) == (not values), (where, said, values)
    if values:
        assert said["nodes"] == len(values), (where, said, values)
        numbers = list(values.values())
        scale, margin = max(map(abs, numbers)), SHARE_MARGIN if metric["share"] else 0.0
        whole = not metric["share"] and all(isinstance(number, int) for number in numbers)
        expected = {"mean": sum(numbers) / len(numbers), "min": min(numbers), "max": max(numbers)}
        if metric["fold"] == "sum":
            expected["sum"] = sum(numbers)
        if metric["kind"] == "gauge" or metric["share"]:
            expected |= {"p50": rank(numbers, 50), "p95": rank(numbers, 95)}
        for name, number in expected.items():
            if whole and name != "mean":
                assert said[name] == number, (where, name, said, values)
            else:
                assert close(said[name], number, scale * len(numbers), margin * len(numbers)), (where, name, said, values)
        for name in ("min", "max"):
            assert close(values[said[f"{name}_node"]], expected[name], scale, margin), (where, name, said, values)
        assert set(said) == set(expected) | {"nodes", "min_node", "max_node"}, (where, said)


def check_group(said, group, reports):
    """`reports`: {node: what its line says of the group}."""
    where = group["name"]
    periods = [report["period"] for report in reports.values()]
    assert said["nodes"] == len(reports), (where, said)
    assert said["errors"] == sum(report["error"] != "" for report in reports.values()), (where, said)
    assert close(said["period"]["min"], min(periods), 1) and close(said["period"]["max"], max(periods), 1), (where, said)
    left = set(said) - {"nodes", "errors", "period"}
    folds = set(said[group["fold_name"]]) if group["fold_name"] else set()
    for metric in group["metrics"]:
        if metric["kind"] == "text" or metric["fold"] == "none" or not (metric["of_node"] or group["fold_name"]):
            continue
        name = metric["name"]
        within = {node: report if metric["of_node"] else report[group["fold_name"]] for node, report in reports.items()}
        values = {node: one[name] for node, one in within.items() if one[name] is not None}
        (left if metric["of_node"] else folds).discard(name)
        check_metric((said if metric["of_node"] else said[group["fold_name"]]).get(name), metric, values, f"{where}.{name}")
    assert left <= {group["fold_name"]} and not folds, (where, left, folds)


def check(line, lines, groups, period_ns):
    """One combined line against the node lines {node: line} of its tick. Returns how many metrics it had."""
    times = [time_ns(one["time"]) for one in lines.values()]
    bounds = [one["clock"]["bound"] for one in lines.values()]
    assert time_ns(line["time"]) % period_ns == 0, line["time"]
    assert line["nodes"]["reporting"] == len(lines), (line["time"], line["nodes"], list(lines))
    assert close(line["spread"], (max(times) - min(times)) / S if times else 0, 1), (line["spread"], times)
    if None in bounds:
        assert line["bound"] is None
    else:
        assert close(line["bound"], max(bounds, default=0), 1), (line["bound"], bounds)
    assert line["left_out"] == 0
    count, names = 0, set()
    for group in groups:
        if group["section"] == expected.JOBS:  # lines have no values of the whole node
            continue
        reports = {node: expected.place(one["report"], group["section"], group["name"]) for node, one in lines.items()}
        reports = {node: report for node, report in reports.items() if report}
        said = expected.place(line["report"], group["section"], group["name"])
        if group["once"] or not reports:
            assert said is None, (group["name"], said)
            continue
        names.add(group["name"])
        check_group(said, group, reports)
        count += len(group["metrics"])
    assert {name for key, section in line["report"].items() if key != expected.JOBS for name in section} == names
    return count
