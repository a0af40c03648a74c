"""The core decides from its inputs alone: no clock, chance, environment, I/O, threads or exceptions.

Outside the core one file reads a clock, server/runtime/clock/clock.cc; everybody else asks it (tests, `cli`
and `sim`, which measure themselves, may time what they like). Where a library wants a deadline of its own
clock, a comment `// clock: why` on that line or the one before says so.

A mutex of the product is subak::Mutex, whose use `make lint` checks (threads/mutex.h).
"""

import re

from source import CORE, line_of

_CORE_INCLUDES = re.compile(
    r"#\s*include\s*<(random|ctime|time\.h|sys/[^>]*|unistd\.h|iostream|fstream|sstream"
    r"|filesystem|thread|mutex|shared_mutex|atomic|condition_variable|future|execution"
    r"|locale|csignal|stdexcept)>"
)
_CORE_WORDS = re.compile(
    r"(?<![\w.])(?<!->)(?:std::|::)?("
    r"(?:time|clock|rand|srand|random|getenv|fopen|printf|fprintf|puts|gettimeofday|clock_gettime"
    r"|system|getpid|sleep|usleep)\s*\("
    r"|(?:random_device|system_clock|steady_clock|high_resolution_clock|mt19937\w*|cout|cerr|thread_local)\b"
    r"|(?:throw|try|catch)\b)"
)
_CLOCKS = re.compile(
    r"\b(?:system_clock|steady_clock|high_resolution_clock)\s*::\s*now\b"
    r"|(?<![\w.])(?<!->)(?:std::|::)?(?:gettimeofday|clock_gettime)\s*\("
    r"|\bstd::time\s*\(|(?<![\w.:])time\s*\(\s*(?:nullptr|NULL|0)\s*\)"
)
_LOCKS = re.compile(r"\bstd::(?:recursive_|shared_|timed_)*mutex\b|\bstd::(?:lock_guard|unique_lock|scoped_lock|condition_variable)\b")
_THE_LOCK = "threads/mutex.h"
_THE_CLOCK = "server/runtime/clock/clock.cc"
# `Type time(` declares a member of that name; a call never follows a plain word.
_DECLARED = re.compile(r"[\w>&*]\s+$")


def run(tree):
    for path in tree.under(*CORE):
        text = tree.code(path)
        for match in _CORE_INCLUDES.finditer(text):
            yield f"{path}:{line_of(text, match.start())}: <{match.group(1)}> has no place in the core"
        for match in _CORE_WORDS.finditer(text):
            word = match.group(1).rstrip("( \t\n")
            before = text[: match.start()]
            if match.group(0).endswith("(") and _DECLARED.search(before[-80:]):
                if not re.search(r"\breturn\s+$", before[-80:]):
                    continue
            yield f"{path}:{line_of(text, match.start())}: `{word}` has no place in the core"
    for path in tree.under("kube", "admission", "server"):
        if path == _THE_CLOCK:
            continue
        text = tree.code(path)
        for match in _CLOCKS.finditer(text):
            line = line_of(text, match.start())
            if any("// clock: " in row for row in tree.text(path).splitlines()[max(0, line - 2) : line]):
                continue
            yield f"{path}:{line}: reads a clock; ask subak::Clock ({_THE_CLOCK})"
    for path in tree.under("kube", "net", "admission", "server", "cli", "sim"):
        if path == _THE_LOCK:
            continue
        text = tree.code(path)
        for match in _LOCKS.finditer(text):
            yield f"{path}:{line_of(text, match.start())}: `{match.group(0)}`: use subak::Mutex ({_THE_LOCK})"
