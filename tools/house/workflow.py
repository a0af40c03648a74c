"""The public workflow runs targets of the Makefile and nothing of its own."""

import os
import re

_FOLDER = ".github/workflows"
_RUN = re.compile(r"^\s*(?:-\s+)?run:\s*(.*)$")
_LIST = re.compile(r"^\s*(\w+):\s*\[([^\]]*)\]\s*$", re.M)
_TARGET = re.compile(r"^([a-z0-9]+):", re.M)
# What a checkout in a bare container needs before there is a Makefile.
_BEFORE = re.compile(
    r"apt-get update && apt-get install -y --no-install-recommends [a-z -]+$"
    r'|git config --global --add safe\.directory "\$GITHUB_WORKSPACE"$'
)


def _commands(text):
    """(line, command) with each value of the matrix put in."""
    matrix = {name: [v.strip() for v in values.split(",")] for name, values in _LIST.findall(text)}
    for number, line in enumerate(text.splitlines(), 1):
        match = _RUN.match(line)
        if not match:
            continue
        command = match.group(1).strip()
        asked = re.search(r"\$\{\{ matrix\.(\w+) \}\}", command)
        for value in matrix.get(asked.group(1), []) if asked else [None]:
            yield number, command if value is None else command.replace(asked.group(0), value)


def run(tree):
    folder = os.path.join(tree.root, _FOLDER)
    files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    if not files:
        return
    with open(os.path.join(tree.root, "Makefile"), encoding="utf-8") as file:
        targets = set(_TARGET.findall(file.read()))
    for name in files:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            commands = list(_commands(file.read()))
        if not any(command.startswith("make ") for _, command in commands):
            yield f"{_FOLDER}/{name}: runs no target of the Makefile"
        for line, command in commands:
            made = re.fullmatch(r"make ([a-z0-9]+)", command)
            if made and made.group(1) not in targets:
                yield f"{_FOLDER}/{name}:{line}: the Makefile has no target {made.group(1)}"
            elif not made and not _BEFORE.fullmatch(command):
                yield f"{_FOLDER}/{name}:{line}: `{command}` is not a target of the Makefile"
