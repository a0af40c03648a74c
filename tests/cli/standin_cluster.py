"""A cluster for tests of the command line: tests/standin/api_server.py, a kubeconfig for it, and objects to put into it."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

CALL_S = 120  # of one call; generous: other work may share the machine
ADMISSION = "/apis/admissionregistration.k8s.io/v1/"
GATE, FOREIGN = "subak.gpu/queue", "example.com/other"
GUARDS = [
    "validatingadmissionpolicybindings/subak-gate", "validatingadmissionpolicybindings/subak-keys",
    "validatingadmissionpolicies/subak-gate", "validatingadmissionpolicies/subak-keys",
    "mutatingwebhookconfigurations/subak", "validatingwebhookconfigurations/subak",
]  # fmt: skip
RIGHTS = ["/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/rbac.authorization.k8s.io/v1/clusterroles"]


class Cluster:
    def __init__(self, standin, folder):
        self.child = subprocess.Popen([sys.executable, standin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.child.stdout.readline().split('=')[1].strip()}"
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            file.write(f"""apiVersion: v1
kind: Config
current-context: here
clusters: [{{name: here, cluster: {{server: "{self.url}"}}}}]
users: [{{name: me, user: {{token: secret}}}}]
contexts: [{{name: here, context: {{cluster: here, user: me}}}}]
""")

    def close(self):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait()

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(),
                                         {"Content-Type": "application/json"}, method=method)  # fmt: skip
        with urllib.request.urlopen(request, timeout=CALL_S) as reply:
            return json.load(reply)

    def make(self, path, name, **more):
        metadata = {"name": name, **more.pop("metadata", {})}
        return self.call("POST", path, {"metadata": metadata, **more})

    def get(self, path):
        try:
            return self.call("GET", path)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def make_namespace(self, name, label=None):
        self.make("/api/v1/namespaces", name, metadata={"labels": {"subak.gpu/managed": label} if label else {}})

    def make_pod(self, name, created, gates=(GATE,), owner=None, labels=None):
        metadata = {"creationTimestamp": created, "labels": labels or {}}
        if owner:
            metadata["ownerReferences"] = [{"kind": "Job", "name": owner, "uid": owner, "controller": True}]
        limits = {"nvidia.com/gpu": "1"}
        self.make("/api/v1/namespaces/team-a/pods", name, metadata=metadata, status={"phase": "Pending"}, spec={
            "schedulingGates": [{"name": g} for g in gates],
            "containers": [{"name": "c", "resources": {"limits": limits, "requests": limits}}]})  # fmt: skip

    def gates(self, name):
        pod = self.get(f"/api/v1/namespaces/team-a/pods/{name}")
        return None if pod is None else [g["name"] for g in pod["spec"].get("schedulingGates", [])]

    def writes(self):
        """(method, path) of all that was written by a client, in order."""
        rows = self.call("GET", "/standin/seen")
        return [(r["method"], r["path"]) for r in rows if r["method"] != "GET" and "Python" not in r["agent"]
                and not r["path"].endswith("reviews")]  # fmt: skip

    def install(self, cluster="main"):
        hook = {"name": "mutate.subak.gpu", "clientConfig": {"url": f"https://10.0.0.5:9443/mutate/{cluster}"}}
        for path in GUARDS:
            kind, name = path.split("/")
            self.make(ADMISSION + kind, name, **({"webhooks": [hook]} if kind.startswith("mutating") else {}))
        for path in RIGHTS:
            self.make(path, "subak")
