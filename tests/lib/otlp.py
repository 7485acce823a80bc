"""A receiver of OTLP over HTTP, whose decoder protoc makes of otlp.proto: strict, and doing as it is told."""

import collections
import gzip
import http.server
import importlib.util
import pathlib
import subprocess
import tempfile
import threading
import time

from lib.programs import LIMIT


def load_messages():
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(__file__).with_name("otlp.proto")
        subprocess.run(["protoc", f"--proto_path={source.parent}", f"--python_out={folder}", source], check=True, timeout=LIMIT)
        spec = importlib.util.spec_from_file_location("otlp_pb2", f"{folder}/otlp_pb2.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


PB = load_messages()
NO_VALUE = 1
Point = collections.namedtuple("Point", "time start value")  # value None: its series ends
Metric = collections.namedtuple("Metric", "kind unit description")


def attributes(pairs):
    """Strings alone, each key once, none empty."""
    assert all(pair.value.WhichOneof("value") == "string_value" and pair.key for pair in pairs)
    found = {pair.key: pair.value.string_value for pair in pairs}
    assert len(found) == len(pairs)
    return found


def check_known(message):
    """Nothing is in it that the specification has not."""
    assert len(message.UnknownFields()) == 0
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.label == field.LABEL_REPEATED else [value]:
                check_known(one)


def decode(body):
    """[(resource, name, Metric, attributes, Point)]"""
    request, points = PB.Request(), []
    request.ParseFromString(body)
    check_known(request)
    for of_node in request.resource_metrics:
        resource = tuple(sorted(attributes(of_node.resource.attributes).items()))
        scope, = of_node.scope_metrics
        assert scope.scope.name == "synop" and scope.scope.version and scope.metrics
        for metric in scope.metrics:
            kind = metric.WhichOneof("data")
            data = getattr(metric, kind)
            if kind == "sum":
                assert data.is_monotonic and data.aggregation_temporality == PB.CUMULATIVE
            assert metric.name and data.data_points
            about = Metric(kind, metric.unit, metric.description)
            for point in data.data_points:
                assert (point.WhichOneof("value") is None) == (point.flags == NO_VALUE) and point.flags in (0, NO_VALUE)
                assert (point.start_time_unix_nano > 0) == (kind == "sum") and point.start_time_unix_nano <= point.time_unix_nano
                value = None if point.flags else point.as_double
                points.append((resource, metric.name, about, tuple(sorted(attributes(point.attributes).items())),
                               Point(point.time_unix_nano, point.start_time_unix_nano, value)))
    assert points
    return points


class Collector:
    """`answer`: of the points, None or (status, message to be its body, headers)."""

    def __init__(self, answer=None):
        self.answer = answer
        self.taken = collections.defaultdict(dict)  # {(resource, name, attributes): {ns: Point}}
        self.metrics = {}
        self.twice, self.requests, self.faults = 0, [], []  # requests: (time, headers, points, status)
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                collector.handle(self, self.rfile.read(int(self.headers["Content-Length"])))

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/metrics"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        assert kind or not self.faults, self.faults

    def handle(self, handler, body):
        status, message, headers, points = 200, PB.Response(), {}, []
        try:
            assert handler.path == "/v1/metrics" and handler.headers["Content-Type"] == "application/x-protobuf"
            points = decode(gzip.decompress(body) if handler.headers["Content-Encoding"] == "gzip" else body)
            if self.answer and (answer := self.answer(points)):
                status, message, headers = (*answer, {})[:3]
            if status == 200:
                self.take(points)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.faults.append(repr(error))
        self.requests.append((time.monotonic(), dict(handler.headers), points, status))
        text = message.SerializeToString()
        handler.send_response(status)
        for name, value in {"Content-Type": "application/x-protobuf", "Content-Length": str(len(text)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text)

    def take(self, points):
        for resource, name, about, more, point in points:
            times = self.taken[resource, name, more]
            self.twice += point.time in times
            times[point.time] = point
            self.metrics[name] = about

    def find(self, name, node, **more):
        """{ms: value} of the series of the node with these attributes among its own."""
        found = [times for (resource, its, own), times in list(self.taken.items())
                 if its == name and dict(resource)["host.name"] == node and more.items() <= dict(own).items()]
        assert len(found) <= 1, (name, more)
        return {at // 1_000_000: point.value for at, point in list(found[0].items())} if found else {}
