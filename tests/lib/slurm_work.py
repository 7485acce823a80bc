"""A program of a job that says what it did: slurm_work.py MARK ACT... Needs nothing but Python, and little time of it.

Acts, in order; "A,B,C" is for nodes 0, 1 and 2 of the job:
  cpu=S        computes for S seconds of CPU time
  memory=MB    takes so much memory and touches it
  write=MB     writes so much into a file, and sees it on the disk
  child=S      a child computes for S seconds, and is waited for
  orphan=S     a grandchild does, that nobody waits for
  wait         tells what it did, and goes on when MARK.go is there. Acts named before are done meanwhile:
  busy=SHARE   computes so much of the time
  disk         reads from the disk, past the memory
  send=ADDRESS sends 64 MB a second there, where nobody wants them
MARK.NODE.STEP.RESTART.json is what it says.
"""

import json
import mmap
import os
import resource
import socket
import sys
import time


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def burn(seconds):
    end = used() + seconds
    while used() < end:
        sum(range(2000))


def write(path, megabytes):
    block = bytes(1 << 20)
    with open(path, "wb", buffering=0) as out:
        for _ in range(megabytes):
            out.write(block)
        os.fsync(out.fileno())
    os.unlink(path)


def busy(share):
    began, before = time.monotonic(), used()

    def compute():
        lacking = share * (time.monotonic() - began) - (used() - before)
        if lacking > 0:
            burn(min(lacking, 0.1))
        else:
            time.sleep(0.02)

    return compute


def disk(path):
    piece = mmap.mmap(-1, 1 << 20)  # its pages begin where the disk wants them
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    os.unlink(path)
    os.pwritev(file, [piece], 0)
    return lambda: os.preadv(file, [piece], 0)


def send(address):
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def send_some():
        began = time.monotonic()
        for _ in range(100):
            try:
                datagrams.sendto(bytes(64000), (address, 9))
            except ConnectionRefusedError:  # which is what was said of an earlier one
                pass
        time.sleep(max(0, began + 0.1 - time.monotonic()))

    return send_some


def fields(path):
    with open(path, encoding="ascii") as text:
        return dict(line.rstrip("\n").split(":", 1) for line in text)


def tell(mark, began):
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    io = {name: int(value) for name, value in fields("/proc/self/io").items()}
    said = {
        "job": os.environ.get("SLURM_JOB_ID"), "pid": os.getpid(), "node": os.environ.get("SLURMD_NODENAME"), "began": began,
        "told": time.time(), "cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
        "memory": int(fields("/proc/self/status")["VmHWM"].split()[0]) * 1024,
        "read_chars": io["rchar"], "write_chars": io["wchar"], "write_bytes": io["write_bytes"],
        "environment": {name: value for name, value in os.environ.items() if name.startswith("SLURM")},
    }
    names = ("SLURMD_NODENAME", "SLURM_STEP_ID", "SLURM_RESTART_COUNT")
    path = ".".join([mark, *(os.environ.get(name, "0") for name in names), "json"])
    with open(f"{path}.new", "w", encoding="utf-8") as out:
        json.dump(said, out)
    os.rename(f"{path}.new", path)


def main():
    mark, *acts = sys.argv[1:]
    began = time.time()
    held = []
    meanwhile = []
    for act in acts:
        name, _, value = act.partition("=")
        values = value.split(",")
        value = values[int(os.environ.get("SLURM_NODEID", 0)) % len(values)]
        if name == "cpu":
            burn(float(value))
        elif name == "memory":
            held.append(taken := bytearray(int(value) << 20))
            taken[::4096] = b"x" * (len(taken) // 4096)
        elif name == "write":
            write(f"{mark}.{os.environ.get('SLURMD_NODENAME')}.data", int(value))
        elif name == "busy":
            meanwhile.append(busy(float(value)))
        elif name == "disk":
            meanwhile.append(disk(f"{mark}.{os.getpid()}.data"))
        elif name == "send":
            meanwhile.append(send(value))
        elif name in ("child", "orphan"):
            if not (child := os.fork()):
                if name == "child" or not os.fork():
                    burn(float(value))
                os._exit(0)
            os.waitpid(child, 0)
        elif name == "wait":
            tell(mark, began)
            while not os.path.exists(f"{mark}.go"):
                for do in meanwhile or [lambda: time.sleep(0.1)]:
                    do()
        else:
            sys.exit(f"{act}: no such act")
    if "wait" not in acts:
        tell(mark, began)


main()
