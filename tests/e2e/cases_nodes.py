"""Nodes that go, come back, drain and shrink under what runs on them."""

import re
import signal
import time

import objects as o
from case import WAIT_S, case, has_gate, node_of, phase
from control_plane import SUBAK_USER
from kube_api import STRATEGIC_PATCH


def power(c, node, on):
    c.admin.patch("Node", "", node, {"metadata": {"annotations": {"e2e/power": None if on else "off"}}})


def kubectl(c, *args):
    code, out = c.world.plane.kubectl("admin", *args)
    c.expect(code == 0, f"kubectl {' '.join(args)}: {out}")


def goes_on(c, replica_of):
    """A pod of the owner that runs elsewhere than before."""
    return c.until(lambda: [p for p in c.pods(replica_of) if phase(p) == "Running" and "deletionTimestamp" not in
                            p["metadata"]], f"running pod of {replica_of}", WAIT_S)  # fmt: skip


def serve(c, gpus=8, **notes):
    c.ana.create(o.deployment("serve", c.ns, c.template(gpus, spec=c.spec(gpus, restart="Always"), **notes), 1))
    return node_of(c.running_pods(1, "serve")[0])


@case(seconds=240)
def node_lost_and_back(c):
    c.nodes(2)
    lost = serve(c)
    power(c, lost, on=False)
    c.until(lambda: [p for p in c.running_pods(1, "serve") if node_of(p) != lost], "pod on the other node", 90)
    time.sleep(5)  # it has been silent for long enough that everybody knows
    power(c, lost, on=True)
    c.until(lambda: len(c.pods("serve")) == 1, "end of the lost pod")


@case(seconds=300)
def node_lost_for_good(c):
    c.nodes(2)
    c.job("train", 1, 8, run_seconds=25)
    lost = node_of(c.running_pods(1, "train")[0])
    power(c, lost, on=False)
    c.until(lambda: any("deletionTimestamp" in p["metadata"] for p in c.pods("train")), "pod given up", 60)
    c.admin.delete("Node", "", lost)
    c.completed("train", seconds=200)


@case()
def node_whose_mig_configuration_changes(c):
    (name,) = c.nodes(1)

    def label(key, value):
        c.admin.patch("Node", "", name, {"metadata": {"labels": {"nvidia.com/" + key: value}}})

    def state(value):
        label("mig.config.state", value)

    for value in ("failed", "rebooting", "pending"):
        state(value)
        words = "mig.config.state is " + value
        c.until(lambda words=words: words in str(c.service.json("cluster", "nodes")), "a node that is not fit")
    c.pod("waits", gpus=8, run_seconds=1)
    c.queued("waits")
    text = c.why(c.job_named("waits")["id"])
    c.expect("mig.config.state is pending" in text, f"why quotes the node: {text[:300]}")
    label("mig.config", "all-1g.10gb")
    state("success")
    words = "mig.config is all-1g.10gb but the node offers"
    c.until(lambda: words in str(c.service.json("cluster", "nodes")), "a success of another configuration")
    c.stays(lambda: has_gate(c.get_pod("waits")), "it waits", 2)
    label("mig.config", "all-disabled")
    c.succeeded("waits")


@case()
def node_drained(c):
    c.nodes(2)
    old = serve(c, stop_seconds=1)
    kubectl(c, "drain", old, "--ignore-daemonsets", "--force", "--timeout=60s")
    c.until(lambda: [p for p in c.running_pods(1, "serve") if node_of(p) != old], "pod on the other node")
    kubectl(c, "uncordon", old)


@case()
def node_whose_driver_is_upgraded(c):
    """As NVIDIA's GPU Operator does it: cordon, evict what is left, restart the driver, uncordon."""
    c.nodes(2)
    old = serve(c, gpus=4, stop_seconds=1)

    def state(value):
        c.admin.patch("Node", "", old, {"metadata": {"labels": {"nvidia.com/gpu-driver-upgrade-state": value}}})
        if value not in ("upgrade-required", "upgrade-done"):
            c.until(lambda: f"upgrade-state is {value}" in str(c.service.json("cluster", "nodes")), "a node that is not fit")

    def drains():
        row = re.search(r'^subak_attempts_ended_total{cause="node_drained"} (\S+)$', c.service.metrics(), re.M)
        return float(row.group(1)) if row else 0

    before = drains()
    for value in ("upgrade-required", "cordon-required", "wait-for-jobs-required"):
        state(value)
    c.pod("elsewhere", gpus=4, run_seconds=1)
    c.expect(node_of(c.succeeded("elsewhere")) != old, "a node that is not upgraded")
    state("drain-required")
    kubectl(c, "drain", old, "--ignore-daemonsets", "--force", "--timeout=60s")
    c.until(lambda: [p for p in c.running_pods(1, "serve") if node_of(p) != old], "pod on the other node")
    c.until(lambda: drains() > before, "an end with the cause node_drained")
    for value in ("pod-restart-required", "validation-required", "uncordon-required"):
        state(value)
    kubectl(c, "uncordon", old)
    state("upgrade-done")
    c.pod("back", gpus=8, run_seconds=1)
    c.expect(node_of(c.succeeded("back")) == old, "the upgraded node")


