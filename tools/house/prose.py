#!/usr/bin/env python3
"""Documentation, comments and messages: width, length of sentences, and words that have a plain name.

Counted as a ratchet (tools/house/prose.txt):
  columns    lines of documentation over 100 columns, but for tables, code and one word that has no break
  sentences  those of more than 30 words in documentation, in the product's headers and in help texts
  words      those of WORDS in documentation, comments and strings of the product and in .proto files

  prose.py [PATH ...]     shows what is counted, with line and what to write instead
"""

import os
import re
import sys

import text as passages
from ratchet import Ratchet

COLUMNS = 100
WORDS_A_SENTENCE = 30
LIST = Ratchet(
    "tools/house/prose.txt",
    {"columns": 0, "sentences": 0, "words": 0},
    dict.fromkeys(("columns", "sentences", "words"), "tools/house/prose.py PATH shows them"),
)
_HELP = ("cli/", "server/config/")

_ACTOR = "who it is (a pod, the leader, an operator)"

# Word that each pattern has (lower case), pattern (a blank is any white space), what to write instead.
# A passage without the word is not searched. What matches twice counts once.
WORDS = (
    ("place", r"places? (?:(?:is|are|was|were|be|been) )?(?:given|taken) (?:back|up|again)", "hold; released, revoked"),
    (
        "place",
        r"(?:gives?|gave|giving|takes?|took|taking) (?:\w+ ){1,3}places?"
        r" (?:back|up)",
        "release, revoke the hold",
    ),
    (
        "place",
        r"(?:finds?|found|ha[sd]|have|gets?|got|lost|loses?) (?:an?|its|their|another|the)"
        r" places?(?! in)",
        "placement, hold",
    ),
    ("place", r"(?:no|kept|earlier) places?(?! in)", "placement, hold"),
    ("back", r"(?:is|are|was|were|be|been|being) (?:not )?(?:given|taken) back", "released, revoked"),
    ("back", r"(?:take|takes|took|taking) (?:it|them|quota|gangs?|pods?|holds?|jobs?) back", "revoke, preempt"),
    ("kept", r"kept (?:nodes?|idle|free|for(?! ever| a later))", "reserved"),
    ("kept", r"nodes? (?:(?:that|which) )?(?:(?:is|are|was|were|be|been) )?(?:not )?kept", "reserved"),
    ("keep", r"(?:keeps?|keeping) (?:(?:a|whole|idle|these) )?nodes?", "reserve"),
    ("told", r"told (?:(?:a|an|its|their|the) )?starts?", "start estimate"),
    ("told", r"starts? (?:that )?(?:(?:is|are|was|were|it|they) )+told", "start estimate"),
    ("odds", r"odds", "start-time calibration, quantiles"),
    ("outlook", r"outlooks?", "start estimate"),
    ("ahead", r"(?:runs?|ran|running)(?: \w+){0,3} ahead", "forecast simulation"),
    ("would", r"what (?:enforce|subak) would", "shadow mode, shadow pass"),
    ("rehears", r"rehears(?:e|es|ed|al|als|ing)", "dry-run pass"),
    (
        "card",
        r"cards? of (?:what is|each (?:pod|node)|a (?:pod|node))"
        r"|(?:pod|owner)(?:'s|s'|s)? cards?",
        "object cache, entry",
    ),
    ("tell", r"tellers?", "event recorder"),
    ("tell", r"tell(?:s|ing)? (?:people|the core|the owner|nobody|somebody|everybody)", "record, report to"),
    (
        "told",
        r"(?:core|people|owner|(?:no|some|every)body)"
        r" (?:is|are|was|were|has|have|had)(?: not)?(?: been)? told",
        "recorded, reported",
    ),
    ("word", r"words? of the core|the core's words?", "effect, command"),
    (
        "word",
        r"(?:earlier|newest|last|durable|later?|older?) words?"
        r" (?:of|from|that|may|can|counts?)",
        "effect, command, message",
    ),
    ("word", r"(?:an?|the|such a) word (?:of|from|that|may|can)", "effect, command, message"),
    ("bar", r"barred", "backed off"),
    ("bar", r"(?:an?|the|no|its|node|such a) bars?", "node back-off"),
    ("away", r"turn(?:s|ed|ing)?(?: \w+){0,3} away", "rejected by the node"),
    ("light", r"light (?:pods?|work|members?)", "non-GPU pods"),
    ("beat", r"(?:an?|the|of|its|no|each|last) beats?|beats? (?:is|are|was|were)", "heartbeat"),
    ("loss", r"accept(?:s|ed|ing)? (?:a |the )?loss|loss(?:es)? of facts", "data loss"),
    ("known", r"known facts?", "last durable sequence"),
    ("door", r"doors?", "connection limits"),
    ("cut", r"cuts? of the (?:log|file)|(?:log|file) (?:(?:is|was|that|be) )+cut", "torn write"),
    ("survey", r"survey(?:s|or|ors)?", "collector"),
    ("dear", r"dear(?:er|est|ly)?", "expensive"),
    (
        "line",
        r"lines? of jobs|jobs? (?:of|in) (?:a|one|its|the|that) lines?"
        r"|(?:first|head) of (?:a|its|the) line",
        "job class",
    ),
    ("line", r"(?:its|the) whole line|job's line|out of (?:its|the) line", "job class"),
    ("pictur", r"pictur(?:es?|ed)", "snapshot"),
    ("whole", r"whole gangs?|gangs? (?:(?:is|are|was|were|that) )+(?:not )?whole", "complete"),
    ("must", r"must\(\)", "check(), invariant()"),
    ("note", r"facts? (?:or|and|nor) notes?", "ephemeral change"),
    ("anew", r"anew", "again"),
    ("who", r"who(?:m|so)?ever", _ACTOR),
    ("whom", r"whom", _ACTOR),
    ("body", r"(?:no|some|every)body", _ACTOR),
    ("thereby", r"thereby", "so"),
)
# What is not a word of prose: before and after it stands no part of a name, path or call.
_WORDS = [
    (word, re.compile(r"(?<![\w.:/-])(?:" + ours.replace(" ", r"\s+") + r")(?![\w(]|[-.:/]\w)", re.I), plain)
    for word, ours, plain in WORDS
]


