"""CloudWatch as a test has it: PutMetricData in the Query protocol, strict as the service: the signature, the clock, the
limits. And what is beside an instance or a container: the metadata service, with a role whose keys end."""

import calendar
import collections
import email.utils
import gzip
import http.server
import json
import re
import threading
import time
import urllib.parse

from lib.sigv4 import Signed

XMLNS = "http://monitoring.amazonaws.com/doc/2010-08-01/"
UNITS = {"Seconds", "Bytes", "Percent", "Count", "Bytes/Second", "Bits/Second", "Count/Second", "None"}
METRICS, VALUES, DIMENSIONS, BYTES = 1000, 150, 30, 1_000_000


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(f"{code}: {message}")
        self.status, self.code, self.message = status, code, message


def server(handler, port=0):
    made = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    made.daemon_threads = True
    thread = threading.Thread(target=made.serve_forever, args=(0.02,))
    thread.start()
    return made, thread


Datum = collections.namedtuple("Datum", "namespace name dimensions unit resolution time values")


def parse(body):
    """The data of a form. `values` is a tuple of (value, how often)."""
    form = dict(urllib.parse.parse_qsl(body.decode("ascii"), keep_blank_values=True, strict_parsing=True))
    assert form.pop("Action") == "PutMetricData" and form.pop("Version") == "2010-08-01"
    namespace = form.pop("Namespace")
    parts = collections.defaultdict(dict)
    for key, value in form.items():
        number, rest = re.fullmatch(r"MetricData\.member\.(\d+)\.(.*)", key).groups()
        parts[int(number)][rest] = value
    assert sorted(parts) == list(range(1, len(parts) + 1)) and parts
    return [datum(namespace, parts[number]) for number in sorted(parts)]


def members(part, name, *rest):
    """Those of a list, in order, each with what belongs to it."""
    found, number = [], 1
    while (keys := [f"{name}.member.{number}{end}" for end in (rest or ("",))])[0] in part:
        found.append(tuple(part.pop(key) for key in keys))
        number += 1
    return found


def datum(namespace, part):
    dimensions = members(part, "Dimensions", ".Name", ".Value")
    values = [float(value) for value, in members(part, "Values")]
    counts = [float(count) for count, in members(part, "Counts")]
    if "Value" in part:
        assert not values
        values = [float(part.pop("Value"))]
    assert values and len(counts) in (0, len(values))
    made = Datum(namespace, part.pop("MetricName"), tuple(dimensions), part.pop("Unit", "None"),
                 int(part.pop("StorageResolution", "60")), calendar.timegm(time.strptime(part.pop("Timestamp"), "%Y-%m-%dT%H:%M:%SZ")),
                 tuple(zip(values, counts or [1.0] * len(values))))
    assert not part, part
    return made


def check(one, now):
    """As the service does."""
    def wrong(what):
        raise Refused(400, "InvalidParameterValue", what)

    if len(one.dimensions) > DIMENSIONS or len({name for name, _ in one.dimensions}) != len(one.dimensions):
        wrong("Dimensions")
    for text in (one.name, *(text for pair in one.dimensions for text in pair)):
        if not text.strip() or len(text) > 1024 or not all(" " <= c <= "~" for c in text):
            wrong(f"{text!r} must be ASCII, and not empty")
    if len(one.values) > VALUES:
        wrong("Values")
    if any(value != value or abs(value) > 2.0 ** 360 for value, _ in one.values):
        wrong("a value is out of range")
    if one.unit not in UNITS or one.resolution not in (1, 60):
        wrong("Unit or StorageResolution")
    if one.time < now - 14 * 86400 or one.time > now + 2 * 3600:
        wrong("Timestamp must specify a time no more than two weeks in the past")


