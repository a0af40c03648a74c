"""Owners that say that their pods are independent, that are made smaller or larger, or that say nothing of a size."""

import json

import objects as o
from case import case, has_gate, node_of, phase
from cases_jobs import gang, rows_of, together, wait_job


def uids(pods):
    return {p["metadata"]["uid"] for p in pods}


def untouched(c, name):
    """Nothing of Subak's is on the Job, and nobody has suspended it."""
    job = c.admin.get("Job", c.ns, name)
    notes = job["metadata"].get("annotations", {})
    c.expect(not job["spec"].get("suspend"), f"{name} is not suspended")
    c.expect("taken-back" not in notes.get("subak.gpu/suspended", ""), f"{name} was not taken back")


def resize(c, name, pods):
    c.ana.patch("Job", c.ns, name, {"spec": {"parallelism": pods, "completions": pods}})


def status_of(c, pod):
    return c.get_pod(pod)["metadata"].get("annotations", {}).get("subak.gpu/status", "")


@case()
def indexes_that_fail_by_themselves(c):
    c.nodes(1)
    more = {"backoffLimitPerIndex": 0, "maxFailedIndexes": 3}
    gang(c, "sweep", 3, 1, more=more, fail_first=1, run_seconds=6)
    c.completed("sweep", "Failed", seconds=60)  # one index has, the others are through
    untouched(c, "sweep")
    rows = rows_of(c, "sweep")
    c.expect(len(rows) == 3, f"each index ran once: {len(rows)} pods")
    done = c.admin.get("Job", c.ns, "sweep")["status"]
    c.expect(done.get("succeeded") == 2, "two indexes succeeded")


