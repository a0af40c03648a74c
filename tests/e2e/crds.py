"""JobSet and LeaderWorkerSet without their operators: definitions that take anything, and the objects that the
operators would make, with the labels and annotations that they put on them (jobset v0.12.0, lws v0.10.0)."""

import objects as o


def definition(group, version, kind, plural):
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything},
              "subresources": {"status": {}}}  # fmt: skip
    names = {"kind": kind, "listKind": kind + "List", "plural": plural, "singular": kind.lower()}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}",
                         "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
            "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]}}  # fmt: skip


DEFINITIONS = [
    definition("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    definition("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"),
]
KINDS = ("JobSet", "LeaderWorkerSet")


def owner_of(obj):
    meta = obj["metadata"]
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": meta["name"], "uid": meta["uid"],
            "controller": True, "blockOwnerDeletion": True}  # fmt: skip


def job_set(name, namespace, roles, **spec):
    """`roles`: (name, replicas, pods in each, pod template)."""
    rows = [{"name": role, "replicas": replicas,
             "template": {"spec": {"parallelism": pods, "completions": pods, "completionMode": "Indexed",
                                   "template": made}}} for role, replicas, pods, made in roles]  # fmt: skip
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": o.meta(name, namespace),
            "spec": {"replicatedJobs": rows} | spec}  # fmt: skip


def jobs_of(made, only=None):
    """The Jobs that the operator makes of a stored JobSet; of the replicated job `only`."""
    meta, found, first = made["metadata"], [], 0
    for row in made["spec"]["replicatedJobs"]:
        for index in range(row["replicas"]):
            name = f"{meta['name']}-{row['name']}-{index}"
            labels = {"jobset-name": meta["name"], "jobset-uid": meta["uid"], "replicatedjob-name": row["name"],
                      "replicatedjob-replicas": str(row["replicas"]), "job-index": str(index),
                      "job-global-index": str(first + index), "restart-attempt": "0"}  # fmt: skip
            labels = {"jobset.sigs.k8s.io/" + key: value for key, value in labels.items()}
            spec = dict(row["template"]["spec"])
            pods = spec.pop("template")
            pods = {"metadata": {"labels": {**pods["metadata"].get("labels", {}), **labels},
                                 "annotations": {**pods["metadata"].get("annotations", {}), **labels}},
                    "spec": pods["spec"]}  # fmt: skip
            job = o.job(name, meta["namespace"], pods, spec["parallelism"], True, labels,
                        suspend=made["spec"].get("suspend", False))  # fmt: skip
            job["metadata"]["ownerReferences"] = [owner_of(made)]
            if only in (None, row["name"]):
                found.append(job)
        first += row["replicas"]
    return found


def worker_set(name, namespace, replicas, size, made, **spec):
    group = {"size": size, "workerTemplate": made}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": o.meta(name, namespace),
            "spec": {"replicas": replicas, "leaderWorkerTemplate": group} | spec}  # fmt: skip


def member(made, group, index):
    """Pod `index` of a group of a stored LeaderWorkerSet; 0 is its leader."""
    meta, template = made["metadata"], made["spec"]["leaderWorkerTemplate"]
    leader = f"{meta['name']}-{group}"
    prefix = "leaderworkerset.sigs.k8s.io/"
    labels = {prefix + "name": meta["name"], prefix + "group-index": str(group), prefix + "worker-index": str(index),
              prefix + "group-key": f"key-{meta['name']}-{group}", prefix + "template-revision-hash": "1"}  # fmt: skip
    notes = {prefix + "size": str(template["size"])}
    if index:
        notes[prefix + "leader-name"] = leader
    pods = template["workerTemplate"]
    notes |= pods["metadata"].get("annotations", {})
    pod = o.pod(leader if index == 0 else f"{leader}-{index}", meta["namespace"], pods["spec"], labels, notes)
    pod["metadata"]["ownerReferences"] = [owner_of(made)]
    return pod
