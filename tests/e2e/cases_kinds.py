"""Gangs whose size an operator's object or a PodGroup says. No operator runs: the cases play them."""

import objects as o
from case import case, has_gate, phase
from cases_jobs import rows_of, together
from cases_owners import status_of

GROUPS = {"CoschedulingGroup": ("scheduling.x-k8s.io/v1alpha1", {"scheduling.x-k8s.io/pod-group": "crew"}, {}),
          "VolcanoGroup": ("scheduling.volcano.sh/v1beta1", {}, {"scheduling.k8s.io/group-name": "crew"}),
          "KaiGroup": ("scheduling.run.ai/v2alpha2", {}, {"pod-group-name": "crew"})}  # fmt: skip


def made(c, kind, api, name, spec):
    """The object, and the reference by which it owns pods."""
    obj = {"apiVersion": api, "kind": kind, "metadata": o.meta(name, c.ns), "spec": spec}
    made_obj = c.ana.create(obj)
    return {"apiVersion": api, "kind": kind, "name": name, "uid": made_obj["metadata"]["uid"], "controller": True}


def role(c, count, gpus):
    return {"replicas": count, "template": c.template(gpus)}


def pod_of(c, owner, name, gpus, labels, **notes):
    pod = o.pod(name, c.ns, c.spec(gpus), labels, {key.replace("_", "-"): value for key, value in notes.items()})
    pod["metadata"]["ownerReferences"] = [owner]
    return c.admin.create(pod)


def pytorch(c, name, workers, gpus=8, **more):
    spec = {"pytorchReplicaSpecs": {"Master": role(c, 1, gpus), "Worker": role(c, workers, gpus)}} | more
    return made(c, "PyTorchJob", "kubeflow.org/v1", name, spec)


def pytorch_pod(c, owner, kind, index, gpus=8, **notes):
    labels = {"job-name": owner["name"], "replica-type": kind, "replica-index": str(index)}
    labels = {f"training.kubeflow.org/{key}": value for key, value in labels.items()}
    return pod_of(c, owner, f"{owner['name']}-{kind}-{index}", gpus, labels, **notes)


def pytorch_pods(c, owner, workers, gpus=8, **notes):
    pytorch_pod(c, owner, "master", 0, gpus, **notes)
    for index in range(workers):
        pytorch_pod(c, owner, "worker", index, gpus, **notes)


def gated(c, *names):
    return all(has_gate(c.get_pod(name)) for name in names)


@case()
def pytorch_job_is_one_gang(c):
    c.nodes(3)
    c.pod("holder", gpus=8, run_seconds=5)
    c.runs("holder")
    pytorch_pods(c, pytorch(c, "train", 2), 2, run_seconds=3)
    c.stays(lambda: gated(c, "train-master-0", "train-worker-0"), "none starts while one node is taken", 2)
    for name in ("train-master-0", "train-worker-0", "train-worker-1"):
        c.succeeded(name)
    together(c, rows_of(c, "train"))


@case()
def pytorch_job_whose_last_pod_is_late(c):
    c.nodes(1)
    owner = pytorch(c, "train", 2, 2)
    pytorch_pods(c, owner, 1, 2, run_seconds=3)
    c.until(lambda: "of 3 pods" in status_of(c, "train-master-0"), "a reason with the count")
    pytorch_pod(c, owner, "worker", 1, 2, run_seconds=3)
    c.succeeded("train-worker-1")
    together(c, rows_of(c, "train"))


@case()
def pytorch_job_made_smaller_while_it_waits(c):
    c.nodes(1)
    owner = pytorch(c, "train", 2, 2)
    pytorch_pods(c, owner, 1, 2, run_seconds=3)
    c.until(lambda: "of 3 pods" in status_of(c, "train-master-0"), "a reason with the count")
    c.ana.patch("PyTorchJob", c.ns, "train", {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}}})
    c.succeeded("train-master-0")
    together(c, rows_of(c, "train"))


@case()
def pytorch_job_that_needs_fewer(c):
    """minAvailable 2 of 3: the third starts by itself once there is room."""
    c.nodes(2)
    owner = pytorch(c, "train", 2, 8, runPolicy={"schedulingPolicy": {"minAvailable": 2}})
    pytorch_pods(c, owner, 2, run_seconds=4)
    for name in ("train-master-0", "train-worker-0", "train-worker-1"):
        c.succeeded(name)


@case()
def pytorch_job_of_the_same_name_again(c):
    """The first run is deleted while it waits. The second is a gang of its own."""
    c.nodes(1)
    pytorch_pods(c, pytorch(c, "train", 2, 2), 1, 2)
    c.until(lambda: "of 3 pods" in status_of(c, "train-master-0"), "a reason with the count")
    c.ana.delete("PyTorchJob", c.ns, "train")
    c.admin.delete_all("Pod", c.ns)  # as the garbage collector does, some time later
    c.until(lambda: not c.pods("train"), "end of its pods")
    pytorch_pods(c, pytorch(c, "train", 1, 2), 1, 2, run_seconds=3)
    c.succeeded("train-master-0")
    c.succeeded("train-worker-0")


