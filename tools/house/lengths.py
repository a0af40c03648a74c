"""Files of at most 500 lines, functions of at most 70, lines of the product's headers of at most 100 columns.

tools/house/long.txt lists what is longer, with its present length: that number may only go down, and
an entry that is no longer needed must go. The format keeps code within the columns, but wraps no comments, and
headers are read as the manual. A line with one word that has no break may be longer.
"""

import os
import re

from source import FOLDERS

FILE_LINES = 500
FUNCTION_LINES = 70
COLUMNS = 100
_LIST = "tools/house/long.txt"
_TYPE = re.compile(r"\b(?:class|struct|union|enum|namespace|extern)\b")
_MARK = re.compile(r"[()\[\]{};]|^[ \t]*#[^\n]*", re.M)
_FUNCTION_NAME = re.compile(r"([~\w:]+|operator\s*\S+)\s*\(")


def functions(code):
    """(name, lines) of each function body, by braces. Lambdas count in the function around them."""
    stack = []  # (is_function, name, offset, parens)
    head_start = 0
    parens = inside = 0
    for mark in _MARK.finditer(code):
        c, i = mark.group(0), mark.start()
        if c in "([":
            parens += 1
        elif c in ")]":
            parens -= 1
        elif c == "{":
            head = "" if inside or parens > 0 else code[head_start:i]
            name = _FUNCTION_NAME.search(head)
            is_function = name is not None and not _TYPE.search(head.split("(")[0])
            stack.append((is_function, name.group(1) if name else "", i, parens))
            inside += is_function
            parens = 0
            head_start = i + 1
        elif c == "}":
            if stack:
                is_function, name, first, parens = stack.pop()
                if is_function:
                    inside -= 1
                    yield name, code.count("\n", first, i) + 1
            head_start = i + 1
        elif c == ";":
            if parens == 0:
                head_start = i + 1
        else:
            head_start = mark.end()


def wide_lines(tree):
    """(path, line, columns) of each line of a product's header that is too long and could be broken."""
    for path in (path for path in tree.product() if path.endswith(".h")):
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            words = line.removeprefix("#include").strip(" /").split()
            if len(line) > COLUMNS and len(words) > 1:
                yield path, number, len(line)


def _allowed(root):
    allowed = {}
    path = os.path.join(root, _LIST)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split("#")[0].split()
                if words:
                    allowed[words[0]] = int(words[1])
    return allowed


def measure(tree):
    """{"path" or "path:function": lines} of all that is too long."""
    found = {}
    for path in tree.under(*FOLDERS):
        lines = tree.text(path).count("\n")
        if lines > FILE_LINES:
            found[path] = lines
        for name, length in functions(tree.code(path)):
            if length > FUNCTION_LINES:
                key = f"{path}:{name}"
                found[key] = max(length, found.get(key, 0))
    return found


def run(tree):
    allowed = _allowed(tree.root)
    found = measure(tree)
    for key, lines in sorted(found.items()):
        most = FUNCTION_LINES if ":" in key else FILE_LINES
        if key not in allowed:
            yield f"{key}: {lines} lines, at most {most}: split it"
        elif lines > allowed[key]:
            yield f"{key}: {lines} lines, was {allowed[key]}: it may only shrink"
    for path, number, columns in wide_lines(tree):
        yield f"{path}:{number}: {columns} columns, at most {COLUMNS}: wrap it"
    for key, lines in sorted(allowed.items()):
        if found.get(key, 0) < lines:
            now = found.get(key)
            what = f"lower it to {now}" if now else "remove it"
            yield f"{_LIST}: {key} {lines} is out of date: {what}"
