"""No path of somebody's machine in the sources."""

import re

from source import FOLDERS, line_of

_HOME = re.compile(r"(?<![\w.~])/(?:root|home/\w+|work)/\w")


def run(tree):
    for path in tree.under(*FOLDERS):
        text = tree.text(path)
        for match in _HOME.finditer(text):
            yield f"{path}:{line_of(text, match.start())}: {match.group(0)}... is a path of one machine"
