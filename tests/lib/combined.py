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


def fold(how, numbers):
    return {"sum": sum, "mean": lambda all: sum(all) / len(all), "max": max, "min": min}[how](numbers)


def check_ends(said, rows, ends, margin, where):
    """`ends`: {"min": number, "max": number}; `rows`: {node: {row: number}}, whose ends these are, or None."""
    for name, number in ends.items():
        node, row = said[f"{name}_node"], said.get(f"{name}_row")
        assert close(rows[node][row], number, abs(number), margin), (where, name, said, rows)


def check_metric(said, metric, values, where, rows=None):
    """`values`: {node: number} of those that have one. `rows`: {node: {row: number}}, where the ends are those of rows."""
    assert (said is None) == (not values), (where, said, values)
    if values:
        assert said["nodes"] == len(values), (where, said, values)
        numbers = list(values.values())
        scale, margin = max(map(abs, numbers)), SHARE_MARGIN if metric["share"] else 0.0
        whole = not metric["share"] and all(isinstance(number, int) for number in numbers)
        owners = rows or {node: {None: number} for node, number in values.items()}
        every = [number for one in owners.values() for number in one.values()]
        ends = {"min": min(every), "max": max(every)}
        expected = {"mean": sum(numbers) / len(numbers), **ends}
        if metric["fold"] == "sum":
            expected["sum"] = sum(numbers)
        if metric["kind"] == "gauge" or metric["share"]:
            expected |= {"p50": rank(numbers, 50), "p95": rank(numbers, 95)}
        for name, number in expected.items():
            if whole and name != "mean":
                assert said[name] == number, (where, name, said, values)
            else:
                assert close(said[name], number, scale * len(numbers), margin * len(numbers)), (where, name, said, values)
        check_ends(said, owners, ends, margin, where)
        keys = {"nodes", "min_node", "max_node"}
        if rows:
            assert said["rows"] == len(every), (where, said, rows)
            keys |= {"rows", "min_row", "max_row"}
        assert set(said) == set(expected) | keys, (where, said)


def rows_of(group, metric, report):
    """{row: number} of the rows that count, and of those among them that are this node's alone."""
    gates = {one["name"] for one in group["metrics"] if one["counts"]}
    shared = {one["name"] for one in group["metrics"] if one["shared"]}
    counting = {label: row for label, row in report[group["rows_name"]].items()
                if row[metric["name"]] is not None and all(row[gate] != 0 for gate in gates)}
    own = {label: row for label, row in counting.items() if not any(row[one] for one in shared)}
    return tuple({label: row[metric["name"]] for label, row in rows.items()} for rows in (counting, own))


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
        if metric["of_node"]:
            left.discard(name)
            values = {node: report[name] for node, report in reports.items() if report[name] is not None}
            check_metric(said.get(name), metric, values, f"{where}.{name}")
            continue
        folds.discard(name)
        rows = {node: rows_of(group, metric, report) for node, report in reports.items()}
        values = {}
        for node, (counting, own) in rows.items():
            if own:  # what the line itself shows is exact; without the shared rows it is not there to be read
                values[node] = reports[node][group["fold_name"]][name] if own == counting else fold(
                    metric["fold"], list(own.values()))
        ends = {node: counting for node, (counting, _) in rows.items() if counting} if group["by_rows"] else None
        check_metric(said[group["fold_name"]].get(name), metric, values, f"{where}.{name}", ends)
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
