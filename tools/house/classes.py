"""A class has at most 40 methods and 15 data members.

tools/house/classes.txt is the ratchet, each line with the reason why that class may be larger; a class whose name
changes is renamed there by hand. A scanner of braces and parentheses, no compiler:
- Methods are member functions that the class declares, with constructors, operators, static ones and those
  that are defaulted or deleted. Those of one name are one operation and count once: a visitor of 43 kinds of
  facts is no 43 methods. Friends do not count, nor does what is inherited.
- Members are variables, static ones too unless const or constexpr. Enumerators and nested types count for
  themselves, not for the class around them.
- A template's specialisations, and classes of one name in unnamed namespaces or function bodies, count as one
  class with the most that one of them has.
- It does not see what a macro declares (a macro that is called counts as a method), takes both branches of an
  #if, and takes a function that returns a pointer to a function for a member.
- What an anonymous struct or union inside a class has is not counted.
- A class that was cut into several (Fleet and Fleet::Impl) is several here, and free functions that take it
  by reference are not its methods.
"""

import re

from ratchet import Ratchet

LIST = Ratchet(
    "tools/house/classes.txt",
    {"methods": 40, "members": 15},
    {"methods": "split the class", "members": "split the class, or group its members"},
    reasons=True,
)

_MARK = re.compile(r"\{|\}|namespace|class|struct|union")  # literals alone are found fast
_SPACE = re.compile(r"\bnamespace\s+(?P<name>[\w:]+)\s*(?=\{)")
_CLASS = re.compile(
    r"(?<!enum )\b(?:class|struct|union)\b\s*(?:\[\[[^\]]*\]\]\s*|(?:alignas|SUBAK_\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*)*(?P<name>\w[\w:]*)"
    r"(?:\s*<[^;{}]*>)?(?:\s+final)?(?:\s*:(?!:)[^;{}]*)?\s*(?=\{)"
)
_GROUP = re.compile(r"[()\[\]{};]")
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)
_ACCESS = re.compile(r"\s*(?:(?:public|private|protected)\s*:(?!:)\s*)+")
_OPERATOR = re.compile(r"\boperator\s*(?:\(\)|\[\]|[^\s\w(\[]+|\"\"\s*\w+)")
_NOT_COUNTED = re.compile(r"(?:using|typedef|friend|static_assert)\b|$")
_TYPE = re.compile(r"(?:enum|class|struct|union)\b")
_ATTRIBUTE = re.compile(r"\[\]|\b(?:alignas|decltype|noexcept|requires|explicit|__attribute__|SUBAK_\w+)\s*\(\)|\bSUBAK_\w+")
_INITIALIZERS = re.compile(r"\)\s*:(?!:)")
_ANGLES = re.compile(r"<[^<>]*>")
_POINTER = re.compile(r"\s*(?:[\w:]+::)?[*&]")  # (*name)(int)
_NAME = re.compile(r"~?\s*\w*\s*$")
_CONSTANT = re.compile(r"\bstatic\b.*\b(?:const|constexpr)\b|\bconstexpr\b")


def _declarations(code, at):
    """Those of the class body that begins at `at`, without what is in their parentheses, brackets and braces."""
    head = []
    depth = 0
    for token in _GROUP.finditer(code, at):
        c = token.group(0)
        if c in _CLOSES:
            if depth == 0:
                head.append(code[at : token.start()] + c)
                if c == "(" and _POINTER.match(code, token.end()):
                    head.append("*")
            depth += 1
        elif c != ";":
            depth -= 1
            if depth < 0:
                return
            if depth == 0:
                head.append(c)
                at = token.end()
                if c == "}" and _ends_function("".join(head)):
                    yield "".join(head)
                    head = []
        elif depth == 0:
            yield "".join([*head, code[at : token.start()]])
            head = []
            at = token.end()


def _plain(declaration):
    """Without access, template parameters and arguments, attributes; an operator's name is a word."""
    text = _ACCESS.sub("", _OPERATOR.sub(_operator_name, declaration)).replace("->", " ")
    while "<" in text:
        less = _ANGLES.sub("", text)
        if less == text:
            break
        text = less
    text = _ATTRIBUTE.sub(" ", text).strip()
    while text.startswith("template "):
        text = text[len("template ") :].lstrip()
    return text


def _operator_name(match):
    return "operator_" + match.group(0)[len("operator") :].strip().encode().hex()


def _is_function(plain):
    opens = plain.split("=")[0].find("(")
    return opens >= 0 and plain[opens + 1] != "*"


def _ends_function(head):
    """`head` ends with braces: they are a function's body, not a type's nor an initializer."""
    plain = _plain(head[:-2])
    if not _is_function(plain):
        return False
    return not (_INITIALIZERS.search(plain) and re.search(r"[\w>]\s*$", head[:-2]))


def _members(plain):
    if _TYPE.match(plain):
        declared = plain.rpartition("}")[2].strip() if "}" in plain else ""
        return declared.count(",") + 1 if declared else 0
    if _CONSTANT.search(plain.split("=")[0]):
        return 0
    return plain.count(",") + 1


def count(code, at):
    """(names of methods, members) of the class whose body begins at `at`, behind the brace."""
    methods = set()
    members = 0
    for declaration in _declarations(code, at):
        plain = _plain(declaration)
        if _NOT_COUNTED.match(plain):
            continue
        if _is_function(plain):
            methods.add(_NAME.search(plain.split("(")[0])[0])
        else:
            members += _members(plain)
    return len(methods), members


def classes(code):
    """(qualified name, methods, members) of each class that has a name, in `code` as Tree.code() has it."""
    code = _PREPROCESSOR.sub("", code)
    scopes = []
    opened = ""  # by the next brace
    for mark in _MARK.finditer(code):
        c = mark.group(0)
        if c == "{":
            scopes.append(opened)
            opened = ""
        elif c == "}":
            if scopes:
                scopes.pop()
        else:
            found = (_SPACE if c == "namespace" else _CLASS).match(code, mark.start())
            if found:
                opened = found["name"]
            if found and c != "namespace":
                yield ("::".join([*filter(None, scopes), opened]), *count(code, found.end() + 1))


def measure(tree):
    """{qualified name: (methods, members)}."""
    found = {}
    for path in tree.files:
        for name, methods, members in classes(tree.code(path)):
            most = found.get(name, (0, 0))
            found[name] = (max(most[0], methods), max(most[1], members))
    return found


def run(tree):
    return LIST.complaints(tree, measure(tree))
