"""Owners that wait suspended until their turn (docs/design/0119). parkAfter is a setting of the whole service, so that
these cases run alone."""

import contextlib
import time

import objects as o
from case import Failed, case, condition, has_gate
from cases_jobs import rows_of, together
from cases_kinds import made, pod_of, pytorch, pytorch_pods
from parked import Parked
from parked_watch import MARK


@contextlib.contextmanager
def parking(c, after=0):
    c.service.subak("policy", "set", f"parkAfter={after}", "--reason", "a case")
    try:
        yield
    finally:
        c.service.subak("policy", "set", "parkAfter=1000", "--reason", "a case")


def mark_of(c, kind, name):
    return c.admin.get(kind, c.ns, name)["metadata"].get("annotations", {}).get(MARK, "")


def is_suspended(c, kind, name):
    spec = c.admin.get(kind, c.ns, name)["spec"]
    return bool(spec.get("suspend") or spec.get("runPolicy", {}).get("suspend"))


def is_parked(c, kind, name):
    c.expect(is_suspended(c, kind, name) and mark_of(c, kind, name) == "parked", f"{kind} {name} waits suspended")
    return c.until(lambda: c.job_named(name), f"job of {name}")


def hold(c, seconds=6):
    c.pod("holder", gpus=8, run_seconds=seconds)
    c.runs("holder")


def events_of(c, name, reason):
    path = f"/apis/events.k8s.io/v1/namespaces/{c.ns}/events"
    rows = c.admin.call("GET", path)["items"]
    return [e["note"] for e in rows if e["regarding"]["name"] == name and e["reason"] == reason]


@case(alone=True)
def parked_until_its_turn(c):
    """No pod exists while a Job waits; then all of them go to the nodes that are held for them."""
    c.nodes(2)
    hold(c)
    with parking(c):
        c.job("train", 2, 8, indexed=True, run_seconds=2)
        job = is_parked(c, "Job", "train")
        c.expect(job["parked"] and job["gangSize"] == 2, f"a parked job of two pods: {job}")
        c.expect("parked" in c.why(job["id"]), "why says that it is parked")
        c.expect("parked" in c.service.subak("queue"), "so does the queue")
        c.stays(lambda: not c.pods("train"), "no pod exists", 2)
    c.completed("train")
    together(c, rows_of(c, "train"))
    done = c.admin.get("Job", c.ns, "train")
    c.expect(not done["status"].get("failed"), f"no failure: {done['status']}")
    c.expect(MARK not in done["metadata"].get("annotations", {}), "Subak's mark is gone")
    c.expect(events_of(c, "train", "Resumed"), "an Event says that it starts")


@case(alone=True)
def parked_jobs_of_one_pod(c):
    c.nodes(1)
    hold(c)
    with parking(c):
        for name in ("one", "two", "three"):
            c.job(name, 1, 8, run_seconds=1)
            is_parked(c, "Job", name)
    starts = []
    for name in ("one", "two", "three"):
        c.completed(name)
        starts.append(c.admin.get("Job", c.ns, name)["status"]["startTime"])
    c.expect(starts == sorted(starts), f"in the order of their creation: {starts}")


@case(alone=True)
def parked_job_whose_pods_start_by_themselves(c):
    c.nodes(1)
    hold(c)
    with parking(c):
        c.job("array", 4, 4, run_seconds=1)
        is_parked(c, "Job", "array")
        c.stays(lambda: not c.pods("array"), "no pod exists", 1)
    c.completed("array")


@case(alone=True)
def parked_job_with_a_topology_of_kueue(c):
    """Kueue reads the topology from the pod template. The parked job and its pods must have the same one."""
    c.nodes(1)
    hold(c)
    with parking(c):
        topology = {"kueue.x-k8s.io/podset-required-topology": "kubernetes.io/hostname"}
        c.job("train", 2, 4, indexed=True, keys=topology, run_seconds=2)
        job = is_parked(c, "Job", "train")
        c.expect(job["spec"]["request"]["topology"].endswith("NODE"), f"on one node: {job}")
    c.completed("train")
    together(c, rows_of(c, "train"))


