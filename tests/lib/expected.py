"""What a report must say, computed from the raw tables by a second mind: changes of counters, shares, scales, folds."""

import math

from lib import protocol


TICK = 0.01  # s, in which kernels count CPU time


class Share(float):
    """A percentage, which is shown with four decimal places."""


def scaled(metric, raw):
    times, per = metric.times or 1, metric.per or 1
    if isinstance(raw, int) and (raw * times) % per == 0:
        return raw * times // per
    return raw * times / per


def change(metric, now, before):
    """Of a counter, in raw units; None when it cannot be known."""
    if now is None or before is None:
        return None
    if now >= before:
        return now - before
    if metric.flags & protocol.WRAPS32 and before < 2**32 and now - before + 2**32 < 2**31:
        return now - before + 2**32
    return None


def shown(metric, now, before, elapsed_ns):
    if metric.kind == protocol.TEXT or now is None:
        return now
    if metric.kind == protocol.GAUGE:
        return scaled(metric, now)
    passed = change(metric, now, before)
    if passed is None:
        return None
    if metric.flags & protocol.SHARE:
        used, elapsed = scaled(metric, passed), elapsed_ns / 1e9
        if elapsed < used <= elapsed + max(elapsed / 20, TICK):
            used = elapsed
        return Share(used / elapsed * 100)
    return scaled(metric, passed)


def fold(metric, values):
    values = [value for value in values if value is not None]
    if not values:
        return None
    if metric.fold == protocol.FOLD_SUM:
        return sum(values)
    if metric.fold == protocol.FOLD_MEAN:
        mean = sum(values) / len(values)
        return Share(mean) if metric.flags & protocol.SHARE else mean
    return max(values) if metric.fold == protocol.FOLD_MAX else min(values)


def counts(group, row):
    """Is a row, as it is shown, in the fold?"""
    return all(row[metric.name] != 0 for metric in group.of_rows() if metric.flags & protocol.COUNTS)


def group_report(now, before, elapsed_ns):
    """Without "period". `before` may be None."""
    group = now.group
    old_node = before.node if before else {}
    made = {"error": now.error}
    for metric in group.of_node():
        made[metric.name] = shown(metric, now.node.get(metric.name), old_node.get(metric.name), elapsed_ns)
    if not group.rows_name:
        return made
    rows = {}
    for label, row in now.rows.items():
        old = before.rows.get(label, {}) if before else {}
        rows[label] = {metric.name: shown(metric, row.get(metric.name), old.get(metric.name), elapsed_ns)
                       for metric in group.of_rows()}
    if group.fold_name:
        made[group.fold_name] = {metric.name: fold(metric, [row[metric.name] for row in rows.values() if counts(group, row)])
                                 for metric in group.of_rows() if metric.fold != protocol.FOLD_NONE}
    made[group.rows_name] = rows
    return made


def same(said, expected, where=""):
    """Equal, floats to 9 digits, integers exactly, and no member more or less."""
    if isinstance(expected, dict):
        assert isinstance(said, dict) and list(said) == list(expected), (where, said, expected)
        for key, value in expected.items():
            same(said[key], value, f"{where}.{key}")
    elif isinstance(expected, float):
        assert isinstance(said, (int, float)), (where, said, expected)
        margin = 5.1e-5 if isinstance(expected, Share) else 0
        assert math.isclose(said, expected, rel_tol=1e-12, abs_tol=margin), (where, said, expected)
    else:
        assert said == expected and isinstance(said, bool) == isinstance(expected, bool), (where, said, expected)


def check_group(said, now, before, elapsed_ns):
    said = dict(said)
    period = said.pop("period")
    if before is not None:
        assert math.isclose(period, elapsed_ns / 1e9, rel_tol=1e-6), (period, elapsed_ns)
    same(said, group_report(now, before, elapsed_ns), now.group.name)


JOBS = "job_data"


def place(report, section, name):
    """Where a group lies in a report, or None. Jobs are the other way round, and without folds: they come out as
    {job: what the group tells of it}, or None when there is none."""
    if section != JOBS:
        return (report.get(section, {}) if section else report).get(name)
    return {job["job_id"]: job["report"][name] for job in report.get(JOBS, []) if name in job["report"]} or None


def check_jobs(said, groups):
    """A line's job_data. `groups`: (now, before or None, elapsed_ns) of each job group in order."""
    jobs = []
    for now, _, _ in groups:
        jobs += [label for label in now.rows if label not in jobs]
    failed = [now.error for now, _, _ in groups if now.error and not now.rows]
    assert [job["job_id"] for job in said] == jobs + [None] * bool(failed), (said, jobs)
    for job in said[:len(jobs)]:
        holders = [group for group in groups if job["job_id"] in group[0].rows]
        assert list(job) == ["job_id", "error", "report"] and list(job["report"]) == [now.group.name for now, _, _ in holders]
        assert job["error"] == next((now.error for now, _, _ in holders if now.error), "")
        for now, before, elapsed_ns in holders:
            shown_now = dict(job["report"][now.group.name])
            period, error = shown_now.pop("period"), shown_now.pop("error")
            assert math.isclose(period, elapsed_ns / 1e9, rel_tol=1e-6) and error == now.error
            whole = group_report(now, before, elapsed_ns)
            same(shown_now, whole[now.group.rows_name][job["job_id"]], now.group.name)
    if failed:
        assert said[-1] == {"job_id": None, "error": failed[0], "report": {}}
