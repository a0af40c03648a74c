"""The manifests of docs/workloads.md, as they stand there. Of each pod only what plays it is added: which nodes it may
have, and how long it runs."""

import json
import os
import re

import objects as o
from case import ALL, case, has_gate, node_of
from cases_jobs import rows_of, together
from cases_operators import set_completed
from operators import must, objects_of

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "workloads.md")
MIG, SHARED = "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared"


def examples():
    """{heading: its manifest}, in the order of the page."""
    with open(PAGE, encoding="utf-8") as file:
        section = file.read().split("\n## Examples\n")[1].split("\n## ")[0]
    found = {}
    for part in section.split("\n### ")[1:]:
        heading, text = part.split("\n", 1)
        found[heading] = re.search(r"```yaml\n(.*?)```", text, re.S).group(1)
    return found


def templates_in(obj):
    """Each pod or pod template in it."""
    if isinstance(obj, list):
        for item in obj:
            yield from templates_in(item)
    elif isinstance(obj, dict):
        if "containers" in (obj.get("spec") or {}):
            yield obj
        else:
            yield from templates_in(list(obj.values()))


def apply(c, heading, run_seconds=None):
    """Makes what stands under the heading. `run_seconds(template)`: how long such a pod runs; None: as its kind does."""
    text = must(c.world.plane, "create", "--dry-run=client", "--validate=strict", "-o", "json", "-f", "-",
                text_in=examples()[heading])  # fmt: skip
    made = []
    for obj in objects_of(text):
        for template in templates_in(obj):
            template["spec"].setdefault("nodeSelector", {})["e2e/pool"] = c.ns
            seconds = run_seconds and run_seconds(template)
            if seconds is not None:
                notes = template.setdefault("metadata", {}).setdefault("annotations", {})
                notes["e2e/run-seconds"] = str(seconds)
        obj["metadata"]["namespace"] = c.ns
        made.append(c.ana.create(obj))
    return made


def has_gpus(template):
    return "nvidia.com/" in json.dumps(template["spec"]["containers"])


@case()
def example_a_single_pod(c):
    c.nodes(1)
    apply(c, "A single pod")
    c.succeeded("notebook")


@case()
def example_a_job(c):
    c.nodes(1)
    apply(c, "A Job")
    c.completed("sweep")
    c.expect(len(rows_of(c, "sweep")) == 8, "eight pods ran")


@case()
def example_an_indexed_job_gang(c):
    c.nodes(4)
    c.pod("holder", gpus=8, run_seconds=5)
    c.runs("holder")
    apply(c, "An Indexed Job gang", lambda _: 2)
    c.until(lambda: len(c.pods("train")) == 4, "four pods")
    c.stays(lambda: all(has_gate(p) for p in c.pods("train")), "none starts while one node is taken", 2)
    c.completed("train")
    together(c, rows_of(c, "train"))


@case()
def example_a_jobset(c):
    c.nodes(3)
    apply(c, "A JobSet", lambda _: 2)
    set_completed(c, "pretrain")
    c.expect(len(rows_of(c, "pretrain")) == 3, "three pods ran")
    together(c, rows_of(c, "pretrain"))


@case()
def example_a_leaderworkerset(c):
    c.nodes(4)
    apply(c, "A LeaderWorkerSet")
    c.running_pods(4, "llm")
    for group in range(2):
        together(c, rows_of(c, f"llm-{group}"))


def play_mpi_operator(c, made):
    """What the operator makes of an MPIJob: a Job for the launcher, and a pod for each worker (mpi-operator v0.8.0)."""
    name, roles = made["metadata"]["name"], made["spec"]["mpiReplicaSpecs"]
    owner = {"apiVersion": made["apiVersion"], "kind": "MPIJob", "name": name, "uid": made["metadata"]["uid"],
             "controller": True}  # fmt: skip

    def marked(role, **more):
        template = json.loads(json.dumps(roles[role.capitalize()]["template"]))
        marks = {"job-name": name, "job-role": role, "operator-name": "mpi-operator", **more}
        labels = template.setdefault("metadata", {}).setdefault("labels", {})
        labels |= {f"training.kubeflow.org/{key}": value for key, value in marks.items()}
        template["spec"]["restartPolicy"] = "Never"
        return template

    job = o.job(f"{name}-launcher", c.ns, marked("launcher"))
    job["metadata"]["ownerReferences"] = [owner]
    c.admin.create(job)
    for index in range(roles["Worker"]["replicas"]):
        template = marked("worker", **{"replica-index": str(index)})
        meta = template["metadata"] | {"name": f"{name}-worker-{index}", "namespace": c.ns, "ownerReferences": [owner]}
        c.admin.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]})


@case()
def example_an_mpi_pair(c):
    """The launcher starts at once. One node is taken at first, so the workers wait, and then start together."""
    c.nodes(2)
    c.pod("holder", gpus=8, run_seconds=5)
    c.runs("holder")
    (made,) = apply(c, "An MPI pair", lambda template: 2 if has_gpus(template) else 1)
    play_mpi_operator(c, made)
    c.until(lambda: [p for p in c.started("allreduce-launcher")], "launcher that started")
    for index in range(2):
        c.succeeded(f"allreduce-worker-{index}")
    together(c, rows_of(c, "allreduce-worker"))


@case()
def example_a_deployment(c):
    c.nodes(1)
    apply(c, "A Deployment")
    c.running_pods(2, "serve")


def node_of_parts(c, resource, count, **labels):
    """A node of 8 cards that its device plugin offers as `count` of `resource`."""
    named = {f"nvidia.com/{key.replace('_', '.')}": value for key, value in labels.items()}
    return c.nodes(1, resources={resource: count}, labels=named)[0]


@case()
def example_a_mig_pod(c):
    c.judges_itself = True  # the kubelet's log counts whole GPUs
    name = node_of_parts(c, MIG, 56, mig_capable="true", mig_strategy="mixed")
    apply(c, "A MIG pod")
    c.expect(node_of(c.succeeded("small")) == name, "it ran on the node of slices")
    c.until(lambda: 0 < c.used_s() < 8, "charge of a part of a GPU")


@case()
def example_a_shared_gpu(c):
    c.judges_itself = True  # the kubelet's log counts whole GPUs
    name = node_of_parts(c, SHARED, 32, gpu_replicas="4", **{"gpu_sharing-strategy": "time-slicing"})
    apply(c, "A shared GPU")
    c.expect(node_of(c.succeeded("part")) == name, "it ran on the node of shared GPUs")
    c.until(lambda: 0 < c.used_s() < 8, "charge of a part of a GPU")


@case()
def each_example_of_the_page_has_a_case(c):
    wanted = {"example_" + re.sub(r"[^a-z]+", "_", heading.lower()) for heading in examples()}
    has = {function.__name__ for function in ALL if function.__name__.startswith("example_")}
    c.expect(wanted == has, f"cases {sorted(has)} for the examples {sorted(wanted)}")
