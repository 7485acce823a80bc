"""A host of its own: traced_host.py RANKS SHIFT SOCKET NOTES PROGRAM ARGUMENT... runs the program, an agent, in a namespace of
processes, and beside it a process of job 88 for each rank, which speaks to the agent as PyTorch's libkineto does. Their wall
clock is ahead by SHIFT seconds. What a process is told, and when in true time it begins, it appends to the file NOTES.

Exits with 77 where no namespace can be had."""

import ctypes
import json
import os
import signal
import socket
import struct
import sys
import time

CLONE_NEWNS, CLONE_NEWPID, MS_REC, MS_PRIVATE = 0x20000, 0x20000000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
HEAD = struct.Struct("=Q32s")
JOB = "88"


def message(kind, payload):
    return HEAD.pack(len(payload), kind) + payload


def configuration(own):
    """Asks until there is one."""
    while True:
        pids = [os.getpid(), os.getppid()]
        own.send(message(b"req", struct.pack(f"=iiq{len(pids)}i", 2, len(pids), 0, *pids)))
        try:
            while True:
                data = own.recv(65536)
                if HEAD.unpack(data[:40])[1].rstrip(b"\0") == b"req":
                    break
            if len(data) > 40:
                return dict(line.split("=", 1) for line in data[40:].decode().splitlines() if "=" in line)
        except TimeoutError:
            pass
        time.sleep(0.2)


def trace(rank, begin_ns):
    """As PyTorch's profiler writes it: one event at the beginning, by the wall clock of the process."""
    event = {"ph": "X", "name": "first", "pid": os.getpid(), "tid": 1, "ts": 0, "dur": 1}
    return {"schemaVersion": 1, "distributedInfo": {"rank": rank}, "traceEvents": [event], "baseTimeNanoseconds": begin_ns}


def client(rank, shift_ns, path, notes):
    own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    own.bind("\0" + f"traced.{os.urandom(8).hex()}\0")  # an abstract one: it has a name to be answered at
    own.settimeout(1)
    while True:
        try:
            own.connect(path)
            own.send(message(b"ctxt", struct.pack("=iiq", rank, os.getpid(), 0)))
            break
        except OSError:
            time.sleep(0.1)
    while True:
        told = configuration(own)
        begin_ns = int(told["PROFILE_START_TIME"]) * 1_000_000
        with open(notes, "a", encoding="ascii") as file:
            file.write(json.dumps({"rank": rank, "true_ns": begin_ns - shift_ns, "told": told}) + "\n")
        end_ns = begin_ns - shift_ns + int(told["ACTIVITIES_DURATION_MSECS"]) * 1_000_000
        time.sleep(max(0, end_ns - time.time_ns()) / 1e9)
        with open(told["ACTIVITIES_LOG_FILE"], "w", encoding="ascii") as file:
            json.dump(trace(rank, begin_ns), file)


def within(arguments):
    ranks, shift, path, notes, *program = arguments
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    libc.mount(b"proc", b"/proc", b"proc", 0, None)
    for rank in ranks.split(",") if ranks else ():
        environment = {"PATH": os.environ["PATH"], "SYNOP_JOB_ID": JOB, "RANK": rank, "KINETO_USE_DAEMON": "1"}
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, __file__, "client", rank, shift, path, notes], environment)
    agent = os.fork()
    if agent == 0:
        os.execvp(program[0], program)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(agent, number))
    while True:
        ended, status = os.wait()
        if ended == agent:
            os._exit(os.waitstatus_to_exitcode(status) & 0xff)


def main():
    if sys.argv[1] == "client":
        client(int(sys.argv[2]), round(float(sys.argv[3]) * 1e9), sys.argv[4], sys.argv[5])
    if ctypes.CDLL(None).unshare(CLONE_NEWPID | CLONE_NEWNS) != 0:
        print("no namespace of processes", file=sys.stderr)
        sys.exit(77)
    inner = os.fork()
    if inner == 0:
        within(sys.argv[1:])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(inner, number))
    _, status = os.waitpid(inner, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xff)


if __name__ == "__main__":
    main()
