#!/usr/bin/env python3
"""What the command line does with a cluster by itself, against a stand-in of an API server: what is there, what clashes,
and leaving with the service alive and dead.

Usage: kube_commands_test.py PATH_TO_SUBAK PATH_TO_SUBAKD PATH_TO_STANDIN
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import yaml
except ImportError:
    yaml = None

from standin_cluster import ADMISSION, FOREIGN, GATE, GUARDS, RIGHTS, Cluster

SUBAK, SUBAKD, STANDIN = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
DEADLINE_S = 120  # generous: other work may share the machine
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
PYTORCH_JOBS = "/apis/kubeflow.org/v1/namespaces/team-a/pytorchjobs"


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cluster = Cluster(STANDIN, self.folder.name)
        self.addCleanup(self.cluster.close)
        self.server = "127.0.0.1:1"  # nobody

    def run_subak(self, *args, code=0):
        words = [SUBAK, "--server", self.server, *args]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S,
                              check=False, env={**os.environ, "KUBECONFIG": self.cluster.kubeconfig})  # fmt: skip
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def start_service(self, mode):
        words = [SUBAKD, "--state", os.path.join(self.folder.name, "s.db"), "--cluster", f"main:{mode}"]
        words += ["--kubeconfig", self.cluster.kubeconfig]
        for name in ("webhook", "grpc", "http"):
            words += [f"--listen-{name}", "127.0.0.1:0"]
        with open(os.path.join(self.folder.name, "log"), "w", encoding="utf-8") as log:
            child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
        ports = dict(word.split("=", 1) for word in child.stdout.readline().split() if "=" in word)

        def stop():
            child.terminate()
            code = child.wait(timeout=DEADLINE_S)
            child.stdout.close()
            with open(os.path.join(self.folder.name, "log"), encoding="utf-8") as file:
                self.assertEqual(code, 0, file.read())

        self.addCleanup(stop)
        self.server = ports["grpc"]

    def until(self, holds, what):
        end = time.monotonic() + DEADLINE_S
        while not holds():
            self.assertLess(time.monotonic(), end, f"never: {what}")
            time.sleep(0.05)


def gpu_template():
    return {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}}


class Parking(Case):
    """Jobs that wait suspended (docs/design/0119)."""

    def setUp(self):
        super().setUp()
        self.cluster.make_namespace("team-a", "true")
        self.start_service("enforce")
        self.run_subak("account", "set", "vision", "--namespaces", "team-a", "--reason", "a test")

    def park(self, name, mark="parked"):
        spec = {"suspend": True, "parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": gpu_template()}
        notes = {"subak.gpu/suspended": mark} if mark else {}
        self.cluster.make(JOBS, name, metadata={"annotations": notes, "creationTimestamp": "2026-01-01T00:00:00Z"}, spec=spec)

    def job_of(self, name):
        jobs = json.loads(self.run_subak("--output", "json", "job", "list")).get("jobs", [])
        return next((job for job in jobs if job["spec"]["name"] == f"team-a/{name}"), None)

    def is_suspended(self, name):
        return self.cluster.get(f"{JOBS}/{name}")["spec"]["suspend"]

    def test_a_parked_job_waits_and_is_resumed_at_its_turn(self):
        self.park("train")
        self.park("mine", mark=None)
        self.until(lambda: self.job_of("train"), "it is a job")
        job = self.job_of("train")
        self.assertTrue(job["parked"])
        self.assertIn("parked: its pods do not exist", self.run_subak("why", job["id"]))
        self.assertIn("parked", self.run_subak("queue"))
        self.assertTrue(self.is_suspended("train"))
        status = {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "8", "cpu": "64", "pods": "100"},
                  "conditions": [{"type": "Ready", "status": "True"}]}  # fmt: skip
        for name in ("n1", "n2"):
            self.cluster.make("/api/v1/nodes", name, status=status)
        self.until(lambda: not self.is_suspended("train"), "its turn")
        self.assertNotIn("subak.gpu/suspended", self.cluster.get(f"{JOBS}/train")["metadata"]["annotations"])
        self.assertTrue(self.is_suspended("mine"))
        self.assertIsNone(self.job_of("mine"))

    def test_a_cancelled_one_stays_suspended(self):
        self.park("wrong")
        self.until(lambda: self.job_of("wrong"), "it is a job")
        self.run_subak("job", "cancel", self.job_of("wrong")["id"])
        self.until(lambda: self.job_of("wrong") is None, "its end")
        job = self.cluster.get(f"{JOBS}/wrong")
        self.assertEqual((job["spec"]["suspend"], job["metadata"]["annotations"]),
                         (True, {"subak.gpu/suspended": "cancelled"}))  # fmt: skip

    def test_one_that_its_user_resumes_loses_the_mark(self):
        self.park("train")
        self.until(lambda: self.job_of("train"), "it is a job")
        self.cluster.call("PATCH", f"{JOBS}/train", {"spec": {"suspend": False}})
        self.until(lambda: self.cluster.get(f"{JOBS}/train")["metadata"]["annotations"] == {}, "Subak's mark is gone")
        self.assertFalse(self.job_of("train").get("parked"))


class Uninstall(Case):
    def setUp(self):
        super().setUp()
        self.cluster.install()
        self.cluster.make_namespace("team-a", "true")
        self.cluster.make_namespace("other")

    def test_with_the_service_dead_the_oldest_gang_goes_first_and_nothing_is_left(self):
        self.cluster.make_pod("late", "2026-11-01T12:00:00Z")
        self.cluster.make_pod("gang-1", "2026-11-01T11:00:30Z", owner="gang")
        self.cluster.make_pod("gang-0", "2026-11-01T10:00:00Z", owner="gang")
        self.cluster.make_pod("middle", "2026-11-01T11:00:00Z", gates=(FOREIGN, GATE))
        self.cluster.make_pod("free", "2026-11-01T09:00:00Z", gates=())
        for name, mark in (("back", "taken-back"), ("parked", "parked"), ("stopped", "cancelled"), ("theirs", None)):
            notes = {"subak.gpu/suspended": mark, "other": "stays"} if mark else {}
            self.cluster.make(JOBS, name, metadata={"annotations": notes}, spec={"suspend": True})
        notes = {"subak.gpu/suspended": "parked"}
        self.cluster.make(PYTORCH_JOBS, "train", metadata={"annotations": notes}, spec={"runPolicy": {"suspend": True}})
        self.run_subak("uninstall", "--rate", "1000")
        for path in GUARDS:
            self.assertIsNone(self.cluster.get(ADMISSION + path), path)
        for path in RIGHTS:
            self.assertIsNone(self.cluster.get(path + "/subak"), path)
        self.assertEqual(self.cluster.get("/api/v1/namespaces/team-a")["metadata"]["labels"], {})
        self.assertEqual([self.cluster.gates(n) for n in ("late", "gang-0", "gang-1", "middle", "free")],
                         [[], [], [], [FOREIGN], []])  # fmt: skip
        writes = self.cluster.writes()
        released = [path.rsplit("/", 1)[1] for method, path in writes if method == "PATCH" and "/pods/" in path]
        self.assertEqual(released, ["gang-0", "gang-1", "middle", "late"])
        kinds = [path.split("/")[4] for method, path in writes if method == "DELETE"]
        self.assertLess(kinds.index("validatingadmissionpolicybindings"), kinds.index("mutatingwebhookconfigurations"))
        self.assertNotIn(("PATCH", "/api/v1/namespaces/other"), writes)
        names = ("back", "parked", "stopped", "theirs")
        self.assertEqual([self.cluster.get(f"{JOBS}/{n}")["spec"]["suspend"] for n in names], [False, False, True, True])
        self.assertEqual(self.cluster.get(f"{PYTORCH_JOBS}/train")["spec"], {"runPolicy": {"suspend": False}})
        self.assertEqual(self.cluster.get(f"{JOBS}/back")["metadata"]["annotations"], {"other": "stays"})

    def test_with_the_service_alive_it_opens_the_queue(self):
        self.cluster.make("/api/v1/nodes", "n1", status={})
        self.start_service("enforce")
        self.until(lambda: "synced" in self.run_subak("cluster", "list"), "the service follows")
        for i in range(3):
            self.cluster.make_pod(f"p{i}", f"2026-11-01T1{i}:00:00Z")
        self.until(lambda: len(json.loads(self.run_subak("--output", "json", "job", "list"))["jobs"]) == 3, "they wait")
        said = self.run_subak("uninstall")
        self.assertIn("share order", said)
        self.assertEqual([self.cluster.gates(f"p{i}") for i in range(3)], [[], [], []])
        self.assertIn("observe", self.run_subak("cluster", "list"))
        self.assertIn("subak uninstall", self.run_subak("audit"))

    def test_a_service_of_another_cluster_is_left_alone(self):
        self.cluster.call("DELETE", ADMISSION + "mutatingwebhookconfigurations/subak")
        hook = {"name": "mutate.subak.gpu", "clientConfig": {"service": {"path": "/mutate/elsewhere"}}}
        self.cluster.make(ADMISSION + "mutatingwebhookconfigurations", "subak", webhooks=[hook])
        self.start_service("enforce")
        self.cluster.make_pod("waits", "2026-11-01T12:00:00Z")
        self.assertIn("serves no cluster elsewhere", self.run_subak("uninstall"))
        self.assertEqual(self.cluster.gates("waits"), [])
        self.assertIn("enforce", self.run_subak("cluster", "list"))

    def test_a_dry_run_and_keep_leave_the_queue(self):
        self.cluster.make_pod("waits", "2026-11-01T12:00:00Z")
        said = self.run_subak("uninstall", "--dry-run")
        self.assertIn("1 queued pod", said)
        self.assertEqual(self.cluster.writes(), [])
        self.run_subak("uninstall", "--queued", "keep")
        self.assertEqual(self.cluster.gates("waits"), [GATE])
        self.assertIsNone(self.cluster.get(ADMISSION + GUARDS[0]))

    def test_delete_ends_what_nobody_makes_again(self):
        self.cluster.make_pod("bare", "2026-11-01T12:00:00Z")
        self.cluster.make_pod("made", "2026-11-01T12:00:00Z", owner="job")
        self.run_subak("uninstall", "--queued", "delete", code=1)
        self.assertEqual([self.cluster.gates(n) for n in ("bare", "made")], [None, [GATE]])

    def test_what_is_refused_for_a_moment_is_tried_again_and_what_stays_refused_is_named(self):
        self.cluster.make_pod("waits", "2026-11-01T12:00:00Z")
        refusal = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "a policy holds"}
        fault = {"method": "PATCH", "path": "/api/v1/namespaces/team-a/pods/waits", "times": 2, "code": 403,
                 "body": json.dumps(refusal)}  # fmt: skip
        self.cluster.call("POST", "/standin/fault", fault)
        self.run_subak("uninstall")
        self.assertEqual(self.cluster.gates("waits"), [])
        self.cluster.make_pod("stuck", "2026-11-01T12:00:00Z")
        self.cluster.call("POST", "/standin/fault", {**fault, "path": fault["path"][:-5] + "stuck", "times": 1000})
        said = self.run_subak("uninstall", code=1)
        self.assertIn("team-a/stuck", said)
        self.assertIn("a policy holds", said)

    def test_again_finds_nothing(self):
        self.run_subak("uninstall")
        self.assertIn("found 0 ", self.run_subak("uninstall"))

    def test_no_api_server(self):
        self.assertIn("nonexistent", self.run_subak("uninstall", "--kubeconfig", "/nonexistent", code=4))
        self.cluster.call("POST", "/standin/fault", {"path": "/", "times": 100000, "code": 503, "body": "away"})
        self.assertIn("away", self.run_subak("uninstall", code=3))
        self.assertIn("away", self.run_subak("preflight", code=3))
        self.assertIn("away", self.run_subak("account", "suggest", code=3))


class Preflight(Case):
    def findings(self, code=0):
        words = ["--output", "json", "preflight"]
        return json.loads(self.run_subak(*words, code=code))["findings"]

    def level_of(self, word, code=0):
        return {f["level"] for f in self.findings(code) if word in f["what"] + f["where"]}

    def setUp(self):
        super().setUp()
        counts = {"nvidia.com/gpu": "8"}
        self.cluster.make("/api/v1/nodes", "n1", status={"capacity": counts, "allocatable": counts})
        self.cluster.make_namespace("team-a", "true")

    def test_a_cluster_as_it_should_be(self):
        said = self.run_subak("preflight")
        self.assertIn("0 blockers, 0 warnings", said)
        self.assertEqual(self.cluster.writes(), [])

    def test_own_webhooks_without_a_ca(self):
        hook = {"name": "mutate.subak.gpu", "clientConfig": {"service": {"name": "subak"}}}
        configurations = ADMISSION + "mutatingwebhookconfigurations"
        notes = {"cert-manager.io/inject-ca-from": "subak-system/subak-tls"}
        self.cluster.make(configurations, "subak", metadata={"annotations": notes}, webhooks=[hook])
        self.assertEqual(self.level_of("webhooks wait for cert-manager", 1), {"blocker"})
        self.cluster.make("/apis/cert-manager.io/v1/namespaces/subak-system/certificates", "subak-tls")
        self.assertEqual(self.level_of("has not written the CA"), {"warning"})
        self.cluster.call("DELETE", configurations + "/subak")
        self.cluster.make(configurations, "subak", webhooks=[hook])
        self.assertEqual(self.level_of("no caBundle"), {"warning"})
        self.cluster.call("DELETE", configurations + "/subak")
        hook["clientConfig"]["caBundle"] = "AAAA"
        self.cluster.make(configurations, "subak", webhooks=[hook])
        self.assertEqual(self.level_of("mutate.subak.gpu"), set())

    def test_what_is_read_of_a_cluster(self):
        self.cluster.call("POST", "/standin/deny", ["patch pods", "create pods/eviction"])
        self.cluster.make("/api/v1/namespaces/team-a/resourcequotas", "q", spec={"hard": {"requests.nvidia.com/gpu": "8", "cpu": "9"}})
        self.cluster.make("/api/v1/namespaces/other/resourcequotas", "o", spec={"hard": {"requests.nvidia.com/gpu": "8"}})
        self.cluster.make("/apis/scheduling.k8s.io/v1/priorityclasses", "high", value=1000)
        self.cluster.make("/apis/scheduling.k8s.io/v1/priorityclasses", "kind", value=10, preemptionPolicy="Never")
        self.cluster.make("/apis/resource.k8s.io/v1/deviceclasses", "gpu.nvidia.com",
                          spec={"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]})  # fmt: skip
        rule = {"apiGroups": [""], "resources": ["pods"], "operations": ["CREATE"]}
        self.cluster.make(ADMISSION + "mutatingwebhookconfigurations", "zz", webhooks=[{"name": "z.example.com", "rules": [rule]}])
        self.cluster.make_pod("held", "2026-11-01T12:00:00Z", gates=(FOREIGN,))
        self.cluster.make("/apis/kueue.x-k8s.io/v1beta1/clusterqueues", "q")
        self.assertEqual(self.level_of("patch pods, create pods/eviction", 1), {"blocker"})
        self.assertEqual(self.level_of("gpu.nvidia.com", 1), {"note"})
        self.assertEqual(self.level_of("team-a/q (requests.nvidia.com/gpu: 8)", 1), {"warning"})
        self.assertEqual(self.level_of("other/o", 1), set())
        self.assertEqual(self.level_of("high (1000)", 1), {"note"})
        self.assertEqual(self.level_of("kind (10)", 1), set())
        self.assertEqual(self.level_of("zz/z.example.com", 1), {"note"})
        self.assertEqual(self.level_of(f"team-a/held ({FOREIGN})", 1), {"warning"})
        self.assertEqual(self.level_of("Kueue", 1), {"note"})

    def test_with_the_service_labels_and_modes_are_compared(self):
        self.start_service("observe")
        self.assertEqual(self.level_of("no account names"), {"warning"})
        self.assertEqual(self.level_of("without mode enforce"), {"warning"})
        self.run_subak("account", "set", "ml", "--namespaces", "team-a,team-b", "--reason", "test")
        self.run_subak("cluster", "mode", "main", "enforce", "--reason", "test")
        self.assertEqual(self.level_of("no account names"), set())
        self.assertEqual(self.level_of("the API server does not ask Subak about their pods"), {"warning"})


class GpuOperator(Case):
    """NVIDIA's GPU Operator in the cluster: as it should be, and with settings that clash."""

    POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
    SLICES = "/apis/resource.k8s.io/v1/resourceslices"

    def setUp(self):
        super().setUp()
        self.cluster.make_namespace("team-a", "true")

    def make_node(self, name, **labels):
        counts = {"nvidia.com/gpu": "8"}
        labels = {f"nvidia.com/{key.replace('_', '.')}": value for key, value in labels.items()}
        self.cluster.make("/api/v1/nodes", name, metadata={"labels": labels}, status={"capacity": counts, "allocatable": counts})

    def make_policy(self, name="cluster-policy", state="ready", **spec):
        whole = {
            "cdi": {"enabled": True, "nriPluginEnabled": False}, "mig": {"strategy": "mixed"},
            "toolkit": {"enabled": True, "env": [{"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"}]},
            "devicePlugin": {"enabled": True, "config": {"name": "sharing", "default": "any"}},
            "driver": {"upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": 1,
                                         "waitForCompletion": {"podSelector": "subak.gpu/account"}}}, **spec}  # fmt: skip
        self.cluster.make(self.POLICIES, name, spec=whole, status={"state": state, "namespace": "gpu-operator"})

    def make_configs(self, **texts):
        self.cluster.make("/api/v1/namespaces/gpu-operator/configmaps", "sharing", data=texts)

    def config(self, ways, more=""):
        rows = "".join(f"  {way}:\n    resources: [{{name: nvidia.com/gpu, replicas: 4}}]\n" for way in ways)
        return f"version: v1\nsharing:\n{rows}{more}"

    def said(self, code=0):
        """All findings by what they say, without the two notes that every run against the stand-in has."""
        found = {f["what"]: f for f in json.loads(self.run_subak("--output", "json", "preflight", code=code))["findings"]}
        self.assertEqual(self.cluster.writes(), [])
        del found["the service was not asked for its accounts and modes"], found["Kubernetes 1.36 sets the gate by itself"]
        return found

    def test_an_operator_as_it_should_be(self):
        self.make_node("n1", **{"mig_config": "all-1g.10gb", "device-plugin_config": "any"})
        self.make_node("n2")
        self.make_configs(any=self.config(["timeSlicing"], "    failRequestsGreaterThanOne: true\n"))
        self.make_policy()
        self.cluster.make(self.SLICES, "s", spec={"driver": "gpu.nvidia.com", "nodeName": "n3", "devices": [{"name": "gpu-0"}]})
        self.assertEqual(self.said(), {})

    def test_eight_clashes_are_named_and_nothing_else(self):
        self.make_node("n1", mig_config="all-1g.10gb")
        for name, config in (("n2", "both"), ("n3", "gone"), ("n4", "")):
            self.make_node(name, **({"device-plugin_config": config} if config else {}))
        self.make_configs(any=self.config(["timeSlicing"]), both=self.config(["timeSlicing", "mps"]), unused="{")
        self.make_policy(cdi={"enabled": False}, mig={"strategy": "none"}, toolkit={"enabled": True}, devicePlugin={
            "config": {"name": "sharing", "default": "any"}, "env": [{"name": "DEVICE_LIST_STRATEGY", "value": "cdi-cri"}]},
            driver={"upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": 1}})  # fmt: skip
        self.cluster.make(self.SLICES, "s", spec={"driver": "gpu.nvidia.com", "nodeName": "n4", "devices": [{"name": "gpu-0"}]})
        said = self.said(code=1)
        wanted = {  # what: (level, part of where, part of todo)
            "the device plugin and the DRA driver give the same GPUs twice": ("blocker", "n4", "resources.gpus.enabled: false"),
            "a container may get GPUs through the variable NVIDIA_VISIBLE_DEVICES":
                ("warning", "toolkit.env", 'ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED: "false"'),
            "the device plugin gives GPUs by CDI, but CDI is off": ("blocker", "DEVICE_LIST_STRATEGY: cdi-cri", "cdi.enabled: true"),
            "the device plugin offers GPUs with MIG slices as whole GPUs, so Subak places no pods on these nodes":
                ("warning", "n1 (all-1g.10gb)", "mig.strategy: mixed"),
            "the device plugin refuses time-slicing together with MPS": ("blocker", "gpu-operator/sharing: both", "remove sharing.mps"),
            "a pod may ask for several replicas of a GPU, and pays for them, but gets no larger part":
                ("warning", "gpu-operator/sharing: any", "failRequestsGreaterThanOne: true"),
            "the device plugin has no such configuration, so it does not start":
                ("blocker", "gone, named by nodes n3", "gpu-operator/sharing"),
            "a driver upgrade evicts running jobs":
                ("warning", "driver.upgradePolicy", "waitForCompletion.podSelector: subak.gpu/account"),
        }  # fmt: skip
        self.assertEqual(set(said), set(wanted))
        for what, (level, where, todo) in wanted.items():
            self.assertEqual(said[what]["level"], level, what)
            self.assertIn(where, said[what]["where"])
            self.assertIn(todo, said[what]["todo"])

    def test_what_may_not_be_read_is_named_and_what_is_away_is_no_error(self):
        self.make_node("n1")
        self.assertEqual(self.said(), {})  # no kinds of the operator at all
        self.make_policy()
        self.assertIn("the device plugin has no configuration, so it does not start", self.said(code=1))  # no ConfigMap
        self.make_configs(any="version: v1")
        refusal = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "not you"}
        for path in ("/api/v1/namespaces/gpu-operator/configmaps", "/apis/nvidia.com/v1alpha1/gpuclusters"):
            self.cluster.call("POST", "/standin/fault", {"method": "GET", "path": path, "times": 9, "code": 403,
                                                         "body": json.dumps(refusal)})  # fmt: skip
        said = self.said()
        self.assertEqual([f["where"] for f in said.values()], ["gpuclusters, configmaps"])

    @unittest.skipIf(yaml is None, "python3-yaml is not installed")
    def test_its_role_grants_what_it_reads(self):
        self.make_node("n1")
        self.make_policy()
        self.make_configs(any="version: v1")
        self.cluster.make(self.SLICES, "s", spec={})
        self.said()
        role = yaml.safe_load((pathlib.Path(__file__).parents[2] / "deploy/kubernetes/preflight.yaml").read_text(encoding="utf-8"))
        granted = {(group, kind, verb) for rule in role["rules"] for group in rule["apiGroups"]
                   for kind in rule["resources"] for verb in rule["verbs"]}  # fmt: skip
        rows = [r for r in self.cluster.call("GET", "/standin/seen") if "Python" not in r["agent"]]
        needed = set()
        for row in rows:
            parts = row["path"].split("?")[0].strip("/").split("/")
            group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1] if len(parts) > 1 else "", parts[3:])
            if rest[:1] == ["namespaces"] and len(rest) > 2:
                rest = rest[2:]
            if rest and not rest[0].startswith("self"):  # every user may ask about himself
                verb = "create" if row["method"] == "POST" else "get" if len(rest) > 1 else "list"
                needed.add((group, rest[0], verb))
        self.assertIn(("nvidia.com", "clusterpolicies", "list"), needed)
        self.assertIn(("", "configmaps", "get"), needed)
        self.assertEqual(needed - granted, set())

    def test_two_kinds_and_a_managed_namespace(self):
        self.make_node("n1")
        self.make_configs(any="version: v1")
        self.make_policy(state="notReady")
        self.assertEqual(self.said()["the GPU Operator is not ready"]["where"], "ClusterPolicy cluster-policy (notReady)")
        self.cluster.make("/apis/nvidia.com/v1alpha1/gpuclusters", "gpu-cluster", status={"state": "notReady", "namespace": "gpu"})
        self.cluster.make_namespace("gpu", "true")
        said = self.said(code=1)
        self.assertIn("a ClusterPolicy and a GPUCluster exclude each other", said)
        self.assertIn("systemNamespaces: [gpu]", said["Subak would gate the pods with which the GPU Operator checks its nodes"]["todo"])


