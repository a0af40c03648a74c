"""Dashboards, rules and docs name the metrics that the service exposes; every alert has a runbook and a test."""

import json
import os
import re

_FAMILY = re.compile(r'\b(counter|gauge|histogram|begin)\(\s*(?:registry_,\s*)?"((?:subak|process)_\w+)"')
_ASKED = re.compile(r"\b(?:subak|process)[_:][\w:]+")
_ALERT = re.compile(r"- alert: (\w+)\n(.*?)(?=\n      - alert:|\Z)", re.S)
_DOCS = "docs/alerts.md"
_LIST = "docs/metrics.md"
_TESTS = "tests/deploy/alerts_test.yml"


def _read(tree, path):
    full = os.path.join(tree.root, path)
    if not os.path.isfile(full):
        return ""
    with open(full, encoding="utf-8") as file:
        return file.read()


def _names(tree, folder, suffix):
    full = os.path.join(tree.root, folder)
    return [f"{folder}/{n}" for n in sorted(os.listdir(full)) if n.endswith(suffix)] if os.path.isdir(full) else []


def families(tree):
    found = {}
    for path in tree.files:
        if path.startswith(("server/metrics/", "server/http/")):
            found.update({name: kind for kind, name in _FAMILY.findall(tree.text(path))})
    return found


def _unknown(text, known, path):
    for asked in sorted(set(_ASKED.findall(text)) - known):
        yield f"{path}: asks for {asked}, which is not exposed"


def _dashboard(path, text, known):
    dashboard = json.loads(text)
    for variable in dashboard["templating"]["list"]:
        yield from _unknown(variable["query"], known, path)
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            continue
        where = f"{path}: {panel['title']!r}"
        if not panel.get("description"):
            yield f"{where} does not say what to do"
        if not panel["fieldConfig"]["defaults"].get("unit"):
            yield f"{where} has no unit"
        for target in panel["targets"]:
            yield from _unknown(target["expr"], known, where)


def _alerts(tree, path, text):
    anchors = set(re.findall(r"^#+ (\w+)$", _read(tree, _DOCS), re.M))
    tests = _read(tree, _TESTS)
    for name, body in _ALERT.findall(text):
        if f"runbook: {_DOCS}#{name.lower()}\n" not in body + "\n" or name not in anchors:
            yield f"{path}: {name} has no section in {_DOCS}"
        if f"""labels: '{{alertname="{name}\"""" not in tests:
            yield f"{path}: {name} is never seen to fire in {_TESTS}"
        if f'alertname="{name}", alertstate="firing"' not in tests:
            yield f"{path}: {name} is never seen to clear in {_TESTS}"


def run(tree):
    exposed = families(tree)
    known = set(exposed)
    for name, kind in exposed.items():
        if kind == "histogram":
            known.update(name + end for end in ("_bucket", "_sum", "_count"))
    rules = _names(tree, "deploy/prometheus", ".yml")
    for path in rules:
        known.update(re.findall(r"record: (\S+)", _read(tree, path)))
    for path in rules:
        text = _read(tree, path)
        for expr in re.findall(r"expr: (.*)", text):
            yield from _unknown(expr, known, path)
        yield from _alerts(tree, path, text)
    for path in _names(tree, "deploy/grafana", ".json"):
        yield from _dashboard(path, _read(tree, path), known)
    listed = set(re.findall(r"^\| `(\w+)", _read(tree, _LIST), re.M))
    for name in sorted(set(exposed) - listed):
        yield f"{_LIST}: {name} is missing"
    for name in sorted(listed - set(exposed)):
        yield f"{_LIST}: {name} is not exposed"