@case(alone=True)
def parked_and_resumed_by_its_user(c):
    c.nodes(2)
    hold(c, 12)
    with parking(c):
        c.job("train", 2, 8, indexed=True, run_seconds=1)
        before = is_parked(c, "Job", "train")
        c.ana.patch("Job", c.ns, "train", {"spec": {"suspend": False}})
        c.until(lambda: len([p for p in c.pods("train") if has_gate(p)]) == 2, "two gated pods")
        c.until(lambda: not mark_of(c, "Job", "train"), "end of the mark", 10)
        after = c.job_named("train")
        c.expect(after["id"] == before["id"] and after["submitTime"] == before["submitTime"], f"its place: {after}")
        c.expect(not after.get("parked"), "it is parked no more")
    c.completed("train")


@case(alone=True)
def suspended_by_its_user_is_left(c):
    c.nodes(1)
    with parking(c):
        c.job("mine", 1, 1, more={"suspend": True}, run_seconds=1)
        c.expect(not mark_of(c, "Job", "mine"), "it has no mark of Subak's")
        c.stays(lambda: is_suspended(c, "Job", "mine") and not c.subak_jobs(), "its user's", 3)
        c.ana.patch("Job", c.ns, "mine", {"spec": {"suspend": False}})
        c.completed("mine")


