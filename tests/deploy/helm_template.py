"""Renders the chart of deploy/helm, as `helm template` does, for machines without Helm.

Reads the part of Go's template language that the chart uses: if, else, with, variables, pipelines, parentheses and the
functions of `Functions`. Anything else is an error, and not silently left out.
"""

import base64
import functools
import json
import re

import yaml

# A text in quotes may contain "{{" and "}}".
_ACTION = re.compile(r'\{\{(-?)((?:"(?:\\.|[^"\\])*"|(?!-?\}\}).)*)(-?)\}\}', re.S)
_TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*"|:=|[()|=]|[^\s()|="]+)')


class TemplateError(Exception):
    pass


class Functions:
    """Each takes its arguments in the order of the template: the value of a pipeline comes last."""

    @staticmethod
    def default(other, value=None):
        return value if value else other

    @staticmethod
    def quote(value):
        return json.dumps(shown(value), ensure_ascii=False)

    @staticmethod
    def toYaml(value):
        return yaml.safe_dump(value, default_flow_style=False, width=10**6).rstrip("\n")

    @staticmethod
    def nindent(by, text):
        return "\n" + "\n".join(" " * by + line for line in text.split("\n"))

    @staticmethod
    def join(between, values):
        return between.join(shown(v) for v in values)

    @staticmethod
    def printf(form, *values):
        return form % tuple(shown(v) for v in values)

    @staticmethod
    def contains(part, text):
        return part in text

    @staticmethod
    def ternary(yes, no, condition):
        return yes if condition else no

    @staticmethod
    def b64enc(text):
        return base64.b64encode(text.encode()).decode()

    @staticmethod
    def semverCompare(wanted, version):
        least = re.fullmatch(r">=1\.(\d+)-0", wanted)
        there = re.match(r"v?1\.(\d+)", version)
        if not least or not there:
            raise TemplateError(f"versions {wanted}, {version}")
        return int(there.group(1)) >= int(least.group(1))

    @staticmethod
    def fail(message):
        raise TemplateError(message)

    @staticmethod
    def eq(a, b):
        return a == b

    @staticmethod
    def ne(a, b):
        return a != b

    @staticmethod
    def logical_not(value):
        return not value

    @staticmethod
    def logical_and(*values):
        return next((v for v in values if not v), values[-1])

    @staticmethod
    def logical_or(*values):
        return next((v for v in values if v), values[-1])


def shown(value):
    """As Go prints a value."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _function(name):
    found = getattr(Functions, {"not": "logical_not", "and": "logical_and", "or": "logical_or"}.get(name, name), None)
    if found is None:
        raise TemplateError(f"unknown function {name}")
    return found


class Expression:
    """Evaluates one action, from left to right."""

    def __init__(self, text, dot, root, variables):
        self.tokens = _TOKEN.findall(text)
        if "".join(self.tokens) != re.sub(r'("(?:\\.|[^"\\])*")|\s', lambda m: m.group(1) or "", text):
            raise TemplateError(f"cannot be read: {text}")
        self.dot, self.root, self.variables = dot, root, variables

    def peek(self):
        return self.tokens[0] if self.tokens else None

    def value(self):
        value = self.pipeline()
        if self.tokens:
            raise TemplateError(f"too much: {self.tokens}")
        return value

    def pipeline(self):
        value = self.command([])
        while self.peek() == "|":
            self.tokens.pop(0)
            value = self.command([value])
        return value

    def command(self, last):
        first = self.tokens.pop(0)
        if re.fullmatch(r"[a-zA-Z]\w*", first) and first not in ("true", "false"):
            arguments = []
            while self.peek() not in (None, "|", ")"):
                arguments.append(self.operand(self.tokens.pop(0)))
            return _function(first)(*arguments, *last)
        value = self.operand(first)
        if last or self.peek() not in (None, "|", ")"):
            raise TemplateError(f"{first} is no function")
        return value

    def operand(self, token):
        if token == "(":
            value = self.pipeline()
            if self.tokens.pop(0) != ")":
                raise TemplateError("want )")
            return value
        if token.startswith('"'):
            return json.loads(token)
        if token in ("true", "false"):
            return token == "true"
        if re.fullmatch(r"\d+", token):
            return int(token)
        if re.fullmatch(r"\$\w+", token):
            return self.variables[token]
        if token == ".":
            return self.dot
        if re.fullmatch(r"(\.\w+)+", token):
            value = self.dot
            for key in token[1:].split("."):
                if not isinstance(value, dict):
                    raise TemplateError(f"{token}: there is no {key}")
                value = value.get(key)
            return value
        raise TemplateError(f"cannot be read: {token}")


class Template:
    """The text as a tree: ("text", str), ("value", expression), ("if" or "with", expression, body, other)."""

    def __init__(self, text):
        self.parts = self._split(text)
        self.tree = self._block(top=True)[0]

    @staticmethod
    def _split(text):
        parts, at, trim = [], 0, False
        for action in _ACTION.finditer(text):
            before = text[at:action.start()]
            before = before.lstrip() if trim else before
            parts.append(("text", before.rstrip() if action.group(1) else before))
            parts.append(("action", action.group(2).strip()))
            at, trim = action.end(), bool(action.group(3))
        rest = text[at:].lstrip() if trim else text[at:]
        if "{{" in rest:
            raise TemplateError(f"cannot be read: {rest[rest.index('{{'):][:40]}")
        return parts + [("text", rest)]

    def _block(self, top=False):
        nodes = []
        while self.parts:
            kind, text = self.parts.pop(0)
            word = text.split(" ", 1)[0] if kind == "action" else ""
            if word in ("if", "with"):
                body, ends = self._block()
                other = self._block()[0] if ends == "else" else []
                nodes.append((word, text.split(" ", 1)[1], body, other))
            elif word in ("else", "end"):
                if top or text != word:
                    raise TemplateError(f"unexpected: {text}")
                return nodes, word
            else:
                nodes.append(("text" if kind == "text" else "value", text))
        if not top:
            raise TemplateError("an end is missing")
        return nodes, "end"

    def render(self, root):
        return "".join(self._render(self.tree, root, root, {}))

    def _render(self, nodes, dot, root, variables):
        for node in nodes:
            if node[0] == "text":
                yield node[1]
            elif node[0] == "value":
                assigned = re.match(r"(\$\w+) :?= (.*)", node[1], re.S)
                value = Expression(assigned.group(2) if assigned else node[1], dot, root, variables).value()
                if assigned:
                    variables[assigned.group(1)] = value
                else:
                    yield shown(value)
            else:
                value = Expression(node[1], dot, root, variables).value()
                inner = value if node[0] == "with" and value else dot
                yield from self._render(node[2] if value else node[3], inner, root, variables)


@functools.lru_cache(maxsize=None)
def template_of(text):
    return Template(text)


def merged(base, change):
    """The values with changes, as Helm merges them: maps by key, all else as a whole."""
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    return {**base, **{key: merged(base.get(key), value) for key, value in change.items()}}


def render(chart, values, namespace="subak-system", version="v1.30.0"):
    """{name of the template: text} with these values besides those of values.yaml."""
    own = yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))
    about = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    root = {
        "Values": merged(own, values),
        "Chart": {"AppVersion": about["appVersion"], "Name": about["name"]},
        "Release": {"Namespace": namespace},
        "Capabilities": {"KubeVersion": {"Version": version}},
    }
    files = [*sorted((chart / "templates").glob("*.yaml")), chart / "templates" / "NOTES.txt"]
    return {file.name: template_of(file.read_text(encoding="utf-8")).render(root) for file in files}
