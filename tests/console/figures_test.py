#!/usr/bin/env python3
"""Figures of the pages equal those of the command line, at the same fact.

  figures_test.py SUBAK_PLAY SUBAKD SUBAK TREE PAGES

The played cluster runs for a while, then its player is stopped, so that the state stays as it is.
"""

import json
import os
import re
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import Browser, Played, until  # noqa: E402

PLAY, SERVICE, CLI, TREE, PAGES = sys.argv[1:6]
del sys.argv[1:6]

LEAST_FACTS = 600
STILL_S = 3
ROWS = "return [...document.querySelectorAll('.tbody .tr')].map((row) => [...row.children].map((cell) => cell.innerText.trim()))"


def gpus(milligpu):
    return f"{int(milligpu) / 1000:,.3f}".rstrip("0").rstrip(".")


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.played = Played(PLAY, SERVICE, CLI, TREE, PAGES)
        cls.addClassCleanup(cls.played.stop)
        cls.browser = Browser(cls.played.url)
        cls.addClassCleanup(cls.browser.stop)
        until(f"there are {LEAST_FACTS} facts", lambda: cls.sequence() >= LEAST_FACTS, 400)
        player = cls.played.processes[0]
        player.send_signal(signal.SIGSTOP)
        cls.addClassCleanup(player.send_signal, signal.SIGCONT)
        cls.browser.look(1280, "light")

    @classmethod
    def sequence(cls):
        return int(cls.played.call("AdminService/GetStatus", {})[0]["followerSequence"])

    def at_one_fact(self, path, check):
        """Opens the view and calls check(), until no fact came in between."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            before = self.sequence()
            time.sleep(STILL_S)
            self.browser.open(path)
            told = int(re.search(r"fact (\d+)", self.browser.text(".as-of")).group(1))
            figures = check()
            if before == told == self.sequence():
                self.assertGreater(len(figures), 0)
                for what, page, command in figures:
                    self.assertEqual(page, command, f"{what} at fact {told}")
                return len(figures)
        self.fail(f"{path}: the state never stayed the same")

    def subak(self, *arguments):
        return json.loads(self.played.subak("--output", "json", *arguments))

    def overview(self):
        status = self.subak("status")
        text = self.browser.text()
        figures = []
        for name in ("running", "starting", "queued", "ending", "paused", "incomplete"):
            found = re.search(rf"(\d[\d,]*)\s+{name}\b", self.browser.text(".tiles"))
            figures.append((name, found and found.group(1), f"{int(status['jobs' + name.capitalize()]):,}"))
        for product in status["clusters"][0]["products"]:
            found = re.search(rf"{product['product']}\s+([\d.,]+) of ([\d.,]+) GPUs in use, ([\d.,]+) idle", text)
            names = ("allocatedMilligpu", "installedMilligpu", "idleMilligpu")
            figures.append((product["product"], found and found.groups(), tuple(gpus(product[name]) for name in names)))
        return figures

    def queue(self):
        shown = self.browser.js(ROWS)
        figures = []
        for row, listed in zip(shown, self.subak("queue", "--limit", "12")["rows"], strict=False):
            spec, reason = listed["job"]["spec"], listed["waitsFor"]
            owner = spec["account"] + ("/" + spec["user"] if spec["user"] else "")
            want = [listed["position"], listed["job"]["id"], owner, listed["shape"], gpus(listed["job"]["milligpu"])]
            page = [row[0].replace("–", "0").replace(",", ""), row[1].split("\n")[0], *row[3:6]]
            figures.append((listed["job"]["id"], page, want))
            first = f"{reason['token']} {reason['subject']}".strip()
            figures.append((f"reason of {want[1]}", row[7].split("\n")[0].strip(), first))
        return figures

    def shares(self):
        figures = []
        listed = {
            row["account"] + ("/" + row["user"] if row["user"] else "") or "root": row for row in self.subak("share")["rows"]
        }
        for cells in self.browser.js(ROWS):
            row = listed[cells[0]]
            held = int(row["heldMilligpu"]) + int(row["runningMilligpu"])
            want = [f"{100 * row['normShares']:.1f} %", f"{gpus(held)} GPUs", gpus(row["quotaMilligpu"])]
            figures.append((cells[0], [cells[1], cells[4].strip(), cells[5]], want))
        self.assertEqual(len(figures), len(listed))
        return figures

    def test_the_overview(self):
        self.assertGreaterEqual(self.at_one_fact("/overview", self.overview), 9)

    def test_the_queue(self):
        self.assertGreaterEqual(self.at_one_fact("/queue", self.queue), 20)

    def test_the_teams(self):
        self.assertGreaterEqual(self.at_one_fact("/teams", self.shares), 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
