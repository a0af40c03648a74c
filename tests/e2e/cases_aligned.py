"""What keeps GPUs, CPUs and network cards apart: each warning as printed, and what becomes of pods that a kubelet turns
away for it (docs/design/0045, 0091, 0094)."""

import objects as o
from case import case, has_gate, node_of, phase
from cases_jobs import gang

AT = "spec.containers[0].resources."


def boxed(limits, requests=None, name="main", **more):
    resources = {"limits": limits} | ({"requests": requests} if requests else {})
    return {"name": name, "image": "example.com/train", "resources": resources, **more}


FOUR = {o.GPU: "4", "cpu": "8", "memory": "16Gi"}
PLAIN = {"cpu": "1", "memory": "1Gi"}
# What a pod has, and the warnings about it, in their order.
PRINTED = [
    ([boxed(FOUR)], {}, []),
    ([boxed({o.GPU: "1", "cpu": "1500m"})], {}, []),
    ([boxed({o.GPU: "2", "cpu": "8"}, {"cpu": "3", "memory": "16Gi"}), boxed(PLAIN, name="side")], {},
     [AT + 'requests[cpu]: was "3", want "8" as the limit: only Guaranteed pods are aligned',
      AT + 'limits[memory]: is not set, want "16Gi" as the request: only Guaranteed pods are aligned']),
    ([boxed(FOUR), boxed({}, name="side")], {},
     ['spec.containers[1].resources.limits[cpu]: is not set, want whole CPUs such as "8": only Guaranteed pods are aligned',
      'spec.containers[1].resources.limits[memory]: is not set, want an amount such as "64Gi": only Guaranteed pods are '
      'aligned']),
    ([boxed(FOUR)], {"initContainers": [boxed({"cpu": "1"}, name="load")]},
     ['spec.initContainers[0].resources.limits[memory]: is not set, want an amount such as "64Gi": only Guaranteed pods '
      'are aligned']),
    ([boxed(FOUR | {"cpu": "1500m"})], {},
     [AT + 'limits[cpu]: was "1500m", want whole CPUs such as "2": parts of a CPU are not aligned']),
    ([boxed(FOUR), boxed(PLAIN | {"rdma/hca": "1"}, name="net")], {},
     ["spec.containers[1].resources.limits[rdma/hca]: want it in spec.containers[0], beside the GPUs: other containers are "
      "not aligned"]),
    ([boxed(FOUR), boxed(PLAIN | {"hugepages-2Mi": "64Mi"}, name="net")], {},
     ["spec.containers[1].resources.limits[hugepages-2Mi]: want it in spec.containers[0], beside the GPUs: other containers "
      "are not aligned"]),
    ([boxed(FOUR)], {"hostNetwork": True},
     ["spec.containers[].ports: want each port that the pod opens, such as containerPort: 29500: with hostNetwork, pods on "
      "one node share all ports"]),
]  # fmt: skip


def printed(c):
    """The warnings of the last call that are not about what the fleet has, which other cases change."""
    plain = [w.removeprefix('299 - "').removesuffix('"').replace('\\"', '"') for w in c.ana.warnings]
    return [w.removeprefix("subak: ") for w in plain if "ExceedsFleet" not in w]


@case()
def aligned_warnings_as_printed(c):
    c.nodes(1)
    for i, (containers, more, want) in enumerate(PRINTED):
        spec = c.spec(0, **more)
        spec["containers"] = containers
        c.ana.create(o.pod(f"pod-{i}", c.ns, spec), dry_run=True)
        c.expect(printed(c) == want, f"pod {i}: want {want}, got {printed(c)}")


@case()
def aligned_gang_without_rdma_is_warned_once(c):
    """At its first pod, as kubectl shows warnings of single pods only."""
    c.nodes(2, beside={"rdma/hca": 8})
    keys = {"subak.gpu/job": "ring", "subak.gpu/gang-size": "2"}
    for rank in range(2):
        c.pod(f"ring-{rank}", gpus=8, labels=keys | {"subak.gpu/rank": str(rank)}, run_seconds=1)
        want = [AT + 'limits[rdma/hca]: is not set, want "1", or spec.hostNetwork: true: its gang is on several nodes']
        c.expect(printed(c) == (want if rank == 0 else []), f"rank {rank}: {printed(c)}")
    for rank in range(2):
        c.succeeded(f"ring-{rank}")


