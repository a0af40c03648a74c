"""JobSets and LeaderWorkerSets, made by their own controllers."""

import json

import objects as o
from case import case, condition, has_gate, phase
from cases_jobs import rows_of, together


def gated(c, prefix, count):
    c.until(lambda: len([p for p in c.pods(prefix) if has_gate(p)]) == count, f"{count} gated pods {prefix}")


def set_completed(c, name, seconds=60):
    def happened():
        found = c.admin.get("JobSet", c.ns, name)
        c.expect(not condition(found, "Failed"), f"JobSet {name} has not failed")
        return condition(found, "Completed")

    return c.until(happened, f"JobSet {name} Completed", seconds)


def job_set(c, *roles, **spec):
    """Of roles (name, replicas, pods, GPUs of each), whose pods run for 2 s; a fifth is the seconds."""
    rows = [(name, replicas, pods, c.template(gpus, run_seconds=(more or [2])[0]))
            for name, replicas, pods, gpus, *more in roles]  # fmt: skip
    return c.ana.create(o.job_set("set", c.ns, rows, **spec))


def worker_set(c, replicas, size, gpus=8, **spec):
    """Of pods that run until somebody ends them."""
    pods = c.template(gpus, spec=c.spec(gpus, restart="Always"))
    return c.ana.create(o.worker_set("llm", c.ns, replicas, size, pods, **spec))


def hold_a_node(c, seconds=5):
    c.pod("holder", gpus=8, run_seconds=seconds)
    c.runs("holder")


@case()
def job_set_is_one_gang(c):
    c.nodes(3)
    hold_a_node(c)
    job_set(c, ("driver", 1, 1, 8), ("workers", 2, 1, 8))
    gated(c, "set", 3)
    c.stays(lambda: all(has_gate(p) for p in c.pods("set")), "none starts while one node is taken", 2)
    set_completed(c, "set")
    together(c, rows_of(c, "set"))


@case()
def job_set_in_order(c):
    """The second job is made when the first is ready: each is a gang by itself."""
    c.nodes(4)
    job_set(c, ("first", 1, 2, 8, 6), ("then", 1, 2, 8), startupPolicy={"startupPolicyOrder": "InOrder"})
    workload = ("JobSet", f"{c.ns}/set")

    def named():
        return [(job["workload"]["kind"], job["workload"]["name"]) for job in c.subak_jobs() if "workload" in job]

    c.until(lambda: workload in named(), "a job of the workload")
    set_completed(c, "set")
    together(c, rows_of(c, "set-first"))
    together(c, rows_of(c, "set-then"))


@case()
def job_set_with_a_launcher(c):
    """A pod without GPUs beside those with: it is no part of the gang, and starts at once."""
    c.nodes(2)
    job_set(c, ("launch", 1, 1, 0, 1), ("work", 2, 1, 8))
    set_completed(c, "set")
    together(c, rows_of(c, "set-work"))


@case()
def job_set_that_starts_again(c):
    """Pods fail, and the controller makes all its Jobs again: they are one gang again."""
    c.nodes(2)
    pods = c.template(8, run_seconds=4, fail_where="jobset.sigs.k8s.io/restart-attempt=0")
    row = o.job_set("set", c.ns, [("work", 2, 1, pods)], failurePolicy={"maxRestarts": 3})
    for replicated in row["spec"]["replicatedJobs"]:
        replicated["template"]["spec"]["backoffLimit"] = 0
    c.ana.create(row)
    set_completed(c, "set", 100)


@case()
def job_set_suspended_and_resumed(c):
    c.nodes(2)
    job_set(c, ("work", 2, 1, 8, 4))
    c.running_pods(2, "set")
    c.ana.patch("JobSet", c.ns, "set", {"spec": {"suspend": True}})
    c.until(lambda: not c.pods("set"), "end of its pods")
    c.ana.patch("JobSet", c.ns, "set", {"spec": {"suspend": False}})
    set_completed(c, "set")


@case()
def worker_set_leader_and_workers(c):
    """startupPolicy LeaderCreated: all pods of a group come at once. Two groups are two gangs."""
    c.nodes(4)
    worker_set(c, 2, 2)
    c.running_pods(4, "llm")
    for group in range(2):
        together(c, rows_of(c, f"llm-{group}"))


@case()
def worker_set_waits_for_room_for_all(c):
    c.nodes(2)
    hold_a_node(c, seconds=15)  # its controller elects a leader first
    worker_set(c, 1, 2)
    gated(c, "llm", 2)
    c.stays(lambda: all(has_gate(p) for p in c.pods("llm")), "none starts while one node is taken", 2)
    c.running_pods(2, "llm")
    together(c, rows_of(c, "llm"))


@case()
def worker_set_whose_leader_comes_first(c):
    """startupPolicy LeaderReady: the workers are made when the leader is ready. Room is kept for them."""
    c.nodes(2)
    pods = c.template(8, spec=c.spec(8, restart="Always"), start_seconds=4)
    c.ana.create(o.worker_set("llm", c.ns, 1, 2, pods, startupPolicy="LeaderReady"))
    c.until(lambda: c.job_named("llm-0") and not has_gate(c.get_pod("llm-0")), "leader whose gate is open")
    c.pod("rival", gpus=8, run_seconds=1)
    c.runs("llm-0")
    c.expect(phase(c.get_pod("rival")) == "Pending", "the rival does not take the workers' room")
    c.running_pods(2, "llm")


@case()
def worker_set_of_more_and_fewer_groups(c):
    c.nodes(4)
    worker_set(c, 1, 2)
    c.running_pods(2, "llm")
    for groups in (2, 1):
        c.ana.patch("LeaderWorkerSet", c.ns, "llm", {"spec": {"replicas": groups}})
        c.running_pods(2 * groups, "llm")
    # Two of four groups fit. The others are one row of the queue.
    c.ana.patch("LeaderWorkerSet", c.ns, "llm", {"spec": {"replicas": 4}})

    def rows():
        said = c.service.subak("queue", "--account", c.account, "--output", "json")
        return [(row["jobs"], row["job"]["workload"]) for row in json.loads(said).get("rows", [])]

    row = {"kind": "LeaderWorkerSet", "name": f"{c.ns}/llm", "jobs": 4, "running": 2, "waiting": 2}
    c.until(lambda: rows() == [(2, row)], "one row for the groups that wait")
    c.ana.patch("LeaderWorkerSet", c.ns, "llm", {"spec": {"replicas": 1}})
    c.until(lambda: rows() == [], "no row")
    c.running_pods(2, "llm")
