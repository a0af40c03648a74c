"""Every limit that core/limits.h names is used: a limit that nothing enforces is a lie."""

import re

from source import FOLDERS, line_of

_FILE = "core/limits.h"
_LIMIT = re.compile(r"\binline\s+constexpr\s+[\w:]+\s+(k\w+)\s*=")


def run(tree):
    if _FILE not in tree.files:
        yield f"{_FILE}: not found"
        return
    text = tree.code(_FILE)
    uses = " ".join(tree.code(f) for f in tree.under(*FOLDERS) if f != _FILE and not f.startswith("tests/"))
    used = set(re.findall(r"\bk[A-Z]\w*", uses))
    for match in _LIMIT.finditer(text):
        name = match.group(1)
        derived = len(re.findall(rf"\b{name}\b", text)) > 1
        if name not in used and not derived:
            yield f"{_FILE}:{line_of(text, match.start())}: {name} is enforced nowhere"