class CloudWatch:
    """`keys`: {id: (secret, token or None)}. `skew`: seconds by which its clock is ahead. `answer`: of the data, None or
    (status, code, message, headers), before it takes them. `port` 0: a free one."""

    def __init__(self, keys=None, region="eu-test-1", skew=0, answer=None, port=0):
        self.keys = keys or {"AKIDTEST": ("not/a+secret", None)}
        self.region, self.skew, self.answer = region, skew, answer
        self.taken = []  # data
        self.requests = []  # (time, headers, data, status or code)
        self.faults = []  # of the test's own server
        watch = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                watch.handle(self, self.rfile.read(int(self.headers["Content-Length"])))

            def date_time_string(self, timestamp=None):
                return email.utils.formatdate(watch.now(), usegmt=True)

            def log_message(self, *arguments):
                pass

        self.server, self.thread = server(Handler, port)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def now(self):
        return time.time() + self.skew

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        assert kind or not self.faults, self.faults

    def authorize(self, handler, body):
        headers = handler.headers
        signed = Signed(headers["Authorization"] or "")
        needed = {"host", "x-amz-date"} | ({"x-amz-security-token"} if headers["X-Amz-Security-Token"] else set())
        if not needed <= set(signed.headers) or (signed.region, signed.service) != (self.region, "monitoring"):
            raise Refused(403, "IncompleteSignature", "what has to be signed is not")
        if signed.key not in self.keys:
            raise Refused(403, "InvalidClientTokenId", "The security token included in the request is invalid.")
        secret, token = self.keys[signed.key]
        at = calendar.timegm(time.strptime(headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ"))
        if abs(at - self.now()) > 300:
            raise Refused(403, "SignatureDoesNotMatch", f"Signature expired: {headers['X-Amz-Date']} is now earlier than ...")
        path, _, query = handler.path.partition("?")
        if not signed.is_by(secret, "POST", path, query, headers, body):
            raise Refused(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.")
        if token != headers["X-Amz-Security-Token"]:
            raise Refused(403, "ExpiredToken", "The security token included in the request is expired")

    def take(self, handler, body):
        self.authorize(handler, body)
        if handler.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        if len(body) > BYTES:
            raise Refused(413, "RequestEntityTooLarge", "1 MB")
        assert handler.headers["Content-Type"].startswith("application/x-www-form-urlencoded")
        data = parse(body)
        handler.data = data
        if len(data) > METRICS:
            raise Refused(400, "InvalidParameterValue", "The collection MetricData must not have a size greater than 1000.")
        for one in data:
            check(one, self.now())
        if self.answer and (answer := self.answer(data)):
            handler.more = answer[3] if len(answer) > 3 else {}
            raise Refused(*answer[:3])
        self.taken += data

    def handle(self, handler, body):
        handler.data, handler.more, status = [], {}, 200
        text = f'<PutMetricDataResponse xmlns="{XMLNS}"><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></PutMetricDataResponse>'
        result = 200
        try:
            self.take(handler, body)
        except Refused as refused:
            status, result = refused.status, refused.code
            text = (f'<ErrorResponse xmlns="{XMLNS}">\n  <Error>\n    <Type>Sender</Type>\n    <Code>{refused.code}</Code>\n'
                    f'    <Message>{refused.message}</Message>\n  </Error>\n  <RequestId>1</RequestId>\n</ErrorResponse>\n')
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.faults.append(repr(error))
            status = 500
        self.requests.append((time.monotonic(), dict(handler.headers), handler.data, result))
        handler.send_response(status)
        for name, value in handler.more.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text.encode())

    def find(self, name, **dimensions):
        """[(time, value, how often)] of the metric with these dimensions among its own."""
        return [(one.time, *pair) for one in list(self.taken) if one.name == name and dimensions.items() <= dict(one.dimensions).items()
                for pair in one.values]


class Metadata:
    """IMDSv2 with a role, and at /container the container's service. `life`: seconds for which keys are good; `made`: those that
    were given out, {id: (secret, token)}."""

    def __init__(self, region="eu-test-1", life=3600, container_token=None):
        self.region, self.life, self.container_token = region, life, container_token
        self.made, self.asked, self.tokens = {}, [], set()
        beside = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_PUT(self):
                beside.answer(self, beside.token(self))

            def do_GET(self):
                beside.answer(self, beside.get(self))

            def log_message(self, *arguments):
                pass

        self.server, self.thread = server(Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def token(self, handler):
        if handler.path != "/latest/api/token" or not handler.headers["X-aws-ec2-metadata-token-ttl-seconds"]:
            return None
        self.tokens.add(made := f"token-{len(self.tokens)}")
        return made

    def keys(self):
        number = len(self.made)
        made = f"ASIAROLE{number}", f"secret/{number}", f"session+token/{number}=="
        self.made[made[0]] = made[1:]
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.life))
        return json.dumps({"Code": "Success", "AccessKeyId": made[0], "SecretAccessKey": made[1], "Token": made[2], "Expiration": end})

    def get(self, handler):
        self.asked.append(handler.path)
        if handler.path == "/container":
            return self.keys() if handler.headers["Authorization"] == self.container_token else None
        if handler.headers["X-aws-ec2-metadata-token"] not in self.tokens:
            return None
        role = "/latest/meta-data/iam/security-credentials/"
        return {"/latest/meta-data/placement/region": lambda: self.region, role: lambda: "the-role",
                role + "the-role": self.keys}.get(handler.path, lambda: None)()

    def answer(self, handler, text):
        handler.send_response(200 if text else 401)
        handler.send_header("Content-Length", str(len(text or "")))
        handler.end_headers()
        handler.wfile.write((text or "").encode())
