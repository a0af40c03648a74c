"""Small made-up trees for the self-tests, and what a check says of them."""

import contextlib
import importlib
import os
import tempfile

from source import Tree


@contextlib.contextmanager
def made(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        yield Tree(root)


def complaints(check, files):
    with made(files) as tree:
        return list(importlib.import_module(check).run(tree))


def measured(check, files):
    with made(files) as tree:
        return importlib.import_module(check).measure(tree)


def lowered(check, files):
    """The list that `check.py --ratchet` makes, without its first line, and what it complains of."""
    module = importlib.import_module(check)
    with made({"tools/house/x": "", **files}) as tree:
        found = list(module.LIST.lower(tree, module.measure(tree)))
        with open(os.path.join(tree.root, module.LIST.path), encoding="utf-8") as file:
            return file.read().splitlines()[1:], found
