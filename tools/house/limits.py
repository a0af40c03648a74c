"""Every limit that a header of _FILES names is used: a limit that nothing enforces is a lie."""

import re

from source import FOLDERS, line_of

_FILES = ("core/limits.h", "core/account_limits.h", "model/bounds/pass_limits.h", "core/edge_limits.h",
          "server/api/common/browser_limits.h", "server/notify/notice_limits.h")
_LIMIT = re.compile(r"\binline\s+constexpr\s+[\w:]+\s+(k\w+)\s*=")


def run(tree):
    if _FILES[0] not in tree.files:
        yield f"{_FILES[0]}: not found"
        return
    others = [f for f in tree.under(*FOLDERS) if f not in _FILES and not f.startswith("tests/")]
    used = set(re.findall(r"\bk[A-Z]\w*", " ".join(tree.code(f) for f in others)))
    for file in _FILES:
        if file not in tree.files:
            continue
        text = tree.code(file)
        for match in _LIMIT.finditer(text):
            name = match.group(1)
            derived = len(re.findall(rf"\b{name}\b", text)) > 1
            if name not in used and not derived:
                yield f"{file}:{line_of(text, match.start())}: {name} is enforced nowhere"
