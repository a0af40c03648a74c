#!/usr/bin/env python3
"""Draws sentences, headers and design pages at random, for a reader who has not seen the code.

  draw.py --seed N [--sentences 20] [--headers 10] [--pages 5]

Sentences come in equal parts from headers, documentation and help texts. Each should be understood on one reading.
Code in backticks is shown as "...".
"""

import argparse
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import text as passages  # noqa: E402
from source import Tree  # noqa: E402

_HELP = ("cli/commands", "server/config")
_FEWEST_WORDS = 6  # a shorter one is a label
_NOT_PROSE = re.compile(r"\bmust\(")
_SHELL = "cli/commands/completion.cc"


def sentences(path, text, read):
    """(place, sentence) of each sentence, without code of shells and texts of assertions."""
    lines = text.splitlines()
    for passage in read(text):
        for line, words in passage.sentences():
            if len(words) >= _FEWEST_WORDS and not _NOT_PROSE.search(lines[line - 1]):
                yield f"{path}:{line}", " ".join("..." if word == "Q" else word for word in words)


def drawn(tree, seed, counts):
    """(sentences, headers, pages): as many as `counts` says, the same for the same seed and tree."""
    dice = random.Random(seed)
    headers = [path for path in tree.product() if path.endswith(".h")]
    helps = [path for path in tree.product() if path.startswith(_HELP) and path.endswith(".cc") and path != _SHELL]
    sources = (
        (headers, passages.of_comments),
        (tree.docs, passages.of_document),
        (helps, passages.of_literals),
    )
    rows = []
    for i, (paths, read) in enumerate(sources):
        every = [row for path in paths for row in sentences(path, tree.text(path), read)]
        rows += dice.sample(every, min(len(every), (counts[0] + i) // len(sources)))
    pages = [path for path in tree.docs if path.startswith("docs/design/0")]
    return rows, dice.sample(headers, min(len(headers), counts[1])), dice.sample(pages, min(len(pages), counts[2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    for name, count in (("sentences", 20), ("headers", 10), ("pages", 5)):
        parser.add_argument(f"--{name}", type=int, default=count)
    args = parser.parse_args()
    tree = Tree(os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))
    rows, headers, pages = drawn(tree, args.seed, (args.sentences, args.headers, args.pages))
    for place, sentence in rows:
        print(f"{place}: {sentence}")
    print("\n".join(["", *headers, "", *pages]))


if __name__ == "__main__":
    main()
