"""What public reports of other queues say went wrong, on a real control plane: pods that the scheduler finds no way for,
Jobs that shrink and grow, ranks that come shuffled, gangs that only others mark, members that come late or beyond."""

import random

import objects as o
from case import case, condition, has_gate, node_of
from cases_jobs import gang, rows_of, together
from cases_kinds import pytorch, pytorch_pod
from cases_operators import set_completed

GB200 = "NVIDIA-GB200"


def apart_from(app):
    """Required anti-affinity with pods of this label, by node."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def volume_on(c, name, node):
    """A volume of this node alone, with its claim bound to it."""
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": o.meta(name, c.ns),
             "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": f"{c.ns}-{name}",
                      "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
    here = {"nodeSelectorTerms": [o.term("kubernetes.io/hostname", node)]}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": o.meta(f"{c.ns}-{name}"),
              "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "local": {"path": "/data"},
                       "nodeAffinity": {"required": here}, "persistentVolumeReclaimPolicy": "Retain",
                       "storageClassName": "", "claimRef": {"namespace": c.ns, "name": name}}}  # fmt: skip
    c.admin.call("POST", "/api/v1/persistentvolumes", volume)
    path = f"/api/v1/namespaces/{c.ns}/persistentvolumeclaims"
    c.admin.call("POST", path, claim)
    c.until(lambda: c.admin.call("GET", f"{path}/{name}")["status"].get("phase") == "Bound", "bound claim")


def suspensions(c, job):
    """How often the audit log has Subak's writes to the Job."""
    writes = c.world.plane.writes_of("system:serviceaccount:subak-system:subak")
    return sum(verb == "patch" and what == "jobs" and ns == c.ns and name == job for verb, what, ns, name, _ in writes)


# Pods that the scheduler finds no way for.


