"""The wire formats, written from their description and nothing else: an independent reader and writer.

    frame   = [1, node, session, sequence, monotonic ns, wall ns, schema hash (bin 16), [table, ...]]
    table   = [group index, actual period ns, error or nil, labels, values of the node, columns]
    schema  = [1, [group, ...]]
    group   = [name, section, row, rows_name, fold_name, flags, help, [metric, ...]]
    metric  = [name, kind, unit, fold, flags, times, per, help]
    control = [1, type, ...]
    probe   = [1, 3, session, t1, nil or [t1, t2, t3, t4] of the probe before]
    answer  = [1, 33, session, t1, t2, t3, known, nil or clock]
    clock   = [node ns, cluster ns, bound ns, drift, soon]
"""

import hashlib
import re
from dataclasses import dataclass, field

import msgpack

COUNTER, GAUGE, TEXT = range(3)
KINDS = ("counter", "gauge", "text")
UNITS = ("", "bytes", "seconds", "hertz", "celsius", "joules", "watts", "percent", "ratio", "bits_per_second",
         "boolean", "")
UNIT_COUNT, UNIT_BYTES, UNIT_SECONDS, UNIT_JOULES, UNIT_NONE = 0, 1, 2, 5, 11
FOLDS = ("none", "sum", "mean", "max", "min")
FOLD_NONE, FOLD_SUM, FOLD_MEAN, FOLD_MAX, FOLD_MIN = range(5)
OF_NODE, SHARE, WRAPS32, COUNTS, SHARED = 1, 2, 4, 8, 16
ONCE, ROWS = 1, 2

HELLO, SCHEMA, PROBE, REPLAYED, REPLAY_END, TRACE_ANSWER = 1, 2, 3, 4, 5, 6
WELCOME, PROBE_ANSWER, REPLAY_REQUEST, TRACE_REQUEST, SCHEMA_REQUEST, WRONG_NODE = 32, 33, 34, 35, 36, 37

NAME = re.compile(r"[a-z0-9_]{1,64}")


def pack(value):
    return msgpack.packb(value, use_bin_type=True)


def unpack(data):
    return msgpack.unpackb(data, raw=False, strict_map_key=True)


@dataclass
class Metric:
    name: str
    kind: int
    unit: int = UNIT_COUNT
    fold: int = FOLD_SUM
    flags: int = 0
    times: int = 0
    per: int = 0
    help: str = "Help."

    def wire(self):
        return [self.name, self.kind, self.unit, self.fold, self.flags, self.times, self.per, self.help]


@dataclass
class Group:
    name: str
    section: str = "system_data"
    row: str = ""
    rows_name: str = ""
    fold_name: str = ""
    flags: int = 0
    help: str = "Help."
    metrics: list = field(default_factory=list)

    def wire(self):
        metrics = [metric.wire() for metric in self.metrics]
        return [self.name, self.section, self.row, self.rows_name, self.fold_name, self.flags, self.help, metrics]

    def of_node(self):
        return [metric for metric in self.metrics if metric.flags & OF_NODE]

    def of_rows(self):
        return [metric for metric in self.metrics if not metric.flags & OF_NODE]


def schema_bytes(groups):
    return pack([1, [group.wire() for group in groups]])


def schema_hash(data):
    return hashlib.blake2b(data, digest_size=16).digest()


def schema_read(data):
    """Checks every rule on the way."""
    version, groups, *_ = unpack(data)
    assert version == 1
    made = []
    for wire in groups:
        name, section, row, rows_name, fold_name, flags, text, metrics, *_ = wire
        metrics = [Metric(*metric[:8]) for metric in metrics]
        group = Group(name, section, row, rows_name, fold_name, flags, text, metrics)
        assert NAME.fullmatch(name) and len(text.encode()) <= 512, name
        names = [metric.name for metric in metrics]
        assert len(set(names)) == len(names), names
        for metric in metrics:
            assert NAME.fullmatch(metric.name), metric
            assert 0 <= metric.kind < 3 and 0 <= metric.unit < 12 and 0 <= metric.fold < 5, metric
            assert metric.flags & ~31 == 0, metric
            assert metric.name not in ("period", "error", rows_name, fold_name), metric
            assert rows_name or metric.flags & OF_NODE, metric
        made.append(group)
    names = [group.name for group in made]
    assert len(set(names)) == len(names), names
    return made


