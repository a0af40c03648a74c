"""Dashboards ask only for metrics that the service exposes."""

import json
import os
import re

_FAMILY = re.compile(r'\b(counter|gauge|histogram)\(\s*"(\w+)"')
_ASKED = re.compile(r"\bsubak_\w+")


def exposed(tree):
    names = set()
    for path in tree.files:
        if not path.startswith(("server/metrics/", "server/http/")):
            continue
        for kind, name in _FAMILY.findall(tree.text(path)):
            ends = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
            names.update(f"subak_{name}{end}" for end in ends)
    return names


def run(tree):
    names = exposed(tree)
    folder = os.path.join(tree.root, "deploy", "grafana")
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, file), encoding="utf-8") as stream:
            dashboard = json.load(stream)
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                for asked in sorted(set(_ASKED.findall(target["expr"])) - names):
                    yield f"deploy/grafana/{file}: {panel['title']!r} asks for {asked}, which is not exposed"