@case(seconds=240)
def pod_whose_volume_is_on_another_node(c):
    names = c.nodes(3)
    volume_on(c, "data", names[2])
    spec = c.spec(4, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    c.job("reads", 1, 4, spec=spec, run_seconds=1)
    first = c.until(lambda: c.job_named("reads"), "job of it")["id"]
    c.until(lambda: {p["id"] for p in c.subak_jobs()} <= {first}, "no other job of it")
    c.completed("reads", seconds=200)
    c.expect({row["node"] for row in rows_of(c, "reads")} == {names[2]}, "it ran where its volume is")


@case(seconds=240)
def pod_that_keeps_away_from_one_that_runs(c):
    names = c.nodes(2)
    spec = c.spec(4, affinity=apart_from("lone"))
    c.pod("first", gpus=4, spec=spec, labels={"app": "lone"}, run_seconds=120)
    taken = node_of(c.runs("first"))
    c.job("second", 1, 4, spec=spec, labels={"app": "lone"}, run_seconds=2)
    c.completed("second", seconds=100)
    c.expect({row["node"] for row in rows_of(c, "second")} == set(names) - {taken}, "it is on the other node")


@case(seconds=300)
def gang_whose_pods_keep_apart(c):
    """It starts one pod to a node, or it stops being tried again and again, and says why."""
    c.nodes(3)
    spec = c.spec(4, affinity=apart_from("ring"))
    gang(c, "ring", 2, 4, spec=spec, labels={"app": "ring"}, run_seconds=40)
    c.only_job()

    def ended_or_told():
        if condition(c.admin.get("Job", c.ns, "ring"), "Complete"):
            return True
        jobs = c.subak_jobs()
        return jobs and "anti-affinity" in c.why(jobs[0]["id"])

    c.until(ended_or_told, "end of it, or the scheduler's words in why", 200)
    c.expect(suspensions(c, "ring") <= 12, f"it is not tried for ever: {suspensions(c, 'ring')} writes")


# Owners that say their pods are independent, or that change their size.


@case()
def indexed_job_made_smaller_while_it_runs(c):
    c.nodes(4)
    gang(c, "elastic", 4, run_seconds=8)
    kept = {p["metadata"]["uid"] for p in c.running_pods(4, "elastic") if index_of(p) < 2}
    c.ana.patch("Job", c.ns, "elastic", {"spec": {"parallelism": 2, "completions": 2}})
    c.until(lambda: len(c.pods("elastic")) == 2, "two pods")
    c.completed("elastic")
    c.expect({p["metadata"]["uid"] for p in c.pods("elastic")} == kept, "indexes 0 and 1 ran on")
    c.expect(suspensions(c, "elastic") == 0, "nothing is written to the Job")


@case()
def indexed_job_made_larger_while_it_runs(c):
    c.nodes(4)
    gang(c, "elastic", 2, run_seconds=10)
    first = {p["metadata"]["uid"] for p in c.running_pods(2, "elastic")}
    c.ana.patch("Job", c.ns, "elastic", {"spec": {"parallelism": 4, "completions": 4}})
    c.completed("elastic")
    c.expect(len(rows_of(c, "elastic")) == 4, "four pods ran, each once")
    c.expect(first <= {p["metadata"]["uid"] for p in c.pods("elastic")}, "the first two ran on")


@case()
def indexed_job_made_smaller_while_it_waits(c):
    c.nodes(2)
    gang(c, "shrinks", 4, run_seconds=1)
    job = c.until(lambda: c.job_named("shrinks"), "job of it")["id"]
    c.until(lambda: len([p for p in c.pods("shrinks") if has_gate(p)]) == 4, "four gated pods")
    c.ana.patch("Job", c.ns, "shrinks", {"spec": {"parallelism": 2, "completions": 2}})
    c.completed("shrinks")
    together(c, rows_of(c, "shrinks"))
    c.expect(c.service.json("job", "get", job)["state"] == "JOB_STATE_DONE", "it kept its number")


@case()
def worker_set_that_replaces_single_pods(c):
    """restartPolicy None: a worker that is lost comes again, and its leader runs on."""
    c.nodes(3)
    made = o.worker_set("llm", c.ns, 1, 3, c.template(8, spec=c.spec(8, restart="Always")))
    made["spec"]["leaderWorkerTemplate"]["restartPolicy"] = "None"
    c.ana.create(made)
    before = {p["metadata"]["name"]: p["metadata"]["uid"] for p in c.running_pods(3, "llm")}
    c.ana.delete("Pod", c.ns, "llm-0-2")
    c.until(lambda: (c.get_pod("llm-0-2") or {"metadata": {"uid": ""}})["metadata"]["uid"]
            not in ("", before["llm-0-2"]), "new worker")  # fmt: skip
    now = {p["metadata"]["name"]: p["metadata"]["uid"] for p in c.running_pods(3, "llm")}
    for name in ("llm-0", "llm-0-1"):
        c.expect(now[name] == before[name], f"{name} ran on")


def index_of(pod):
    return int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


# Ranks.


def cliques(c):
    """Two NVLink domains of 4 nodes of 4 GPUs; {node: its domain}."""
    domain = {}
    for i in range(2):
        labels = {"nvidia.com/gpu.clique": f"c1a5e0b2-0000-4000-8000-000000000001.{i}", "nvidia.com/gpu.product": GB200}
        for name in c.nodes(4, gpus=4, labels=labels):
            domain[name] = i
    return domain


def crossings(domains):
    return sum(a != b for a, b in zip(domains, domains[1:]))


@case()
def ranks_of_a_training_job_in_shuffled_order(c):
    """The master comes somewhere in between; neighbours in rank order change their domain once."""
    domain = cliques(c)
    order = [("master", 0), *(("worker", i) for i in range(7))]
    shuffled = random.Random(7).sample(order, len(order))
    owner = pytorch(c, "ddp", 7, 4)
    for role, index in shuffled:
        pytorch_pod(c, owner, role, index, 4, run_seconds=2, **{"subak.gpu/topology": "prefer:nvlink"})
    for role, index in order:
        c.succeeded(f"ddp-{role}-{index}")
    in_order = [domain[node_of(c.get_pod(f"ddp-{role}-{index}"))] for role, index in order]
    c.expect(crossings(in_order) == 1, f"domains in rank order {in_order}")


@case()
def ranks_of_a_job_set(c):
    """Eight Jobs of one pod, as their controllers make them."""
    domain = cliques(c)
    pods = c.template(4, keys={"subak.gpu/topology": "prefer:nvlink"}, run_seconds=2)
    c.ana.create(o.job_set("set", c.ns, [("work", 8, 1, pods)]))
    set_completed(c, "set")
    row = {p["name"].rsplit("-", 2)[0]: p["node"] for p in rows_of(c, "set")}
    in_order = [domain[row[f"set-work-{i}"]] for i in range(8)]
    c.expect(crossings(in_order) == 1, f"domains in rank order {in_order}")


# Gangs that only others mark.


# Members that come late, or beyond the size.


@case()
def job_set_with_exclusive_topology(c):
    """Each Job has a node to itself; its other pods are made once its first has a node."""
    c.nodes(2)
    made = o.job_set("set", c.ns, [("work", 2, 2, c.template(4, run_seconds=3))])
    made["metadata"]["annotations"] = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "kubernetes.io/hostname"}
    c.ana.create(made)
    set_completed(c, "set", 100)
    nodes = {i: {row["node"] for row in rows_of(c, f"set-work-{i}")} for i in range(2)}
    c.expect(all(len(found) == 1 for found in nodes.values()) and nodes[0] != nodes[1], f"a node each: {nodes}")