@case()
def cordoned_node_gets_nothing(c):
    first, second = c.nodes(2)
    kubectl(c, "cordon", first)
    for i in range(2):
        c.pod(f"on-{i}", gpus=8, run_seconds=1)
    for i in range(2):
        c.expect(node_of(c.succeeded(f"on-{i}")) == second, "the node that is not cordoned")
    kubectl(c, "uncordon", first)


@case()
def uncordoned_node_is_used(c):
    (name,) = c.nodes(1)
    kubectl(c, "cordon", name)
    c.pod("waits", gpus=8)
    c.queued("waits")
    c.stays(lambda: has_gate(c.get_pod("waits")), "it waits", 2)
    kubectl(c, "uncordon", name)
    c.succeeded("waits")


@case()
def gpus_that_come_late(c):
    """The driver of a node is dead, then it is mended."""
    (name,) = c.nodes(1)

    def driver(gpus):
        body = {"status": {"allocatable": {"nvidia.com/gpu": gpus}, "capacity": {"nvidia.com/gpu": gpus}}}
        c.admin.patch("Node", "", name, body, "status", STRATEGIC_PATCH)

    driver("0")
    c.pod("waits", gpus=4)
    c.queued("waits")
    c.stays(lambda: has_gate(c.get_pod("waits")), "it waits", 2)
    driver("8")
    c.succeeded("waits")


@case()
def node_deleted_while_pods_wait_for_it(c):
    (name,) = c.nodes(1, gpus=4)
    c.pod("waits", gpus=8)
    c.queued("waits")
    c.admin.delete("Node", "", name)
    c.nodes(1)
    c.succeeded("waits")


@case()
def light_pods_take_room_too(c):
    """What pods without GPUs take of a node's CPU is not there for those with."""
    first, second = c.nodes(2)
    light = o.pod_spec(0, c.ns, nodeName=first)
    light["containers"][0]["resources"]["limits"] = {"cpu": "190", "memory": "8Gi"}
    c.pod("agent", spec=light, run_seconds=6)
    c.runs("agent")
    c.pod("heavy", gpus=8)
    c.expect(node_of(c.succeeded("heavy")) == second, "the node with enough CPU")
    c.succeeded("agent")


class NoScheduler:
    """While nothing is bound: `with NoScheduler(c):`. The next one lists nodes before it binds; one that was only stopped
    may bind a pod to a node that was closed meanwhile."""

    def __init__(self, c):
        self.process = c.world.plane.processes["kube-scheduler"]

    def __enter__(self):
        self.process.stop(signal.SIGKILL)

    def __exit__(self, *_):
        self.process.start()


@case(alone=True, seconds=240)
def bare_pod_that_cannot_be_bound(c):
    """Nothing would make it anew, so it is not deleted: it keeps its place until it can be bound."""
    (name,) = c.nodes(1)
    with NoScheduler(c):
        c.pod("bare", gpus=8)
        c.pod_is("bare", lambda p: not has_gate(p), "open gate")
        kubectl(c, "cordon", name)
    c.stays(lambda: c.get_pod("bare") and "deletionTimestamp" not in c.get_pod("bare")["metadata"], "it is left", 15)
    kubectl(c, "uncordon", name)
    c.succeeded("bare")


@case(alone=True, seconds=300)
def job_that_cannot_be_bound(c):
    """Its node is closed after the release: it is taken back and goes to the other."""
    first, second = c.nodes(2)
    with NoScheduler(c):
        c.job("train", 1, 8, run_seconds=1)
        opened = c.until(lambda: [p for p in c.pods("train") if not has_gate(p)], "open gate")[0]
        chosen = first if first in str(opened["spec"]["affinity"]) else second
        kubectl(c, "cordon", chosen)
    c.completed("train", seconds=120)
    c.expect({row["node"] for row in c.log()} == {first, second} - {chosen}, "it ran on the other node")
    c.expect(c.admin.get("Job", c.ns, "train")["status"].get("failed", 0) == 0, "no pod of it counts as failed")
    kubectl(c, "uncordon", chosen)


