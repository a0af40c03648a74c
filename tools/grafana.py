"""What is in deploy/grafana, for the test that asks every panel and for tools/dashboards_png."""

import glob
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def dashboards():
    """All of them, by file name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "deploy", "grafana", "*.json"))):
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path)] = json.load(file)
    return found


def panels(dashboard):
    """Those that ask for something."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def query(dashboard, expr, rate_interval):
    """`expr` as Grafana sends it with every variable at All; one that is a single choice matches whatever there is."""
    values = {"__rate_interval": rate_interval, "__range": "15m"}
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            values[variable["name"]] = variable.get("allValue", ".*")
    left = re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda m: values[m.group(1) or m.group(2)], expr)
    return left


def label_values(dashboard):
    """(series, label) of each variable that is filled from label_values(series, label)."""
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield re.fullmatch(r"label_values\((\w+)(?:\{.*\})?, (\w+)\)", variable["query"]).groups()


class Prometheus:
    """Its HTTP API. A query that it refuses raises ValueError with what it said."""

    def __init__(self, address, timeout_s=60):
        self.address = address
        self.timeout_s = timeout_s

    def get(self, path, **values):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(values)}"
        try:
            with urllib.request.urlopen(url, timeout=self.timeout_s) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(error.read().decode()) from error

    def ready(self):
        """False while it does not listen yet, or answers 503 because it still opens its data."""
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=self.timeout_s):
                return True
        except OSError:
            return False

    def range(self, expr, start, end, step):
        """[(labels, [(time, value), ...]), ...]; values that are no number are left out."""
        found = []
        for series in self.get("query_range", query=expr, start=start, end=end, step=step)["result"]:
            points = [(float(t), float(v)) for t, v in series["values"] if v not in ("NaN", "+Inf", "-Inf")]
            found.append((series["metric"], points))
        return found

    def now(self, expr):
        return [(s["metric"], float(s["value"][1])) for s in self.get("query", query=expr)["result"]]
