"""Plays an aggregator's UNIX socket to `synop-aggregator top`: any number of nodes, any names."""

import json
import random
import select
import socket
import threading
import time

GROUPS = {
    "cpu_usage": {"busy": "percent"}, "memory_info": {"used": "bytes", "total": "bytes"},
    "network": {"rx_bytes": "bytes", "tx_bytes": "bytes"}, "disk_io": {"read_bytes": "bytes", "write_bytes": "bytes"},
    "gpu": {"utilization": "percent", "temperature": "celsius", "xid_errors": "", "ecc_uncorrected": "", "remapped_rows_failed": "",
            "remapped_rows_pending": "", "retired_pages_pending": "", "throttled_hw_thermal": ""},
    "node_power": {"power": "watts"}, "load": {"load_1": ""}, "job_cpu": {"user_time": "seconds", "cpus": ""}, "job_memory": {"rss": "bytes"},
}


def summary(values, names):
    known = [(value, name) for value, name in zip(values, names) if value is not None]
    if not known:
        return {"count": 0, "sum": None, "mean": None, "min": None, "max": None, "min_node": None, "max_node": None}
    total = sum(value for value, _ in known)
    return {"count": len(known), "sum": total, "mean": total / len(known), "min": min(known)[0], "max": max(known)[0],
            "min_node": min(known)[1], "max_node": max(known)[1]}


class StandIn:
    """`values`: what a metric is on a node: (expression, node's index) -> number or None."""

    def __init__(self, path, nodes, states=None, values=None, jobs=(), alerts=(), events=(), period=1.0, node_line=None):
        self.nodes, self.jobs, self.alerts, self.events, self.period = nodes, jobs, alerts, events, period
        self.states = states or "u" * len(nodes)
        self.values = values or (lambda expression, index: random.Random(f"{expression}{index}").random() * 100)
        self.node_line = node_line
        self.requests, self.open, self.lines = [], {}, 0
        self.ended = False
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen(32)
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.ended = True
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def accept(self):
        while not self.ended:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            request = client.makefile("rb").readline().decode().rstrip("\n")
            verb, *words = request.split("\t")
            self.requests.append(request)
            self.open[request] = self.open.get(request, 0) + 1
            try:
                for data in getattr(self, f"answer_{verb}")(words):
                    if data:
                        client.sendall(data.encode() + b"\n")
                        self.lines += 1
                    if self.ended or select.select([client], [], [], 0)[0]:
                        return
            except OSError:
                pass
            finally:
                self.open[request] -= 1

    # ---- answers ----

    def answer_groups(self, _):
        for group, metrics in GROUPS.items():
            yield json.dumps({"name": group, "once": False, "metrics": [
                {"name": name, "kind": "gauge", "unit": unit, "share": False, "help": f"The {name} of {group}.", "nodes": len(self.nodes)}
                for name, unit in metrics.items()]})

    def answer_watch(self, words):
        words = [word.split("=", 1) for word in words]
        metrics, options = [value for key, value in words if key == "metric"], {key: value for key, value in words if key != "metric"}
        line = {"type": "now", "time": "", "list": 1, "nodes": self.nodes, "states": self.states}
        if "row" in options:
            line["metrics"] = [{"metric": metric, "unit": "", "rows": [
                {"node": node, "row": job["job_id"], "value": job.get(metric)} for job in self.jobs for node in job["nodes"]]}
                for metric in metrics]
        else:
            line["metrics"] = []
            for metric in metrics:
                values = [self.values(metric, index) if self.states[index] == "u" else None for index in range(len(self.nodes))]
                line["metrics"].append({"metric": metric, "unit": "%" if "busy" in metric or "utilization" in metric else "",
                                        **summary(values, self.nodes), "values": values})
        while True:
            line["time"] = time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime())
            yield json.dumps(line)
            line.pop("nodes", None)
            time.sleep(self.period)

    def answer_jobs(self, _):
        for job in self.jobs:
            yield json.dumps({"type": "job", "event": "started", **job})

    def answer_alerts(self, _):
        for alert in self.alerts:
            yield json.dumps(alert)

    def answer_tail(self, words):
        if "type=event" in words:
            for event in self.events:
                yield json.dumps({"type": "event", **event})
        while True:
            if "type=node" in words and self.node_line:
                yield json.dumps(self.node_line)
            else:
                yield None
            time.sleep(self.period)
