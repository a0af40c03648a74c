"""Lists of what is beyond a limit today. A count may only fall, and a list says what is true.

A list has one line for each file, class or folder, sorted: its key and a count for each limit; "-" stands for
a count within its limit. What has no line must be within all limits. `check.py --ratchet` writes today's
counts where they fell, and takes a line along where git knows that the file was renamed. It raises none:
whoever must raise one (a file that was split, a class with a new name) edits the list, so that the review
sees it. A list that does not exist begins with today's counts. What follows a "#" on a line is the reason why
that line may stay. A list can demand one for each line.
"""

import os
import subprocess

_HINT = "check.py --ratchet"


class Ratchet:
    """`path`: the list. `limits`: {what is counted: the most that is fine}, in the order of the columns.
    `reasons`: each line needs a reason."""

    def __init__(self, path, limits, remedy, reasons=False):
        self.path = path
        self.limits = limits
        self.remedy = remedy
        self.reasons = reasons

    def beyond(self, counts):
        """{key: counts} of what is beyond a limit; 0 for a count within it."""
        found = {}
        for key, values in counts.items():
            excess = tuple(v if v > most else 0 for v, most in zip(values, self.limits.values()))
            if any(excess):
                found[key] = excess
        return found

    def read(self, tree):
        """{key: counts}, or None if there is no list."""
        full = os.path.join(tree.root, self.path)
        if not os.path.exists(full):
            return None
        allowed = {}
        with open(full, encoding="utf-8") as file:
            for line in file:
                words = line.split("#")[0].split()
                if words:
                    allowed[words[0]] = tuple(0 if w == "-" else int(w) for w in words[1:])
        return allowed

    def read_reasons(self, tree):
        """{key: what follows the "#" of its line}."""
        full = os.path.join(tree.root, self.path)
        if not os.path.exists(full):
            return {}
        with open(full, encoding="utf-8") as file:
            lines = [line.partition("#") for line in file]
        return {line.split()[0]: reason.strip() for line, _, reason in lines if line.split()}

    def complaints(self, tree, counts):
        found = self.beyond(counts)
        allowed = self.read(tree) or {}
        none = (0,) * len(self.limits)
        for key in sorted(found.keys() | allowed.keys()):
            now, was = found.get(key, none), allowed.get(key, none)
            for (what, most), n, before in zip(self.limits.items(), now, was):
                if n > before:
                    more = f"was {before} and may only fall" if before else f"at most {most}"
                    yield f"{key}: {n} {what}, {more}: {self.remedy[what]}"
                elif n < before:
                    yield f"{self.path}: {key} {before} {what} is out of date, now {n or 'fine'}: {_HINT}"
        if self.reasons:
            reasons = self.read_reasons(tree)
            for key in sorted(allowed.keys() & found.keys()):
                if not reasons.get(key):
                    yield f"{self.path}: {key} has no reason: write it behind a # at the end of its line"

    def lower(self, tree, counts):
        """Writes the list; yields what rose, which it leaves as it was."""
        found = self.beyond(counts)
        allowed = self.read(tree)
        reasons = self.read_reasons(tree)
        if allowed is not None:
            for old, new in _renamed(tree.root, self.path).items():
                if old in allowed and old not in found:
                    allowed.setdefault(new, allowed.pop(old))
                    reasons.setdefault(new, reasons.get(old, ""))
            found = {k: tuple(map(min, v, found[k])) for k, v in allowed.items() if k in found}
        with open(os.path.join(tree.root, self.path), "w", encoding="utf-8") as file:
            file.write(f"# {' '.join(['key', *self.limits])}: may only fall ({_HINT}).\n")
            for key, values in sorted(found.items()):
                if any(values):
                    reason = reasons.get(key)
                    words = [key, *(str(v) if v else "-" for v in values), *([f"# {reason}"] if reason else [])]
                    file.write(" ".join(words) + "\n")
        yield from self.complaints(tree, counts)


def _renamed(root, path):
    """{old: new} of files renamed since the list was committed last."""
    last = _git(root, "log", "-1", "--format=%H", "--", path).strip()
    if not last:
        return {}
    fields = _git(root, "diff", "-M", "--diff-filter=R", "--name-status", "-z", last).split("\0")
    return dict(zip(fields[1::3], fields[2::3]))


def _git(root, *args):
    done = subprocess.run(["git", "-C", root, *args], capture_output=True, check=False)
    return done.stdout.decode() if done.returncode == 0 else ""
