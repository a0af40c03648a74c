#!/usr/bin/env python3
"""Two subakd on a real PostgreSQL, each as a pod of a stand-in of a cluster: who leads labels its own pod.

Usage: pod_label_test.py PATH_TO_SUBAKD PATH_TO_STANDIN
A pod's service account is at a fixed place, so each process has a /run of its own (mount namespaces, else it is skipped).
"""

import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from pg_server import DEADLINE_S, MORTAL, Server

SUBAKD, STANDIN = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")
POD_S = 5  # a stop may take so long, whatever the API server does
LABEL = "subak.gpu/leader"
PODS = "/api/v1/namespaces/subak-system/pods"
UNSHARE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
AS_POD = [*UNSHARE, "sh", "-c", 'mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io && '
          'ln -s "$0" /run/secrets/kubernetes.io/serviceaccount && exec "$@"']


def until(holds, what):
    end = time.monotonic() + DEADLINE_S
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}")
        time.sleep(0.02)


class Api:
    """The stand-in, over TLS. Its folder is that of a service account."""

    def __init__(self, folder):
        self.folder = folder
        self.cert, key = os.path.join(folder, "ca.crt"), os.path.join(folder, "api.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-subj", "/CN=api", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.cert],
                       check=True, stderr=subprocess.DEVNULL)
        with open(os.path.join(folder, "token"), "w", encoding="utf-8") as token:
            token.write("a-token")
        self.child = subprocess.Popen([sys.executable, STANDIN, "--tls", self.cert, key], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.port = self.child.stdout.readline().split("=")[1].strip()

    def close(self):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait()

    def call(self, method, path, body=None):
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", json.dumps(body).encode() if body else None,
                                         {"Content-Type": "application/json"}, method=method)
        context = ssl.create_default_context(cafile=self.cert)
        with urllib.request.urlopen(request, timeout=DEADLINE_S, context=context) as reply:
            return json.load(reply)

    def make_pod(self, name, **labels):
        self.call("POST", PODS, {"metadata": {"name": name, "labels": {"app": "subak", **labels}}})

    def label(self, name):
        labels = self.call("GET", f"{PODS}/{name}")["metadata"]["labels"]
        assert labels["app"] == "subak"
        return labels.get(LABEL)


class PodLabel(unittest.TestCase):
    def setUp(self):
        if subprocess.run([*AS_POD, "/", "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no mount namespaces here")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.api = Api(self.folder)
        self.server = Server()
        self.addCleanup(self.server.end)
        self.server.make_database("labels")

    def tearDown(self):
        if self.api.child.poll() is None:
            self.api.close()

    def start(self, pod):
        """As this pod; returns once it is ready."""
        environment = {**os.environ, "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": self.api.port}
        folder = os.path.join(self.folder, pod)
        os.makedirs(folder, exist_ok=True)
        child = subprocess.Popen(
            [*MORTAL, *AS_POD, self.folder, SUBAKD, "--state", self.server.address("labels"), "--database-durability", "local",
             "--own-pod", f"subak-system/{pod}", *PORTS],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment)
        self.addCleanup(lambda: (child.kill(), child.communicate()))
        self.assertIn("subakd ready", child.stdout.readline())
        return child

    def until_labels(self, *wanted):
        until(lambda: [self.api.label(pod) for pod in ("a", "b")] == list(wanted), f"labels {wanted}")

    def test_the_label_follows_the_lead(self):
        self.api.make_pod("a")
        self.api.make_pod("b", **{LABEL: "true"})  # as of a process that was killed
        a = self.start("a")
        self.until_labels("true", "true")
        b = self.start("b")
        self.until_labels("true", None)
        a.kill()
        self.until_labels("true", "true")
        a = self.start("a")
        self.until_labels(None, "true")
        b.send_signal(signal.SIGTERM)
        self.assertEqual(b.wait(DEADLINE_S), 0)
        self.assertIsNone(self.api.label("b"), "a stop takes it away before it ends")
        self.until_labels("true", None)

    def test_without_an_api_server_it_leads_and_stops_all_the_same(self):
        self.api.make_pod("a")
        fault = {"method": "PATCH", "path": PODS, "times": 3, "code": 403, "body": "no"}
        self.api.call("POST", "/standin/fault", fault)
        a = self.start("a")
        until(lambda: self.api.label("a") == "true", "it is tried again")
        self.api.close()
        begin = time.monotonic()
        a.send_signal(signal.SIGTERM)
        _, errors = a.communicate(timeout=DEADLINE_S)
        self.assertLess(time.monotonic() - begin, POD_S)
        self.assertEqual(a.returncode, 0)
        self.assertIn('"the pod is not labelled" pod=subak-system/a outcome=refused', errors)

    def test_outside_of_a_cluster_it_is_refused(self):
        words = [SUBAKD, "--own-pod", "subak-system/a", "--state", os.path.join(self.folder, "s.db"), *PORTS]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KUBERNETES_")}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ownPod: KUBERNETES_SERVICE_HOST", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
