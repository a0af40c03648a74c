"""Kueue's manager beside the control plane, from its Go module, with its own manifests.

    kueue = Kueue(plane); kueue.start(); kueue.make_queues(teams, fleet)

The definitions, rights and webhooks are those of config/default of the module, which are those of a release. Kueue
makes its certificate itself. The API server finds the webhook through a Service of the type ExternalName.
"""

import base64
import json
import os

from kube_api import ApiError
from operators import must, objects_of
from ports import free_ports

NAMESPACE = "kueue-system"
USER = f"system:serviceaccount:{NAMESPACE}:kueue-controller-manager"
GROUP = "kueue.x-k8s.io"
VERSION = f"{GROUP}/v1beta2"
QUEUE = "main"  # the LocalQueue of each team's namespace
WEBHOOK_SERVICE = "kueue-webhook-service"
# The process is started here, and its visibility server is off: that one would write a certificate to /visibility.
LEFT_OUT = ("Deployment", "APIService", "ConfigMap")
# What a release sets is 50 calls a second, bursts of 100, and 5 workers: not enough for thousands of short Jobs.
QPS, BURST, WORKERS = 1000, 2000, 20


class Kueue:
    def __init__(self, plane):
        self.plane = plane
        self.certificates = plane.at("kueue-certificates")
        self.webhook_port, self.health_port = free_ports(2)

    def start(self):
        """Manifests first: the manager puts its certificate into its webhooks before it is ready."""
        groups = f"/O=system:serviceaccounts/O=system:serviceaccounts:{NAMESPACE}"
        self.plane.pki.sign("kueue", f"{groups}/CN={USER}", "extendedKeyUsage=clientAuth")
        self.plane.write_kubeconfig("kueue", self.plane.port)
        self.api = self.plane.api("admin")
        self.make_namespace()
        manifests = {"apiVersion": "v1", "kind": "List", "items": list(self.manifests())}
        must(self.plane, "create", "-f", "-", text_in=json.dumps(manifests))
        words = [f"--kubeconfig={self.plane.kubeconfig('kueue')}", f"--config={self.settings()}", "--zap-log-level=2"]
        self.plane.run("kueue", words, os.path.join("kueue", "kueue"))
        self.plane.wait_for("certificate of Kueue", self.mount_certificate)
        # The readiness check waits for the webhook.
        self.plane.wait_http("Kueue's manager", self.health_port, "/readyz")

    def make_namespace(self):
        """Objects in it are checked before they are created, so it comes before them."""
        try:
            self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        except ApiError as error:
            if error.code != 409:
                raise

    def manifests(self):
        """The objects of config/default that are needed here, with the webhook on loopback."""
        rendered = must(self.plane, "kustomize", os.path.join(self.plane.binaries, "kueue", "config", "default"))
        text = must(self.plane, "create", "--dry-run=client", "-o", "json", "-f", "-", text_in=rendered)
        for obj in objects_of(text):
            if obj["kind"] in (*LEFT_OUT, "Namespace"):
                continue
            if obj["kind"] == "Service":
                if obj["metadata"]["name"] != WEBHOOK_SERVICE:
                    continue
                obj["spec"] = {"type": "ExternalName", "externalName": "127.0.0.1"}
            for hook in obj.get("webhooks", []):
                hook["clientConfig"]["service"]["port"] = self.webhook_port
            conversion = obj.get("spec", {}).get("conversion", {}).get("webhook")
            if conversion:
                conversion["clientConfig"]["service"]["port"] = self.webhook_port
            yield obj

    def settings(self):
        """Its configuration's file."""
        os.makedirs(self.certificates, mode=0o700, exist_ok=True)
        path = self.plane.at("kueue.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
                       "webhook": {"host": "127.0.0.1", "port": self.webhook_port, "certDir": self.certificates},
                       "metrics": {"bindAddress": "0"},
                       "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health_port}"},
                       "leaderElection": {"leaderElect": False},
                       "controller": {"groupKindConcurrency": {
                           "Job.batch": WORKERS, "Pod": WORKERS, f"Workload.{GROUP}": WORKERS, f"LocalQueue.{GROUP}": 1,
                           f"Cohort.{GROUP}": 1, f"ClusterQueue.{GROUP}": 1, f"ResourceFlavor.{GROUP}": 1}},
                       "clientConnection": {"qps": QPS, "burst": BURST},
                       "integrations": {"frameworks": ["batch/job"]},
                       "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]},
                       "featureGates": {"VisibilityOnDemand": False},
                       "internalCertManagement": {"enable": True}}, file)  # fmt: skip
        return path

    def mount_certificate(self):
        """The manager puts its certificate into a Secret, and waits until a kubelet has put that into its folder."""
        path = f"/api/v1/namespaces/{NAMESPACE}/secrets/kueue-webhook-server-cert"
        data = self.api.call("GET", path).get("data", {})
        for name, text in data.items():
            with open(os.path.join(self.certificates, name), "wb") as file:
                file.write(base64.b64decode(text))
        return "tls.crt" in data

    def make_queues(self, teams, fleet):
        """A ClusterQueue and a LocalQueue for each team, in one Cohort that has the GPUs beyond all quotas."""
        promised = sum(team.quota for team in teams)
        rows = [made("Topology", "racks", {"levels": [{"nodeLabel": label} for label in fleet.levels]}),
                made("ResourceFlavor", "gpus", {"nodeLabels": fleet.labels, "topologyName": "racks"}),
                made("Cohort", "fleet", {"resourceGroups": quota(fleet.gpus - promised)})]  # fmt: skip
        for team in teams:
            selector = {"matchLabels": {"kubernetes.io/metadata.name": team.name}}
            rows += [made("ClusterQueue", team.name, {"cohortName": "fleet", "resourceGroups": quota(team.quota),
                                                     "namespaceSelector": selector,
                                                     "fairSharing": {"weight": str(team.weight)}}),
                     made("LocalQueue", QUEUE, {"clusterQueue": team.name}, team.name)]  # fmt: skip
        must(self.plane, "create", "-f", "-", text_in=json.dumps({"apiVersion": "v1", "kind": "List", "items": rows}))
        self.plane.wait_for("active ClusterQueues", lambda: self.active() == len(teams))

    def active(self):
        """How many ClusterQueues admit Jobs."""
        found = self.api.call("GET", f"/apis/{VERSION}/clusterqueues")["items"]
        return sum(row["type"] == "Active" and row["status"] == "True"
                   for each in found for row in each.get("status", {}).get("conditions", []))  # fmt: skip

    def why(self, job):
        """What Kueue says of a Job that waits: the conditions of its Workload, and the Events of both."""
        meta = job["metadata"]
        path = f"/apis/{VERSION}/namespaces/{meta['namespace']}/workloads"
        selector = f"?labelSelector={GROUP}%2Fjob-uid%3D{meta['uid']}"
        names = [meta["name"]]
        for each in self.api.call("GET", path + selector)["items"]:
            names.append(each["metadata"]["name"])
            rows = each.get("status", {}).get("conditions", [])
            for row in rows:
                yield f"condition {row['type']}={row['status']} {row['reason']}: {row['message']}"
            if not rows:
                yield "the Workload has no condition"
        for name in names:
            for event in self.api.list("Event", meta["namespace"], fields=f"involvedObject.name={name}"):
                yield f"event {event['involvedObject']['kind']} {event['reason']}: {event['message']}"


def made(kind, name, spec, namespace=""):
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": VERSION, "kind": kind, "metadata": meta, "spec": spec}


def quota(gpus):
    """The resource groups of a ClusterQueue or Cohort that has so many GPUs."""
    resource = {"name": "nvidia.com/gpu", "nominalQuota": str(gpus)}
    return [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "gpus", "resources": [resource]}]}]
