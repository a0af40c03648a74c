#!/usr/bin/env python3
"""console/src/link.ts: what the page says of its connection and its replica. Exit code 77: a package is missing.

  link_test.py TREE
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import Browser, bundled  # noqa: E402

TREE = sys.argv.pop(1) if len(sys.argv) > 1 else "."

NOW = 1_772_366_400_000  # 2026-03-01 12:00 UTC
LEADER = "{leads: true, epoch: 3}"
STANDBY = "{leads: false, epoch: 3, behindMs: 200}"
# Steps of a page, seconds after NOW: an answer of a replica, silence, or the name of a leader. Then what it says.
CASES = [
    # one process has the store, or the leader answers
    ([(0, "undefined")], 0, [], ""),
    ([(0, LEADER)], 0, [], ""),
    # a standby answers
    ([(0, STANDBY)], 0, ["This replica does not lead."], "Its figures are 1 s old."),
    ([(0, STANDBY), (0, "name gpu-7 3")], 3, ["This replica does not lead; gpu-7 does."], "Its figures are 4 s old."),
    ([(0, STANDBY), (0, "name  3")], 0, ["This replica does not lead, and it knows of no leader."], "Its figures are 1 s old."),
    ([(0, STANDBY), (0, "name gpu-6 2")], 0, ["This replica does not lead."], "Its figures are 1 s old."),
    # both answer in turn: the standby's figures count, until it has been silent for a while
    ([(0, STANDBY), (1, LEADER)], 1, ["This replica does not lead."], "Its figures are 2 s old."),
    ([(0, STANDBY), (9, LEADER)], 9, [], ""),
    # no answer comes
    ([(0, LEADER), (2, "silent"), (4, "silent")], 5,
     ["Connection lost at 12:00:02 UTC. The figures are old. The page tries again."], ""),
    ([(0, STANDBY), (2, "silent")], 5, ["Connection lost at 12:00:02 UTC. The figures are old. The page tries again."], ""),
    ([(0, LEADER), (2, "silent"), (7, LEADER)], 8,
     ["The connection was lost at 12:00:02 UTC and came back at 12:00:07 UTC."], ""),
    ([(0, LEADER), (2, "silent"), (7, LEADER)], 80, [], ""),
    # another replica leads
    ([(0, LEADER), (5, "{leads: true, epoch: 4}")], 6, ["Leader changed: another replica leads since 12:00:05 UTC."], ""),
    ([(0, LEADER), (5, "{leads: true, epoch: 4}"), (6, "name gpu-8 4")], 6,
     ["Leader changed: gpu-8 leads since 12:00:05 UTC."], ""),
    ([(0, STANDBY), (1, "{leads: true, epoch: 4}")], 80, [], ""),
    # a leader that does not know yet that another one leads
    ([(0, "{leads: true, epoch: 4}"), (1, LEADER)], 2, ["This replica does not lead."], "Its figures may be old."),
    # a leader without its database
    ([(0, "{leads: true, epoch: 3, behindMs: 4000}")], 1, ["The leader cannot reach its database."], "Its figures are 5 s old."),
]  # fmt: skip


def step(at, what):
    now = NOW + 1000 * at
    if what == "silent":
        return f"state = afterSilence(state, {now});"
    if what.startswith("name "):
        _, name, epoch = what.split(" ")
        return f"state = afterStatus(state, '{name}', {epoch});"
    return f"state = afterAnswer(state, {now}, {what});"


class Link(unittest.TestCase):
    def test_the_page_says_what_a_reader_must_know(self):
        code = bundled(TREE, "link")
        browser = Browser("")
        self.addCleanup(browser.stop)
        names = "const {afterAnswer, afterSilence, afterStatus, linkNews, ageNews} = link;"
        for steps, at, news, age in CASES:
            with self.subTest(steps=steps, at=at):
                run = " ".join(step(*one) for one in steps)
                now = NOW + 1000 * at
                told = browser.js(f"{code}\n{names} let state = {{}}; {run} return [linkNews(state, {now}, false), ageNews(state, {now})];")
                self.assertEqual(told, [news, age])
        with self.subTest("an earlier moment"):
            given = f"{code}\n{names} const past = (state) => linkNews(state, {NOW} + 5000, true);"
            self.assertEqual(browser.js(f"{given} return past(afterAnswer({{}}, {NOW}, {STANDBY}));"), [])
            self.assertEqual(browser.js(f"{given} return past(afterSilence({{}}, {NOW}));"),
                             ["Connection lost at 12:00:00 UTC. The page tries again."])


if __name__ == "__main__":
    unittest.main()
