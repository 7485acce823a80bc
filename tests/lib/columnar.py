"""Files of columns as other people's libraries read them (columnar_read.mjs): Parquet by hyparquet and parquet-wasm, Arrow by
apache-arrow and flechette. tests/setup.sh has npm fetch them."""

import json
import pathlib
import shutil
import struct
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


def read_lines(reader, path, *what):
    """The head, and the rows."""
    done = subprocess.run(["node", "--input-type=module", "-", reader, str(path), *what], stdin=open(SCRIPT, encoding="utf-8"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=MODULES, env=environment(), timeout=5 * LIMIT,
                          check=False)
    assert done.returncode == 0, (reader, path, done.stderr.decode()[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def bits(value):
    """A double as columnar_read.mjs writes it."""
    return "nan" if value != value else struct.pack(">d", value).hex()


def read_both(path):
    """The head of each reader, and the rows, which are the same for both."""
    first, second = (read_lines(reader, path) for reader in READERS[path.suffix[1:]])
    assert first[1:] == second[1:], path
    return first[0], second[0], first[1:]