def wide_lines(text):
    """(line, columns) of each line of a document that is too long and could be broken."""
    code = passages.code_lines(text)
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) <= COLUMNS or number in code or line.lstrip().startswith("|"):
            continue
        if len(line.strip(" -*>").split()) > 1:
            yield number, len(line)


def long_sentences(found):
    """(line, words) of each sentence of the passages that is too long; its first words."""
    for passage in found:
        if passage.text.count(" ") + passage.text.count("\n") >= WORDS_A_SENTENCE:
            for line, words in passage.sentences():
                if len(words) > WORDS_A_SENTENCE:
                    yield line, f"{len(words)} words: {' '.join(words[:6])} ..."


def our_words(found):
    """(line, what to write) for each of our own words in the passages."""
    for passage in found:
        lower = passage.text.lower()
        hits = [(m, plain) for word, ours, plain in _WORDS if word in lower for m in ours.finditer(passage.text)]
        end = 0
        for match, plain in sorted(hits, key=lambda hit: hit[0].start()):
            if match.start() >= end:
                end = match.end()
                yield passage.line_at(match.start()), f'"{" ".join(match.group(0).split())}": write {plain}'


def offences(tree, path):
    """Of one file: a list of (line, what) for each limit of LIST."""
    text = tree.text(path)
    if path.endswith(".md"):
        read = passages.of_document(text)
        columns = [(line, f"{width} columns") for line, width in wide_lines(text)]
        return columns, list(long_sentences(read)), list(our_words(read))
    comments = passages.of_comments(text)
    literals = [] if path.endswith(".proto") else list(passages.of_literals(text))
    judged = comments if path.endswith(".h") else []
    if path.startswith(_HELP):
        judged = judged + literals
    return [], list(long_sentences(judged)), list(our_words(comments + literals))


def measure(tree):
    """{path: (columns, sentences, words)}."""
    return {path: tuple(map(len, offences(tree, path))) for path in tree.docs + tree.product() + tree.protos}


def run(tree):
    return LIST.complaints(tree, measure(tree))


def main():
    from source import Tree

    tree = Tree(os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))
    for path in sys.argv[1:] or tree.docs + tree.product() + tree.protos:
        for line, what in sorted(sum(offences(tree, path), [])):
            print(f"{path}:{line}: {what}")


if __name__ == "__main__":
    main()
