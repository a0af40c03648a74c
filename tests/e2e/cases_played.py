"""JobSets and LeaderWorkerSets, whose operators are played: the test makes what they would make."""

import crds
from case import case, has_gate, phase
from cases_jobs import rows_of, together


def make_all(c, objects):
    for obj in objects:
        c.admin.create(obj)


def gated(c, prefix, count):
    c.until(lambda: len([p for p in c.pods(prefix) if has_gate(p)]) == count, f"{count} gated pods {prefix}")


@case()
def job_set_is_one_gang(c):
    c.nodes(3)
    c.pod("holder", gpus=8, run_seconds=5)
    c.runs("holder")
    made = c.admin.create(crds.job_set("set", c.ns, [
        ("driver", 1, 1, c.template(8, run_seconds=2)), ("workers", 2, 1, c.template(8, run_seconds=2))]))  # fmt: skip
    make_all(c, crds.jobs_of(made))
    gated(c, "set", 3)
    c.stays(lambda: all(has_gate(p) for p in c.pods("set")), "none starts while one node is taken", 2)
    for job in crds.jobs_of(made):
        c.completed(job["metadata"]["name"])
    together(c, rows_of(c, "set"))


@case()
def job_set_in_order(c):
    """The second job is made when the first is ready: each is a gang by itself."""
    c.nodes(4)
    roles = [("first", 1, 2, c.template(8, run_seconds=6)), ("then", 1, 2, c.template(8, run_seconds=2))]
    made = c.admin.create(crds.job_set("set", c.ns, roles, startupPolicy={"startupPolicyOrder": "InOrder"}))
    make_all(c, crds.jobs_of(made, "first"))
    c.running_pods(2, "set-first")
    make_all(c, crds.jobs_of(made, "then"))
    for name in ("set-first-0", "set-then-0"):
        c.completed(name)
    together(c, rows_of(c, "set-then"))


@case()
def job_set_with_a_launcher(c):
    """A pod without GPUs beside those with: it is no part of the gang, and starts at once."""
    c.nodes(2)
    roles = [("launch", 1, 1, c.template(0, run_seconds=1)), ("work", 2, 1, c.template(8, run_seconds=2))]
    made = c.admin.create(crds.job_set("set", c.ns, roles))
    make_all(c, crds.jobs_of(made))
    for job in crds.jobs_of(made):
        c.completed(job["metadata"]["name"])
    together(c, rows_of(c, "set-work"))


@case()
def worker_set_leader_and_workers(c):
    """startupPolicy LeaderCreated: all pods of a group come at once. Two groups are two gangs."""
    c.nodes(4)
    pods = c.template(8, spec=c.spec(8, restart="Always"))
    made = c.admin.create(crds.worker_set("llm", c.ns, 2, 2, pods))
    for group in range(2):
        make_all(c, [crds.member(made, group, index) for index in range(2)])
    c.running_pods(4, "llm")
    for group in range(2):
        together(c, [row for row in c.log() if row["name"].startswith(f"llm-{group}")])


@case()
def worker_set_waits_for_room_for_all(c):
    c.nodes(2)
    c.pod("holder", gpus=8, run_seconds=5)
    c.runs("holder")
    made = c.admin.create(crds.worker_set("llm", c.ns, 1, 2, c.template(8, spec=c.spec(8, restart="Always"))))
    make_all(c, [crds.member(made, 0, index) for index in range(2)])
    gated(c, "llm", 2)
    c.stays(lambda: all(has_gate(p) for p in c.pods("llm")), "none starts while one node is taken", 2)
    c.running_pods(2, "llm")
    together(c, rows_of(c, "llm"))


@case()
def worker_set_whose_leader_comes_first(c):
    """startupPolicy LeaderReady: the workers are made when the leader is ready. Room is kept for them."""
    c.nodes(2)
    made = c.admin.create(crds.worker_set("llm", c.ns, 1, 2, c.template(8, spec=c.spec(8, restart="Always")),
                                          startupPolicy="LeaderReady"))  # fmt: skip
    c.admin.create(crds.member(made, 0, 0))
    c.runs("llm-0")
    c.pod("rival", gpus=8, run_seconds=1)
    c.stays(lambda: phase(c.get_pod("rival")) == "Pending", "the rival does not take the workers' room", 3)
    c.admin.create(crds.member(made, 0, 1))
    c.runs("llm-0-1")
