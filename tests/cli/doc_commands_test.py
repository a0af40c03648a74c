#!/usr/bin/env python3
"""Each command line of subak and subakd in the documents names commands and flags that exist.

Usage: doc_commands_test.py SUBAK SUBAKD

Most of these lines need a cluster or a database, so they are not run. use_it_test.py runs those of README.md.
"""

import glob
import os
import re
import shlex
import subprocess
import sys
import unittest

SUBAK, SUBAKD = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGES = ["README.md", "CONTRIBUTING.md", *glob.glob("docs/*.md", root_dir=ROOT)]
_BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.M | re.S)
_SPAN = re.compile(r"`(subakd?) ([^`]*)`")
_LINE = re.compile(r"^\s*(?:\$ )?(?:sudo )?(?:\S*/)?(subakd?) (.*)$")


def helped(program, *path):
    return subprocess.run([program, *path, "--help"], capture_output=True, text=True, check=True).stdout


def lines(text):
    """Command lines in code blocks (a backslash at the end joins lines, a # begins a comment) and between backquotes."""
    for block in _BLOCK.findall(text):
        for line in re.sub(r" *\\\n *", " ", block).splitlines():
            if match := _LINE.match(line):
                yield match.groups()
    for program, rest in _SPAN.findall(_BLOCK.sub("", text)):
        yield program, " ".join(rest.split())


_GLOBAL_WITH_VALUE = ("--server", "--token-file", "--tls-ca", "--output")


class Commands:
    def __init__(self):
        self.helps = {}

    def help(self, *path):
        if path not in self.helps:
            self.helps[path] = helped(SUBAK, *path)
        return self.helps[path]

    def children(self, *path):
        part = re.search(r"^Subcommands:\n((?:  .*\n?)+)", self.help(*path), re.M)
        return re.findall(r"^  ([a-z][\w-]*)", part.group(1), re.M) if part else []

    def takes_value(self, path, flag):
        return bool(path) and flag.startswith("--") and re.search(rf"{re.escape(flag)} [A-Z]", self.help(*path)) is not None

    def complaint(self, words):
        """What is wrong with `subak WORDS`; None: nothing."""
        path, before = [], ""
        for word in words:
            is_value = before in _GLOBAL_WITH_VALUE or self.takes_value(path, before)
            before = word
            if self.children(*path) and not word.startswith("-") and not is_value:
                if word not in self.children(*path):
                    return f"no command {' '.join([*path, word])}"
                path.append(word)
        return unknown_flag(words, self.help(*path) + self.help())


def unknown_flag(words, text):
    known = set(re.findall(r"(?<![\w-])--?[\w-]+", text))
    for word in words:
        flag = word.split("=")[0]
        if re.match(r"--?[a-z]", flag) and flag not in known:
            return f"no flag {flag}"
    return None


class DocCommands(unittest.TestCase):
    def test_each_line_names_what_exists(self):
        commands, service, seen = Commands(), helped(SUBAKD), 0
        for page in PAGES:
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                text = file.read()
            for program, rest in lines(text):
                rest = re.split(r" [|>&;]|\s#", rest)[0]
                words = shlex.split(rest.replace("'", '"') if rest.count("'") % 2 else rest)
                if any(word in ("COMMAND", "...") for word in words):
                    continue
                wrong = commands.complaint(words) if program == "subak" else unknown_flag(words, service)
                self.assertIsNone(wrong, f"{page}: {program} {rest}")
                seen += 1
        self.assertGreater(seen, 150)

    def test_it_notices(self):
        self.assertEqual(Commands().complaint(["account", "sett", "ml"]), "no command account sett")
        self.assertEqual(Commands().complaint(["account", "set", "ml", "--sharess", "3"]), "no flag --sharess")
        self.assertEqual(list(lines("```\n$ subak a \\\n  --b c  # d\nls\n```\n")), [("subak", "a --b c  # d")])


if __name__ == "__main__":
    unittest.main()
