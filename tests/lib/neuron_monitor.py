#!/usr/bin/python3
"""A stand-in for neuron-monitor: FOLDER [-c FILE]. What it does stands in FOLDER/mode, which it reads again and again:

speak    a report each 0.1 s: an execution more, an ECC event more
pieces   the same in pieces, which do not end with the line
die      a report and a part of one, then exit code 3
hang     nothing any more
babble   lines that are no reports
endless  a line without an end
loud     reports, and much to standard error
close    closes its output, and lives on
strict   ends at once when it is given a configuration; else speaks

FOLDER/runtime may hold the process id of the runtime that the reports tell of.
FOLDER/pids gets the id of each process, when it began and whether it was
given a configuration, FOLDER/config the last configuration. It does not end when it is asked to.
"""

import json
import os
import pathlib
import signal
import sys
import time

folder = pathlib.Path(sys.argv[1])
PERIOD = 0.1


def mode():
    return (folder / "mode").read_text().strip()


def runtime_pid():
    path = folder / "runtime"
    return int(path.read_text()) if path.exists() else 20843


def report(number):
    period = PERIOD + number * 1e-9
    group = {"period": period, "error": ""}
    return {
        "neuron_runtime_data": [{
            "pid": runtime_pid(), "address": "", "neuron_runtime_tag": "train", "error": "",
            "report": {
                "neuroncore_counters": group | {"neuroncores_in_use": {"0": {"neuroncore_utilization": 42.5, "flops": 7}}},
                "execution_stats": group | {"execution_summary": {"completed": 1}, "latency_stats": {"total_latency": None}},
                "neuron_runtime_vcpu_usage": {"period": period, "error": "no such process", "vcpu_usage": None},
            },
        }],
        "system_data": {
            "neuron_hw_counters": group | {"neuron_devices": [{"neuron_device_index": 0, "mem_ecc_corrected": 1}]},
            "vcpu_usage": group,
        },
        "instance_info": {"instance_id": "i-00112233", "instance_type": "trn2.48xlarge", "ami_id": "ami-7", "error": ""},
        "neuron_hardware_info": {"neuron_device_type": "trainium2", "neuron_device_count": 1, "error": ""},
    }


def write(data):
    while data:
        data = data[os.write(1, data):]


def main():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(folder / "pids", "a", encoding="ascii") as pids:
        pids.write(f"{os.getpid()} {time.monotonic()} {'-c' in sys.argv}\n")
    if "-c" in sys.argv:
        (folder / "config").write_bytes(pathlib.Path(sys.argv[sys.argv.index("-c") + 1]).read_bytes())
        if mode() == "strict":
            sys.exit(2)
    number = 0
    while True:
        number += 1
        now, line = mode(), json.dumps(report(number)).encode() + b"\n"
        if now in ("speak", "die", "loud", "strict"):
            write(line)
        if now == "die":
            write(line[:100])
            sys.exit(3)
        if now == "loud":
            os.write(2, b"neuron-monitor: \x1b[31mtrouble\n" * 100)
        if now == "pieces":
            line = b" " * (number % 7) + line  # no piece fits to another line
            write((line[-7:] if number > 1 else b"") + line[:100])
            time.sleep(0.01)
            write(line[100:-7])
        if now == "babble":
            write(b"nrt: level 3: nothing\n" * 20 + b"\xff\n{}\n")
        if now == "endless":
            write(b"[" * 100_000)
            continue
        if now == "close":
            os.close(1)
            (folder / "mode").write_text("hang")
        time.sleep(PERIOD)


main()
