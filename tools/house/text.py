"""What people read in the tree, as passages: of documentation, of comments, of string literals.

A passage is a run of sentences: a paragraph, a list item, a cell of a table, a block of comment lines, a
string with those that follow it directly. Code in backticks counts as one word without a meaning.
"""

import re

from source import TOKEN, line_of

_FENCE = re.compile(r"\s*(?:```|~~~)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_CELL = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"(`+)(?:(?!\1).)+?\1(?!`)", re.S)
_LINK = re.compile(r"\]\([^)\s]*\)|<?https?://[^\s)>]+>?")
_DRAWN = re.compile(r"[-+=|<>v^ ]*(?:[|+]|---|===)[-+=|<>v^ ]*$|.*\S {4,}\S.*\S {4,}\S|.*[|+] {2,}.*[|+]$")
_COMMENT = re.compile(r"^(?://+|/\*+|\*+(?!/)) ?|\s*\*+/$")
_END = re.compile(r"[.!?]+[\"'”’)\]*_]*(?=\s|$)|\s·\s")
_NO_END = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|etc|approx|resp|[A-Za-z])$")
_ESCAPE = re.compile(r"\\(.)", re.S)


class Passage:
    """`line`: of its beginning in the file. Each newline in `text` is one in the file, where `exact`."""

    def __init__(self, line, text):
        self.line = line
        self.text = _LINK.sub("] ", _CODE.sub(_blank, text))

    def line_at(self, offset):
        return self.line + self.text.count("\n", 0, offset)

    def sentences(self):
        """(line, words) of each sentence. A word has a letter or digit."""
        begin = 0
        for end in [*(m for m in _END.finditer(self.text) if not _abbreviated(self.text, m)), None]:
            stop = end.end() if end else len(self.text)
            words = [w for w in self.text[begin:stop].split() if any(map(str.isalnum, w))]
            if words:
                yield self.line_at(self.text.index(words[0], begin)), words
            begin = stop


def _blank(match):
    return "Q" + "\n" * match.group(0).count("\n")


def _abbreviated(text, end):
    return end.group(0)[0] == "." and _NO_END.search(text, max(0, end.start() - 8), end.start())


class _Gather:
    """Joins lines to passages."""

    def __init__(self):
        self.done = []
        self.begin()

    def begin(self):
        """What comes next is a passage of its own."""
        if getattr(self, "lines", None):
            self.done.append(Passage(self.first, "\n".join(self.lines)))
        self.lines = []
        self.first = 0

    def add(self, number, line):
        if not self.lines:
            self.first = number
        self.lines.append(line)


def of_document(text):
    """Passages of a Markdown text: not its code blocks."""
    out = _Gather()
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
            out.begin()
        elif fenced or not line.strip():
            out.begin()
        elif line.lstrip().startswith("|"):
            out.begin()
            for cell in _CELL.split(_CODE.sub(_blank, line)):
                out.add(number, cell)
                out.begin()
        else:
            heading = line.startswith("#")
            if heading or _ITEM.match(line):
                out.begin()
            out.add(number, _ITEM.sub("", line))
            if heading:
                out.begin()
    out.begin()
    return out.done


def code_lines(text):
    """The numbers of a Markdown text's lines that are in code blocks, with the fences."""
    found = set()
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence or fenced:
            found.add(number)
        fenced ^= fence is not None
    return found


def comment_lines(text):
    """(line, column, alone, text) of each line of a comment."""
    line, at = 1, 0
    for token in TOKEN.finditer(text):
        if token.group(0)[0] != "/":
            continue
        line += text.count("\n", at, token.start())
        at = token.start()
        begin = text.rfind("\n", 0, at) + 1
        alone = not text[begin:at].strip()
        for i, row in enumerate(token.group(0).split("\n")):
            yield line + i, at - begin, alone, _COMMENT.sub("", row.rstrip() if i == 0 else row.strip())


def of_comments(text):
    """Passages of the comments of C++ or of a .proto.

    Lines that follow each other are one, also behind code. Of indented lines and list items each is a passage,
    with those below it that are indented deeper.
    """
    out = _Gather()
    last, column, base = 0, 0, 0
    for line, at, alone, words in comment_lines(text):
        indent = len(words) - len(words.lstrip())
        goes_on = indent > base if base else indent == 0
        if not (alone and line == last + 1 and at == column and goes_on) or _ITEM.match(words):
            out.begin()
            base = indent + 1 if _ITEM.match(words) else indent
        if _DRAWN.match(words) or not words.strip():
            out.begin()
        else:
            out.add(line, _ITEM.sub("", words))
        last, column = line, at
    out.begin()
    return out.done


def of_literals(text):
    """Passages of string literals with a blank in them: not of raw ones."""
    found = []  # (begin, end, text)
    for token in TOKEN.finditer(text):
        literal = token.group(0)
        if literal[0] != '"':
            continue
        inner = literal[1:-1]
        if found and not text[found[-1][1] : token.start()].strip():
            found[-1] = (found[-1][0], token.end(), found[-1][2] + inner)
        else:
            found.append((token.start(), token.end(), inner))
    for begin, _, inner in found:
        if " " in inner:
            line = line_of(text, begin)
            for block in _blocks(_ESCAPE.sub(_unescaped, inner).split("\n")):
                yield Passage(line, " ".join(block))


def _blocks(lines):
    """Lines that belong together: an indented or empty one stands alone."""
    block = []
    for line in lines:
        if block and (not line.strip() or line[0] == " " or block[-1][:1] in ("", " ")):
            yield block
            block = []
        block.append(line)
    yield block


def _unescaped(match):
    return "\n" if match.group(1) == "n" else match.group(1)