class Suggest(Case):
    def setUp(self):
        super().setUp()
        for name, team in (("team-a", "ml"), ("team-b", "Team B"), ("web", None)):
            self.cluster.make("/api/v1/namespaces", name, metadata={"labels": {"team": team} if team else {}})
        self.cluster.make_pod("p", "2026-11-01T12:00:00Z")
        self.cluster.make("/api/v1/namespaces/team-b/resourcequotas", "q", spec={"hard": {"requests.nvidia.com/gpu": "8"}})

    def suggested(self, *args, code=0):
        """The file, and what was said beside it."""
        words = [SUBAK, "--server", self.server, "account", "suggest", *args]
        done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                              env={**os.environ, "KUBECONFIG": self.cluster.kubeconfig})  # fmt: skip
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def apply(self, text, *args):
        path = os.path.join(self.folder.name, "accounts.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.run_subak("account", "apply", "-f", path, "--reason", "test", *args)

    def test_without_a_service_the_file_is_there(self):
        text, said = self.suggested()
        self.assertEqual(text.split("accounts:\n")[1].splitlines(), [
            "- {path: team-a, shares: 1, namespaces: [team-a]}  # 1 pod with GPUs",
            "- {path: team-b, shares: 1, namespaces: [team-b]}  # ResourceQuota q: requests.nvidia.com/gpu=8"])  # fmt: skip
        self.assertIn("no service answered", said)
        self.assertEqual(self.cluster.writes(), [])
        for line in text.splitlines():
            self.assertLessEqual(len(line), 100)

    def test_what_is_suggested_is_what_apply_takes_and_then_there_is_nothing_left(self):
        self.start_service("observe")
        text, said = self.suggested("--group-by", "team", "--limits", "--all")
        self.assertEqual(said, "")
        self.assertIn("5 accounts would change", self.apply(text, "--dry-run"))
        self.apply(text)
        shown = {a["path"]: a for a in json.loads(self.run_subak("--output", "json", "account", "tree"))["accounts"]}
        self.assertEqual(shown["ml.team-a"]["namespaces"], ["team-a"])
        self.assertEqual(shown["team-b.team-b"]["limit"], [{"product": "gpu", "milligpu": "8000"}])
        self.assertEqual(shown["web"]["namespaces"], ["web"])
        text, said = self.suggested("--group-by", "team", "--limits", "--all")
        self.assertIn("accounts: []", text)
        self.assertIn("team-a (ml.team-a)", text)
        self.assertIn("all namespaces with GPUs have an account", said)
        self.assertIn("0 accounts changed", self.apply(text))

    def test_the_names_of_one_cluster(self):
        self.start_service("observe")
        text, _ = self.suggested("--cluster", "main")
        self.assertIn('namespaces: ["main/team-a"]', text)
        self.assertIn("2 accounts changed", self.apply(text))
        self.assertIn("accounts: []", self.suggested()[0])
        self.run_subak("cluster", "mode", "other", "observe", "--create", "--reason", "test")
        self.assertIn("want one of main, other", self.suggested(code=2)[1])

    def test_a_cluster_without_gpus_says_so(self):
        for path in ("namespaces/team-a/pods/p", "namespaces/team-b/resourcequotas/q"):
            self.cluster.call("DELETE", f"/api/v1/{path}")
        text, said = self.suggested()
        self.assertTrue(text.endswith("accounts: []\n"), text)
        self.assertIn("no namespace has pods or ResourceQuotas of GPUs; --all includes namespaces without them", said)

    def test_what_may_not_be_read_is_named(self):
        refusal = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "not you"}
        fault = {"method": "GET", "path": "/api/v1/resourcequotas", "times": 100, "code": 403, "body": json.dumps(refusal)}
        self.cluster.call("POST", "/standin/fault", fault)
        text, said = self.suggested(code=1)
        self.assertEqual(text, "")
        self.assertIn("GET /api/v1/resourcequotas: not you", said)


