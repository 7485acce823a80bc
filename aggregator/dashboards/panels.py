"""What rows of panels are made of, for boards_gpu.py and boards_node.py; `generate` makes JSON of it.

A panel is a line: title, unit, queries ({legend: query}), what it means, and what differs from the usual. In queries %node,
%gpu and %job stand for what the dashboard's variables choose, %rate for $__rate_interval. Families are those of
`[prometheus] names = node-exporter, dcgm-exporter`; what a node does not have has no series, so nothing is shown of it."""


def panel(kind, title, unit, queries, about, width=8, height=8, **more):
    listed = list(queries.items()) if isinstance(queries, dict) else [("", queries)]
    return {"kind": kind, "title": title, "unit": unit, "queries": listed, "help": about, "width": width, "height": height} | more


def graph(title, unit, queries, about, **more):
    return panel("timeseries", title, unit, queries, about, **more)


def stat(title, unit, query, about, **more):
    return panel("stat", title, unit, query, about, width=more.pop("width", 3), height=4, **more)


def table(title, labels, columns, about, **more):
    """`labels`: {label: its heading}; a column: heading, unit, query, bounds, texts as (value, text, color)."""
    made = panel("table", title, "short", {f"column {at}": one[2] for at, one in enumerate(columns)}, about, width=24, **more)
    made["labels"] = labels
    made["columns"] = [(one[0], one[1], *(tuple(one[3:]) + ((), ()))[:2]) for one in columns]
    return made


# ---- variables ----

DATASOURCE = {"name": "datasource", "label": "Data source", "type": "datasource"}
JOB = {"name": "job", "label": "Scrape job", "type": "query", "multi": True, "all": ".*",
       "query": "label_values(synop_group_up, job)"}
JOB_ID = {"name": "job_id", "label": "Batch job", "type": "query", "multi": True, "all": ".*", "sort": 3,
          "query": 'label_values(synop_job_cpu_cpus{job=~"$job"}, job_id)'}
GPU = {"name": "gpu", "label": "GPU", "type": "query", "multi": True, "all": ".*", "sort": 3,
       "query": "label_values(DCGM_FI_DEV_GPU_TEMP{%node}, gpu)"}
OPERATION = {"name": "operation", "label": "Of a node's devices", "type": "custom", "values": ("avg", "min", "max", "sum")}


def nodes(family, of_jobs="synop_job_cpu_cpus", name="instance"):
    """The nodes that have the family; those of the batch jobs that are chosen: $job_id is .* for all, which fits series
    without that label, too. One of them is called otherwise, `node`: a link would bring all of them along."""
    return {"name": name, "label": "Node", "type": "query", "multi": name == "instance",
            "query": f'label_values({{__name__=~"{of_jobs}|{family}",job=~"$job",job_id=~"$job_id"}}, instance)'}


NODE_VARIABLES = (DATASOURCE, JOB, JOB_ID, nodes("node_uname_info"))

# ---- what queries have in common ----


def of_gpus(family, factor="", rate=False):
    """One series for each GPU and MIG instance, whatever other labels it has."""
    series = f"{family}{{%gpu}}"
    return f"max by (instance, gpu, GPU_I_ID) ({f'rate({series}[%rate])' if rate else series}){factor}"


def gpu_graph(title, unit, family, about, factor="", rate=False, **more):
    return graph(title, unit, {"{{instance}} GPU {{gpu}} {{GPU_I_ID}}": of_gpus(family, factor, rate)}, about, **more)


def rates(family, by="instance, device", more="", matcher="%node"):
    return f"sum by ({by}) (rate({family}{{{matcher}{more}}}[%rate]))"


BUSY = '1 - avg by (instance) (rate(node_cpu_seconds_total{%node,mode="idle"}[%rate]))'
MEMORY = "1 - max by (instance) (node_memory_MemAvailable_bytes{%node}) / max by (instance) (node_memory_MemTotal_bytes{%node})"
DISKS = ',device!~"dm-.*|md.*"'
NICS = ',device!~"lo|veth.*|docker.*|cni.*|cali.*"'
TEMPERATURE = {"bounds": (80, 90)}
SHARE = {"min": 0, "max": 1}
PERCENT = {"min": 0, "max": 100}
UP = (("0", "not up", "red"), ("1", "up", "green"))
STATS = '{stat=~"min|mean|p50|p95|max"}'