def refuse_our_patches(c, name):
    """A policy of somebody else that refuses our writes on pods with the label e2e/refused: NAME."""
    root = "/apis/admissionregistration.k8s.io/v1/"
    rule = {"operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    ours = f"request.userInfo.username == '{SUBAK_USER}'"
    label = f"object.metadata.?labels[?'e2e/refused'].orValue('') == '{name}'"
    spec = {"matchConstraints": {"resourceRules": [rule]}, "failurePolicy": "Fail",
            "matchConditions": [{"name": "ours", "expression": f"{ours} && {label}"}],
            "validations": [{"expression": "false", "message": "not today"}]}  # fmt: skip
    common = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    c.admin.call("POST", root + "validatingadmissionpolicies",
                 common | {"kind": "ValidatingAdmissionPolicy", "spec": spec})  # fmt: skip
    bound = {"policyName": name, "validationActions": ["Deny"]}
    c.admin.call("POST", root + "validatingadmissionpolicybindings",
                 common | {"kind": "ValidatingAdmissionPolicyBinding", "spec": bound})  # fmt: skip
    time.sleep(3)  # until the API server knows it
    return lambda: [c.admin.call("DELETE", f"{root}{kind}/{name}") for kind in
                    ("validatingadmissionpolicybindings", "validatingadmissionpolicies")]  # fmt: skip


@case(seconds=400)
def release_refused_by_another_policy(c):
    c.nodes(1)
    before = c.service.metric("subak_edge_releases_given_up_total")
    allow = refuse_our_patches(c, c.ns)
    try:
        c.pod("refused", gpus=8, labels={"e2e/refused": c.ns})
        c.queued("refused")
        c.until(lambda: c.service.metric("subak_edge_releases_given_up_total") > before, "refusal that is counted", 100)
        c.pod("other", gpus=8)
        c.succeeded("other")
        c.expect(has_gate(c.get_pod("refused")), "the refused one still waits")
    finally:
        allow()
    c.pod_is("refused", lambda p: phase(p) == "Succeeded", "phase Succeeded", 150)


@case(alone=True, seconds=500)
def gang_taken_back_three_times(c):
    """A declared gang that cannot be bound whole waits again as a whole; its backoff limit is not touched."""
    names = c.nodes(8)
    # Its pods run long enough that none has finished when the gang is taken back.
    c.job("wide", 64, 1, indexed=True, keys={"subak.gpu/gang-size": "64"},
          more={"backoffLimit": 6, "suspend": True}, run_seconds=40)  # fmt: skip
    for taken in range(3):
        with NoScheduler(c):
            if taken == 0:
                c.ana.patch("Job", c.ns, "wide", {"spec": {"suspend": False}})
            else:
                kubectl(c, "uncordon", names[0])
            c.until(lambda: len([p for p in c.pods("wide") if not has_gate(p)]) == 64, "64 open gates", 90)
            kubectl(c, "cordon", names[0])
        c.until(lambda: c.pods("wide") and all(has_gate(p) for p in c.pods("wide")), "the gang taken back", 90)
    kubectl(c, "uncordon", names[0])
    c.completed("wide", seconds=150)
    c.expect(c.admin.get("Job", c.ns, "wide")["status"].get("failed", 0) == 0, "no pod of it counts as failed")


@case(seconds=240)
def gang_of_which_some_have_finished(c):
    """What is left of it needs no more room than that."""
    names = c.nodes(2)
    c.job("train", 2, 8, indexed=True, run_seconds=3, more={"backoffLimit": 6})
    c.running_pods(2, "train")
    c.pod("rival", gpus=8, run_seconds=12)
    c.until(lambda: any(phase(p) == "Succeeded" for p in c.pods("train")), "a member that has finished")
    c.completed("train")
    c.succeeded("rival")
    c.expect({row["node"] for row in c.log()} == set(names), "both nodes were used")


@case()
def gang_in_one_rdma_fabric(c):
    """Two free nodes are in two fabrics, so a gang with RDMA waits for the second node of one."""
    rdma = {"rdma/hca": 8}
    first, second = (c.nodes(1, labels={"e2e/fabric": name}, beside=rdma)[0] for name in "ab")
    spec = c.spec(8)
    spec["containers"][0]["resources"]["limits"]["rdma/hca"] = "1"
    c.job("ring", 2, 8, indexed=True, spec=spec, keys={"subak.gpu/gang-size": "2"}, run_seconds=3)
    c.until(lambda: "RDMA fabric" in c.why(c.only_job()), "the fabric as the reason")
    third = c.nodes(1, labels={"e2e/fabric": "b"}, beside=rdma)[0]
    used = {node_of(pod) for pod in c.running_pods(2, "ring")}
    c.expect(used == {second, third}, f"both nodes of fabric b, not {first}, got {used}")
