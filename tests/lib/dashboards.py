"""Dashboards of Grafana without Grafana: the variables and queries of their JSON, filled in as it does, and asked.

    dashboard = Dashboard(path)
    values = dashboard.resolve(ask)                    # {variable: text}; `ask` gives the answer to a query, as a list
    for where, query in dashboard.queries(values):
        ask(query)
"""

import json
import pathlib
import re

# What Grafana puts in by itself, for a panel over ten minutes with a point each five seconds.
BUILT_IN = {
    "__rate_interval": "20s", "__rate_interval_ms": "20000", "__interval": "5s", "__interval_ms": "5000", "__range": "600s",
    "__range_s": "600", "__range_ms": "600000", "__dashboard": "dashboard", "timeFilter": "", "__from": "0", "__to": "0",
}
VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)(?:\.\w+)?(?::\w+)?\}|\[\[(\w+)(?::\w+)?\]\]")
IN_LABELS = re.compile(r'"(?:[^"\\]|\\.)*"')
FUNCTIONS = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)")
WORDS = {"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "group_left", "group_right", "inf", "nan",
         "atan2", "start", "end"}


def fill(text, values):
    """Unknown ones stay, so that a query with one fails."""
    known = BUILT_IN | values
    return VARIABLE.sub(lambda found: known.get(next(filter(None, found.groups())), found.group()), text)


def families(query):
    """The names of families that a query (with its variables filled in) asks for."""
    named = set(re.findall(r'__name__\s*=\s*"(\w+)"', query))
    bare = FUNCTIONS.sub(" ", re.sub(r"\{[^{}]*\}", " ", IN_LABELS.sub('""', query)))
    bare = re.sub(r"\[[^\]]*\]|\boffset\s+-?\w+|@\s*\S+", " ", bare)
    words = re.findall(r"(?<![\w.:$])([A-Za-z_:][\w:]*)(?!\s*\(|[\w:])", bare)
    return named | {word for word in words if word.lower() not in WORDS}


def grouped(query):
    """The labels that it groups, joins and filters by."""
    lists = re.findall(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)", query)
    inside = [name for text in lists for name in re.findall(r"\w+", text)]
    matchers = re.findall(r"\{([^{}]*)\}", IN_LABELS.sub('""', query))
    return set(inside) | {name for text in matchers for name in re.findall(r'(\w+)\s*(?:=~|!~|!=|=)', text)} - {"__name__"}


class Dashboard:
    """Of a file, or of the parsed JSON."""

    def __init__(self, source):
        made = source if isinstance(source, dict) else json.loads(pathlib.Path(source).read_text())
        self.made = made.get("dashboard", made)
        self.name = self.made.get("uid") or self.made.get("title", "")

    @property
    def variables(self):
        return self.made.get("templating", {}).get("list", [])

    def panels(self):
        """All of them: those in rows, folded or of the older form, too."""
        waiting = [*self.made.get("panels", []), *self.made.get("rows", [])]
        while waiting:
            panel = waiting.pop(0)
            waiting[:0] = panel.get("panels", [])
            if "targets" in panel or panel.get("type", "row") != "row":
                yield panel

    def expressions(self):
        """[(where, query)] as they stand: of panels and annotations."""
        found = [(f"{self.name}: {panel.get('title', panel.get('id'))}", target["expr"])
                 for panel in self.panels() for target in panel.get("targets", []) if target.get("expr")]
        notes = self.made.get("annotations", {}).get("list", [])
        return found + [(f"{self.name}: annotation {one['name']}", one["expr"]) for one in notes if one.get("expr")]

    def queries(self, values):
        return [(where, fill(query, values)) for where, query in self.expressions()]

    def resolve(self, ask, given=None):
        """Each variable's text: as `given` says, else all of its values where it takes several, else its first one. Those of
        queries are asked for with the ones before them filled in; one without a value is "" and matches nothing."""
        values = dict(given or {})
        for variable in self.variables:
            if variable["name"] not in values:
                values[variable["name"]] = value_of(variable, ask, values)
        return values


def value_of(variable, ask, values):
    kind = variable["type"]
    if kind == "datasource":
        return "prometheus"
    if kind in ("custom", "interval"):
        options = [option["value"] for option in variable.get("options", [])] or split(variable["query"])
    elif kind == "query":
        options = options_of(variable, ask, values)
    else:  # textbox, constant
        return fill(str(variable.get("query", "")), values)
    options = [option for option in options if option not in ("$__all", "auto")]
    if variable.get("includeAll") and variable.get("allValue"):
        return fill(variable["allValue"], values)
    if variable.get("multi") or variable.get("includeAll"):
        texts = [re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\\\1", option) for option in options]
        return texts[0] if len(texts) == 1 else f"({'|'.join(texts)})"
    return options[0] if options else ""


def split(text):
    return [part.strip().partition(" : ")[2] or part.strip() for part in text.split(",")]


def options_of(variable, ask, values):
    query = variable["query"]
    text = fill(query["query"] if isinstance(query, dict) else query, values)
    if match := re.fullmatch(r"\s*label_values\((?:(.*),)?\s*(\w+)\s*\)\s*", text, re.DOTALL):
        series, label = match.group(1) or '{__name__=~".+"}', match.group(2)
        found = [one["metric"].get(label) for one in ask(f"count by ({label}) ({series})") or []]
    elif match := re.fullmatch(r"\s*metrics\((.*)\)\s*", text):
        found = [one["metric"]["__name__"] for one in ask(f'count by (__name__) ({{__name__=~".*{match.group(1)}.*"}})') or []]
    elif match := re.fullmatch(r"\s*query_result\((.*)\)\s*", text, re.DOTALL):
        found = [text_of(one) for one in ask(match.group(1)) or []]
    else:
        raise AssertionError(f"variable {variable['name']}: {text}")
    options = [one for one in found if one]
    if variable.get("regex"):
        options = [captured(match) for option in options if (match := re.search(variable["regex"].strip("/"), option))]
    return sorted(dict.fromkeys(options))


def text_of(one):
    """A series of an answer, as query_result() of Grafana writes it."""
    labels = ",".join(f'{name}="{value}"' for name, value in one["metric"].items() if name != "__name__")
    return f"{one['metric'].get('__name__', '')}{{{labels}}} {one['value'][1]} {round(one['value'][0] * 1000)}"


def captured(match):
    named = match.groupdict()
    if "value" in named:
        return named["value"]
    return match.group(1) if match.re.groups else match.group()
