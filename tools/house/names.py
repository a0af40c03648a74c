"""No two types of the product, nor of one folder of tests, have one name: linked together they are one.

Two definitions of `subak::Pod` in two files compile, and the linker takes the functions of one for both (C++'s
one-definition rule; no diagnostic is required). Types in an unnamed namespace are private to their file.
"""

import re

from source import line_of

PRODUCT = (
    "core", "accounting", "model", "placement", "queue", "engine", "kube", "threads", "net", "admission", "server",
    "cli", "sim",
)  # fmt: skip
TOKEN = re.compile(
    r"(?P<open>\{)|(?P<close>\})|(?P<end>;)"
    r"|\b(?P<ns>namespace)\b\s*(?P<nsname>[\w:]*)\s*(?=\{)"
    r"|\b(?P<kind>struct|class|union|enum(?:\s+class|\s+struct)?)\s+(?:\[\[\w+\]\]\s*)?"
    r"(?:SUBAK_\w+\s*\((?:[^()]|\([^()]*\))*\)\s*)?(?P<name>[\w:]+)"
    r"(?P<spec>\s*<)?"
)


def types(code):
    """(qualified name, offset) of each type that is defined at a namespace's level, if that has a name."""
    scopes = []  # a namespace's name, "" for an unnamed one, None for any other brace
    pending = None  # what the next brace opens
    for found in TOKEN.finditer(code):
        if found["ns"]:
            pending = ("ns", found["nsname"])
        elif found["kind"]:
            before = code[: found.start()].rstrip()
            parameter = before.endswith(("<", ",", "(", "enum"))
            if not parameter and not found["spec"]:
                pending = ("type", found["name"], found.start())
        elif found["end"]:
            pending = None
        elif found["open"]:
            if pending and pending[0] == "ns":
                scopes.append(pending[1])
            else:
                if pending and None not in scopes and "" not in scopes:
                    yield "::".join([*scopes, pending[1]]), pending[2]
                scopes.append(None)
            pending = None
        elif scopes:
            scopes.pop()


def _group(path):
    parts = path.split("/")
    if parts[0] in PRODUCT:
        return "product"
    return "/".join(parts[:-1])  # one folder of tests is a few programs that share its headers


def run(tree):
    known = {}  # group: {name: where}
    for path in tree.files:
        group = _group(path)
        code = tree.code(path)
        for name, offset in types(code):
            where = f"{path}:{line_of(code, offset)}"
            for other in sorted({group, "product"}):
                first = known.get(other, {}).get(name)
                if first is not None:
                    yield f"{where}: {name} is defined in {first} too: a namespace for what is private"
            known.setdefault(group, {}).setdefault(name, where)