class Install(Case):
    def test_what_is_missing_is_said(self):
        self.assertIn("--print", self.run_subak("install", code=2))
        self.assertIn("--ca", self.run_subak("install", "--print", code=2))
        self.assertIn("--kubernetes", self.run_subak("install", "--print", "--kubernetes", "new", "--only", "access", code=2))
        self.assertIn("--only", self.run_subak("install", "--print", "--only", "all", code=2))
        self.assertIn("certificate", self.run_subak("install", "--print", "--ca", self.cluster.kubeconfig, code=2))
        said = self.run_subak("install", "--print", "--only", "access,service", "--image", "registry.example.com/subak:1")
        self.assertIn("kind: StatefulSet", said)
        self.assertIn("kind: PodDisruptionBudget", said)
        self.assertNotIn("kind: MutatingWebhookConfiguration", said)

    def test_keys_are_made_once(self):
        folder = os.path.join(self.folder.name, "keys")
        said = self.run_subak("install", "--keys", folder)
        files = re.findall(r"--from-file=(\S+)", said)
        self.assertEqual(len(files), 5)

        def contents():
            return {file: pathlib.Path(file).read_text(encoding="utf-8") for file in files}

        kept = contents()
        self.assertEqual({os.stat(file).st_mode & 0o077 for file in files}, {0})
        self.assertEqual(self.run_subak("install", "--keys", folder), said)
        self.assertEqual(contents(), kept)
        token = kept[os.path.join(folder, "tokens", "token")].strip()
        self.assertRegex(token, "^[0-9a-f]{64}$")
        self.assertEqual(kept[os.path.join(folder, "tokens", "tokens")], f"{token} viewer replicas\n")
        self.assertNotIn(token, said)
        names = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", os.path.join(folder, "tls", "tls.crt")],
                               capture_output=True, text=True, check=True).stdout  # fmt: skip
        for name in ("subak.subak-system.svc", "subak-leader.subak-system.svc", "*.subak-replicas.subak-system.svc"):
            self.assertIn(f"DNS:{name}", names)
        other = os.path.join(self.folder.name, "token")
        said = self.run_subak("install", "--keys", other, "--cert-manager")
        self.assertEqual((os.listdir(other), said.count("subak-tokens"), said.count("subak-tls")), (["tokens"], 1, 0))
        self.assertIn("--keys", self.run_subak("install", "--keys", "/proc/nowhere", code=2))
        self.assertIn("--keys", self.run_subak("install", "--keys", folder, "--print", code=2))


unittest.main(verbosity=2)
