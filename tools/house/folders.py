"""A folder has at most 25 C++ files, .h and .cc each counted; those of folders below it are not its own.

tools/house/folders.txt is the ratchet.
"""

import collections

from ratchet import Ratchet

LIST = Ratchet("tools/house/folders.txt", {"files": 25}, {"files": "split it by subject"})


def measure(tree):
    """{folder: (files,)}."""
    return {folder: (n,) for folder, n in collections.Counter(f.rpartition("/")[0] for f in tree.files).items()}


def run(tree):
    return LIST.complaints(tree, measure(tree))
