"""Kubernetes objects as people write them. `notes` are annotations; those of kubelet.py are without their prefix."""

import json

GPU = "nvidia.com/gpu"
PRODUCT = "NVIDIA-H100-80GB-HBM3"
LIMITS = {"cpu": "4", "memory": "8Gi"}


def meta(name, namespace="", labels=None, notes=None, generate=False):
    out = {"generateName": name + "-"} if generate else {"name": name}
    if namespace:
        out["namespace"] = namespace
    if labels:
        out["labels"] = dict(labels)
    if notes:
        out["annotations"] = {key if "/" in key else "e2e/" + key: str(value) for key, value in notes.items()}
    return out


def container(gpus=1, name="main", resource=GPU, **more):
    limits = dict(LIMITS)
    if gpus:
        limits[resource] = str(gpus)
    return {"name": name, "image": "example.com/train", "resources": {"limits": limits}, **more}


def pod_spec(gpus=1, pool="", restart="Never", **more):
    spec = {"restartPolicy": restart, "containers": [container(gpus)], **more}
    if pool:
        spec["nodeSelector"] = {"e2e/pool": pool} | more.get("nodeSelector", {})
    return spec


def pod(name, namespace, spec, labels=None, notes=None):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta(name, namespace, labels, notes), "spec": spec}


def template(spec, labels=None, notes=None):
    out = meta("", "", labels, notes)
    del out["name"]
    return {"metadata": out, "spec": spec}


def job(name, namespace, pod_template, pods=1, indexed=False, labels=None, notes=None, **more):
    spec = {"template": pod_template, "parallelism": pods, "completions": pods} | more
    if indexed:
        spec["completionMode"] = "Indexed"
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta(name, namespace, labels, notes), "spec": spec}


def deployment(name, namespace, pod_template, replicas, **more):
    pod_template["metadata"].setdefault("labels", {})["app"] = name
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pod_template} | more
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(name, namespace), "spec": spec}


def stateful_set(name, namespace, pod_template, replicas, parallel=False):
    out = deployment(name, namespace, pod_template, replicas, serviceName=name)
    out["kind"] = "StatefulSet"
    out["spec"]["podManagementPolicy"] = "Parallel" if parallel else "OrderedReady"
    return out


def job_set(name, namespace, roles, **spec):
    """`roles`: (name, replicas, pods in each, pod template)."""
    rows = [{"name": role, "replicas": replicas,
             "template": {"spec": {"parallelism": pods, "completions": pods, "completionMode": "Indexed",
                                   "template": made}}} for role, replicas, pods, made in roles]  # fmt: skip
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta(name, namespace),
            "spec": {"replicatedJobs": rows} | spec}  # fmt: skip


def worker_set(name, namespace, replicas, size, made, **spec):
    group = {"size": size, "workerTemplate": made}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": meta(name, namespace),
            "spec": {"replicas": replicas, "leaderWorkerTemplate": group} | spec}  # fmt: skip


def node(name, pool, gpus=8, labels=None, taints=None, resources=None, beside=None, rejects=None):
    """`resources`: what its device plugin offers in place of whole GPUs; `beside`: what others offer; `rejects`: the error
    with which its kubelet turns away every pod that holds GPUs."""
    all_labels = {"e2e/played": "true", "e2e/pool": pool, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                  "kubernetes.io/arch": "amd64"}  # fmt: skip
    if gpus:
        all_labels |= {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": PRODUCT,
                       "nvidia.com/gpu.count": str(gpus), "nvidia.com/gpu.memory": "81559",
                       "nvidia.com/gpu.family": "hopper"}  # fmt: skip
    spec = {"taints": taints} if taints else {}
    notes = {"gpus": 0, "resources": json.dumps(resources)} if resources else {"gpus": gpus}
    if beside:
        notes["resources"] = json.dumps(beside)
    if rejects:
        notes["rejects"] = rejects
    return {"apiVersion": "v1", "kind": "Node", "spec": spec,
            "metadata": meta(name, "", all_labels | (labels or {}), notes)}  # fmt: skip


def namespace(name, managed=""):
    labels = {"subak.gpu/managed": managed} if managed else None
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(name, "", labels)}


def term(key, *values, operator="In"):
    """A term of required node affinity with one requirement."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def required(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def preferred(one_term, weight=100):
    rule = {"weight": weight, "preference": one_term}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [rule]}}
