"""Includes have one form, "folder/file.h" from the top: the target's include roots resolve it."""

import re

from source import FOLDERS, line_of

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]*)"', re.M)
# Where generated protobuf headers live below proto's own include root.
_ALSO = ("subak", "google", "proto")


def run(tree):
    for path in tree.under(*FOLDERS):
        text = tree.code(path)
        for match in _INCLUDE.finditer(text):
            name = match.group(1)
            where = f"{path}:{line_of(text, match.start())}"
            if ".." in name.split("/"):
                yield f'{where}: "{name}" climbs; write "folder/file.h" from the top'
            elif path.startswith("tests/") and ("/" not in name or name.startswith("tools/")):
                continue  # a helper beside its tests, which have no include root, or of a tool
            elif "/" not in name:
                yield f'{where}: "{name}" has no folder; write "folder/file.h" from the top'
            elif name.split("/")[0] not in FOLDERS + _ALSO:
                yield f'{where}: "{name}" starts with no folder of this tree'
