"""Nodes that go, come back, drain and shrink under what runs on them."""

import os
import signal

import objects as o
from case import WAIT_S, case, has_gate, node_of, phase
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
def node_drained(c):
    c.nodes(2)
    old = serve(c, stop_seconds=1)
    kubectl(c, "drain", old, "--ignore-daemonsets", "--force", "--timeout=60s")
    c.until(lambda: [p for p in c.running_pods(1, "serve") if node_of(p) != old], "pod on the other node")
    kubectl(c, "uncordon", old)


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


@case(alone=True, seconds=400)
def gang_taken_back_three_times(c):
    """It cannot be bound whole, so it waits again as a whole, and its backoff limit is not touched."""
    names = c.nodes(8)
    scheduler = c.world.plane.processes["kube-scheduler"].child.pid
    os.kill(scheduler, signal.SIGSTOP)
    try:
        c.job("wide", 64, 1, indexed=True, more={"backoffLimit": 6}, run_seconds=2,
              keys={"subak.gpu/gang-size": "64"})  # fmt: skip
        for _ in range(3):
            c.until(lambda: len([p for p in c.pods("wide") if not has_gate(p)]) == 64, "64 open gates", 90)
            kubectl(c, "cordon", names[0])
            os.kill(scheduler, signal.SIGCONT)
            c.until(lambda: not [p for p in c.pods("wide") if not has_gate(p)], "the gang taken back", 90)
            os.kill(scheduler, signal.SIGSTOP)
            kubectl(c, "uncordon", names[0])
    finally:
        os.kill(scheduler, signal.SIGCONT)
    c.completed("wide", seconds=120)
    c.expect(c.admin.get("Job", c.ns, "wide")["status"].get("failed", 0) == 0, "no pod of it counts as failed")
