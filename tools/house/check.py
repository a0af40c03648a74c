#!/usr/bin/env python3
"""House checks: rules of this tree that a compiler does not know.

  check.py [--root DIR] [NAME ...]     runs all checks, or those named; exit 1 if one complains
  check.py --list                      their names and what they are for
  check.py --ratchet [NAME ...]        lowers the counts of the lists to today's, for the checks that have one
"""

import argparse
import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from source import Tree  # noqa: E402

NAMES = (
    "includes", "purity", "order", "lengths", "limits", "paths", "monitoring", "workflow", "names",
    "prose", "classes", "folders", "wishes", "rooms", "links",
)  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--ratchet", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    if args.list:
        for name in NAMES:
            print(f"{name:10} {importlib.import_module(name).__doc__.splitlines()[0]}")
        return 0
    unknown = set(args.names) - set(NAMES)
    if unknown:
        parser.error(f"no check named {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    tree = Tree(os.path.abspath(args.root))
    complaints = 0
    for name in args.names or NAMES:
        check = importlib.import_module(name)
        if args.ratchet and not hasattr(check, "LIST"):
            continue
        for complaint in check.LIST.lower(tree, check.measure(tree)) if args.ratchet else check.run(tree):
            print(f"{name}: {complaint}")
            complaints += 1
    print(f"house: {complaints} complaints in {len(tree.files)} files")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