@case(alone=True)
def parked_and_undone_by_a_parent(c):
    """A controller that Subak does not know restores what it wrote."""
    c.nodes(1)
    hold(c, 12)
    parent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": o.meta("parent", c.ns)}
    owner = c.admin.call("POST", f"/api/v1/namespaces/{c.ns}/configmaps", parent)
    ref = {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": owner["metadata"]["uid"], "controller": True}
    with parking(c):
        job = o.job("child", c.ns, c.template(8, run_seconds=1), 1)
        job["metadata"]["ownerReferences"] = [ref]
        c.admin.create(job)
        is_parked(c, "Job", "child")
        c.admin.patch("Job", c.ns, "child", {"spec": {"suspend": False}})
        c.until(lambda: [p for p in c.pods("child") if has_gate(p)], "a gated pod", 10)
        c.until(lambda: not mark_of(c, "Job", "child"), "end of the mark", 10)
        c.until(lambda: events_of(c, "child", "NotParked"), "an Event says so", 20)
        c.stays(lambda: not is_suspended(c, "Job", "child"), "Subak does not fight with it", 2)
    c.completed("child")


@case(alone=True)
def parked_owner_that_flips(c):
    """Whoever restores mark and suspension again and again is given up, with few writes and an Event."""
    c.nodes(1)
    hold(c, 25)
    with parking(c):
        c.job("flips", 1, 8, run_seconds=1)
        is_parked(c, "Job", "flips")
        for flip in range(8):
            c.admin.patch("Job", c.ns, "flips", {"spec": {"suspend": False}})
            time.sleep(0.5)
            c.admin.patch("Job", c.ns, "flips", {"spec": {"suspend": True}, "metadata": {"annotations": {MARK: "parked"}}})
            time.sleep(0.5)
        c.until(lambda: any("more than" in note for note in events_of(c, "flips", "NotParked")), "an Event says so", 20)
        c.stays(lambda: is_suspended(c, "Job", "flips"), "nobody resumes it", 3)
        c.admin.patch("Job", c.ns, "flips", {"spec": {"suspend": False}})
    c.completed("flips")


@case(alone=True)
def parked_job_of_an_operator(c):
    """The operator is played: it creates the pods when runPolicy.suspend is false."""
    c.nodes(3)
    hold(c)
    with parking(c):
        owner = pytorch(c, "train", 2)
        job = is_parked(c, "PyTorchJob", "train")
        c.expect(job["gangSize"] == 3, f"master and workers: {job}")
    c.until(lambda: not is_suspended(c, "PyTorchJob", "train"), "its turn")
    pytorch_pods(c, owner, 2, run_seconds=2)
    for name in ("train-master-0", "train-worker-0", "train-worker-1"):
        c.succeeded(name)
    together(c, rows_of(c, "train"))


@case(alone=True)
def parked_ray_job(c):
    """The operator is played: it creates the RayCluster when the RayJob is not suspended."""
    c.nodes(3)
    hold(c)
    cluster = {"headGroupSpec": {"template": c.template(8)},
               "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "template": c.template(8)}]}  # fmt: skip
    with parking(c):
        spec = {"shutdownAfterJobFinishes": True, "rayClusterSpec": cluster}
        owner = made(c, "RayJob", "ray.io/v1", "ray", spec)
        job = is_parked(c, "RayJob", "ray")
        c.expect(job["gangSize"] == 3, f"head and workers: {job}")
        made(c, "RayJob", "ray.io/v1", "stays", {"rayClusterSpec": cluster})
        c.expect(not is_suspended(c, "RayJob", "stays"), "KubeRay refuses to suspend it")
    c.until(lambda: not is_suspended(c, "RayJob", "ray"), "its turn")
    obj = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": o.meta("ray-x", c.ns), "spec": cluster}
    obj["metadata"]["ownerReferences"] = [owner]
    uid = c.admin.create(obj)["metadata"]["uid"]
    below = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "ray-x", "uid": uid, "controller": True}
    for name, group in (("ray-head", "headgroup"), ("ray-w-0", "w"), ("ray-w-1", "w")):
        pod_of(c, below, name, 8, {"ray.io/cluster": "ray-x", "ray.io/group": group}, run_seconds=3)
    for name in ("ray-head", "ray-w-0", "ray-w-1"):
        c.runs(name)
    after = c.job_named("ray")
    c.expect(after["id"] == job["id"], f"the parked job runs: {after}")
    together(c, rows_of(c, "ray"))


@case(alone=True)
def parked_train_job(c):
    """The operator is played: it creates the JobSet suspended, and resumes it with the TrainJob."""
    c.nodes(2)
    hold(c)
    with parking(c):
        spec = {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 2, "resourcesPerNode": {
            "limits": {"nvidia.com/gpu": "8"}}}}  # fmt: skip
        owner = made(c, "TrainJob", "trainer.kubeflow.org/v1alpha1", "llm", spec)
        c.expect(is_suspended(c, "TrainJob", "llm"), "it waits suspended")
        c.stays(lambda: is_suspended(c, "TrainJob", "llm"), "its JobSet does not exist yet", 2)
        job_set = o.job_set("llm", c.ns, [("node", 1, 2, c.template(8, run_seconds=3))], suspend=True)
        job_set["metadata"]["ownerReferences"] = [owner]
        c.admin.create(job_set)
        job = is_parked(c, "TrainJob", "llm")
        c.expect(job["gangSize"] == 2, f"both nodes: {job}")
        c.stays(lambda: not c.pods("llm"), "no pod exists", 2)
    c.until(lambda: not is_suspended(c, "TrainJob", "llm"), "its turn")
    c.admin.patch("JobSet", c.ns, "llm", {"spec": {"suspend": False}})
    c.running_pods(2, "llm")
    after = c.job_named("llm")
    c.expect(after["id"] == job["id"], f"the parked job runs: {after}")
    c.until(lambda: condition(c.admin.get("JobSet", c.ns, "llm"), "Completed"), "completed set")
    together(c, rows_of(c, "llm"))


@case(alone=True)
def parked_but_the_controller_ignores_it(c):
    c.nodes(3)
    hold(c, 20)
    with parking(c):
        owner = pytorch(c, "train", 2)
        is_parked(c, "PyTorchJob", "train")
        began = time.monotonic()
        pytorch_pods(c, owner, 2, run_seconds=1)
        c.until(lambda: not is_suspended(c, "PyTorchJob", "train"), "Subak takes the suspension back", 15)
        c.expect(time.monotonic() - began < 10 * c.world.patience + 1, "within 10 s")
        c.expect(all(has_gate(p) for p in c.pods("train")), "its pods wait behind their gates")
        c.until(lambda: events_of(c, "train", "NotParked"), "an Event says so", 20)
    for name in ("train-master-0", "train-worker-0", "train-worker-1"):
        c.succeeded(name)


