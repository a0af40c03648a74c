#!/usr/bin/env python3
"""An account file of 10,000 accounts in 5 levels, applied while the service is killed: all accounts are there, or none.

Usage: account_apply_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SUBAKD, SUBAK = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
KILLS = int(os.environ.get("SUBAK_APPLY_KILLS", "6"))
SEED = int(os.environ.get("SUBAK_APPLY_SEED", "1"))
DEADLINE_S = 300  # generous: other work may share the machine
LISTEN = "--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0"
FANS = 6, 6, 6, 6, 6  # children at each level: 9,330 accounts


def paths(parent="", fans=FANS):
    for i in range(fans[0]):
        path = f"{parent}.a{i}" if parent else f"a{i}"
        yield path
        if fans[1:]:
            yield from paths(path, fans[1:])


class Service:
    def __init__(self, state):
        command = SUBAKD, "--state", state, *LISTEN
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.server = dict(re.findall(r"(\w+)=([\d.]+:\d+)", self.child.stdout.readline()))["grpc"]

    def start(self, *arguments):
        command = SUBAK, "--server", self.server, *arguments
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments):
        child = self.start(*arguments)
        out, err = child.communicate(timeout=DEADLINE_S)
        return child.returncode, out, err

    def accounts(self):
        code, out, err = self.run("account", "tree", "--output", "json")
        assert code == 0, err
        return {a["path"]: int(a["shares"]) for a in json.loads(out)["accounts"] if a["path"]}

    def end(self, how):
        self.child.send_signal(how)
        self.child.communicate(timeout=DEADLINE_S)


class ApplyTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.service = None
        self.addCleanup(lambda: self.service.end(signal.SIGKILL))
        self.all = list(paths())

    def start(self):
        self.service = Service(os.path.join(self.folder.name, "subak.db"))

    def file(self, shares):
        path = os.path.join(self.folder.name, f"shares{shares}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"- {{path: {account}, shares: {shares}}}\n" for account in self.all)
        return path

    def test_all_or_nothing_whenever_the_service_is_killed(self):
        chance = random.Random(SEED)
        self.start()
        begin = time.time()
        code, out, err = self.service.run("account", "apply", "-f", self.file(1), "--reason", "first")
        whole_s = time.time() - begin
        self.assertEqual((code, err), (0, ""))
        self.assertIn(f"{len(self.all)} accounts changed", out.splitlines()[-1])
        shares, cut = 1, 0
        for kill in range(KILLS):
            apply = self.service.start("account", "apply", "-f", self.file(kill + 2), "--reason", "more")
            time.sleep(chance.uniform(0.1, 1.1) * whole_s)
            self.service.end(signal.SIGKILL)
            apply.communicate(timeout=DEADLINE_S)
            self.start()
            found = set(self.service.accounts().values())
            self.assertEqual(len(found), 1, f"kill {kill}: a part of the file was applied: {found}")
            now = found.pop()
            self.assertIn(now, (shares, kill + 2))
            if apply.returncode == 0:
                self.assertEqual(now, kill + 2, "the acknowledged file is applied")
            cut += apply.returncode != 0
            shares = now
        self.assertGreater(cut, 0, "no kill came before the answer")
        print(f"seed {SEED}: {KILLS} kills, {cut} before the answer", file=sys.stderr)

    def test_a_subtree_moves_whole_whenever_the_service_is_killed(self):
        chance = random.Random(SEED)
        self.start()
        code, _, err = self.service.run("account", "apply", "-f", self.file(1), "--reason", "first")
        self.assertEqual((code, err), (0, ""))
        paths, cut, whole_s = ["a0", "a1.moved"], 0, 0.3
        for kill in range(KILLS):
            begin = time.time()
            move = self.service.start("account", "move", *paths, "--reason", "a new place")
            if kill > 0:
                time.sleep(chance.uniform(0.1, 1.1) * whole_s)
                self.service.end(signal.SIGKILL)
            move.communicate(timeout=DEADLINE_S)
            if kill == 0:
                self.assertEqual(move.returncode, 0)
                whole_s = time.time() - begin
                self.service.end(signal.SIGKILL)
            self.start()
            found = set(self.service.accounts())
            below = {path: sum(p == path or p.startswith(path + ".") for p in found) for path in paths}
            self.assertEqual(len(found), len(self.all))
            self.assertEqual(sorted(below.values()), [0, len(self.all) // 6], f"kill {kill}: {below}")
            moved = below[paths[0]] == 0
            if move.returncode == 0:
                self.assertTrue(moved, "the acknowledged move is made")
            cut += move.returncode != 0
            if moved:
                paths.reverse()
        print(f"seed {SEED}: {KILLS} moves with kills, {cut} before the answer", file=sys.stderr)

    def test_undo_of_all(self):
        self.start()
        code, out, err = self.service.run("account", "apply", "-f", self.file(3), "--reason", "first")
        self.assertEqual(code, 0, err)
        revision = re.search(r"revision (\d+)", out).group(1)
        code, out, err = self.service.run("account", "undo", revision, "--reason", "wrong")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.service.accounts(), {})


if __name__ == "__main__":
    if sys.argv[-1] == "--list":
        print("ApplyTest", *unittest.TestLoader().getTestCaseNames(ApplyTest), sep="\n  ")
    else:
        unittest.main()
