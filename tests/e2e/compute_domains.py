"""Plays NVIDIA's DRA driver for ComputeDomains: the definition of the kind, the controller, and the slices of nodes.

Of each ComputeDomain it makes the ResourceClaimTemplate, holds the object by a finalizer until the template is gone,
and writes into status.nodes where pods of the domain run. As the driver's documentation says; none of its code.
Source: kubernetes-sigs/dra-driver-nvidia-gpu, api/nvidia.com/resource/v1beta1 and its site.
"""

import threading
import time

from kube_api import Api, ApiError, Reflector

GROUP, VERSION = "resource.nvidia.com", "v1beta1"
LABEL = "resource.nvidia.com/computeDomain"  # label of what is made, and finalizer
CLASS = "compute-domain-default-channel.nvidia.com"
DRIVER = "compute-domain.nvidia.com"
CLIQUE = "7b968a6d-c8aa-45e1-9e07-e1e51be99c31"

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
NODE = {"type": "object", "required": ["name"], "properties": {
    "name": TEXT, "ipAddress": TEXT, "cliqueID": TEXT, "index": NUMBER,
    "status": {"type": "string", "enum": ["Ready", "NotReady"], "default": "NotReady"}}}  # fmt: skip
CHANNEL = {"type": "object", "required": ["resourceClaimTemplate"], "properties": {
    "resourceClaimTemplate": {"type": "object", "required": ["name"], "properties": {"name": TEXT}},
    "allocationMode": {"type": "string", "enum": ["Single", "All"], "default": "Single"}}}  # fmt: skip
SPEC = {"type": "object", "required": ["channel"], "properties": {
    "numNodes": {"type": "integer", "minimum": 0, "default": 0}, "channel": CHANNEL},
    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "spec is immutable"}]}  # fmt: skip
STATUS = {"type": "object", "properties": {
    "status": {"type": "string", "enum": ["Ready", "NotReady"], "default": "NotReady"},
    "nodes": {"type": "array", "items": NODE, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}}}  # fmt: skip
SCHEMA = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": f"computedomains.{GROUP}"},
    "spec": {"group": GROUP, "scope": "Namespaced",
             "names": {"kind": "ComputeDomain", "listKind": "ComputeDomainList", "plural": "computedomains",
                       "singular": "computedomain"},
             "versions": [{"name": VERSION, "served": True, "storage": True, "subresources": {"status": {}},
                           "schema": {"openAPIV3Schema": SCHEMA}}]}}  # fmt: skip
DEVICE_CLASS = {
    "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": CLASS},
    "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type"
                                                  f" == 'channel' && device.attributes['{DRIVER}'].id == 0"}}]}}  # fmt: skip


def slice_of(node):
    """What the driver's kubelet plugin publishes of a node."""
    def device(kind):
        return {"name": f"{kind}-0", "attributes": {"type": {"string": kind}, "id": {"int": 0}}}

    owner = {"apiVersion": "v1", "kind": "Node", "name": node["metadata"]["name"], "uid": node["metadata"]["uid"]}
    name = node["metadata"]["name"]
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
            "metadata": {"name": f"{name}-{DRIVER}", "ownerReferences": [owner]},
            "spec": {"driver": DRIVER, "nodeName": name, "devices": [device("channel"), device("daemon")],
                     "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}}  # fmt: skip


def claim_template(name, namespace, uid="", classes=(CLASS,)):
    requests = [{"name": f"channel{i or ''}", "exactly": {"deviceClassName": each}} for i, each in enumerate(classes)]
    meta = {"name": name, "namespace": namespace}
    if uid:
        meta |= {"labels": {LABEL: uid}, "finalizers": [LABEL]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": meta,
            "spec": {"spec": {"devices": {"requests": requests}}}}  # fmt: skip


def compute_domain(name, namespace, template=""):
    channel = {"resourceClaimTemplate": {"name": template or name}, "allocationMode": "Single"}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "ComputeDomain",
            "metadata": {"name": name, "namespace": namespace}, "spec": {"numNodes": 0, "channel": channel}}  # fmt: skip


def templates_of(pod):
    return [c["resourceClaimTemplateName"] for c in pod["spec"].get("resourceClaims", [])
            if "resourceClaimTemplateName" in c]  # fmt: skip


