#!/usr/bin/env python3
"""The real subak against the real subakd: exit codes and what each command says.

Usage: subak_test.py PATH_TO_SUBAK PATH_TO_SUBAKD
"""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

SUBAK, SUBAKD = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
DEADLINE_S = 120  # generous: other work may share the machine
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")
COLUMNS = 100


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        state = os.path.join(cls.folder.name, "subak.db")
        cls.server = subprocess.Popen(
            [SUBAKD, "--state", state, *PORTS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", cls.server.stdout.readline()))
        cls.environment = {**os.environ, "SUBAK_SERVER": ports["grpc"]}
        cls.serial = 0

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        cls.server.communicate(timeout=DEADLINE_S)
        cls.folder.cleanup()

    def run_subak(self, *arguments, stdin=""):
        return subprocess.run(
            [SUBAK, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            env=self.environment,
            check=False,
        )

    def ok(self, *arguments, stdin=""):
        done = self.run_subak(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        self.assertNotIn("\x1b", done.stdout)
        if "wide" not in arguments and "json" not in arguments and "csv" not in arguments:
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), COLUMNS, line)
        return done.stdout

    def fails(self, code, *arguments):
        done = self.run_subak(*arguments)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stderr.count("\n"), 2, done.stderr)
        return done.stderr

    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--output", "json"))

    def cluster(self):
        """A cluster of its own for each test."""
        Commands.serial += 1
        name = f"c{Commands.serial}"
        self.ok("cluster", "import", "--cluster", name, "--nodes", "2x8:NVIDIA-H100-80GB-HBM3")
        self.ok("cluster", "mode", name, "enforce", "--reason", "test")
        return name

    def account(self):
        Commands.serial += 1
        name = f"team{Commands.serial}"
        self.ok("account", "set", name, "--shares", "3", "--reason", "new team")
        return name

    def submit(self, cluster, account, *more):
        return self.json("job", "submit", "--cluster", cluster, "--account", account, *more)["jobId"]

    def test_status_and_version(self):
        self.cluster()
        out = self.ok("status")
        self.assertIn("serving, leader", out)
        self.assertIn("NVIDIA-H100", out)
        self.assertEqual(self.json("status")["state"], "serving")
        self.assertIn("state: serving", self.ok("status", "--output", "yaml"))
        self.assertRegex(self.ok("version"), r"^subak \d+\.\d+\.\d+\n$")

    def test_account_edits_show_a_diff(self):
        name = self.account()
        out = self.ok("account", "set", name, "--quota", "gpu=16", "--reason", "grow", "--dry-run")
        self.assertIn("would change", out)
        self.assertIn("- quota: none\n+ quota: gpu=16\n", out)
        self.assertIn("quota:      none", self.ok("account", "get", name))
        out = self.ok("account", "set", name, "--quota", "gpu=16", "--lend", "none", "--reason", "grow")
        self.assertIn("- lend: unlimited\n+ lend: 0\n", out)
        self.assertIn("so already", self.ok("account", "set", name, "--quota", "gpu=16", "--reason", "again"))
        account = self.json("account", "get", name)
        self.assertEqual(account["quota"], [{"product": "gpu", "milligpu": "16000"}])
        self.assertEqual(account["shares"], "3")
        self.assertIn("gpu=16", self.ok("account", "tree"))
        self.ok("account", "hold", name, "--reason", "audit")
        self.assertIn("held", self.ok("account", "tree", name))
        self.ok("account", "resume", name, "--reason", "done")
        self.ok("account", "drain", name, "--reason", "leaving")
        history = self.ok("account", "history", name)
        self.assertIn("new team", history)
        self.assertIn("leaving", history)
        self.ok("account", "delete", name, "--reason", "left")
        self.assertIn("deleted", self.ok("account", "history", name))
        self.assertIn(name, self.ok("audit", "--subject", name))

    def test_refusals(self):
        name = self.account()
        self.fails(4, "account", "get", "nobody")
        self.fails(1, "account", "set", name, "--shares", "2", "--reason", "x", "--revision", "77")
        self.assertIn("path", self.fails(1, "account", "set", "Bad Name", "--reason", "x"))
        self.fails(2, "account", "set", name, "--shares", "2")
        self.fails(4, "job", "get", "1-999999")
        self.fails(4, "job", "watch", "1-999999")
        self.fails(1, "plan")
        self.assertEqual(self.run_subak("--server", "127.0.0.1:1", "status").returncode, 3)

    def test_account_file(self):
        name = self.account()
        text = f"accounts:\n- path: {name}\n  shares: 5\n- path: {name}.a\n  quota: gpu=4\n"
        path = os.path.join(self.folder.name, "accounts.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = self.run_subak("account", "diff", "-f", path)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("+ quota: gpu=4", done.stdout)
        self.assertIn("2 accounts would change", self.ok("account", "apply", "-f", path, "--reason", "x", "--dry-run"))
        self.assertIn("2 accounts changed", self.ok("account", "apply", "-f", path, "--reason", "x"))
        self.assertEqual(self.ok("account", "diff", "-f", path), "")
        self.ok("account", "apply", "-f", "-", "--reason", "x", stdin=text)
        done = self.run_subak("account", "diff", "-f", path, "--prune")
        others = [line for line in done.stdout.splitlines() if line.startswith("apply would")]
        self.assertTrue(all("delete" in line for line in others), others)
        self.assertFalse(any(line.endswith((name, f"{name}.a")) for line in others), others)
        self.ok("account", "delete", f"{name}.a", "--reason", "x")

    def test_jobs(self):
        cluster, team = self.cluster(), self.account()
        ask = ("--gpus", "16", "--user", "ana", "--name", "train")
        first = self.submit(cluster, team, *ask, "--request-id", "r1-" + cluster)
        self.assertEqual(self.submit(cluster, team, *ask, "--request-id", "r1-" + cluster), first)
        second = self.submit(cluster, team, "--gpus", "8", "--time-limit", "2h")
        self.assertIn("would queue 1x1", self.ok("job", "submit", "--cluster", cluster, "--account", team,
                                                 "--gpus", "1", "--dry-run"))  # fmt: skip
        job = self.json("job", "get", first)
        self.assertEqual(job["state"], "JOB_STATE_RESERVED")
        self.assertEqual(len(job["pods"]), 2)
        self.assertIn("0-7", self.ok("job", "get", first))
        self.assertIn("train", self.ok("job", "list", "--account", team))
        queue = self.ok("queue", "--account", team)
        self.assertIn(second, queue)
        self.assertIn("1x8", queue)
        rows = list(csv.DictReader(io.StringIO(self.ok("queue", "--account", team, "--output", "csv"))))
        self.assertEqual([(row["JOB"], row["ACCOUNT"]) for row in rows], [(second, team)])
        why = self.ok("why", second)
        self.assertIn("position ", why)
        self.assertIn("it waits because of", why)
        self.assertIn(team, why)
        self.assertGreaterEqual(len(self.json("why", second)["reasons"]), 1)
        self.ok("job", "hold", second)
        self.assertIn("held", self.ok("job", "get", second))
        self.ok("job", "release", second)
        self.ok("job", "cancel", second, "--reason", "enough")
        self.assertIn("cancelled", self.ok("job", "watch", second))
        self.assertIn(second, self.ok("job", "list", "--state", "done"))
        self.fails(4, "job", "submit", "--cluster", cluster, "--account", "nobody", "--gpus", "1")
        share = {row["account"] + row["user"]: row for row in self.json("share", team)["rows"]}
        self.assertEqual(share[team]["heldMilligpu"], "16000")
        self.assertIn("ana", self.ok("share", team))
        self.assertIn("RawShares", self.ok("share", team, "--output", "wide"))

    def test_kubernetes_nodes(self):
        nodes = os.path.join(DATA, "fleet.json")
        self.assertIn("8 nodes", self.ok("cluster", "import", "--cluster", "k8s", "-f", nodes, "--dry-run"))
        self.assertIn("8 nodes with 42 GPUs", self.ok("cluster", "import", "--cluster", "k8s", "-f", nodes))
        with open(nodes, encoding="utf-8") as file:
            text = file.read()
        self.ok("cluster", "import", "--cluster", "k8s", "-f", "-", stdin=text)
        out = self.ok("cluster", "nodes", "--cluster", "k8s")
        for part in ("shared x5", "cordoned", "not ready"):
            self.assertIn(part, out)
        self.assertIn("clique", self.ok("cluster", "domains", "--cluster", "k8s"))
        self.assertRegex(self.ok("cluster", "mig", "--cluster", "k8s"), r"mig-mixed\s+1g\.10gb\s+14\s+0")
        self.ok("cluster", "drain", "mig-mixed", "--cluster", "k8s", "--reason", "driver")
        self.assertIn("drained", self.ok("cluster", "nodes", "--cluster", "k8s"))
        self.ok("cluster", "undrain", "mig-mixed", "--cluster", "k8s", "--reason", "done")
        self.fails(4, "cluster", "drain", "nowhere", "--cluster", "k8s", "--reason", "x")
        self.ok("cluster", "mode", "k8s", "warn", "--namespace", "a=enforce,b=observe", "--reason", "try")
        self.assertIn("a=enforce,b=observe", self.ok("cluster", "list"))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write('{"items":[')
            file.flush()
            self.fails(2, "cluster", "import", "-f", file.name)

    def test_usage(self):
        self.assertIn("TOTAL", self.ok("usage", "report", "--by", "user,day,state,product", "--from", "7d"))
        self.assertIn("FACT", self.ok("usage", "ledger", "--limit", "5"))
        self.assertIn("every balance is the sum of its rows", self.ok("usage", "verify"))
        self.assertEqual(self.json("usage", "verify")["drift"]["gpuSeconds"], "0")

    def test_every_list_in_every_form(self):
        for command in (["status"], ["account", "tree"], ["share"], ["queue"], ["job", "list"], ["cluster", "list"],
                        ["audit"], ["usage", "report"], ["usage", "ledger"]):  # fmt: skip
            self.json(*command)
            for form in ("table", "wide", "yaml", "csv"):
                self.ok(*command, "--output", form)


if __name__ == "__main__":
    unittest.main()
