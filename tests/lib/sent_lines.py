"""Frames that a sender delivered as JSON lines, beside those that the aggregator printed: which are missing, which came twice."""

import collections

from lib.programs import parse_line, wait_until


def sender(cluster, name="one"):
    return next(one for one in cluster.status()["senders"] if one["sender"] == name)


def name_of(line):
    return line["node"], line["session"], line["seq"]


def printed(cluster):
    """{(node, session, seq): line} of all aggregators of this test."""
    programs = [program for program in cluster.programs if program.name.startswith("aggregator")]
    return {name_of(line): line for program in programs for line in program.lines(type="node")}


def check_lines(cluster, read, twice=0, since=None):
    """What `read` gives, the lines so far, has each frame that was printed (from `since` on), equal, and of each node and session
    in order, but for what comes once more. Returns how many came twice: no more than that."""
    want = printed(cluster)
    want = {name: line for name, line in want.items() if since is None or name in since}
    assert want

    def found():
        got = collections.defaultdict(list)
        for line in map(parse_line, read()):
            got[name_of(line)].append(line)
        return want.keys() <= got.keys() and got

    got = wait_until(found, f"{len(want)} lines")
    assert all(line == want[name] for name, lines in got.items() for line in lines if name in want)
    again = sum(len(lines) - 1 for lines in got.values())
    assert again <= twice, f"{again} of {len(got)} lines came twice"
    if not again:
        for node, session in {name[:2] for name in got}:
            numbers = [number for *one, number in got if one == [node, session]]
            assert numbers == sorted(numbers)
    return again