@dataclass
class Table:
    group: Group
    period_ns: int
    error: str
    labels: list
    node: dict  # metric name -> value
    rows: dict  # label -> {metric name -> value}


def check_value(metric, value):
    if value is None:
        return
    if metric.kind == COUNTER:
        assert isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0, (metric, value)
    elif metric.kind == GAUGE:
        assert isinstance(value, (int, float)) and not isinstance(value, bool), (metric, value)
    else:
        assert isinstance(value, str), (metric, value)


def table_read(wire, groups):
    index, period_ns, error, labels, node, columns, *_ = wire
    group = groups[index]
    assert isinstance(period_ns, int) and period_ns > 0
    assert error is None or (isinstance(error, str) and error)
    if labels is None:
        labels = []
    elif isinstance(labels, int):
        labels = [str(number) for number in range(labels)]
    assert len(set(labels)) == len(labels), labels
    assert len(node) == len(group.of_node()) and len(columns) == len(group.of_rows()), (group.name, wire)
    values = {}
    for metric, value in zip(group.of_node(), node):
        check_value(metric, value)
        values[metric.name] = value
    rows = {label: {} for label in labels}
    for metric, column in zip(group.of_rows(), columns):
        column = [None] * len(labels) if column is None else column
        assert len(column) == len(labels), (metric, column)
        for label, value in zip(labels, column):
            check_value(metric, value)
            rows[label][metric.name] = value
    return Table(group, period_ns, error or "", labels, values, rows)


@dataclass
class Frame:
    node: str
    session: int
    sequence: int
    monotonic_ns: int
    wall_ns: int
    schema: bytes
    tables: dict  # group name -> Table
    received: float = 0.0


def frame_read(data, groups):
    version, node, session, sequence, monotonic_ns, wall_ns, schema, wire, *_ = unpack(data)
    assert version == 1 and session > 0 and sequence > 0 and len(schema) == 16
    tables = [table_read(table, groups) for table in wire]
    assert len({table.group.name for table in tables}) == len(tables)
    by_name = {table.group.name: table for table in tables}
    return Frame(node, session, sequence, monotonic_ns, wall_ns, schema, by_name)


def table_wire(groups, name, period_ns, node=(), rows=None, labels=None, error=None):
    """rows: {label: {metric: value}}; a metric that is not there is missing."""
    index = next(i for i, group in enumerate(groups) if group.name == name)
    group = groups[index]
    node = dict(node)
    values = [node.get(metric.name) for metric in group.of_node()]
    if rows is None:
        return [index, period_ns, error, None, values, [[] for _ in group.of_rows()]]
    columns = [[row.get(metric.name) for row in rows.values()] for metric in group.of_rows()]
    return [index, period_ns, error, list(rows) if labels is None else labels, values, columns]


@dataclass
class Hello:
    node: str
    session: int
    schema: bytes
    first: int
    last: int
    period_ns: int
    version: str
    held: list = field(default_factory=list)


def hello_read(message):
    return Hello(*message[2:10])


@dataclass
class Clock:
    """Where a node's monotonic clock lies in cluster time, as an answer tells it."""

    node_ns: int
    cluster_ns: int
    bound_ns: int
    drift: float
    soon: bool

    def cluster_time(self, node_ns):
        past = node_ns - self.node_ns
        return self.cluster_ns + past + round(past * self.drift)


@dataclass
class Answer:
    session: int
    t1: int
    t2: int
    t3: int
    known: bool
    clock: Clock  # None: not known yet


def answer_read(message):
    session, t1, t2, t3, known, clock = message[2:8]
    assert isinstance(known, bool) and t2 <= t3, message
    return Answer(session, t1, t2, t3, known, Clock(*clock[:5]) if clock is not None else None)


@dataclass
class Probe:
    session: int
    t1: int
    last: list  # None, or the four times of the one before


def probe_read(message):
    session, t1, last = message[2:5]
    assert last is None or len(last) == 4, message
    return Probe(session, t1, last)