@case(seconds=240)
def aligned_pod_that_is_turned_away(c):
    """TopologyAffinityError: its next pod says so in why, keeps away from the node, and runs on another."""
    (first,) = c.nodes(1)
    c.job("train", 1, 8, reject_first=1, reject_error="TopologyAffinityError", run_seconds=1)
    c.until(lambda: [p for p in c.pods("train") if phase(p) == "Failed"], "pod that is turned away")
    c.until(lambda: [p for p in c.pods("train") if has_gate(p)], "its successor", 90)
    job = c.until(lambda: c.job_named("train"), "job of the successor")["id"]
    why = c.until(lambda: "TopologyAffinityError" in c.why(job) and c.why(job), "the error in why")
    for words in (first, "its Topology Manager found no CPUs and GPUs for the pod on the NUMA nodes that its policy allows",
                  "ask for at most the GPUs and CPUs of one NUMA node"):  # fmt: skip
        c.expect(words in why, f"'{words}' in {why[:600]}")
    (second,) = c.nodes(1)
    c.completed("train", seconds=100)
    c.expect([row["node"] for row in c.log() if "started" in row] == [second], "it ran on the other node")


@case(seconds=300)
def aligned_node_that_rejects_five(c):
    """Five pods in an hour: the node takes nothing more, until an operator says that it is repaired."""
    (bad,) = c.nodes(1, rejects="UnexpectedAdmissionError")
    for gpus in range(1, 6):  # of a shape of its own each, else the pause of the first one keeps them away
        c.pod(f"bad-{gpus}", gpus=gpus)
        c.pod_is(f"bad-{gpus}", lambda p: phase(p) == "Failed", "phase Failed")

    def unfit():
        rows = c.service.json("cluster", "nodes")["nodes"]
        return next((row["spec"].get("unfit", "") for row in rows if row["spec"]["name"] == bad), "")

    c.until(unfit, "node that is not fit")
    c.expect("5" in unfit() and "UnexpectedAdmissionError" in unfit(), f"the count and the error: {unfit()}")
    c.pod("waits", gpus=6, run_seconds=1)
    c.queued("waits")
    c.until(lambda: unfit() in c.why(c.job_named("waits")["id"]), "the node's words in why")
    c.admin.patch("Node", "", bad, {"metadata": {"annotations": {"e2e/rejects": None}}})
    c.stays(lambda: has_gate(c.get_pod("waits")), "it waits", 2)
    c.service.subak("cluster", "undrain", bad, "--reason", "repaired")
    c.expect(node_of(c.succeeded("waits")) == bad, "the repaired node")


@case(seconds=200)
def aligned_to_numa_nodes(c):
    """The kubelet takes a container from one NUMA node of 4 GPUs: 8 GPUs wait, twice 4 run, and so does any other policy."""
    c.nodes(1, labels={"e2e/numa-policy": "single-numa-node", "e2e/numa-gpus": "4"})
    c.pod("wide", gpus=8, run_seconds=1)
    c.queued("wide")
    why = c.why(c.job_named("wide")["id"])
    c.expect("ExceedsFleet numa" in why and "has at most 4" in why, f"why says so: {why[:400]}")
    spec = c.spec(0)
    spec["containers"] = [o.container(4, name) for name in ("left", "right")]
    c.pod("halves", spec=spec, run_seconds=1)
    c.succeeded("halves")
    c.expect(has_gate(c.get_pod("wide")), "the other one waits")
    (other,) = c.nodes(1, labels={"e2e/numa-policy": "restricted", "e2e/numa-gpus": "4"})
    c.expect(node_of(c.succeeded("wide")) == other, "the node with the other policy")


@case(seconds=200)
def rdma_gang_whose_network_is_short(c):
    """Of two nodes one has RDMA: the gang waits for a second one of the fabric, a gang that asks for none does not."""
    rdma = {"rdma/hca": 8}
    with_rdma = c.nodes(1, beside=rdma, labels={"e2e/fabric": "a"})
    c.nodes(1, labels={"e2e/fabric": "a"})
    spec = c.spec(8)
    spec["containers"][0]["resources"]["limits"]["rdma/hca"] = "1"
    c.job("ring", 2, indexed=True, spec=spec, run_seconds=2)
    c.until(lambda: len([p for p in c.pods("ring") if has_gate(p)]) == 2, "two gated pods")
    gang(c, "plain", 2, 8, run_seconds=2)
    c.completed("plain")
    c.expect(all(has_gate(p) for p in c.pods("ring")), "the gang with RDMA waits")
    with_rdma += c.nodes(1, beside=rdma, labels={"e2e/fabric": "a"})
    c.completed("ring")
    c.expect({row["node"] for row in c.log() if row["name"].startswith("ring")} == set(with_rdma), "both have RDMA")
