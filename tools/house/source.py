"""Finding and reading sources, shared by the house checks."""

import os
import re
import subprocess

CORE = ("core", "accounting", "model", "placement", "queue", "engine")
FOLDERS = CORE + ("kube", "threads", "net", "admission", "server", "cli", "sim", "tests")
SUFFIXES = (".h", ".cc")
_DOCS = re.compile(r"(?:(?!tests/|tools/)(?:.*/)?README|CONTRIBUTING|CHANGELOG|docs/.*)\.md")


class Tree:
    """One checkout. `files` (C++), `docs` and `protos` are paths relative to `root`, sorted."""

    def __init__(self, root):
        self.root = root
        listed = sorted(_listed(root))
        self.files = [p for p in listed if p.endswith(SUFFIXES)]
        self.docs = [p for p in listed if _DOCS.fullmatch(p)]
        self.protos = [p for p in listed if p.endswith(".proto") and p.startswith("proto/subak/")]
        self._text = {}
        self._code = {}

    def under(self, *folders):
        return [f for f in self.files if f.split("/", 1)[0] in folders]

    def product(self):
        """C++ files that are shipped or run: all but those of tests."""
        return [f for f in self.files if not f.startswith("tests/")]

    def text(self, path):
        if path not in self._text:
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                self._text[path] = file.read()
        return self._text[path]

    def code(self, path):
        """The text with comments and the insides of literals blanked; lines stay where they are."""
        if path not in self._code:
            self._code[path] = strip(self.text(path))
        return self._code[path]


def _listed(root):
    git = ["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"]
    done = subprocess.run(git, capture_output=True, check=False)
    if done.returncode == 0:
        names = done.stdout.decode().split("\0")
        return [n for n in names if n and os.path.isfile(os.path.join(root, n))]
    found = []
    for folder, _, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        if relative.split("/")[0].startswith(("build", ".git")):
            continue
        found += [os.path.normpath(os.path.join(relative, n)) for n in names]
    return found


TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""",
    re.S,
)


def strip(text):
    def blank(match):
        token = match.group(0)
        lines = "\n" * token.count("\n")
        if token.startswith("/"):
            return lines or " "
        line_start = text.rfind("\n", 0, match.start()) + 1
        if text[line_start : match.start()].lstrip().startswith("#"):
            return token  # the name of an include
        return '""' + lines if token[0] in '"R' else "0"

    return TOKEN.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
