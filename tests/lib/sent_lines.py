"""Frames that a sender delivered as JSON lines, beside those that the aggregator printed: which are missing, which came twice."""

import collections

from lib.programs import parse_line, wait_until


def sender(cluster, name="one"):
    return next(one for one in cluster.status()["senders"] if one["sender"] == name)


def name_of(line):
    return line["node"], line["session"], line["seq"]


def printed(cluster):
    """{(node, session, seq): lines} of all aggregators of this test: one that was killed may have printed a frame that the next
    one asks for once more, which is late then."""
    found = collections.defaultdict(list)
    for program in cluster.programs:
        if program.name.startswith("aggregator"):
            for line in program.lines(type="node"):
                found[name_of(line)].append(line)
    return found


def differences(one, other, path=""):
    """(where, value, other value)"""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from differences(one.get(key, "missing"), other.get(key, "missing"), f"{path}.{key}")
    elif one != other:
        yield path, one, other


def taken(cluster, read):
    """Names of lines that come no more, also when the aggregator is killed now: behind them others were begun to be sent."""
    names = {name_of(parse_line(line)) for line in read()}
    sent = wait_until(lambda: (one := sender(cluster))["waiting"] == 0 and one["sent"], "all is sent")
    wait_until(lambda: sender(cluster)["sent"] > sent, "what came then")
    return names


def check_lines(cluster, read, twice=0, since=None, once=()):
    """What `read` gives, the lines so far, has each frame that was printed (from `since` on), equal, and of each node and session
    in order, but for late ones and what comes once more. Returns how many came twice: no more than that, and none of `once`."""
    want = printed(cluster)
    want = {name: line for name, line in want.items() if since is None or name in since}
    assert want

    def found():
        got = collections.defaultdict(list)
        for line in map(parse_line, read()):
            got[name_of(line)].append(line)
        return want.keys() <= got.keys() and got

    got = wait_until(found, f"{len(want)} lines")
    now = printed(cluster)
    for name in want:
        for line in got[name]:
            assert line in now[name], list(differences(line, now[name][-1]))
    again = sum(len(lines) - 1 for lines in got.values())
    assert all(len(got[name]) == 1 for name in once)
    assert again <= twice, f"{again} of {len(got)} lines came twice"
    if not again:
        for node, session in {name[:2] for name in got}:
            numbers = [number for (*one, number), lines in got.items() if one == [node, session] and "late" not in lines[0]]
            assert numbers == sorted(numbers)
    return again
