#!/usr/bin/env python3
"""NVIDIA's GPU Operator upgrades the driver of nodes under load, in a stand-in of an API server. The test plays the
operator, the scheduler and the kubelets; the service and its edge are real.

Usage: kube_upgrade_test.py PATH_TO_SUBAKD PATH_TO_SUBAK PATH_TO_STANDIN
"""

import json
import time
import unittest

from kube_edge_stand import DEADLINE_S, Edge, MERGE_PATCH, now, until

GPU, STATE, NODES = "nvidia.com/gpu", "nvidia.com/gpu-driver-upgrade-state", "/api/v1/nodes"
PODS = "/api/v1/namespaces/team-a/pods"
AT_ONCE = 3  # nodes of one upgrade
RUN_S = 0.4


class Upgrade(Edge):
    def before_start(self):
        self.names = [f"n{i}" for i in range(1, 11)]
        for name in self.names[1:]:
            self.api.make_node(name)
        self.closed = {}  # node -> since when Subak says that it is not fit
        self.ends, self.made = {}, {}  # pod -> when it ends, when it was made
        self.bound = {}  # pod -> (node, GPUs), while it holds them

    def patch_node(self, name, **patch):
        self.api.call("PATCH", f"{NODES}/{name}", patch, MERGE_PATCH)

    def state(self, name, value):
        self.patch_node(name, metadata={"labels": {STATE: value}})

    def offer(self, name, allocatable, capacity=8):
        self.patch_node(name, status={"allocatable": {GPU: str(allocatable)}, "capacity": {GPU: str(capacity)}})

    def unfit(self):
        """Each node, and why it is not fit."""
        rows = json.loads(self.subak("cluster", "nodes", "--output", "json"))["nodes"]
        return {row["spec"]["name"]: row["spec"].get("unfit", "") for row in rows}

    def submit(self, name, gpus):
        self.made[name] = time.monotonic()
        self.api.make_pod(name, gpus)

    def play(self):
        """One turn of the scheduler and of all kubelets."""
        for pod in self.api.call("GET", PODS)["items"]:
            name, spec = pod["metadata"]["name"], pod["spec"]
            if spec.get("schedulingGates") or pod["status"]["phase"] in ("Succeeded", "Failed"):
                continue
            if not spec.get("nodeName"):
                node = self.api.bind(name)
                self.assertFalse(self.made[name] > self.closed.get(node, float("inf")), f"{name} went to {node}, which was closed")
                self.bound[name] = (node, int(spec["containers"][0]["resources"]["limits"][GPU]))
                used = sum(gpus for where, gpus in self.bound.values() if where == node)
                self.assertLessEqual(used, 8, f"{node} has {used} GPUs in use")
                self.api.run(name)
                self.ends[name] = time.monotonic() + RUN_S
            elif time.monotonic() >= self.ends[name]:
                self.api.finish(name)
                del self.bound[name]

    def until_played(self, holds, what):
        end = time.monotonic() + DEADLINE_S
        while not holds():
            self.assertLess(time.monotonic(), end, f"never: {what}")
            self.play()

    def is_idle(self, name):
        return all(node != name for node, _ in self.bound.values())

    def upgrade(self, names):
        for name in names:
            self.state(name, "cordon-required")
            self.patch_node(name, spec={"unschedulable": True})
        self.until_played(lambda: all(STATE in self.unfit()[name] for name in names), f"{names} are closed")
        self.closed.update({name: time.monotonic() for name in names})
        for name in names:
            self.state(name, "wait-for-jobs-required")
        self.until_played(lambda: all(self.is_idle(name) for name in names), f"jobs on {names} finish")
        for value, allocatable, capacity in (("pod-deletion-required", 8, 8), ("drain-required", 8, 8), ("pod-restart-required", 0, 8),
                                             ("pod-restart-required", 0, 0), ("validation-required", 8, 8)):  # fmt: skip
            for name in names:
                self.state(name, value)
                self.offer(name, allocatable, capacity)
            self.until_played(lambda value=value: all(value in self.unfit()[name] for name in names), value)
        for name in names:
            del self.closed[name]
            self.patch_node(name, spec={"unschedulable": False})
            self.state(name, "upgrade-done")

    def test_ten_nodes_under_load(self):
        jobs = [f"p{i}" for i in range(40)]
        for i, name in enumerate(jobs[:20]):
            self.submit(name, (1, 2, 4, 8)[i % 4])
        for name in self.names:
            self.state(name, "upgrade-required")
        self.until_played(lambda: len(self.bound) > 3, "load")
        more = iter(jobs[20:])
        for i in range(0, len(self.names), AT_ONCE):
            self.upgrade(self.names[i:i + AT_ONCE])
            for _ in range(5):
                self.submit(next(more), 4)
        self.until_played(lambda: all(self.api.pod(name)["status"]["phase"] == "Succeeded" for name in jobs), "all finish")
        until(lambda: self.jobs() == 0, "all are done")
        until(lambda: set(self.unfit().values()) == {""}, "all nodes are fit")
        self.assertIn("residual", self.subak("usage", "verify"))
        self.assertEqual(self.metric("subak_bill_residual_gpu_seconds"), 0)
        for cause in ("node_drained", "node_lost", "failed", "vanished", "unschedulable"):
            self.assertIn(self.metric(f'subak_attempts_ended_total{{cause="{cause}"}}'), (0, None), cause)

    def test_a_job_that_the_operator_evicts(self):
        self.submit("p", 8)
        self.until_played(lambda: self.bound, "it runs")
        (old, _), self.bound = self.bound["p"], {}
        self.state(old, "drain-required")
        until(lambda: "drain-required" in self.unfit()[old], "closed")
        until(lambda: self.jobs("running") == 1, "still running")
        target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        self.api.change("p", {"status": {"phase": "Failed", "conditions": [target], "containerStatuses": [
            {"state": {"terminated": {"finishedAt": now()}}}]}})  # fmt: skip
        until(lambda: self.metric('subak_attempts_ended_total{cause="node_drained"}') == 1, "a drain")
        self.submit("q", 8)
        self.until_played(lambda: self.bound, "the next runs")
        self.assertNotEqual(self.bound["q"][0], old)
        self.assertIn("residual", self.subak("usage", "verify"))


unittest.main(verbosity=2)
