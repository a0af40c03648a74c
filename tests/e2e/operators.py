"""The controllers of JobSet and LeaderWorkerSet, as tests/e2e/build made them, and kinds without their own: MPIJob with its
definition, and others whose operators are not built, with definitions that take every field.

    for operator in OPERATORS: operator.start(plane)

Each has its kind's definition and the rules of its webhooks from its own module, rendered by kubectl.
"""

import base64
import json
import os
import socket
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from ports import free_ports  # noqa: E402

USER = "operators"


class Operator:
    """A kind without its controller. `crd` is the path of its definition in the controller's module."""

    def __init__(self, name, kind, crd):
        self.name, self.kind, self.crd = name, kind, crd

    def start(self, plane):
        must(plane, "create", "-f", self.path(plane, "config", self.crd))
        self.run(plane)
        plane.wait_for(f"kind {self.kind}", lambda: plane.kubectl("admin", "get", self.kind, "-A")[0] == 0)

    def path(self, plane, *names):
        return os.path.join(plane.binaries, self.name, *names)

    def run(self, plane):
        """Starts the controller, if there is one."""


class PlayedKind:
    """A kind whose operator is not built: the cases play it."""

    def __init__(self, kind, group, version, plural, collection=None):
        self.kind, self.group, self.version, self.plural = kind, group, version, plural
        self.collection = collection or kind  # its name in kube_api.COLLECTIONS

    def start(self, plane):
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        must(plane, "create", "-f", "-", text_in=json.dumps({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {"group": self.group, "scope": "Namespaced",
                     "names": {"kind": self.kind, "plural": self.plural, "singular": self.plural[:-1]},
                     "versions": [{"name": self.version, "served": True, "storage": True, "schema": schema}]}}))  # fmt: skip
        path = f"{self.plural}.{self.group}"
        plane.wait_for(f"kind {path}", lambda: plane.kubectl("admin", "get", path, "-A")[0] == 0)


class SigOperator(Operator):
    """One of Kubernetes' own groups: they read a configuration of the same form, and serve webhooks."""

    def __init__(self, name, kind, crd, config_version, webhooks):
        super().__init__(name, kind, crd)
        self.config_version, self.webhooks = config_version, webhooks

    def run(self, plane):
        """Its process first, then its webhooks, as the API server asks them from then on."""
        plane.pki.sign(self.name, f"/CN={self.name}", "extendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1")
        port = free_ports(1)[0]
        plane.run(self.name, [f"--kubeconfig={plane.kubeconfig(USER)}", f"--config={self.settings(plane, port)}"],
                  os.path.join(self.name, self.name))  # fmt: skip
        plane.wait_for(f"webhook of {self.name}", lambda: listens(port))
        for obj in self.registrations(plane, port):
            must(plane, "create", "-f", "-", text_in=json.dumps(obj))

    def settings(self, plane, port):
        """Its configuration's file."""
        certificates = plane.at(f"{self.name}-certificates")
        os.makedirs(certificates)
        for kind in ("crt", "key"):
            os.symlink(plane.pki.at(f"{self.name}.{kind}"), os.path.join(certificates, f"tls.{kind}"))
        path = plane.at(f"{self.name}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": self.config_version, "kind": "Configuration",
                       "webhook": {"host": "127.0.0.1", "port": port, "certDir": certificates},
                       "metrics": {"bindAddress": "0"}, "health": {"healthProbeBindAddress": "0"},
                       "leaderElection": {"leaderElect": False},
                       "internalCertManagement": {"enable": False}}, file)  # fmt: skip
        return path

    def registrations(self, plane, port):
        """Its webhook configurations, which lead to the Service of its Deployment, led to `port` instead."""
        rendered = must(plane, "kustomize", self.path(plane, "config", self.webhooks))
        text = must(plane, "create", "--dry-run=client", "-o", "json", "-f", "-", text_in=rendered)
        with open(plane.pki.at("ca.crt"), "rb") as file:
            bundle = base64.b64encode(file.read()).decode()
        for obj in objects_of(text):
            if not obj["kind"].endswith("WebhookConfiguration"):
                continue
            obj["metadata"] = {"name": f"{self.name}-{obj['metadata']['name']}"}
            for hook in obj["webhooks"]:
                path = hook["clientConfig"]["service"]["path"]
                hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle}
            yield obj


def must(plane, *words, text_in=None):
    code, out = plane.kubectl("admin", *words, text_in=text_in)
    if code != 0:
        raise AssertionError(f"kubectl {' '.join(words)}: {out}")
    return out


def objects_of(text):
    """kubectl prints several objects one after the other."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        obj, at = decoder.raw_decode(text, at)
        yield from obj["items"] if obj["kind"] == "List" else [obj]
        while at < len(text) and text[at].isspace():
            at += 1


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


OPERATORS = (
    SigOperator("jobset", "JobSet", "components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
                "config.jobset.x-k8s.io/v1alpha1", "components/webhook"),
    SigOperator("lws", "LeaderWorkerSet", "crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
                "config.lws.x-k8s.io/v1alpha1", "webhook"),
    Operator("mpi-operator", "MPIJob", "base/kubeflow.org_mpijobs.yaml"),
)  # fmt: skip
PLAYED = (
    PlayedKind("PyTorchJob", "kubeflow.org", "v1", "pytorchjobs"),
    PlayedKind("RayCluster", "ray.io", "v1", "rayclusters"),
    PlayedKind("RayJob", "ray.io", "v1", "rayjobs"),
    PlayedKind("TrainJob", "trainer.kubeflow.org", "v1alpha1", "trainjobs"),
    PlayedKind("PodGroup", "scheduling.x-k8s.io", "v1alpha1", "podgroups", "CoschedulingGroup"),
    PlayedKind("PodGroup", "scheduling.volcano.sh", "v1beta1", "podgroups", "VolcanoGroup"),
    PlayedKind("PodGroup", "scheduling.run.ai", "v2alpha2", "podgroups", "KaiGroup"),
)
KINDS = tuple(operator.kind for operator in OPERATORS) + tuple(played.collection for played in PLAYED)
