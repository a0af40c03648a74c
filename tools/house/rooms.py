"""A folder of the product is a room: it has a README that names what it uses, and no circle of rooms exists.

The README has at most ten lines. Its line "Uses:" names the rooms whose headers its files include, and no
others. docs/img/rooms.svg draws the rooms and these arrows.

  rooms.py [--root DIR] --write     writes the lines "Uses:" and the drawing
"""

import argparse
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from names import PRODUCT  # noqa: E402
from source import Tree  # noqa: E402

DRAWING = "docs/img/rooms.svg"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]*)"', re.M)
_USES = re.compile(r"^Uses: ", re.M)
_MOST_LINES = 10
_NOTHING = "nothing of this tree"


def arrows(tree):
    """{room: set of the rooms that it uses}."""
    files = tree.under(*PRODUCT)
    known = set(files)
    found = {}
    for path in files:
        room = os.path.dirname(path)
        used = found.setdefault(room, set())
        for name in _INCLUDE.findall(tree.code(path)):
            if name in known and os.path.dirname(name) != room:
                used.add(os.path.dirname(name))
    return found


def floors(graph):
    """[[room, ...], ...] from the bottom up: a room stands above all that it uses. A circle: an exception."""
    height = {}

    def climb(room, path):
        if room in path:
            raise ValueError(" uses ".join(path[path.index(room) :] + [room]))
        if room not in height:
            height[room] = 1 + max((climb(used, path + [room]) for used in sorted(graph.get(room, ()))), default=-1)
        return height[room]

    rows = collections.defaultdict(list)
    for room in sorted(graph):
        rows[climb(room, [])].append(room)
    return [rows[h] for h in sorted(rows)]


def reduced(graph):
    """The arrows without those that a longer way shows too."""

    def below(room, seen):
        for used in graph.get(room, ()):
            if used not in seen:
                seen.add(used)
                below(used, seen)
        return seen

    out = {}
    for room, used in graph.items():
        far = set()
        for one in used:
            far |= below(one, set())
        out[room] = used - far
    return out


_WIDTH, _HEIGHT, _ROW, _GAP, _FONT = 1360, 26, 74, 14, 13


def _placed(rows, graph):
    """{room: (x, y, width)}; each row sorted by the mean of what it uses."""
    spots = {}
    for number, row in enumerate(rows):
        def mean(room):
            at = [spots[used][0] + spots[used][2] / 2 for used in graph[room] if used in spots]
            return (sum(at) / len(at) if at else _WIDTH / 2, room)

        row = sorted(row, key=mean)
        widths = [len(room) * 7.4 + 16 for room in row]
        space = (_WIDTH - sum(widths)) / (len(row) + 1)
        x = space
        y = 30 + (len(rows) - 1 - number) * _ROW
        for room, width in zip(row, widths):
            spots[room] = (round(x), y, round(width))
            x += width + max(space, _GAP)
    return spots


def drawing(graph):
    """The SVG: rooms in rows, each above what it uses; arrows that a longer way shows are left out."""
    few = reduced(graph)
    rows = floors(graph)
    spots = _placed(rows, few)
    height = 30 + len(rows) * _ROW
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="{_FONT}">',
        "<title>The rooms of the source tree and what each uses</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#8a94a6"/></marker></defs>',
    ]
    for room in sorted(few):
        x, y, width = spots[room]
        for used in sorted(few[room]):
            to_x, to_y, to_width = spots[used]
            out.append(
                f'<line x1="{x + width / 2:g}" y1="{y + _HEIGHT}" x2="{to_x + to_width / 2:g}" y2="{to_y}" '
                'stroke="#b8c0cc" marker-end="url(#tip)"/>'
            )
    shades = ("#f1f5f9", "#fde68a", "#e2e8f0", "#fae8ff", "#ffe4e6", "#e0e7ff", "#ecfccb", "#cffafe", "#dbeafe", "#dcfce7", "#fef3c7", "#fbcfe8")
    for room in sorted(spots):
        x, y, width = spots[room]
        shade = shades[PRODUCT.index(room.split("/")[0]) % len(shades)]
        out.append(f'<rect x="{x}" y="{y}" width="{width}" height="{_HEIGHT}" rx="4" fill="{shade}" stroke="#64748b"/>')
        out.append(f'<text x="{x + width / 2:g}" y="{y + 18}" text-anchor="middle" fill="#111827">{room}</text>')
    return "\n".join(out + ["</svg>", ""])


def uses_line(used):
    return "Uses: " + (", ".join(f"`{room}`" for room in sorted(used)) or _NOTHING)


def run(tree):
    graph = arrows(tree)
    if not graph:
        return
    try:
        floors(graph)
    except ValueError as circle:
        yield f"a circle of rooms: {circle}"
        return
    for room in sorted(graph):
        path = f"{room}/README.md"
        if not os.path.isfile(os.path.join(tree.root, path)):
            yield f"{room}: has no README.md that says what lives here and where to start reading"
            continue
        text = tree.text(path)
        if text.count("\n") > _MOST_LINES:
            yield f"{path}: {text.count(chr(10))} lines, at most {_MOST_LINES}"
        if not text.startswith("# "):
            yield f"{path}: wants a heading in its first line, such as \"# {room}: ...\""
        want = uses_line(graph[room])
        said = _USES.search(text)  # all after it is compared too
        if not said or " ".join(text[said.start() :].split()) != want:
            yield f"{path}: wants \"{want}\": rooms.py --write"
    if os.path.isfile(os.path.join(tree.root, DRAWING)):
        if tree.text(DRAWING) != drawing(graph):
            yield f"{DRAWING}: is not what the includes say: rooms.py --write"
    elif len(graph) > 1 and os.path.isdir(os.path.join(tree.root, "docs")):
        yield f"{DRAWING}: missing: rooms.py --write"


def write(tree):
    import textwrap

    graph = arrows(tree)
    for room, used in graph.items():
        path = os.path.join(tree.root, room, "README.md")
        if not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8") as file:
            head = _USES.split(file.read(), maxsplit=1)[0].rstrip()
        lines = textwrap.fill(uses_line(used), 100, break_long_words=False, break_on_hyphens=False)
        with open(path, "w", encoding="utf-8") as file:
            file.write(head + "\n\n" + lines + "\n")
    with open(os.path.join(tree.root, DRAWING), "w", encoding="utf-8") as file:
        file.write(drawing(graph))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--write", action="store_true", required=True)
    write(Tree(os.path.abspath(parser.parse_args().root)))
