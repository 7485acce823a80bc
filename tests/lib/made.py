"""An aggregator with thousands of made-up nodes in it (tests/bench/made_link.c): only the sockets of agents are missing."""

import os

from lib.programs import BUILD, run, wait_until

PROGRAM = "tests/bench/made_aggregator"
RACK = 40
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def made_names(count):
    return [f"r{1 + at // RACK:03}n{1 + at % RACK:02}" for at in range(count)]


def z85(data):
    text = ""
    for at in range(0, len(data), 4):
        number = int.from_bytes(data[at:at + 4], "big")
        text += "".join(DIGITS[number // 85 ** power % 85] for power in (4, 3, 2, 1, 0))
    return text


def has_made_aggregator():
    """make benches makes it."""
    return (BUILD / PROGRAM).exists()


def fill_history(cluster, count, hours):
    """Minutes and hours of the same nodes, of cpu_usage.user, memory_info.used and load.load_1, up to this hour."""
    done = run("tests/bench/bench_tiers", cluster.history, "cluster", count, hours)
    assert done.returncode == 0, done.stderr


def start_made(cluster, count, *options, config="[http]\nlisten = 127.0.0.1:0\n", **more):
    """With so many nodes listed, each with a key that nobody holds; when nearly all are up. Two in a thousand are away,
    some for a while, some always."""
    folder = cluster.master / "nodes"
    folder.mkdir(exist_ok=True)
    for name in made_names(count):
        (folder / f"{name}.pub").write_text(f"public = {z85(os.urandom(32))}\n", encoding="ascii")
    aggregator = cluster.start_aggregator("--output", "none", *options, config=config, program=PROGRAM, **more)

    def nearly_all():
        return sum(one["state"] == "up" for one in cluster.status()["nodes"]) >= 0.99 * count

    wait_until(nearly_all, f"{count} made-up nodes")
    return aggregator
