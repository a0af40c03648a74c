"""The manifests of docs/workloads.md, as they stand there."""

import json
import re

import objects as o
from case import ALL, case, has_gate, node_of
from cases_jobs import rows_of, together
from cases_operators import set_completed
import pages
from pages import has_gpus, manifest_in, parts

MIG, SHARED = "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared"


def examples():
    """{heading: its manifest}, in the order of the page."""
    return {heading: manifest_in(part) for heading, part in parts("workloads.md", 3, "Examples").items()}


def apply(c, heading, run_seconds=None):
    """Makes what stands under the heading."""
    return pages.apply(c, examples()[heading], run_seconds)


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