class Driver:
    """`made`: uids of all ComputeDomains that were ever seen, by namespace."""

    def __init__(self, plane):
        self.api: Api = plane.api("operators")
        self.lock = threading.Lock()
        self.withheld = set()  # namespaces whose templates are not made
        self.not_ready = set()  # names of nodes
        self.kept = set()  # namespaces whose ComputeDomains do not go
        self.made = {}
        self.domains = None

    def install(self):
        """The kind, the class, and the controller; once."""
        if self.domains is not None:
            return
        self.install_kind()
        self.api.create(DEVICE_CLASS)
        self.domains = Reflector(self.api, "ComputeDomain", self.on_domain, lambda _: None)
        self.pods = Reflector(self.api, "Pod", self.on_pod, self.on_pod)
        self.domains.start()
        self.pods.start()

    def offer(self, *names):
        for name in names:
            self.api.create(slice_of(self.api.get("Node", "", name)))

    def remove_kind(self):
        """As if the driver's chart had been uninstalled; install_kind() undoes it."""
        name = DEFINITION["metadata"]["name"]
        self.api.delete("CustomResourceDefinition", "", name)
        while self.api.get("CustomResourceDefinition", "", name):
            time.sleep(0.2)

    def install_kind(self):
        self.api.create(DEFINITION)

    def release(self, namespace):
        """Makes the templates that were withheld, and lets go what was kept."""
        self.withheld.discard(namespace)
        self.kept.discard(namespace)
        for domain in self.api.list("ComputeDomain", namespace):
            self.on_domain(domain)

    def set_ready(self, node, ready):
        (self.not_ready.discard if ready else self.not_ready.add)(node)
        for pod in self.api.list("Pod", fields=f"spec.nodeName={node}"):
            self.on_pod(pod)

    def on_domain(self, domain):
        with self.lock:
            try:
                self.settle(domain)
            except ApiError as error:
                if error.code not in (0, 404, 409, 422):
                    raise

    def settle(self, domain):
        meta = domain["metadata"]
        namespace, uid = meta["namespace"], meta["uid"]
        self.made.setdefault(namespace, set()).add(uid)
        template = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
        if "deletionTimestamp" in meta:
            return None if namespace in self.kept else self.end(domain, template)
        if LABEL not in meta.get("finalizers", []):
            body = {"metadata": {"uid": uid, "finalizers": [*meta.get("finalizers", []), LABEL]}}
            self.api.patch("ComputeDomain", namespace, meta["name"], body)
        if namespace not in self.withheld and not self.api.get("ResourceClaimTemplate", namespace, template):
            self.api.create(claim_template(template, namespace, uid))
        return None

    def end(self, domain, template):
        meta = domain["metadata"]
        found = self.api.get("ResourceClaimTemplate", meta["namespace"], template)
        if found and found["metadata"].get("labels", {}).get(LABEL) == meta["uid"]:
            self.api.patch("ResourceClaimTemplate", meta["namespace"], template, {"metadata": {"finalizers": None}})
            self.api.delete("ResourceClaimTemplate", meta["namespace"], template)
        left = [f for f in meta.get("finalizers", []) if f != LABEL]
        self.api.patch("ComputeDomain", meta["namespace"], meta["name"], {"metadata": {"finalizers": left}})

    def on_pod(self, pod):
        """A pod of a domain that runs makes its node join; status.nodes has all nodes of such pods."""
        names, namespace = templates_of(pod), pod["metadata"]["namespace"]
        if not names or not pod["spec"].get("nodeName"):
            return
        for domain in self.api.list("ComputeDomain", namespace):
            template = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
            if template in names:
                self.join(domain, template)

    def join(self, domain, template):
        meta = domain["metadata"]
        nodes = sorted({p["spec"]["nodeName"] for p in self.api.list("Pod", meta["namespace"])
                        if template in templates_of(p) and p["spec"].get("nodeName")
                        and p["status"].get("phase") == "Running"})  # fmt: skip
        rows = [{"name": node, "ipAddress": f"10.9.0.{i}", "cliqueID": f"{CLIQUE}.1", "index": i,
                 "status": "NotReady" if node in self.not_ready else "Ready"} for i, node in enumerate(nodes)]  # fmt: skip
        ready = "Ready" if rows and all(r["status"] == "Ready" for r in rows) else "NotReady"
        body = {"metadata": {"uid": meta["uid"]}, "status": {"status": ready, "nodes": rows}}
        try:
            self.api.patch("ComputeDomain", meta["namespace"], meta["name"], body, "status")
        except ApiError as error:
            if error.code not in (0, 404, 409):
                raise
