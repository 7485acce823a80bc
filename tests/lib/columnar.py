"""Files of columns as other people's libraries read them (columnar_read.mjs): Parquet by hyparquet and parquet-wasm, Arrow by
apache-arrow and flechette. tests/setup.sh has npm fetch them."""

import json
import pathlib
import shutil
import subprocess

import pytest

from lib.programs import LIMIT, ROOT, environment

READERS = {"parquet": ("hyparquet", "parquet-wasm"), "arrow": ("apache-arrow", "flechette")}
MODULES = ROOT / "build/npm"
SCRIPT = pathlib.Path(__file__).with_suffix("").with_name("columnar_read.mjs")


def readers_or_skip():
    if not shutil.which("node") or not all((MODULES / "node_modules" / name).is_dir() for name in (
            "hyparquet", "hyparquet-compressors", "parquet-wasm", "apache-arrow", "@uwdata/flechette")):
        pytest.skip("npm's readers of Parquet and Arrow are not here")


def read_lines(reader, *paths):
    done = subprocess.run(["node", "--input-type=module", "-", reader, *map(str, paths)], stdin=open(SCRIPT, encoding="utf-8"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=MODULES, env=environment(), timeout=5 * LIMIT,
                          check=False)
    assert done.returncode == 0, (reader, paths, done.stderr.decode()[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def read_tables(paths):
    """{path: (head of one reader, head of the other, rows)}; both have the same rows. All are of one format."""
    ones, others = (iter(read_lines(reader, *paths)) for reader in READERS[paths[0].suffix[1:]])
    tables = {}
    for path in paths:
        one, other = next(ones), next(others)
        rows = [next(ones) for _ in range(one["rows"])]
        assert one["rows"] == other["rows"] and rows == [next(others) for _ in rows], path
        tables[path] = one, other, rows
    assert not [*ones, *others]
    return tables


def read_both(path):
    return read_tables([path])[path]
