"""A process that PyTorch's profiler is in, played from the layout of its datagrams alone: it registers, asks what to do, and
writes a trace when it is told to.

    kineto_client.py --socket NAME [--gpu N] [--every SECONDS] [--newer] [--as PID]

NAME: an abstract one, or a path. Lines of JSON say what happens: {"registered": N}, {"config": {...}}, {"begun": wall ns},
{"written": PATH}, {"failed": WHY}."""

import argparse
import json
import os
import pathlib
import socket
import struct
import sys
import time
import uuid

HEAD = struct.Struct("=Q32s")  # the payload's size, the type with NULs behind it
CONTEXT = struct.Struct("=iiq")  # gpu, pid, job
REQUEST = struct.Struct("=iiq")  # type, how many pids, job; then the pids
EVENTS, ACTIVITIES = 1, 2


def address(name):
    """An abstract name ends with a NUL of its own."""
    return name if name.startswith("/") else "\0" + name + "\0"


def datagram(kind, payload):
    return HEAD.pack(len(payload), kind.encode()) + payload


def context(gpu, pid, job=0):
    return datagram("ctxt", CONTEXT.pack(gpu, pid, job))


def request(pids, kind=ACTIVITIES, job=0):
    return datagram("req", REQUEST.pack(kind, len(pids), job) + struct.pack(f"={len(pids)}i", *pids))


def parse(bytes_):
    size, kind = HEAD.unpack_from(bytes_)
    assert size == len(bytes_) - HEAD.size, bytes_
    return kind.rstrip(b"\0").decode(), bytes_[HEAD.size:]


class Client:
    def __init__(self, name, pid=None):
        self.name, self.pid = name, pid or os.getpid()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        own = "dynoconfigclient" + str(uuid.uuid4())
        self.socket.bind(str(pathlib.Path(name).with_name(own)) if name.startswith("/") else address(own))
        self.own = self.socket.getsockname()
        if name.startswith("/"):
            os.chmod(self.own, 0o666)

    def close(self):
        self.socket.close()
        if self.name.startswith("/"):
            os.unlink(self.own)

    def ask(self, message, limit):
        """The answer's type and payload; None: there is none."""
        self.socket.settimeout(limit)
        try:
            self.socket.sendto(message, address(self.name))
            return parse(self.socket.recv(65536))
        except (TimeoutError, ConnectionError, FileNotFoundError, BlockingIOError):
            return None

    def register(self, gpu=0, limit=60):
        answer = self.ask(context(gpu, self.pid), limit)
        return struct.unpack("=i", answer[1])[0] if answer else None

    def fetch(self, kind=ACTIVITIES, limit=60):
        """The configuration as a dict, {} while there is none; None: no answer."""
        answer = self.ask(request([self.pid, os.getppid()], kind), limit)
        return dict(line.split("=", 1) for line in answer[1].decode().splitlines()) if answer else None


def follow(config, newer):
    """As libkineto does with it."""
    path = config["ACTIVITIES_LOG_FILE"]
    if newer:
        path = path.replace(".json", f"_{os.getpid()}.json", 1)
    if "ACTIVITIES_DURATION_MSECS" in config:
        start = int(config["PROFILE_START_TIME"]) / 1000
        if start - time.time() < int(config["ACTIVITIES_WARMUP_PERIOD_SECS"]):
            return {"failed": "not enough time to warm up"}
        time.sleep(max(0, start - time.time()))
        begun = time.time_ns()
        time.sleep(int(config["ACTIVITIES_DURATION_MSECS"]) / 1000)
    else:
        begun = time.time_ns()
    print(json.dumps({"begun": begun}), flush=True)
    try:
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [{"ph": "X", "name": "step", "pid": os.getpid(), "tid": 1, "ts": begun // 1000, "dur": 5}]}, file)
        os.rename(path + ".tmp", path)
    except OSError as error:
        return {"failed": str(error)}
    return {"written": path}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--every", type=float, default=0.2)
    parser.add_argument("--newer", action="store_true")
    parser.add_argument("--as", dest="pid", type=int)
    options = parser.parse_args()
    client = Client(options.socket, options.pid)
    registered = None
    while registered is None:
        registered = client.register(options.gpu, 5)
    print(json.dumps({"registered": registered}), flush=True)
    while True:
        config = client.fetch(limit=5)
        if config:
            print(json.dumps({"config": config}), flush=True)
            print(json.dumps(follow(config, options.newer)), flush=True)
        time.sleep(options.every)


if __name__ == "__main__":
    sys.exit(main())
