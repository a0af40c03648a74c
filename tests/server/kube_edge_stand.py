"""A service whose own edge follows a stand-in of an API server, for kube_edge_test.py, which says what the words of
the command line are. The stand-in has no controllers: the test plays scheduler, kubelet and Job controller.
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
import urllib.error
import urllib.request

SUBAKD, SUBAK, STANDIN = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
DEADLINE_S = 120  # generous: other work may share the machine
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")
GATE = "subak.gpu/queue"
MERGE_PATCH = "application/merge-patch+json"
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
WORKER_SETS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/team-a/leaderworkersets"
LIVE = ("incomplete", "queued", "paused", "starting", "running", "ending")


def until(holds, what):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")


class Api:
    """The stand-in, as a process, and what a cluster's own parts do there."""

    def __init__(self):
        self.child = subprocess.Popen([sys.executable, STANDIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.child.stdout.readline().split('=')[1].strip()}"

    def close(self):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait()

    def call(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(),
                                         {"Content-Type": kind, "User-Agent": "test"}, method=method)
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as reply:
            return json.load(reply)

    def make_node(self, name, gpus=8):
        counts = {"nvidia.com/gpu": str(gpus), "cpu": "64", "memory": "512Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True"}
        self.call("POST", "/api/v1/nodes", {
            "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": "H100", "kubernetes.io/hostname": name}},
            "status": {"capacity": counts, "allocatable": counts, "conditions": [ready]}})

    def make_pod(self, name, gpus=1, gates=(GATE,), namespace="team-a", **metadata):
        return self.call("POST", f"/api/v1/namespaces/{namespace}/pods", {
            "metadata": {"name": name, "creationTimestamp": now(), **metadata},
            "spec": {"schedulingGates": [{"name": g} for g in gates], "containers": [
                {"name": "c", "resources": {"limits": {"nvidia.com/gpu": str(gpus)},
                                            "requests": {"nvidia.com/gpu": str(gpus)}}}]},
            "status": {"phase": "Pending"}})

    def pod(self, name, namespace="team-a"):
        try:
            return self.call("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def gates(self, name):
        return [g["name"] for g in self.pod(name)["spec"].get("schedulingGates", [])]

    def change(self, name, patch, collection="/api/v1/namespaces/team-a/pods"):
        return self.call("PATCH", f"{collection}/{name}", patch, MERGE_PATCH)

    def bind(self, name):
        """What the scheduler does with a pod that our gate is off: it goes where its affinity says."""
        spec = self.pod(name)["spec"]
        terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        node = terms["nodeSelectorTerms"][0]["matchFields"][-1]["values"][0]
        self.change(name, {"spec": {"nodeName": node}, "status": {"conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}]}})
        return node

    def run(self, name):
        self.change(name, {"status": {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}})

    def finish(self, name, phase="Succeeded"):
        self.change(name, {"status": {"phase": phase, "containerStatuses": [
            {"state": {"terminated": {"finishedAt": now()}}}]}})

    def delete(self, name):
        self.call("DELETE", f"/api/v1/namespaces/team-a/pods/{name}")

    def fault(self, **fault):
        self.call("POST", "/standin/fault", {"times": 1, **fault})

    def writes(self):
        return [s for s in self.call("GET", "/standin/seen")
                if s["method"] != "GET" and s.get("agent", "") == "subakd" and not s["path"].endswith("reviews")]


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Edge(unittest.TestCase):
    mode = "enforce"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.api = Api()
        self.addCleanup(self.api.close)
        with open(self.path("kubeconfig"), "w", encoding="utf-8") as file:
            file.write(f"""apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{self.api.url}"}}}}]
users: [{{name: u, user: {{token: secret-token}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
""")
        with open(self.path("subak.yaml"), "w", encoding="utf-8") as file:
            file.write(f"apiVersion: subak.gpu/v1\nkind: Configuration\nclusters:\n- name: east\n  mode: {self.mode}\n"
                       f"  kubeconfig: {self.path('kubeconfig')}\n")
        self.api.make_node("n1")
        self.before_start()
        self.child = None
        self.start()
        self.subak("account", "set", "ml", "--namespaces", "team-a", "--reason", "test")
        until(lambda: self.metric('subak_cluster_synced{cluster="east"}') == 1, "synced")

    def before_start(self):
        pass

    def tearDown(self):
        self.end(signal.SIGTERM)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def start(self):
        log = open(self.path("log"), "a", encoding="utf-8")  # closed with the child
        self.child = subprocess.Popen(
            [SUBAKD, "--config", self.path("subak.yaml"), "--state", self.path("s.db"), *PORTS],
            stdout=subprocess.PIPE, stderr=log, text=True)
        log.close()
        line = self.child.stdout.readline()
        self.ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", line))
        if "http" not in self.ports:
            with open(self.path("log"), encoding="utf-8") as text:
                self.fail(text.read())

    def end(self, how):
        if self.child:
            self.child.send_signal(how)
            self.child.wait(DEADLINE_S)
            self.child.stdout.close()
        self.child = None

    def subak(self, *words, code=0):
        done = subprocess.run([SUBAK, *words, "--server", self.ports["grpc"]], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout + done.stderr

    def metric(self, series):
        with urllib.request.urlopen(f"http://{self.ports['http']}/metrics", timeout=DEADLINE_S) as reply:
            for line in reply.read().decode().splitlines():
                if line.startswith(series + " "):
                    return float(line.rsplit(" ", 1)[1])
        return None

    def jobs(self, *states):
        return sum(self.metric(f'subak_jobs{{state="{state}"}}') for state in states or LIVE)

    def released(self, *names):
        for name in names:
            until(lambda: self.api.gates(name) == [], f"{name} released")
