#!/usr/bin/env python3
"""The program as a plugin of kubectl: lists of the namespace of the kubeconfig's context, and jobs by the names of pods.

Usage: kubectl_plugin_test.py PATH_TO_SUBAK PATH_TO_SUBAKD PATH_TO_STANDIN
kubectl itself is called too if it is installed.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from standin_cluster import Cluster

SUBAK, SUBAKD, STANDIN = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEADLINE_S = 120  # generous: other work may share the machine
CONTEXTS = """apiVersion: v1
kind: Config
current-context: a
clusters: [{name: here, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: me, user: {token: secret}}]
contexts:
- {name: a, context: {cluster: here, user: me, namespace: team-a}}
- {name: b, context: {cluster: here, user: me, namespace: team-b}}
- {name: lost, context: {cluster: here, user: me, namespace: nobody}}
- {name: plain, context: {cluster: here, user: me}}
"""


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        at = cls.folder.name
        cls.cluster = Cluster(STANDIN, at)
        cls.plugin = os.path.join(at, "kubectl-subak")
        os.symlink(SUBAK, cls.plugin)
        shutil.copy(os.path.join(ROOT, "deploy", "kubectl", "kubectl_complete-subak"), at)
        cls.contexts = os.path.join(at, "contexts")
        with open(cls.contexts, "w", encoding="utf-8") as file:
            file.write(CONTEXTS)
        counts = {"nvidia.com/gpu": "0"}
        cls.cluster.make("/api/v1/nodes", "n1", status={"capacity": counts, "allocatable": counts})
        words = [SUBAKD, "--state", os.path.join(at, "s.db"), "--cluster", "main:enforce", "--kubeconfig", cls.cluster.kubeconfig]
        for name in ("webhook", "grpc", "http"):
            words += [f"--listen-{name}", "127.0.0.1:0"]
        cls.service = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ports = dict(word.split("=", 1) for word in cls.service.stdout.readline().split() if "=" in word)
        cls.environment = {**os.environ, "SUBAK_SERVER": ports["grpc"], "KUBECONFIG": cls.contexts, "PATH": at + ":" + os.environ["PATH"]}
        for account, namespace in (("ml", "team-b"), ("ml.a", "team-a")):
            cls.cluster.make_namespace(namespace, "true")
            cls.call(SUBAK, "account", "set", account, "--namespaces", namespace, "--reason", "new")
        cls.call(SUBAK, "account", "set", "bio", "--reason", "new")
        cls.cluster.make_pod("lone", "2026-11-01T10:00:00Z")
        cls.cluster.make_pod("train-0-x7k2p", "2026-11-01T11:00:00Z", owner="train")
        for i in range(2):
            cls.cluster.make_pod(f"member-{i}", f"2026-11-01T12:00:0{i}Z", labels={"subak.gpu/job": "gang", "subak.gpu/gang-size": "2"})
        cls.until_waiting(3)

    @classmethod
    def tearDownClass(cls):
        cls.service.terminate()
        cls.service.communicate(timeout=DEADLINE_S)
        cls.cluster.close()
        cls.folder.cleanup()

    @classmethod
    def until_waiting(cls, count):
        end = time.monotonic() + DEADLINE_S
        while True:
            jobs = json.loads(cls.call(SUBAK, "--output", "json", "job", "list").stdout).get("jobs", [])
            if len(jobs) == count and all(j["state"].endswith("QUEUED") for j in jobs):
                return
            assert time.monotonic() < end, jobs
            time.sleep(0.1)

    @classmethod
    def call(cls, *words, code=0, environment=None):
        done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=False, env={**cls.environment, **(environment or {})})
        assert done.returncode == code, f"{words}: {done.returncode} {done.stdout}{done.stderr}"
        return done

    def run_plugin(self, *words, code=0, **environment):
        done = self.call(self.plugin, *words, code=code, environment=environment)
        if code:
            self.assertEqual(done.stderr.count("\n"), 2, done.stderr)
        return done.stdout + done.stderr

    def accounts(self, *words, **environment):
        """The accounts of the rows that `kubectl subak share` shows."""
        rows = json.loads(self.run_plugin("--output", "json", "share", *words, **environment))["rows"]
        return {row.get("account", "") for row in rows}

    def jobs(self, *words, **environment):
        rows = json.loads(self.run_plugin("--output", "json", "queue", *words, **environment)).get("rows", [])
        return {row["job"]["spec"]["name"] for row in rows}

    def test_lists_are_of_the_namespace(self):
        self.assertEqual(self.accounts(), {"ml.a"})
        self.assertEqual(self.accounts("--context", "b"), {"ml", "ml.a"})
        self.assertEqual(self.accounts("-n", "team-b"), {"ml", "ml.a"})
        self.assertEqual(self.accounts("bio"), {"bio"})
        self.assertIn("bio", self.accounts("-A"))
        self.assertEqual(self.jobs(), {"team-a/lone", "team-a/gang", "team-a/train-0-x7k2p"})
        self.assertEqual(self.jobs("--account", "bio"), set())
        self.assertEqual(len(self.jobs("--all-namespaces")), 3)

    def test_as_subak_it_lists_everything(self):
        rows = json.loads(self.call(SUBAK, "--output", "json", "share").stdout)["rows"]
        self.assertIn("bio", {row.get("account", "") for row in rows})
        self.assertIn("no option --namespace", self.call(SUBAK, "share", "--namespace", "a", code=2).stderr)

    def test_several_kubeconfigs(self):
        other = os.path.join(self.folder.name, "first")
        with open(other, "w", encoding="utf-8") as file:
            file.write("current-context: b\n")
        self.assertEqual(self.accounts(KUBECONFIG=f"{other}:{self.contexts}:/nonexistent"), {"ml", "ml.a"})

    def test_why_by_the_name_of_a_pod(self):
        by_pod = json.loads(self.run_plugin("--output", "json", "why", "lone"))["job"]["id"]
        self.assertEqual(json.loads(self.run_plugin("--output", "json", "why", by_pod))["job"]["id"], by_pod)
        gang = json.loads(self.run_plugin("--output", "json", "why", "gang"))["job"]
        self.assertEqual(gang["gangSize"], 2)
        self.assertEqual(json.loads(self.run_plugin("--output", "json", "why", "member-1"))["job"]["id"], gang["id"])
        other = json.loads(self.run_plugin("--output", "json", "why", "pod/train-0-x7k2p"))["job"]["id"]
        self.assertNotEqual(other, by_pod)
        self.assertIn("team-a/gone", self.run_plugin("why", "gone", code=4))
        self.assertIn("team-b/lone", self.run_plugin("why", "pod/lone", "-n", "team-b", code=4))

    def test_what_is_wrong_is_named(self):
        self.assertIn('"nobody": no account', self.run_plugin("queue", "--context", "lost", code=4))
        self.assertIn('"default": no account', self.run_plugin("queue", "--context", "plain", code=4))
        self.assertIn("elsewhere", self.run_plugin("queue", "--context", "elsewhere", code=4))
        self.assertIn("--namespace", self.run_plugin("share", "-n", "Team_A", code=2))
        self.assertIn("no cluster", self.run_plugin("share", "--cluster", "west", code=4))
        self.run_plugin("queue", code=3, SUBAK_SERVER="127.0.0.1:1")

    def test_help_is_of_kubectl(self):
        said = self.run_plugin("queue", "--help")
        self.assertIn("kubectl subak queue", said)
        self.assertIn("--all-namespaces", said)

    def test_completion(self):
        def complete(*words):
            return self.call("kubectl_complete-subak", *words).stdout.split()

        self.assertEqual(complete("")[-1], ":4")
        self.assertIn("why", complete(""))
        self.assertIn("bio", complete("share", ""))
        self.assertEqual(len(complete("why", "")), 4)
        self.assertIn("--namespace", complete("queue", "--"))

    def test_kubectl_finds_it(self):
        if not shutil.which("kubectl"):
            self.skipTest("no kubectl")
        said = json.loads(self.call("kubectl", "subak", "--output", "json", "share").stdout)
        self.assertEqual({row["account"] for row in said["rows"]}, {"ml.a"})
        self.assertIn("why", self.call("kubectl", "__complete", "subak", "").stdout)


unittest.main(verbosity=2)
