"""Manifests and shown output of pages of docs/: a case applies them as they stand there."""

import json
import os
import re

from operators import must, objects_of

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def parts(page, level, under=None):
    """{heading: what stands below it}, of the headings of that level, in the order of the page."""
    with open(os.path.join(DOCS, page), encoding="utf-8") as file:
        text = file.read()
    if under:
        text = text.split(f"\n## {under}\n")[1].split("\n## ")[0]
    return dict(part.split("\n", 1) for part in text.split(f"\n{'#' * level} ")[1:])


def manifest_in(text):
    return re.search(r"```yaml\n(apiVersion: .*?)```", text, re.S).group(1)


def templates_in(obj):
    """Each pod or pod template in it."""
    if isinstance(obj, list):
        for item in obj:
            yield from templates_in(item)
    elif isinstance(obj, dict):
        if "containers" in (obj.get("spec") or {}):
            yield obj
        else:
            yield from templates_in(list(obj.values()))


def apply(c, manifest, run_seconds=None):
    """Makes its objects. Of each pod only what plays it is added: which nodes it may have, and how long it runs.
    `run_seconds(template)`: how long such a pod runs; None: as its kind does."""
    text = must(c.world.plane, "create", "--dry-run=client", "--validate=strict", "-o", "json", "-f", "-",
                text_in=manifest)  # fmt: skip
    made = []
    for obj in objects_of(text):
        for template in templates_in(obj):
            template["spec"].setdefault("nodeSelector", {})["e2e/pool"] = c.ns
            seconds = run_seconds and run_seconds(template)
            if seconds is not None:
                notes = template.setdefault("metadata", {}).setdefault("annotations", {})
                notes["e2e/run-seconds"] = str(seconds)
        obj["metadata"]["namespace"] = c.ns
        made.append(c.ana.create(obj))
    return made


def has_gpus(template):
    return "nvidia.com/" in json.dumps(template["spec"]["containers"])


def plain(c, text):
    """Without what differs from run to run: numbers, the names of the case and its nodes, line breaks."""
    text = text.replace(c.account, "ml").replace(f"{c.ns}-", "node-").replace(c.ns, "team-a").replace("node-", "n")
    text = re.sub(r"[0-9a-f]{16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "0", text)
    return re.sub(r"\d[\d:TZ-]*\b", "0", " ".join(text.split()))


def shows(c, part, command, output):
    """The page shows lines of this command's output: each of them is there."""
    blocks = re.findall(r"```\n(\$ .*?)\n(.*?)```", part, re.S)
    lines = [line for said, block in blocks if said.startswith(f"$ {command}") for line in block.splitlines() if line.strip()]
    c.expect(lines, f"a block of '{command}' on the page")
    for line in lines:
        c.expect(plain(c, line) in plain(c, output), f"'{line.strip()}', as on the page, in {plain(c, output)}")
