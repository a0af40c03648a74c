"""Volumes: a GPU pod goes where its volumes are, and waits behind its gate until they exist."""

import objects as o
from case import case, has_gate, node_of


def volume(c, name, node, claim):
    """A volume that only one node can use, for one claim."""
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"{c.ns}-{name}"},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/data"},
            "claimRef": {"namespace": c.ns, "name": claim},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [o.term("kubernetes.io/hostname", node)]}},
        },
    }  # fmt: skip


def claim(c, name, storage_class=""):
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": c.ns},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
                 "resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip


def add(c, path, body):
    c.admin.call("POST", path, body)


def add_volume(c, name, node, claim_name):
    add(c, "/api/v1/persistentvolumes", volume(c, name, node, claim_name))


def add_claim(c, name, storage_class=""):
    add(c, f"/api/v1/namespaces/{c.ns}/persistentvolumeclaims", claim(c, name, storage_class))


def with_claim(c, gpus, name):
    return c.spec(gpus, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}])


def refusals(c, name):
    """What kube-scheduler said of the pod."""
    events = c.admin.call("GET", f"/api/v1/namespaces/{c.ns}/events")["items"]
    return [e["message"] for e in events if e["reason"] == "FailedScheduling" and e["involvedObject"]["name"] == name]


@case()
def pod_goes_where_its_volume_is(c):
    """Of three free nodes, only the one that can use the volume: without a refusal of the scheduler."""
    nodes = c.nodes(3)
    for i, node in enumerate(nodes):
        add_volume(c, f"v{i}", node, f"data{i}")
        add_claim(c, f"data{i}")
        c.pod(f"reader{i}", spec=with_claim(c, 4, f"data{i}"), run_seconds=2)
    for i, node in enumerate(nodes):
        c.expect(node_of(c.succeeded(f"reader{i}")) == node, "the volume's node")
        c.expect(not refusals(c, f"reader{i}"), "kube-scheduler refuses nothing")


@case()
def pod_waits_until_its_volume_exists(c):
    """It holds no GPUs meanwhile, its Events say for what it waits, and it starts once the volume is bound."""
    node = c.nodes(1)[0]
    c.pod("reader", spec=with_claim(c, 8, "data"), run_seconds=1)
    c.pod_is("reader", lambda p: "WaitingForVolumes" in str(p), "the reason")
    c.pod("other", 8, run_seconds=1)
    c.succeeded("other")  # the GPUs are free for others
    add_claim(c, "data")
    c.until(lambda: "has no PersistentVolume yet" in str(c.admin.call(
        "GET", f"/apis/events.k8s.io/v1/namespaces/{c.ns}/events")), "an Event that names the claim")  # fmt: skip
    c.expect(has_gate(c.get_pod("reader")), "still gated")
    add_volume(c, "v", node, "data")
    c.expect(node_of(c.succeeded("reader")) == node, "the volume's node")


@case()
def gang_with_a_volume_for_each_pod(c):
    """A StatefulSet whose pods have claims of their own, on volumes of different nodes."""
    nodes = c.nodes(2)
    for i, node in enumerate(nodes):
        add_volume(c, f"v{i}", node, f"data-train-{i}")
        add_claim(c, f"data-train-{i}")
    body = o.stateful_set("train", c.ns, c.template(2, spec=c.spec(2, restart="Always")), 2, parallel=True)
    body["spec"]["volumeClaimTemplates"] = [claim(c, "data") | {"metadata": {"name": "data"}}]
    c.ana.create(body)
    pods = c.running_pods(2, "train")
    for pod in pods:
        i = int(pod["metadata"]["name"].rsplit("-", 1)[1])
        c.expect(node_of(pod) == nodes[i], "each pod is where its volume is")
        c.expect(not refusals(c, pod["metadata"]["name"]), "kube-scheduler refuses nothing")


@case()
def volume_that_is_made_for_the_pod(c):
    """A class that waits for the first pod: Subak places the pod in the class's zone, and waits for no volume."""
    near, far = c.nodes(2)
    c.admin.patch("Node", "", far, {"metadata": {"labels": {"topology.kubernetes.io/zone": f"zone-{c.ns}"}}})
    zone = {"key": "topology.kubernetes.io/zone", "values": [f"zone-{c.ns}"]}
    add(c, "/apis/storage.k8s.io/v1/storageclasses", {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": c.ns},
        "provisioner": "example.com/none", "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [zone]}]})  # fmt: skip
    add_claim(c, "data", c.ns)
    c.pod("reader", spec=with_claim(c, 1, "data"), run_seconds=1)
    # The scheduler asks the provisioner for a volume on the node that Subak chose.
    def asked():
        found = c.admin.call("GET", f"/api/v1/namespaces/{c.ns}/persistentvolumeclaims/data")
        return found["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node")

    c.expect(c.until(asked, "a node for the volume") == far, f"the zone of the class, not {near}")
