#!/usr/bin/env python3
"""Clusters come and go by command: --create, delete, the unused default, and what is warned of.

Usage: cluster_test.py SUBAK SUBAKD
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SUBAK, SUBAKD = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
DEADLINE_S = 120  # generous: other work may share the machine
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")
WHY = ("--reason", "test")


class Clusters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.state = os.path.join(folder.name, "subak.db")
        self.service = None
        self.addCleanup(self.stop)
        self.start()

    def start(self):
        self.service = subprocess.Popen(
            [SUBAKD, "--state", self.state, *PORTS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", self.service.stdout.readline()))
        self.environment = {**os.environ, "SUBAK_SERVER": ports["grpc"]}

    def stop(self):
        if self.service is None:
            return
        self.service.send_signal(signal.SIGTERM)
        self.service.communicate(timeout=DEADLINE_S)
        self.service = None

    def run_subak(self, *arguments, code=0):
        done = subprocess.run([SUBAK, *arguments], capture_output=True, text=True, timeout=DEADLINE_S,
                              env=self.environment, check=False)  # fmt: skip
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def names(self):
        rows = self.run_subak("cluster", "list", "--output", "csv").stdout.splitlines()
        return [row.split(",")[0] for row in rows[1:]]

    def fleet(self, name):
        self.run_subak("cluster", "import", "--cluster", name, "--nodes", "1x8:NVIDIA-H100-80GB-HBM3")

    def test_a_drain_may_begin_later(self):
        self.fleet("east")
        node = self.run_subak("cluster", "nodes", "--output", "csv").stdout.splitlines()[1].split(",")[0]
        done = self.run_subak("cluster", "drain", node, "--from", "2d", "--until", "54h", *WHY)
        self.assertRegex(done.stdout, rf"node {node} is drained from 20.* until 20.*; until then only jobs that end before it")
        row = self.run_subak("cluster", "nodes", "--output", "csv").stdout.splitlines()[1]
        self.assertRegex(row, r"drain \d\d-\d\d \d\d:\d\d,until \d\d-")
        done = self.run_subak("cluster", "drain", node, "--from", "2d", "--until", "1d", *WHY, code=1)
        self.assertRegex(done.stderr, "until: was .20.*, want a time after 20.*, when the drain begins")
        done = self.run_subak("cluster", "drain", node, "--from", "soon", *WHY, code=2)
        self.assertIn("or 4h for so long from now", done.stderr)
        self.run_subak("cluster", "undrain", node, *WHY)
        self.assertNotIn("drain", self.run_subak("cluster", "nodes").stdout)
        deeds = [line.split(",")[3] for line in self.run_subak("audit", "--output", "csv").stdout.splitlines()]
        self.assertTrue({"planned drain of node", "undrained node"} <= set(deeds), deeds)

    def test_the_map_has_a_character_for_each_gpu(self):
        self.run_subak("cluster", "import", "--cluster", "east", "--nodes", "3x8:NVIDIA-H100-80GB-HBM3")
        self.run_subak("cluster", "mode", "east", "enforce", *WHY)
        self.run_subak("account", "set", "ml", "--shares", "1", *WHY)
        job = json.loads(self.run_subak("job", "submit", "--account", "ml", "--gpus", "3", "--output", "json").stdout)["jobId"]
        nodes = [row["name"] for row in self.nodes_of("east")]
        self.run_subak("cluster", "drain", nodes[2], *WHY)
        for _ in range(10 * DEADLINE_S):
            shown = self.run_subak("cluster", "map").stdout
            if "+++" in shown:
                break
            time.sleep(0.1)
        rows = {line.split()[0]: line.split()[1] for line in shown.splitlines()[1:4]}
        self.assertEqual(sorted(rows), sorted(nodes))
        self.assertEqual(sorted(rows.values()), ["+++.....", "........", "dddddddd"])
        self.assertEqual(rows[nodes[2]], "dddddddd")
        self.assertRegex(shown, r"\n\. free 13 +\+ held 3 +d drained 8 *\n$")
        self.assertIn(f"{job} x3", self.run_subak("cluster", "map", "--output", "wide").stdout)
        self.assertRegex(self.run_subak("cluster", "map", "--by", "area").stdout, r"3 +\S{8} \S{8} \S{8} ")
        answer = json.loads(self.run_subak("cluster", "map", "--output", "json").stdout)
        self.assertEqual(answer["cluster"], "east")
        self.assertEqual(len(answer["nameRests"]), 3)
        early = self.run_subak("cluster", "map", "--at", "4").stdout
        self.assertNotIn("+", early.split("as of")[0])
        self.run_subak("cluster", "map", "--cluster", "west", code=4)
        self.assertLessEqual(max(len(line) for line in shown.splitlines()), 100)

    def test_a_rack_is_drained_at_once(self):
        self.run_subak("cluster", "import", "--cluster", "rack", "--nodes", "4x8:NVIDIA-H100-80GB-HBM3")
        nodes = [row["name"] for row in self.nodes_of("rack")]
        on = ("--cluster", "rack", *WHY)
        again = ("--request-id", "maintenance-7")
        done = self.run_subak("cluster", "drain", *nodes[:3], "--from", "2d", *again, *on)
        starts = re.findall(r"^node (\S+) is drained from (.*);", done.stdout, re.MULTILINE)
        self.assertEqual([name for name, _ in starts], nodes[:3])
        self.assertEqual(len({start for _, start in starts}), 1)
        edits = len(self.run_subak("audit", "--output", "csv").stdout.splitlines())
        self.run_subak("cluster", "drain", *nodes[:3], *on)  # now
        self.assertEqual([row["drained"] for row in self.nodes_of("rack")], [True] * 3 + [False])
        self.assertEqual(len(self.run_subak("audit", "--output", "csv").stdout.splitlines()), edits + 3)
        self.run_subak("cluster", "undrain", *nodes[:3], *again[:1], "maintenance-8", *on)
        self.run_subak("cluster", "undrain", *nodes[:3], *again[:1], "maintenance-8", *on)
        self.assertEqual(len(self.run_subak("audit", "--output", "csv").stdout.splitlines()), edits + 6)
        done = self.run_subak("cluster", "drain", nodes[0], "nowhere", nodes[1], *on, code=4)
        self.assertIn("nowhere", done.stderr)
        self.assertEqual([row["drained"] for row in self.nodes_of("rack")], [True] + [False] * 3)

    def nodes_of(self, cluster):
        answer = json.loads(self.run_subak("cluster", "nodes", "--cluster", cluster, "--output", "json").stdout)
        return [{"name": n["spec"]["name"], "drained": n.get("drained", False)} for n in answer["nodes"]]

    def test_labels_of_imported_nodes(self):
        labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "x/fabric": "ib-a", "x/policy": "single-numa-node",
                  "x/gpus": "4", "x/cpus": "56"}  # fmt: skip
        node = {"metadata": {"name": "n1", "labels": labels}, "status": {"allocatable": {"nvidia.com/gpu": "8"}}}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(node, file)
            file.flush()
            self.run_subak("cluster", "import", "--cluster", "east", "-f", file.name, "--rdma-fabric-label", "x/fabric",
                           "--numa-policy-label", "x/policy", "--numa-gpus-label", "x/gpus",
                           "--numa-cpus-label", "x/cpus")  # fmt: skip
        spec = json.loads(self.run_subak("cluster", "nodes", "--output", "json").stdout)["nodes"][0]["spec"]
        self.assertEqual([spec[key] for key in ("fabric", "numaGpus", "numaCpuMilli")], ["ib-a", "4", "56000"])
        head, row = self.run_subak("cluster", "nodes", "--output", "wide").stdout.splitlines()[:2]
        self.assertEqual(head.split()[-3:], ["FABRIC", "NUMA", "GPUS"])
        self.assertEqual(row.split()[-2:], ["ib-a", "4"])

    def test_an_unknown_name_is_no_new_cluster(self):
        done = self.run_subak("cluster", "mode", "mian", "enforce", *WHY, code=4)
        self.assertIn("--create creates a new one", done.stderr)
        self.assertEqual(self.names(), ["default"])
        done = self.run_subak("cluster", "mode", "main", "enforce", "--create", *WHY)
        self.assertIn("cluster main is in enforce", done.stdout)
        self.assertIn('no edge reports cluster "main"', done.stderr)
        self.assertEqual(self.names(), ["main"], "the unused default is in the way")

    def test_an_unused_default_stays_away(self):
        self.fleet("main")
        self.stop()
        self.start()
        self.assertEqual(self.names(), ["main"])

    def test_delete(self):
        self.fleet("main")
        self.fleet("old")
        self.run_subak("account", "set", "ml", *WHY)
        done = self.run_subak("job", "submit", "--cluster", "old", "--account", "ml", "--gpus", "16")
        self.assertIn('no launcher serves cluster "old"', done.stderr)
        job = done.stdout.split()[1]
        done = self.run_subak("cluster", "delete", "old", *WHY, code=1)
        self.assertIn(f"it has 1, the first is {job}", done.stderr)
        self.run_subak("job", "cancel", job)
        self.run_subak("cluster", "delete", "old", code=2)
        done = self.run_subak("cluster", "delete", "old", *WHY, "--dry-run")
        self.assertEqual(done.stdout, "cluster old would be removed\n")
        self.assertEqual(self.names(), ["main", "old"])
        done = self.run_subak("cluster", "delete", "old", *WHY)
        self.assertEqual(done.stdout, "cluster old is removed\n")
        self.assertEqual(self.names(), ["main"])
        self.run_subak("cluster", "delete", "old", *WHY, code=4)
        self.assertIn("old", self.run_subak("job", "get", job).stdout, "its jobs are still known")
        self.assertIn("old", self.run_subak("audit", "--limit", "2").stdout)
        self.stop()
        self.start()
        self.assertEqual(self.names(), ["main"])
        self.fleet("old")
        done = self.run_subak("cluster", "list", "--output", "json")
        self.assertEqual(re.findall(r'"id": (\d+)', done.stdout), ["2", "4"], "a number is given once")


if __name__ == "__main__":
    unittest.main()
