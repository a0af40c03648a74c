"""Each link of a document leads somewhere: to a file of this tree, and to a heading of it."""

import os
import re

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
_HEADING = re.compile(r"^#+ +(.*?)(?: +\{#([\w-]+)\})?$", re.M)


def anchors(text):
    """The names that headings get: lower case, words joined by hyphens, a number where one stands twice."""
    found = {}
    for title, given in _HEADING.findall(re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        name = given or re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = found.get(name, -1) + 1
        found[name] = count
        if count:
            found[f"{name}-{count}"] = 0
    return set(found)


def run(tree):
    known = {}
    for path in tree.docs:
        text = _CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), tree.text(path))
        for match in _LINK.finditer(text):
            target = match.group(1)
            if re.match(r"\w+:", target):
                continue
            name, _, anchor = target.partition("#")
            where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
            file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not os.path.exists(os.path.join(tree.root, file)):
                yield f"{where}: {target} leads to no file"
            elif anchor and file.endswith(".md"):
                if file not in known:
                    known[file] = anchors(tree.text(file))
                if anchor not in known[file]:
                    yield f"{where}: {file} has no heading #{anchor}"