@case()
def pod_group_with_fast_admission(c):
    """A StatefulSet makes one pod after the other; its group does not wait for all."""
    c.nodes(1)
    pods = c.template(2, {"kueue.x-k8s.io/pod-group-name": "store"},
                      {"kueue.x-k8s.io/pod-group-total-count": "3", "kueue.x-k8s.io/pod-group-fast-admission": "true"},
                      c.spec(2, restart="Always"))  # fmt: skip
    c.ana.create(o.stateful_set("store", c.ns, pods, 3))
    c.running_pods(3, "store")
    job = c.only_job()
    c.admin.delete("StatefulSet", c.ns, "store")
    c.until(lambda: not c.pods("store"), "no pod of it")
    # Subak does not watch StatefulSets: its pods could come back for a quarter of an hour.
    c.service.subak("job", "cancel", job, "--reason", "its StatefulSet is gone")


@case()
def pod_beyond_the_size_says_why(c):
    c.nodes(3)
    keys = {"subak.gpu/job": "duo", "subak.gpu/gang-size": "2"}
    for i in range(2):
        c.pod(f"duo-{i}", gpus=8, labels=keys, run_seconds=15)
    c.running_pods(2, "duo")
    c.pod("third", gpus=8, labels=keys, run_seconds=1)
    c.pod_is("third", lambda p: p["metadata"].get("annotations", {}).get("subak.gpu/status"), "status")
    c.expect(has_gate(c.get_pod("third")), "it waits")
    c.expect("nothing waits" not in c.service.subak("queue"), "the queue does not say that nothing waits")


# A launcher without GPUs counts in the gang if it says its size.


def mpi_pods(c, *names):
    keys = {"subak.gpu/job": "mpi", "subak.gpu/gang-size": "3"}
    for name in names:
        c.pod(name, gpus=0 if name == "launcher" else 8, labels=keys, run_seconds=1 if name == "launcher" else 2)


@case()
def launcher_without_gpus_that_comes_first(c):
    """It starts at once, and has ended before the workers come: they start all the same, together."""
    c.nodes(2)
    mpi_pods(c, "launcher")
    c.succeeded("launcher")
    mpi_pods(c, "worker-0")
    c.until(lambda: c.subak_jobs(), "job of the worker")
    c.stays(lambda: has_gate(c.get_pod("worker-0")), "one worker waits for the other", 2)
    mpi_pods(c, "worker-1")
    for i in range(2):
        c.succeeded(f"worker-{i}")
    together(c, rows_of(c, "worker"))


@case()
def launcher_without_gpus_that_comes_last(c):
    c.nodes(2)
    mpi_pods(c, "worker-0", "worker-1")
    job = c.until(lambda: c.subak_jobs(), "job of the workers")[0]["id"]
    c.until(lambda: "2 of 3" in c.why(job), "why says 2 of 3 pods")
    c.expect(all(has_gate(p) for p in c.pods("worker")), "the workers wait for it")
    mpi_pods(c, "launcher")
    for i in range(2):
        c.succeeded(f"worker-{i}")
    together(c, rows_of(c, "worker"))
