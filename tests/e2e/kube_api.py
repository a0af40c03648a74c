"""A small client for kube-apiserver: calls, and what a watch knows. Standard library alone."""

import http.client
import json
import ssl
import threading
import time
from urllib.parse import urlencode

CALL_S = 30
WATCH_S = 300  # the server ends a watch after that; it is begun again
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

COLLECTIONS = {
    "Namespace": ("/api/v1", "namespaces"),
    "Node": ("/api/v1", "nodes"),
    "Pod": ("/api/v1", "pods"),
    "Event": ("/api/v1", "events"),
    "Job": ("/apis/batch/v1", "jobs"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "DaemonSet": ("/apis/apps/v1", "daemonsets"),
    "ReplicaSet": ("/apis/apps/v1", "replicasets"),
    "StatefulSet": ("/apis/apps/v1", "statefulsets"),
    "JobSet": ("/apis/jobset.x-k8s.io/v1alpha2", "jobsets"),
    "LeaderWorkerSet": ("/apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "MPIJob": ("/apis/kubeflow.org/v2beta1", "mpijobs"),
    "PyTorchJob": ("/apis/kubeflow.org/v1", "pytorchjobs"),
    "RayCluster": ("/apis/ray.io/v1", "rayclusters"),
    "RayJob": ("/apis/ray.io/v1", "rayjobs"),
    "TrainJob": ("/apis/trainer.kubeflow.org/v1alpha1", "trainjobs"),
    "CoschedulingGroup": ("/apis/scheduling.x-k8s.io/v1alpha1", "podgroups"),
    "VolcanoGroup": ("/apis/scheduling.volcano.sh/v1beta1", "podgroups"),
    "KaiGroup": ("/apis/scheduling.run.ai/v2alpha2", "podgroups"),
    "ComputeDomain": ("/apis/resource.nvidia.com/v1beta1", "computedomains"),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
    "DeviceClass": ("/apis/resource.k8s.io/v1", "deviceclasses"),
    "ResourceClaim": ("/apis/resource.k8s.io/v1", "resourceclaims"),
    "ResourceClaimTemplate": ("/apis/resource.k8s.io/v1", "resourceclaimtemplates"),
    "ResourceSlice": ("/apis/resource.k8s.io/v1", "resourceslices"),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases"),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets"),
    "DeviceClass": ("/apis/resource.k8s.io/v1", "deviceclasses"),
    "ResourceSlice": ("/apis/resource.k8s.io/v1", "resourceslices"),
    "ResourceClaim": ("/apis/resource.k8s.io/v1", "resourceclaims"),
    "ResourceClaimTemplate": ("/apis/resource.k8s.io/v1", "resourceclaimtemplates"),
    "ResourceQuota": ("/api/v1", "resourcequotas"),
    "PodTemplate": ("/api/v1", "podtemplates"),
    "ProvisioningRequest": ("/apis/autoscaling.x-k8s.io/v1", "provisioningrequests"),
    "PersistentVolume": ("/api/v1", "persistentvolumes"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
}


class ApiError(Exception):
    """What the server refused. `code` 0: nobody answered."""

    def __init__(self, code, message, reason=""):
        super().__init__(f"{code} {message}")
        self.code, self.message, self.reason = code, message, reason


def path_of(kind, namespace="", name="", sub=""):
    root, plural = COLLECTIONS[kind]
    path = root + (f"/namespaces/{namespace}" if namespace and kind != "Namespace" else "") + f"/{plural}"
    return path + (f"/{name}" if name else "") + (f"/{sub}" if sub else "")


class Api:
    """One user's calls. Each thread has a connection of its own."""

    def __init__(self, port, ca, cert, key):
        self.port = port
        self.context = ssl.create_default_context(cafile=ca)
        self.context.load_cert_chain(cert, key)
        self.local = threading.local()

    def connect(self, timeout_s):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout_s, context=self.context)

    def call(self, method, path, body=None, content_type="application/json"):
        """The answer's object. A call that found its kept connection closed is made once more."""
        data = None if body is None else json.dumps(body)
        for attempt in (1, 2):
            kept = getattr(self.local, "connection", None)
            connection = kept or self.connect(CALL_S)
            self.local.connection = connection
            try:
                connection.request(method, path, data, {"Content-Type": content_type, "Accept": "application/json"})
                reply = connection.getresponse()
                text = reply.read()
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                self.local.connection = None
                if kept is None or attempt == 2:
                    raise ApiError(0, f"{method} {path}: {error!r}") from error
        self.local.warnings = reply.headers.get_all("Warning") or []
        try:
            answer = json.loads(text)
        except ValueError:
            answer = {"message": text.decode(errors="replace")}
        if reply.status >= 400:
            raise ApiError(reply.status, answer.get("message", ""), answer.get("reason", ""))
        return answer

    @property
    def warnings(self):
        """Of this thread's last call."""
        return self.local.warnings

    def get(self, kind, namespace, name):
        """The object; None if it is not there."""
        try:
            return self.call("GET", path_of(kind, namespace, name))
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def list(self, kind, namespace="", selector="", fields=""):
        query = {k: v for k, v in (("labelSelector", selector), ("fieldSelector", fields)) if v}
        return self.call("GET", path_of(kind, namespace) + ("?" + urlencode(query) if query else ""))["items"]

    def create(self, obj, dry_run=False):
        meta = obj["metadata"]
        query = "?dryRun=All" if dry_run else ""
        return self.call("POST", path_of(obj["kind"], meta.get("namespace", "")) + query, obj)

    def patch(self, kind, namespace, name, body, sub="", content_type=MERGE_PATCH):
        return self.call("PATCH", path_of(kind, namespace, name, sub), body, content_type)

    def delete(self, kind, namespace, name, grace_s=None, uid="", policy="Background"):
        """True unless it was gone already."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self.call("DELETE", path_of(kind, namespace, name), options)
            return True
        except ApiError as error:
            if error.code == 404 or (uid and error.code == 409):
                return False
            raise

    def delete_all(self, kind, namespace, policy="Background"):
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
        self.call("DELETE", path_of(kind, namespace), options)

    def watch(self, path, version):
        """Events as objects until the server ends the stream; ApiError if it says so in one."""
        query = urlencode({"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true",
                           "timeoutSeconds": WATCH_S})  # fmt: skip
        connection = self.connect(WATCH_S + CALL_S)
        try:
            connection.request("GET", f"{path}?{query}", headers={"Accept": "application/json"})
            reply = connection.getresponse()
            if reply.status != 200:
                raise ApiError(reply.status, reply.read().decode(errors="replace"))
            for line in reply:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(event["object"].get("code", 500), event["object"].get("message", ""))
                yield event
        finally:
            connection.close()


class Reflector(threading.Thread):
    """Lists and watches all objects of a kind for ever: on_change(object), on_gone(object)."""

    def __init__(self, api, kind, on_change, on_gone):
        super().__init__(daemon=True)
        self.api, self.path = api, path_of(kind)
        self.on_change, self.on_gone = on_change, on_gone
        self.known = {}  # by uid

    def run(self):
        while True:
            try:
                self.follow(self.list())
            except (ApiError, OSError, ValueError, http.client.HTTPException):
                time.sleep(0.3)

    def list(self):
        answer = self.api.call("GET", self.path)
        now = {item["metadata"]["uid"]: item for item in answer["items"]}
        for uid in [uid for uid in self.known if uid not in now]:
            self.on_gone(self.known.pop(uid))
        for uid, item in now.items():
            self.known[uid] = item
            self.on_change(item)
        return answer["metadata"]["resourceVersion"]

    def follow(self, version):
        while True:
            for event in self.api.watch(self.path, version):
                obj = event["object"]
                version = obj["metadata"]["resourceVersion"]
                if event["type"] == "BOOKMARK":
                    continue
                uid = obj["metadata"]["uid"]
                if event["type"] == "DELETED":
                    self.known.pop(uid, None)
                    self.on_gone(obj)
                else:
                    self.known[uid] = obj
                    self.on_change(obj)
