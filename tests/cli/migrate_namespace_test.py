#!/usr/bin/env python3
"""subak migrate --namespace: from Kueue's objects in a stand-in of an API server to Subak, and back.

Usage: migrate_namespace_test.py PATH_TO_SUBAK PATH_TO_SUBAKD PATH_TO_STANDIN
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from standin_cluster import Cluster

SUBAK, SUBAKD, STANDIN = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
DEADLINE_S = 120  # generous: other work may share the machine
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
QUEUES, WORKLOADS = f"{KUEUE}/namespaces/team-a/localqueues", f"{KUEUE}/namespaces/team-a/workloads"
JOBS, PODS = "/apis/batch/v1/namespaces/team-a/jobs", "/api/v1/namespaces/team-a/pods"
NAME, BEFORE = "kueue.x-k8s.io/queue-name", "subak.gpu/queue-name-before"
MAPS = "/api/v1/namespaces/kueue-system/configmaps"
CONFIG = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
GATE, OF_KUEUE = "subak.gpu/queue", "kueue.x-k8s.io/admission"


class MoveANamespace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cluster = Cluster(STANDIN, self.folder.name)
        self.addCleanup(self.cluster.close)
        words = [SUBAKD, "--state", os.path.join(self.folder.name, "s.db"), "--cluster", "main:observe"]
        for name in ("webhook", "grpc", "http"):
            words += [f"--listen-{name}", "127.0.0.1:0"]
        service = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.server = dict(re.findall(r"(\w+)=([\d.]+:\d+)", service.stdout.readline()))["grpc"]
        self.addCleanup(service.stdout.close)
        self.addCleanup(service.wait, DEADLINE_S)
        self.addCleanup(service.terminate)
        self.cluster.make_namespace("team-a")

    def run_subak(self, *args, code=0):
        done = subprocess.run([SUBAK, "--server", self.server, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=DEADLINE_S, check=False, env={**os.environ, "KUBECONFIG": self.cluster.kubeconfig})  # fmt: skip
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def migrate(self, *args, code=0):
        return self.run_subak("migrate", "--namespace", "team-a", *args, code=code)

    def name_account(self):
        self.run_subak("account", "set", "ml", "--shares", "1", "--namespaces", "team-a", "--reason", "test")

    def queue(self, name="main", **spec):
        self.cluster.make(QUEUES, name, spec={"clusterQueue": "ml", **spec})

    def workload(self, name, job, *conditions):
        rows = [{"type": c, "status": "True"} for c in conditions]
        owners = [{"kind": "Job", "name": job, "uid": job}]
        self.cluster.make(WORKLOADS, name, metadata={"ownerReferences": owners}, spec={}, status={"conditions": rows})

    def job(self, name, suspend, labels=None, notes=None, **spec):
        self.cluster.make(JOBS, name, metadata={"labels": labels or {}, "annotations": notes or {}}, spec={"suspend": suspend, **spec})

    def pod(self, name, gate=None, owner=None, node=None, notes=None):
        owners = [{"kind": "Job", "apiVersion": "batch/v1", "name": owner, "uid": owner, "controller": True}] if owner else []
        limits = {"nvidia.com/gpu": "1"}
        spec = {"schedulingGates": [{"name": gate}] if gate else [],
                "containers": [{"name": "c", "resources": {"limits": limits, "requests": limits}}]}  # fmt: skip
        if node:
            spec["nodeName"] = node
        self.cluster.make(PODS, name, metadata={"ownerReferences": owners, "annotations": notes or {}}, spec=spec,
                          status={"phase": "Running" if node else "Pending"})  # fmt: skip

    def get_job(self, name):
        job = self.cluster.get(f"{JOBS}/{name}")
        return job["spec"]["suspend"], job["metadata"].get("labels") or {}, job["metadata"].get("annotations") or {}

    def get_queue(self, name="main"):
        queue = self.cluster.get(f"{QUEUES}/{name}")
        return queue["spec"].get("stopPolicy"), queue["metadata"].get("annotations") or {}

    def managed(self):
        return (self.cluster.get("/api/v1/namespaces/team-a")["metadata"].get("labels") or {}).get("subak.gpu/managed")

    def test_the_report_changes_nothing_and_names_what_has_no_equivalent(self):
        self.queue()
        self.cluster.make(f"{KUEUE}/clusterqueues", "ml", spec={"admissionChecks": ["budget"]})
        self.cluster.make(f"{KUEUE}/clusterqueues", "other", spec={"admissionChecks": ["never"]})
        self.workload("w1", "runs", "Admitted")
        self.workload("w2", "waits")
        self.workload("w3", "over", "Admitted", "Finished")
        self.job("waits", True, {NAME: "main", "kueue.x-k8s.io/priority-class": "high"},
                 {"kueue.x-k8s.io/job-min-parallelism": "2", "kueue.x-k8s.io/elastic-job": "true"})  # fmt: skip
        self.job("multi", True, {NAME: "main"}, managedBy="kueue.x-k8s.io/multikueue")
        self.name_account()
        out = self.migrate()
        for line in ("label subak.gpu/managed: none", "LocalQueue main of ClusterQueue ml: stopPolicy None", "account: ml",
                     "runs in Kueue: 1 workload: Job/runs", "waits in Kueue: 1 workload", "priority class high: pods need a class",
                     "Job waits waits in queue main: Subak queues it", "admission check budget of ml", "spec.managedBy on Job multi",
                     "kueue.x-k8s.io/job-min-parallelism on Job waits", "kueue.x-k8s.io/elastic-job on Job waits",
                     "nothing was changed; --apply moves the namespace"):  # fmt: skip
            self.assertIn(line, out)
        self.assertNotIn("never", out)
        self.assertEqual(self.cluster.writes(), [])
        self.assertIn('the cluster has no namespace "lost"', self.run_subak("migrate", "--namespace", "lost", code=4))
        self.assertIn("want the name of a namespace", self.run_subak("migrate", "--namespace", "A/b", code=2))

    def test_a_move_waits_for_what_runs_and_hands_over_what_waits(self):
        self.name_account()
        self.queue()
        self.queue("drained", stopPolicy="HoldAndDrain")
        self.workload("w1", "runs", "Admitted")
        self.job("runs", False, {NAME: "main"})
        self.job("waits", True, {NAME: "main", "x": "y"})
        self.job("by-user", True)
        self.pod("made", gate=OF_KUEUE, owner="rs")
        self.assertIn("1 still runs, such as Job/runs", self.migrate("--apply", "--timeout", "1s", code=1))
        self.assertEqual(self.get_queue(), ("Hold", {"subak.gpu/stop-policy-before": "None"}))
        self.assertEqual(self.get_queue("drained"), ("HoldAndDrain", {"subak.gpu/stop-policy-before": "HoldAndDrain"}))
        self.assertIsNone(self.managed())
        self.assertEqual(self.get_job("waits"), (True, {NAME: "main", "x": "y"}, {}))

        def ends():
            time.sleep(1)
            self.cluster.call("DELETE", f"{WORKLOADS}/w1")

        end = threading.Thread(target=ends)
        end.start()
        self.assertIn("namespace team-a is with Subak", self.migrate("--apply"))
        end.join()
        self.assertEqual(self.managed(), "true")
        self.assertEqual(self.get_job("waits"), (False, {"x": "y"}, {BEFORE: "main"}))
        self.assertEqual(self.get_job("by-user"), (True, {}, {}))
        self.assertIsNone(self.cluster.get(f"{PODS}/made"), "its controller makes it again, with Subak's gate")
        self.assertEqual(self.get_queue()[0], "Hold")
        before = len(self.cluster.writes())
        self.migrate("--apply")
        paths = [path for method, path in self.cluster.writes()[before:]]
        self.assertEqual(paths, ["/api/v1/namespaces/team-a"], "a repeated move changes nothing more")

    def test_the_way_back(self):
        self.name_account()
        self.queue()
        self.migrate("--apply")
        self.job("asked", True, {NAME: "main"}, {"subak.gpu/suspended": "taken-back"})
        self.job("own", True, {}, {"subak.gpu/suspended": "taken-back"})
        self.pod("bare", gate=GATE)
        self.pod("runs", node="n1", owner="x", notes={"subak.gpu/status": "released to n1"})
        out = self.migrate("--back")
        self.assertIn("runs in Subak: 1 pod: runs", out)
        self.assertIn("LocalQueue main gets its stopPolicy None again", out)
        self.assertIn("Job asked waits in Subak: Kueue queues it in main", out)
        self.assertIn("of no queue of Kueue", out)
        self.assertIn("such as runs", self.migrate("--back", "--apply", "--timeout", "1s", code=1))
        self.assertIsNone(self.managed())
        self.assertEqual(self.get_job("asked"), (True, {NAME: "main"}, {}))
        self.assertEqual(self.get_job("own"), (False, {}, {}))
        self.assertEqual(self.cluster.gates("bare"), [])
        self.assertEqual(self.get_queue()[0], "Hold", "Kueue starts nothing beside what Subak started")
        self.cluster.call("DELETE", f"{PODS}/runs")
        self.assertIn("namespace team-a is with Kueue", self.migrate("--back", "--apply"))
        self.assertEqual(self.get_queue(), ("None", {}))

    def test_a_moved_job_goes_back_to_its_queue(self):
        self.name_account()
        self.queue()
        self.job("moved", True, {NAME: "main"})
        self.migrate("--apply")
        uid = self.cluster.get(f"{JOBS}/moved")["metadata"]["uid"]
        self.pod("moved-1", gate=GATE, owner=uid)
        self.assertIn("Job moved waits in Subak: Kueue queues it in main", self.migrate("--back"))
        self.migrate("--back", "--apply")
        self.assertEqual(self.get_job("moved"), (True, {NAME: "main"}, {}))
        self.assertEqual(self.cluster.gates("moved-1"), [GATE], "its Job deletes it, being suspended")

    def test_what_must_be_done_first(self):
        self.queue()
        self.pod("bare", gate=OF_KUEUE)
        self.cluster.make(MAPS, "kueue-manager-config", data={"controller_manager_config.yaml": CONFIG})
        out = self.migrate("--apply", code=1)
        self.assertIn("first: no account names the namespace: subak account set PATH --namespaces team-a", out)
        self.assertIn("first: 1 pod: bare with Kueue's gate and without a controller", out)
        self.assertIn("first: Kueue would suspend new jobs here (ConfigMap kueue-system/kueue-manager-config", out)
        self.assertEqual(self.cluster.writes(), [])
        self.name_account()
        self.cluster.call("DELETE", f"{PODS}/bare")
        self.cluster.call("DELETE", f"{MAPS}/kueue-manager-config")
        leaves_out = CONFIG + "managedJobsNamespaceSelector: {matchExpressions: [{key: subak.gpu/managed, operator: NotIn}]}\n"
        self.cluster.make(MAPS, "kueue-manager-config", data={"controller_manager_config.yaml": leaves_out})
        self.migrate("--apply")
        self.assertEqual(self.managed(), "true")

    def test_a_cluster_without_kueue(self):
        self.name_account()
        self.migrate("--apply")
        self.assertEqual(self.managed(), "true")
        self.assertIn("first: the namespace has no LocalQueue", self.migrate("--back", "--apply", code=1))
        self.assertIn("which namespace or command?", self.run_subak("migrate", code=2))


if __name__ == "__main__":
    unittest.main()