def mpi_job(c, workers, launcher_gpus, **more):
    specs = {"Launcher": role(c, 1, launcher_gpus), "Worker": role(c, workers, 8)}
    for spec in specs.values():
        spec["template"]["spec"]["restartPolicy"] = "Never"
    owner = made(c, "MPIJob", "kubeflow.org/v2beta1", "mpi", {"mpiReplicaSpecs": specs} | more)
    for index in range(workers):
        labels = {"job-name": "mpi", "job-role": "worker", "replica-index": str(index)}
        labels = {f"training.kubeflow.org/{key}": value for key, value in labels.items()}
        pod_of(c, owner, f"mpi-worker-{index}", 8, labels, run_seconds=8)
    return owner


def mpi_launcher(c, owner, gpus):
    labels = {"training.kubeflow.org/job-name": "mpi", "training.kubeflow.org/job-role": "launcher"}
    job = o.job("mpi-launcher", c.ns, c.template(gpus, labels, run_seconds=2))
    job["metadata"]["ownerReferences"] = [owner]
    c.admin.create(job)


@case()
def mpi_launcher_with_gpus_is_a_member(c):
    c.nodes(3)
    owner = mpi_job(c, 2, 8)
    c.stays(lambda: gated(c, "mpi-worker-0", "mpi-worker-1"), "the workers wait for the launcher", 2)
    mpi_launcher(c, owner, 8)
    c.completed("mpi-launcher")
    together(c, rows_of(c, "mpi"))


@case()
def mpi_launcher_after_its_workers(c):
    """The workers start without it, and its GPUs are held: a rival does not get them."""
    c.nodes(3)
    owner = mpi_job(c, 2, 8, launcherCreationPolicy="WaitForWorkersReady")
    c.runs("mpi-worker-0")
    c.pod("rival", gpus=8, run_seconds=1)
    c.stays(lambda: phase(c.get_pod("rival")) == "Pending", "the rival does not take the launcher's room", 2)
    mpi_launcher(c, owner, 8)
    c.completed("mpi-launcher")
    c.succeeded("rival")


@case()
def ray_workers_of_the_autoscaler(c):
    """The head and one worker are the gang. Workers that are added start by themselves."""
    c.nodes(3)
    groups = [{"groupName": "w", "replicas": 1, "minReplicas": 1, "maxReplicas": 4, "template": c.template(8)}]
    owner = made(c, "RayCluster", "ray.io/v1", "ray", {"enableInTreeAutoscaling": True, "workerGroupSpecs": groups,
                                                      "headGroupSpec": {"template": c.template(8)}})  # fmt: skip

    def ray_pod(name, kind, group):
        labels = {"ray.io/cluster": "ray", "ray.io/node-type": kind, "ray.io/group": group}
        pod_of(c, owner, name, 8, labels, run_seconds=8)

    ray_pod("ray-head", "head", "headgroup")
    c.stays(lambda: gated(c, "ray-head"), "the head waits for a worker", 2)
    ray_pod("ray-w-0", "worker", "w")
    c.runs("ray-w-0")
    together(c, rows_of(c, "ray"))
    ray_pod("ray-w-1", "worker", "w")
    c.runs("ray-w-1")


def crew_pod(c, kind, name, run_seconds=2):
    _, labels, notes = GROUPS[kind]
    pod = o.pod(name, c.ns, c.spec(4), labels, {"run-seconds": run_seconds})
    pod["metadata"]["annotations"] |= notes  # KAI's has no prefix
    c.ana.create(pod)


@case()
def pod_groups_say_the_least_size(c):
    """Of each scheduler's kind: two of three pods are enough."""
    c.nodes(1)
    for kind, (api, _, _) in GROUPS.items():
        names = [f"{kind.lower()}-{index}" for index in range(3)]
        obj = {"apiVersion": api, "kind": "PodGroup", "metadata": o.meta("crew", c.ns), "spec": {"minMember": 2}}
        root = f"/apis/{api}/namespaces/{c.ns}/podgroups"
        c.ana.call("POST", root, obj)
        crew_pod(c, kind, names[0])
        c.stays(lambda name=names[0]: gated(c, name), f"{kind}: one is not enough", 2)
        for name in names[1:]:
            crew_pod(c, kind, name)
        for name in names:
            c.succeeded(name)
        c.ana.call("DELETE", f"{root}/crew")


@case()
def pod_group_that_comes_late(c):
    c.nodes(1)
    for index in range(2):
        crew_pod(c, "CoschedulingGroup", f"p{index}")
    c.until(lambda: "gang-size" in status_of(c, "p0"), "a reason while there is no group")
    api = GROUPS["CoschedulingGroup"][0]
    obj = {"apiVersion": api, "kind": "PodGroup", "metadata": o.meta("crew", c.ns), "spec": {"minMember": 2}}
    c.ana.call("POST", f"/apis/{api}/namespaces/{c.ns}/podgroups", obj)
    for index in range(2):
        c.succeeded(f"p{index}")
    together(c, rows_of(c, "p"))
