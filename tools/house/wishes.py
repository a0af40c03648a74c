"""A wish of a gang is named in at most 10 files outside tests: its row, the messages, and its effect.

model/gang_terms.h declares the wishes, in rows. Files of C++ count whose code has the word, alone or as the setter
of a message, or whose texts have the key of pods; comments do not count. A .proto counts that has a field of the
name. Counts are of words, so another thing with the wish's name counts too: give it a name of its own.
tools/house/wishes.txt is the ratchet.
"""

import re

from ratchet import Ratchet

TABLE = "model/gang_terms.h"
LIST = Ratchet(
    "tools/house/wishes.txt",
    {"files": 10},
    {"files": "go over kWishes (model/gang_terms.h), so that only the effect names the wish"},
)
_ROW = re.compile(r"\.member = &GangTerms::(\w+)")


def files(tree):
    """{wish: the files that name it}."""
    if TABLE not in tree.files:
        return {}
    found = {name: set() for name in _ROW.findall(tree.text(TABLE))}
    for name, paths in found.items():
        word = re.compile(rf"\b(?:set_)?{name}\b")
        field = re.compile(rf"^\s*(?:optional )?\w+ {name} = \d+;", re.M)
        key = f"subak.gpu/{name.replace('_', '-')}"
        paths.update(p for p in tree.product() if word.search(tree.code(p)) or f'"{key}"' in tree.text(p))
        paths.update(p for p in tree.protos if field.search(tree.text(p)))
    return found


def measure(tree):
    """{wish: (files,)}."""
    return {name: (len(paths),) for name, paths in files(tree).items()}


def run(tree):
    return LIST.complaints(tree, measure(tree))
