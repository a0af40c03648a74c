"""NVIDIA's GPU Operator upgrades drivers and checks nodes while jobs run (docs/design/0096). The operator is played: its
labels, its cordons and evictions, and the pods of its parts."""

import re
import time

import objects as o
from case import case, dashed, has_gate, node_of, phase
from cases_jobs import gang, together
from cases_nodes import kubectl

STATE = "nvidia.com/gpu-driver-upgrade-state"
AT_ONCE = 3
NAMESPACE = "gpu-operator"
BAD_CAUSES = ("node_drained", "node_lost", "failed", "vanished", "unschedulable", "member_lost", "rejected")


def unfit(c):
    """{node of the case: why Subak places nothing there}"""
    rows = c.service.json("cluster", "nodes")["nodes"]
    return {row["spec"]["name"]: row["spec"].get("unfit", "") for row in rows if row["spec"]["name"] in c.node_names}


def ends(c):
    """{cause: how many attempts ended with it}"""
    rows = re.findall(r'^subak_attempts_ended_total{cause="(\w+)"} (\S+)$', c.service.metrics(), re.M)
    return {cause: float(count) for cause, count in rows}


class Operator:
    """Waits for the jobs on a node, and restarts its driver."""

    def __init__(self, c):
        self.c = c
        self.closed = []  # (node, since when Subak had closed it, when it was opened)

    def node(self, name, labels=None, notes=None, **spec):
        body = {"metadata": {"labels": labels or {}, "annotations": notes or {}}}
        self.c.admin.patch("Node", "", name, body | ({"spec": spec} if spec else {}))

    def state(self, names, value):
        for name in names:
            self.node(name, {STATE: value})

    def until_closed(self, names, words):
        self.c.until(lambda: all(words in unfit(self.c)[name] for name in names), f"'{words}' on {names}")

    def busy(self, name):
        return [p for p in self.c.pods() if node_of(p) == name and phase(p) in ("Pending", "Running")]

    def upgrade(self, names):
        self.state(names, "cordon-required")
        for name in names:
            self.node(name, unschedulable=True)
        self.until_closed(names, "cordon-required")
        since = time.time()
        self.state(names, "wait-for-jobs-required")
        self.c.until(lambda: not any(self.busy(name) for name in names), f"end of the jobs on {names}", 120)
        for value in ("pod-deletion-required", "drain-required"):
            self.state(names, value)
            self.until_closed(names, value)
        for plugin in ("off", "gone", None):
            self.state(names, "validation-required" if plugin is None else "pod-restart-required")
            for name in names:
                self.node(name, notes={"e2e/plugin": plugin})
        self.until_closed(names, "validation-required")
        self.state(names, "uncordon-required")
        self.closed += [(name, since, time.time()) for name in names]
        for name in names:
            self.node(name, unschedulable=None)
        self.state(names, "upgrade-done")


@case(alone=True, seconds=500)
def operator_upgrades_ten_nodes(c):
    """Under load: no job fails, none starts where a driver is being upgraded, and all finish."""
    names = c.nodes(10)
    before, operator = ends(c), Operator(c)
    operator.state(names, "upgrade-required")
    sizes = {}

    def load(turn):
        for i, gpus in enumerate((1, 2, 4, 8)):
            sizes[f"job-{turn}-{i}"] = 2
            c.job(f"job-{turn}-{i}", 2, gpus, run_seconds=3)
        for i, pods in enumerate((2, 4)):
            sizes[f"gang-{turn}-{i}"] = pods
            gang(c, f"gang-{turn}-{i}", pods, 8, run_seconds=3)

    for turn, first in enumerate(range(0, len(names), AT_ONCE)):
        load(turn)
        c.until(lambda: [p for p in c.pods() if phase(p) == "Running"], "load")
        operator.upgrade(names[first:first + AT_ONCE])
    for name in sizes:
        c.completed(name, seconds=200)
    for name, count in sizes.items():
        rows = [row for row in c.log() if row["name"].startswith(name + "-")]
        c.expect(len(rows) == count, f"each pod of {name} ran once, got {len(rows)} of {count}")
        if name.startswith("gang"):
            together(c, rows)
    for node, since, until in operator.closed:
        late = [row["name"] for row in c.log() if row["node"] == node and since < row["bound"]["at"] < until]
        c.expect(not late, f"{late} came to {node} during its upgrade")
    c.until(lambda: set(unfit(c).values()) == {""}, "fit nodes")
    after = ends(c)
    bad = {cause: after.get(cause, 0) - before.get(cause, 0) for cause in BAD_CAUSES}
    c.expect(not any(bad.values()), f"no attempt ends early, got {bad}")


