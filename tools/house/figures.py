#!/usr/bin/env python3
"""Figures of the tree, to be compared from version to version. Nothing here complains; the checks do.

  figures.py [--root DIR]
"""

import argparse
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import classes  # noqa: E402
import folders  # noqa: E402
import prose  # noqa: E402
import text as passages  # noqa: E402
import wishes  # noqa: E402
from lengths import functions  # noqa: E402
from names import PRODUCT  # noqa: E402
from source import CORE, Tree  # noqa: E402

_PROMISED = tuple(folder for folder in CORE if folder != "core")
# A statement of its own: a call whose result is used, or a declaration, is none.
_PROMISE = re.compile(r"(?:[;{})]|(?<!:):|\belse)\s*(?:must|check|invariant|assert)\s*\(")


def lines(tree):
    """{folder: (files, lines)} of the C++ at the top."""
    found = collections.defaultdict(lambda: [0, 0])
    for path in tree.files:
        sums = found[path.split("/")[0]]
        sums[0] += 1
        sums[1] += tree.text(path).count("\n")
    return {folder: tuple(sums) for folder, sums in found.items()}


def comment_lines(tree):
    """(lines, lines that are a comment, lines with a comment) of the product's headers."""
    total = alone = any_comment = 0
    for path in tree.under(*PRODUCT):
        if path.endswith(".h"):
            comments = {line: is_alone for line, _, is_alone, _ in passages.comment_lines(tree.text(path))}
            total += tree.text(path).count("\n")
            alone += sum(comments.values())
            any_comment += len(comments)
    return total, alone, any_comment


def promises(tree):
    """{folder: (functions, must() or check() or assert())} of the core."""
    found = {}
    for folder in _PROMISED:
        codes = [tree.code(path) for path in tree.under(folder)]
        found[folder] = (
            sum(1 for code in codes for _ in functions(code)),
            sum(len(_PROMISE.findall(code)) for code in codes),
        )
    return found


def wishes_named(tree):
    """{wish: files that name it}, of C++ and .proto outside tests; "any": at least one."""
    found = wishes.files(tree)
    return {**{wish: len(files) for wish, files in found.items()}, "any": len(set().union(*found.values()))}


def area(path):
    parts = path.split("/")
    return "docs/design" if path.startswith("docs/design/") else parts[0]


def prose_by_area(tree):
    """{area: (columns, sentences, words)}: see prose.LIST."""
    found = {}
    for path, counts in prose.measure(tree).items():
        was = found.get(area(path), (0, 0, 0))
        found[area(path)] = tuple(a + b for a, b in zip(was, counts))
    return found


def _table(title, head, rows):
    rows = [tuple(map(str, row)) for row in (head, *rows) if row]
    widths = [max(map(len, column)) for column in zip(*rows)]
    print(f"\n{title}")
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
        print("  " + "  ".join(cells).rstrip())


def _sum(rows):
    return ("all", *map(sum, zip(*(row[1:] for row in rows)))) if rows else ()


def _print_sizes(tree):
    by_folder = lines(tree)
    rows = [(folder, *by_folder[folder]) for folder in PRODUCT if folder in by_folder]
    others = [(folder, *sums) for folder, sums in sorted(by_folder.items()) if folder not in PRODUCT]
    _table("Lines of product", ("folder", "files", "lines"), [*rows, _sum(rows), *others])
    counts = folders.measure(tree)
    rows = sorted(((folder, n) for folder, (n,) in counts.items()), key=lambda row: (-row[1], row[0]))
    title = f"Files a folder: the largest 10 of {len(rows)}, {len(folders.LIST.beyond(counts))} beyond 25"
    _table(title, ("folder", "files"), rows[:10])


def _print_classes(tree):
    measured = classes.measure(tree)
    large = sorted(classes.LIST.beyond(measured), key=lambda name: (-max(measured[name]), name))
    title = f"Classes over 40 methods or 15 members: {len(large)} of {len(measured)}"
    _table(title, ("class", "methods", "members"), [(name, *measured[name]) for name in large])


def _print_promises(tree):
    rows = [(folder, *counts) for folder, counts in promises(tree).items()]
    rows = [(*row, f"{row[2] / max(row[1], 1):.2f}") for row in (*rows, _sum(rows))]
    _table("must(), check() and assert() in the core", ("folder", "functions", "promises", "each"), rows)


def _print_prose(tree):
    total, alone, any_comment = comment_lines(tree)
    share = (f"{100 * n / max(total, 1):.1f} %" for n in (alone, any_comment))
    _table("Headers of the product", ("lines", "a comment", "with one"), [(total, *share)])
    rows = [(name, *counts) for name, counts in sorted(prose_by_area(tree).items())]
    limits = f"lines over {prose.COLUMNS} columns, sentences over {prose.WORDS_A_SENTENCE} words, words of our own"
    _table(f"Prose: {limits}", ("area", *prose.LIST.limits), [row for row in (*rows, _sum(rows)) if any(row[1:])])


def main():
    parser = argparse.ArgumentParser(description="Figures of the tree.")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    tree = Tree(os.path.abspath(parser.parse_args().root))
    _print_sizes(tree)
    _print_classes(tree)
    _print_promises(tree)
    _print_prose(tree)
    _table("Files that name a gang's wish, outside tests", ("wish", "files"), wishes_named(tree).items())


if __name__ == "__main__":
    main()
