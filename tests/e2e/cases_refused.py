"""What only the cluster's scheduler knows: volumes and affinity between pods. It refuses, and Subak has to cope."""

from case import case, node_of, phase

GANG = {"subak.gpu/gang-size": "2"}
APART_S = 9  # between two attempts of one job, at least: less would be a loop
ANTI_AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
    "topologyKey": "e2e/pool", "labelSelector": {"matchLabels": {"apart": "yes"}}}]}}  # fmt: skip


def volume_on(c, name, node):
    """A claim whose volume is bound already, to one node."""
    volume = f"{c.ns}-{name}"
    size = {"storage": "1Gi"}
    c.admin.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}, "spec": {
        "capacity": size, "accessModes": ["ReadWriteOnce"], "storageClassName": "", "local": {"path": "/data"},
        "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": c.ns, "name": name},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}}})  # fmt: skip
    c.admin.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": c.ns},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": volume,
                 "resources": {"requests": size}}})  # fmt: skip
    c.until(lambda: c.admin.get("PersistentVolumeClaim", c.ns, name)["status"].get("phase") == "Bound", "bound claim")


def with_volume(c, name, gpus):
    spec = c.spec(gpus, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}])
    spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return spec


def job_ids(c, seen):
    seen.update(job["id"] for job in c.subak_jobs())
    return seen


def is_suspended(c, name):
    return c.admin.get("Job", c.ns, name)["spec"].get("suspend", False)


@case(seconds=240)
def volume_on_the_last_node(c):
    """The volume is on the node that Subak would choose last. The Job keeps its number on the way there."""
    nodes = c.nodes(3)
    volume_on(c, "data", nodes[2])
    c.job("train", 1, 4, spec=with_volume(c, "data", 4), run_seconds=3)
    numbers, tried = set(), []

    def runs():
        job_ids(c, numbers)
        tried.extend(p["metadata"]["annotations"].get("subak.gpu/status", "") for p in c.pods("train"))
        return [p for p in c.pods("train") if phase(p) in ("Running", "Succeeded")]

    pods = c.until(runs, "running pod of train", 150)
    c.expect(node_of(pods[0]) == nodes[2], f"on {nodes[2]}, not {node_of(pods[0])}")
    c.expect(len(numbers) == 1, f"one job all the time, not {sorted(numbers)}")
    c.completed("train")


@case(seconds=240)
def pods_that_stand_apart(c):
    """Two pods of a gang may not share a pool, and there is one. Subak reads such a rule for nodes alone: it must not try
    every ten seconds."""
    c.nodes(3)
    spec = c.spec(4, affinity=ANTI_AFFINITY)
    c.job("apart", 2, 4, indexed=True, keys=GANG, labels={"apart": "yes"}, spec=spec, run_seconds=20)
    c.pod("other", 8, run_seconds=2)  # it does not suffer
    c.succeeded("other")
    suspended, last, numbers = 0, False, set()

    def backed_off():
        nonlocal suspended, last
        now = is_suspended(c, "apart")
        suspended += now and not last
        last = now
        job_ids(c, numbers)
        job = c.job_named("apart")
        return job and job["state"] == "JOB_STATE_PAUSED" and suspended >= 3 and job

    job = c.until(backed_off, "pause after three attempts", 150)
    said = c.why(job["id"])
    c.expect("Unschedulable" in said and "anti-affinity" in said, f"the scheduler's words in: {said}")
    for command in (("queue",), ("job", "list")):
        said = c.service.subak(*command, "--account", c.account)
        c.expect("Unschedulable" in said, f"the reason in {' '.join(command)}: {said}")
    c.expect(len(numbers - {None}) <= 2, f"the gang and the other pod, not {sorted(numbers)}")
    # In the next half a minute it is tried once more at most.
    before = suspended
    for _ in range(3):
        c.stays(lambda: True, "time", APART_S)
        now = is_suspended(c, "apart")
        suspended += now and not last
        last = now
    c.expect(suspended - before <= 1, f"suspended {suspended - before} times in {3 * APART_S} s")
    c.ana.delete("Job", c.ns, "apart")
    c.until(lambda: not c.pods("apart"), "end of its pods")
    c.until(lambda: not c.job_named("apart"), "end of the job with its owner")