@case(alone=True, seconds=300)
def operator_evicts_a_gang(c):
    """It does not wait for jobs: the gang's pod comes again on another node, and the Job finishes."""
    names = c.nodes(3)
    before, operator = ends(c), Operator(c)
    gang(c, "train", 2, 8, run_seconds=15)
    old = node_of(c.running_pods(2, "train")[0])
    operator.state([old], "drain-required")
    operator.until_closed([old], "drain-required")
    kubectl(c, "drain", old, "--ignore-daemonsets", "--force", "--timeout=60s")
    c.running_pods(2, "train")
    c.until(lambda: ends(c).get("node_drained", 0) > before.get("node_drained", 0), "an end with the cause node_drained")
    c.completed("train", seconds=120)
    late = [row["node"] for row in c.log() if row["bound"]["at"] > min(r["finished"]["at"] for r in c.log())]
    c.expect(late and old not in late, f"nothing comes back to {old} of {names}: {late}")
    kubectl(c, "uncordon", old)


@case(seconds=200)
def operator_takes_the_plugin_away(c):
    """Not one GPU is allocatable, later none is there: what runs is charged, the books keep the GPUs, nothing new comes."""
    (name,) = c.nodes(1)
    c.pod("runs", gpus=4, run_seconds=14)
    c.runs("runs")
    for how in ("off", "gone"):
        c.admin.patch("Node", "", name, {"metadata": {"annotations": {"e2e/plugin": how}}})
        c.until(lambda: unfit(c)[name], f"a node that is not fit while its plugin is {how}")
    c.pod("waits", gpus=2, run_seconds=1)
    c.queued("waits")
    c.stays(lambda: has_gate(c.get_pod("waits")), "it waits", 3)
    rows = c.service.json("cluster", "nodes")["nodes"]
    spec = next(row["spec"] for row in rows if row["spec"]["name"] == name)
    c.expect(int(spec["gpus"]) == 8 and spec["gpusUnknown"], f"the books keep 8 GPUs as unknown: {spec['gpus']}")
    c.expect(c.job_named("runs")["state"] == "JOB_STATE_RUNNING", "the first one runs on")
    c.succeeded("runs")
    c.admin.patch("Node", "", name, {"metadata": {"annotations": {"e2e/plugin": None}}})
    c.succeeded("waits")


def daemon_set(c, namespace, app, **notes):
    """A part of the operator, on the nodes of the case."""
    template = o.template(o.pod_spec(0, c.ns, restart="Always"), {"app": app}, dashed(notes))
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": o.meta(c.ns, namespace),
            "spec": {"selector": {"matchLabels": {"app": app}}, "template": template}}  # fmt: skip


@case(seconds=240)
def operator_checks_a_node(c):
    """Its validator is not ready, so the node is closed, although all GPUs are allocatable. A user's DaemonSet of the same
    name closes nothing."""
    (name,) = c.nodes(1)
    app = "nvidia-operator-validator"
    if not c.admin.get("Namespace", "", NAMESPACE):
        c.admin.create(o.namespace(NAMESPACE))
    c.ana.create(daemon_set(c, c.ns, app, start_seconds=1000))
    c.until(lambda: c.pods(), "pod of the user's DaemonSet")
    c.pod("first", gpus=8, run_seconds=1)
    c.succeeded("first")
    c.admin.create(daemon_set(c, NAMESPACE, app, start_seconds=1000))
    try:
        c.until(lambda: "the GPU Operator's validator is not ready" in unfit(c)[name], "a node that is not fit")
        c.pod("waits", gpus=8, run_seconds=1)
        c.queued("waits")
        c.until(lambda: unfit(c)[name] in c.why(c.job_named("waits")["id"]), "the node's words in why")
        ready = {"spec": {"template": {"metadata": {"annotations": {"e2e/start-seconds": "0"}}}}}
        c.admin.patch("DaemonSet", NAMESPACE, c.ns, ready)
        c.succeeded("waits")
    finally:
        for namespace in (c.ns, NAMESPACE):
            c.admin.delete("DaemonSet", namespace, c.ns)
        c.until(lambda: not c.admin.list("Pod", NAMESPACE, f"app={app}"), "end of the validator")