@case()
def running_gang_made_smaller(c):
    c.nodes(1)
    gang(c, "train", 4, 1, run_seconds=10)
    before = {p["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]: p["metadata"]["uid"]
              for p in c.running_pods(4, "train")}  # fmt: skip
    resize(c, "train", 2)
    c.until(lambda: len(c.pods("train")) == 2, "two pods are left")
    c.expect(uids(c.running_pods(2, "train")) == {before["0"], before["1"]}, "the first two run on")
    c.completed("train")
    untouched(c, "train")


@case()
def running_gang_made_larger(c):
    c.nodes(1)
    gang(c, "train", 2, 2, run_seconds=10)
    first = uids(c.running_pods(2, "train"))
    resize(c, "train", 4)
    c.expect(first < uids(c.running_pods(4, "train")), "the new pods run beside the first two")
    c.completed("train")
    untouched(c, "train")


@case()
def waiting_gang_made_smaller(c):
    c.nodes(2)
    gang(c, "train", 3, 8, run_seconds=1)
    job = wait_job(c, "train", "QUEUED")
    c.stays(lambda: all(has_gate(p) for p in c.pods("train")), "three nodes are not there", 2)
    resize(c, "train", 2)
    c.completed("train")
    together(c, [row for row in rows_of(c, "train") if "bound" in row])
    c.expect(c.service.json("job", "get", job["id"])["state"] == "JOB_STATE_DONE", "it kept its number")


@case()
def inferred_gang_whose_member_is_deleted(c):
    c.nodes(1)
    gang(c, "train", 3, 2, run_seconds=12)
    pods = c.running_pods(3, "train")
    c.ana.delete("Pod", c.ns, pods[0]["metadata"]["name"])
    left = uids(pods[1:])
    c.until(lambda: len([p for p in c.running_pods(3, "train") if p["metadata"]["uid"] not in left]) == 1, "replacement")
    c.expect(left < uids(c.running_pods(3, "train")), "the others run on")
    c.completed("train", seconds=60)
    untouched(c, "train")


@case()
def groups_without_a_size(c):
    c.nodes(1)
    c.pod("coscheduling", 1, labels={"scheduling.x-k8s.io/pod-group": "g1"})
    for name, key in (("volcano", "scheduling.k8s.io/group-name"), ("kai", "pod-group-name")):
        pod = o.pod(name, c.ns, c.spec(1), notes={"run-seconds": 1})
        pod["metadata"]["annotations"][key] = name
        c.ana.create(pod)
    for name in ("coscheduling", "volcano", "kai"):
        c.until(lambda name=name: "gang-size" in status_of(c, name), f"{name} is told to write gang-size")
        c.expect(has_gate(c.get_pod(name)), f"{name} is held")
    queue = c.service.subak("queue", "--account", c.account)
    c.expect(queue.count("GangIncomplete") == 3, f"the queue lists them: {queue}")


@case()
def gang_name_of_two_runs(c):
    """A Job that makes all pods of its named gang shares the gang with no other Job of that name."""
    c.nodes(2)
    keys = {"subak.gpu/job": "duo", "subak.gpu/gang-size": "2"}
    c.job("train", 2, 8, keys=keys, run_seconds=600)
    c.running_pods(2, "train")
    first = wait_job(c, "duo", "RUNNING")
    c.ana.delete("Job", c.ns, "train")
    c.until(lambda: not c.admin.get("Job", c.ns, "train"), "end of the first Job")
    c.job("train", 2, 8, keys=keys, run_seconds=5)
    others = lambda: [job for job in c.subak_jobs() if job["id"] != first["id"]]  # noqa: E731
    c.until(lambda: any(job["state"] == "JOB_STATE_RUNNING" for job in others()), "another job that runs")
    c.completed("train")
    c.until(lambda: c.service.json("job", "get", first["id"])["state"] == "JOB_STATE_DONE", "end of the first run")


@case()
def gang_of_several_jobs(c):
    """Jobs that each make a part of a named gang are one gang."""
    c.nodes(3)
    keys = {"subak.gpu/job": "trio", "subak.gpu/gang-size": "3"}
    c.job("lead", 1, 8, keys=keys, run_seconds=2)
    c.until(lambda: (c.job_named("trio") or {}).get("state") == "JOB_STATE_INCOMPLETE", "incomplete job")
    c.job("work", 2, 8, keys=keys, run_seconds=2)
    c.completed("lead")
    c.completed("work")
    together(c, rows_of(c, "lead") + rows_of(c, "work"))


@case()
def pod_beyond_its_gang(c):
    c.nodes(1)
    keys = {"subak.gpu/gang-size": "2"}
    c.job("train", 3, 1, keys=keys, run_seconds=8)
    running = c.running_pods(2, "train")
    beyond = c.until(lambda: [p for p in c.pods("train") if has_gate(p)], "a pod beyond the size")[0]
    c.expect(phase(beyond) == "Pending" and not node_of(beyond), "it waits")
    name = beyond["metadata"]["name"]
    c.until(lambda: "BeyondGangSize" in status_of(c, name), "reason on the pod", seconds=60)
    queue = c.service.subak("queue", "--account", c.account)
    c.expect("BeyondGangSize" in queue, f"reason in the queue: {queue}")
    c.expect(uids(running) <= uids(c.pods("train")), "nobody was ended for it")


@case(seconds=200)
def deployment_is_one_row(c):
    """Five servers, and GPUs for three: the queue has one row for the two that wait, at the place of the first."""
    c.nodes(1, gpus=3)
    c.ana.create(o.deployment("llm", c.ns, c.template(1, spec=c.spec(1, restart="Always")), 5))
    c.running_pods(3, "llm")

    def rows(*more):
        said = c.service.subak("queue", "--account", c.account, "--output", "json", *more)
        return [(row["jobs"], row["job"]["workload"]) for row in json.loads(said).get("rows", [])]

    def workload(running, jobs, waiting):
        numbers = {"jobs": jobs, "running": running, "waiting": waiting}
        return {"kind": "Deployment", "name": f"{c.ns}/llm"} | numbers

    c.until(lambda: rows() == [(2, workload(3, 5, 2))], "one row for two servers")
    c.expect(f"3 of 5 run, Deployment {c.ns}/llm" in c.service.subak("queue", "--output", "wide"), "the row as text")
    each = rows("--expand")
    c.expect(each == [(1, workload(3, 5, 2))] * 2, f"a row for each server, got {each}")
    waits = next(job["id"] for job in c.subak_jobs() if job["state"] == "JOB_STATE_QUEUED")
    c.expect(f"one of 5 pods of Deployment {c.ns}/llm: 3 run, 2 wait" in c.why(waits), "the workload in why")
    c.ana.patch("Deployment", c.ns, "llm", {"spec": {"replicas": 4}})
    c.until(lambda: rows() == [(1, workload(3, 4, 1))], "one row for the last that waits")
    # A new release has another ReplicaSet, and the same row.
    surge = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    release = {"metadata": {"annotations": {"release": "2"}}}
    c.ana.patch("Deployment", c.ns, "llm", {"spec": {"strategy": surge, "template": release}})
    c.until(lambda: rows() == [(2, workload(3, 5, 2))], "one row for the servers of both releases")
    c.nodes(1, gpus=5)
    c.until(lambda: rows() == [], "no row")
    c.running_pods(4, "llm")
