"""Nothing in the core iterates over an unordered container: the order would differ between builds.

A heuristic by name: every variable, member or alias declared as unordered_map or unordered_set in a
folder is looked for in range-fors and begin() calls of that folder. Where the order cannot matter (a
sum, a list that is sorted next) a comment `// any order: why` on that line or the one before says so.
"""

import re

from source import CORE, line_of

_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*(?:std::)?unordered_(?:map|set|multimap|multiset)\b")
_START = re.compile(r"\b(?:std::)?unordered_(?:map|set|multimap|multiset)\s*<")
_NAME = re.compile(r"\s*&?\s*(\w+)\s*(?:[;={(,)]|$)")


def _after_template(text, at):
    depth = 0
    for i in range(at, len(text)):
        if text[i] == "<":
            depth += 1
        elif text[i] == ">":
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)


def _names(text):
    names = set()
    for match in _START.finditer(text):
        found = _NAME.match(text, _after_template(text, match.end() - 1))
        if found:
            names.add(found.group(1))
    for alias in _ALIAS.findall(text):
        names.update(re.findall(rf"\b{alias}\s*&?\s+(\w+)\s*[;={{(,)]", text))
    return names


def run(tree):
    for folder in CORE:
        files = tree.under(folder)
        names = sorted(set().union(*(_names(tree.code(f)) for f in files)) if files else [])
        if not names:
            continue
        any_name = "|".join(map(re.escape, names))
        pattern = re.compile(
            rf"\bfor\s*\([^;()]*?:\s*(?:[\w.()]|->)*?\b({any_name})\s*\)"
            rf"|\b({any_name})\s*(?:\.|->)\s*c?r?begin\s*\("
        )
        for path in files:
            text = tree.code(path)
            for match in pattern.finditer(text):
                name = match.group(1) or match.group(2)
                line = line_of(text, match.start())
                here = tree.text(path).splitlines()[max(0, line - 2) : line]
                if not any("// any order: " in text_line for text_line in here):
                    yield f"{path}:{line}: iterates over unordered `{name}`"
