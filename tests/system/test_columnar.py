"""Parquet and Arrow: what is written is read back, cell for cell and type for type, by four libraries of other people."""

import base64
import json
import os
import struct
import subprocess

import pytest

from lib.cluster import Cluster
from lib.columnar import bits, read_both, read_lines, readers_or_skip
from lib.programs import BUILD, LIMIT, environment, run, wait_until

SEEDS = [int(seed) for seed in os.environ.get("COLUMNAR_SEEDS", "1 2").split()]


@pytest.fixture(autouse=True)
def readers():
    readers_or_skip()


def make(*arguments):
    done = subprocess.run([str(BUILD / "tests/unit/test_columnar"), *map(str, arguments)], capture_output=True, text=True,
                          env=environment(), timeout=5 * LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def order(value):
    """As statistics order values; doubles by their bits, -0 before 0."""
    return value.encode() if isinstance(value, str) else value


def number(text):
    return struct.unpack(">d", bytes.fromhex(text))[0]


def check_statistics(head, rows):
    """Of each row group: bounds of the values that are there, without NaN; how many are not."""
    begin = 0
    for group in head["groups"]:
        part = rows[begin:begin + group["rows"]]
        begin += group["rows"]
        assert group["bytes"] == sum(one["raw"] for one in group["columns"])
        for at, (column, said) in enumerate(zip(head["columns"], group["columns"])):
            values = [row[at] for row in part]
            there = [value for value in values if value is not None and value != "nan"]
            assert said["codec"] == "ZSTD" and said["values"] == len(part)
            assert said["nulls"] == values.count(None), column
            if column["type"] == "time":
                continue
            if not there:
                assert said["min"] is None and said["max"] is None, column
            elif column["type"] == "double":
                there = [number(value) for value in there]
                least, most = number(said["min"]), number(said["max"])
                assert least == min(there) and most == max(there)
                assert least != 0 or said["min"] == "8000000000000000" and most != 0 or said["max"] == "0000000000000000"
            else:
                assert (said["min"], said["max"]) == (min(there, key=order), max(there, key=order)), column
            if column["type"] == "text":
                assert "PLAIN" in said["encodings"] and "RLE" in said["encodings"]
                different = len(set(there))
                assert different > 10000 or not there or "RLE_DICTIONARY" in said["encodings"]
                assert different < 30000 or said["raw"] >= sum(len(order(value)) for value in there)
            else:
                assert "RLE_DICTIONARY" not in said["encodings"]
    assert begin == len(rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_tables(tmp_path, seed):
    """Tables of all types, lengths and shares of nulls: none, one row, a block less and more, texts that are too many for a
    dictionary, integers over 2^53, infinities, NaN, -0."""
    make("random", seed, tmp_path)
    tables = sorted(tmp_path.glob("*.jsonl"))
    assert len(tables) == 5
    for table in tables:
        expected = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
        columns, rows = expected[0]["columns"], expected[1:]
        assert len(rows) == expected[0]["rows"]
        plain, other, read = read_both(table.with_suffix(".parquet"))
        assert read == rows
        assert [(one["name"], one["type"], one["optional"]) for one in plain["columns"]] == [
            (one["name"], one["type"], True) for one in columns]
        assert [{**one, "optional": None} for one in other["columns"]] == [{**one, "optional": None} for one in columns]
        assert plain["table"] == {"table": 'made "up"', "help": "Made up.", "columns": {
            one["name"]: {key: one[key] for key in ("unit", "help") if one[key]} for one in columns}}
        assert plain["created"].startswith("synop version ") and base64.b64decode(plain["arrow"])[:4] == b"\xff" * 4
        check_statistics(plain, rows)
        *heads, read = read_both(table.with_suffix(".arrow"))
        assert read == rows
        for head in heads:
            assert [{**one, "optional": None} for one in head["columns"]] == [{**one, "optional": None} for one in columns]
            assert head["rows"] == len(rows) and head["table"] == {"name": 'made "up"', "help": "Made up."}