@case(alone=True)
def parked_job_set(c):
    c.nodes(2)
    hold(c)
    with parking(c):
        c.ana.create(o.job_set("set", c.ns, [("work", 2, 1, c.template(8, run_seconds=2))]))
        is_parked(c, "JobSet", "set")
        c.stays(lambda: not c.pods("set"), "no pod exists", 2)
    c.until(lambda: condition(c.admin.get("JobSet", c.ns, "set"), "Completed"), "completed set")
    together(c, rows_of(c, "set-work"))


@case(alone=True)
def parked_job_is_cancelled(c):
    c.nodes(1)
    hold(c, 12)
    with parking(c):
        c.job("wrong", 1, 8, run_seconds=1)
        job = is_parked(c, "Job", "wrong")
        c.service.subak("job", "cancel", job["id"], "--reason", "a case")
        c.until(lambda: mark_of(c, "Job", "wrong") == "cancelled", "the mark says so")
        c.until(lambda: c.job_named("wrong") is None, "end of the job")
        c.stays(lambda: is_suspended(c, "Job", "wrong") and c.job_named("wrong") is None, "it stays so", 3)
    c.ana.delete("Job", c.ns, "wrong")


@case(alone=True)
def parked_job_is_deleted(c):
    c.nodes(1)
    hold(c, 8)
    with parking(c):
        c.job("gone", 1, 8)
        is_parked(c, "Job", "gone")
        c.ana.delete("Job", c.ns, "gone")
        c.until(lambda: c.job_named("gone") is None, "end of the job", 10)


@case(alone=True)
def parked_while_subak_restarts(c):
    c.nodes(1)
    hold(c, 12)
    with parking(c):
        c.job("waits", 1, 8, run_seconds=1)
        before = is_parked(c, "Job", "waits")
        c.service.kill()
        c.service.start()
        after = c.until(lambda: c.job_named("waits"), "the job again")
        c.expect(after["id"] == before["id"] and after["parked"], f"the same job: {after}")
    c.completed("waits")


@case(alone=True)
def parked_beyond_a_number_of_gated_pods(c):
    """Below parkAfter pods wait behind gates; from there on Jobs wait suspended."""
    c.nodes(1)
    hold(c, 10)
    with parking(c, 3):
        names = [f"job-{i}" for i in range(8)]
        for name in names:
            c.job(name, 1, 8, run_seconds=1)
            time.sleep(0.4)  # until the edge has told the core of its pod
        parked = [name for name in names if mark_of(c, "Job", name)]
        c.expect(parked and parked == names[-len(parked):] and len(parked) < len(names), f"the last ones: {parked}")
        c.expect(len(c.pods("job")) + len(parked) == len(names), "each has a pod or waits suspended")
    for name in names:
        c.completed(name)


@case(alone=True, seconds=150)
def deadline_counts_only_behind_gates(c):
    """What docs/kubernetes.md says of failures and of activeDeadlineSeconds."""
    c.nodes(1)
    more = {"activeDeadlineSeconds": 12, "backoffLimit": 0}
    c.pod("holder", gpus=8, run_seconds=20)
    c.runs("holder")
    c.job("gates", 8, 1, indexed=True, more=more, run_seconds=1)
    with parking(c):
        c.job("parked", 8, 1, indexed=True, more=more, run_seconds=1)
        is_parked(c, "Job", "parked")
    c.completed("gates", "Failed")
    c.completed("parked", seconds=100)
    for name in ("gates", "parked"):
        status = c.admin.get("Job", c.ns, name)["status"]
        failed = [row["reason"] for row in status["conditions"] if row["type"] == "Failed"]
        print(f"  {name}: failed {status.get('failed', 0)}, succeeded {status.get('succeeded', 0)}, {failed}")
        if name == "parked" and (failed or status.get("failed")):
            raise Failed(f"a deadline or a failure was lost: {status}")


@case(alone=True, account=False, seconds=400)
def parked_queue(c):
    """The short form of --parked."""
    wrong = list(Parked(c.world, 24, nodes=4, waves=2, deadline_s=12, name=c.ns, shows=False).run())
    c.expect(not wrong, "; ".join(wrong))
