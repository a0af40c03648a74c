"""All of Subak's processes are dead for a while: nobody but GPU pods may notice, and these only wait. Then they run."""

import threading
import time

import objects as o
from case import has_gate, phase
from kube_api import ApiError

ROUND_S = 1.0
DRAIN_S = 900


class Outage:
    """`seconds` long. The webhooks are those of Kubernetes 1.36: the API server sets the gate."""

    def __init__(self, world, seconds):
        self.world, self.seconds = world, seconds
        self.wrong, self.done, self.count = [], {}, 0

    def run(self):
        """What is wrong."""
        world = self.world
        world.service.register(world.plane, "--kubernetes", "1.36")
        for namespace, label in (("plain", ""), ("managed", "true"), ("warned", "warn")):
            world.admin.create(o.namespace(namespace, label))
        world.service.subak("account", "set", "outage", "--shares", "1", "--namespaces", "managed,warned", "--reason", "outage")
        for i in range(4):
            world.admin.create(o.node(f"outage-{i}", "outage"))
        time.sleep(3)
        self.make("managed", "before", 8, run_seconds=3600)
        self.wait(lambda: phase(self.get("managed", "before")) == "Running", "a GPU pod that runs")
        world.service.stop()
        self.traffic()
        gated = [p for p in world.admin.list("Pod", "managed") if has_gate(p)]
        made = self.done.get("managed GPU pod created", 0)
        if len(gated) != made:
            self.wrong.append(f"{len(gated)} of {made} GPU pods of the managed namespace wait")
        world.service.start()
        self.wait(lambda: not [p for p in world.admin.list("Pod") if has_gate(p)], "open gates")
        self.wait(lambda: all(phase(p) == "Succeeded" for p in world.admin.list("Pod", "managed")
                              if p["metadata"]["name"] != "before"), "end of what waited")  # fmt: skip
        for name, times in sorted(self.done.items()):
            print(f"outage: {name}: {times}, all in {self.seconds} s", flush=True)
        for namespace in ("plain", "managed", "warned"):
            world.admin.delete_all("Job", namespace)
            world.admin.delete_all("Pod", namespace)
        self.wait(lambda: not world.admin.list("Pod"), "end of all pods")
        self.wait(lambda: not world.service.json("job", "list").get("jobs"), "end of all jobs")
        yield from self.wrong

    def get(self, namespace, name):
        return self.world.admin.get("Pod", namespace, name)

    def wait(self, happened, what):
        end = time.monotonic() + DRAIN_S * self.world.patience
        while not happened():
            if time.monotonic() > end:
                raise AssertionError(f"outage: no {what}")
            time.sleep(1)

    def make(self, namespace, name, gpus, run_seconds=0.5):
        spec = o.pod_spec(gpus, "outage")
        self.world.ana.create(o.pod(name, namespace, spec, notes={"run-seconds": run_seconds}))

    def attempt(self, what, action, *args):
        try:
            action(*args)
            self.done[what] = self.done.get(what, 0) + 1
        except ApiError as error:
            self.wrong.append(f"{what}: {error}")

    def label(self, namespace, name):
        pod = self.get(namespace, name)
        if pod is not None:
            change = {"metadata": {"labels": {"round": str(self.count)}}}
            self.world.ana.patch("Pod", namespace, name, change)

    def traffic(self):
        """A round of what people and controllers do, every second."""
        end, stop = time.monotonic() + self.seconds, threading.Event()
        while time.monotonic() < end:
            self.count += 1
            n = self.count
            for namespace in ("plain", "managed", "warned"):
                self.attempt(f"{namespace} pod without GPUs created", self.make, namespace, f"light-{n}", 0)
                self.attempt(f"{namespace} pod updated", self.label, namespace, f"light-{max(1, n - 3)}")
            if n % 20 == 0:
                self.attempt("managed GPU pod created", self.make, "managed", f"gpu-{n}", 1)
                self.attempt("warned GPU pod created", self.make, "warned", f"gpu-{n}", 1)
                self.attempt("gated pod updated", self.label, "managed", f"gpu-{n}")
                made = o.template(o.pod_spec(0, "outage"), None, {"run-seconds": 0.2})
                self.attempt("Job without GPUs created", self.world.ana.create, o.job(f"job-{n}", "managed", made, 2))
            if n % 60 == 0:
                self.clear(n)
            stop.wait(ROUND_S)

    def clear(self, n):
        """What ended goes, so that an hour of it is no test of etcd."""
        for namespace in ("plain", "managed", "warned"):
            for pod in self.world.admin.list("Pod", namespace):
                if phase(pod) == "Succeeded" and pod["metadata"]["name"].startswith("light-"):
                    self.world.admin.delete("Pod", namespace, pod["metadata"]["name"])
